// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * An optimiser in the style of large compilers: values without virtual functions that a kind tells apart, operands in
 * front of their user in one block, vectors with room of their own, maps whose keys lie behind their entries, nodes of
 * intrusive lists, an allocator that bumps through slabs, and passes as objects of classes.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace optimizer
{

// A vector whose first elements are in itself.
template <typename T, unsigned N> class SmallVector
{
      public:
	explicit SmallVector(const char *type) : type_(type)
	{
	}
	~SmallVector()
	{
		if (begin_ != inside())
			free(begin_);
	}
	SmallVector(const SmallVector &) = delete;
	SmallVector &operator=(const SmallVector &) = delete;
	void push(T value)
	{
		if (size_ == capacity_)
			grow();
		begin_[size_++] = value;
	}
	uint32_t size() const
	{
		return size_;
	}
	T &operator[](uint32_t at)
	{
		return begin_[at];
	}

      private:
	T *inside()
	{
		return reinterpret_cast<T *>(room_);
	}
	void grow()
	{
		T *more = static_cast<T *>(truth_log(malloc(2 * capacity_ * sizeof(T)), TRUTH_ARRAY,
						     type_, 2 * capacity_));
		memcpy(static_cast<void *>(more), begin_, size_ * sizeof(T));
		if (begin_ != inside()) {
			truth_forget(begin_);
			free(begin_);
		}
		begin_ = more;
		capacity_ *= 2;
	}
	T *begin_ = inside();
	uint32_t size_ = 0, capacity_ = N;
	alignas(T) char room_[N * sizeof(T)];
	const char *type_;
};

// Bumps through slabs.
class Allocator
{
      public:
	void *take(size_t size, const char *type)
	{
		size = (size + 15) & ~size_t(15);
		if (at_ + size > end_) {
			char *slab = static_cast<char *>(malloc(4096));
			truth_log(slab, TRUTH_POOL, "void", 0);
			slabs_.push(slab);
			at_ = slab;
			end_ = slab + 4096;
		}
		char *result = at_;
		at_ += size;
		truth_log(result, TRUTH_PART, type, 1);
		return result;
	}

      private:
	char *at_ = nullptr, *end_ = nullptr;
	SmallVector<void *, 4> slabs_{ "void *" };
};

class Type
{
      public:
	enum TypeID {
		IntegerID,
		PointerID,
		VectorID,
		FunctionID
	};
	Type(TypeID id, unsigned data) : id_(id), data_(data)
	{
	}
	TypeID id_;
	unsigned data_;
	Type **contained_ = nullptr;
	unsigned count_ = 0;
};

class Value;
class User;

struct Use {
	Value *value = nullptr;
	Use *next = nullptr, **previous = nullptr;
	User *user = nullptr;
	void set(Value *to);
};

// A name's entry, with the key behind it.
struct NameEntry {
	size_t length;
	Value *value;
};

class Value
{
      public:
	enum ValueID : uint8_t {
		ArgumentVal,
		BlockVal,
		ConstantVal,
		BinaryVal,
		LoadVal,
		CallVal,
		BranchVal
	};
	Value(Type *type, ValueID id) : type_(type), id_(id)
	{
	}
	Type *type_;
	Use *uses_ = nullptr;
	ValueID id_;
	uint8_t flags_ = 0;
	uint16_t data_ = 0;
	uint32_t operands_ = 0;
	NameEntry *name_ = nullptr;
};

void Use::set(Value *to)
{
	value = to;
	next = to->uses_;
	if (next)
		next->previous = &next;
	previous = &to->uses_;
	to->uses_ = this;
}

class Constant : public Value
{
      public:
	Constant(Type *type, int64_t number) : Value(type, ConstantVal), number_(number)
	{
	}
	int64_t number_;
};

class Function;

class Argument : public Value
{
      public:
	Argument(Type *type, Function *parent, unsigned number)
	    : Value(type, ArgumentVal), parent_(parent), number_(number)
	{
	}
	Function *parent_;
	unsigned number_;
};

struct Link {
	Link *previous = this, *next = this;
};

class User : public Value
{
      public:
	User(Type *type, ValueID id, unsigned operands) : Value(type, id)
	{
		operands_ = operands;
	}
	Use *operands()
	{
		return reinterpret_cast<Use *>(this) - operands_;
	}
	// The operands lie in front of the user.
	template <typename T, typename... A> static T *make(unsigned operands, A &&...arguments)
	{
		char *block = static_cast<char *>(malloc(operands * sizeof(Use) + sizeof(T)));
		for (unsigned i = 0; i < operands; i++)
			truth_log(new (block + i * sizeof(Use)) Use, TRUTH_PART, "optimizer::Use",
				  1);
		T *made = new (block + operands * sizeof(Use))
			T(std::forward<A>(arguments)..., operands);
		for (unsigned i = 0; i < operands; i++)
			made->operands()[i].user = made;
		truth_log(made, TRUTH_PART, T::logged, 1);
		truth_log(block, TRUTH_BEHIND, T::logged, operands * sizeof(Use));
		return made;
	}
};

class Block;

class Instruction : public User, public Link
{
      public:
	using User::User;
	Block *parent_ = nullptr;
	uint32_t line_ = 0, order_ = 0;
};

class BinaryOperator : public Instruction
{
      public:
	static constexpr const char *logged = "optimizer::BinaryOperator";
	BinaryOperator(Type *type, int opcode, unsigned operands)
	    : Instruction(type, BinaryVal, operands), opcode_(opcode)
	{
	}
	int opcode_;
};

class LoadInst : public Instruction
{
      public:
	static constexpr const char *logged = "optimizer::LoadInst";
	LoadInst(Type *type, unsigned alignment, unsigned operands)
	    : Instruction(type, LoadVal, operands), alignment_(alignment)
	{
	}
	unsigned alignment_;
	Type *loaded_ = nullptr;
};

class CallInst : public Instruction
{
      public:
	static constexpr const char *logged = "optimizer::CallInst";
	CallInst(Type *type, Function *callee, unsigned operands)
	    : Instruction(type, CallVal, operands), callee_(callee)
	{
	}
	Function *callee_;
	uint64_t attributes_ = 0;
};

class Block : public Value, public Link
{
      public:
	Block(Type *type, Function *parent) : Value(type, BlockVal), parent_(parent)
	{
	}
	void append(Instruction *instruction)
	{
		Link *link = instruction;
		instruction->parent_ = this;
		link->previous = first_.previous;
		link->next = &first_;
		first_.previous->next = link;
		first_.previous = link;
	}
	Link first_;
	Function *parent_;
};

class Function
{
      public:
	Function(Type *type, Function *next) : type_(type), next_(next)
	{
	}
	Type *type_;
	Function *next_;
	SmallVector<Argument *, 2> arguments_{ "optimizer::Argument *" };
	SmallVector<Block *, 4> blocks_{ "optimizer::Block *" };
	NameEntry **names_ = nullptr;
	unsigned name_count_ = 0, name_buckets_ = 0;
};

class Pass
{
      public:
	virtual ~Pass() = default;
	virtual unsigned run(Function &function) = 0;
	unsigned changed_ = 0;
};

class CountPass final : public Pass
{
      public:
	unsigned run(Function &function) override
	{
		return changed_ = function.blocks_.size();
	}
};

class DominatorPass final : public Pass
{
      public:
	struct Node {
		Block *block;
		Node *parent;
		std::vector<Node *> children;
		unsigned depth;
	};
	unsigned run(Function &function) override
	{
		for (uint32_t i = 0; i < function.blocks_.size(); i++) {
			Node *parent = i ? nodes_[nodes_.size() - 1 - next() % i].get() : nullptr;
			auto *node = static_cast<Node *>(
				truth_log(new Node{ function.blocks_[i], parent, {}, 0 },
					  TRUTH_ARRAY, "optimizer::DominatorPass::Node", 1));
			if (parent)
				parent->children.push_back(node);
			nodes_.emplace_back(node);
		}
		return changed_;
	}

      private:
	std::vector<std::unique_ptr<Node>> nodes_;
};

class Module
{
      public:
	Module()
	{
		for (unsigned i = 0; i < 6; i++)
			types_.push(new (allocator_.take(sizeof(Type), "optimizer::Type"))
					    Type(static_cast<Type::TypeID>(i % 3), 8 << i % 4));
	}
	Function *add()
	{
		Type *type = new (allocator_.take(sizeof(Type), "optimizer::Type"))
			Type(Type::FunctionID, 0);
		type->count_ = 1 + next() % 3;
		type->contained_ = static_cast<Type **>(
			allocator_.take(type->count_ * sizeof(Type *), "optimizer::Type *"));
		for (unsigned i = 0; i < type->count_; i++)
			type->contained_[i] = any();
		functions_ = static_cast<Function *>(truth_log(
			new Function(type, functions_), TRUTH_ARRAY, "optimizer::Function", 1));
		functions_->name_buckets_ = 32;
		functions_->names_ = static_cast<NameEntry **>(
			truth_log(calloc(32, sizeof(NameEntry *)), TRUTH_ARRAY,
				  "optimizer::NameEntry *", 32));
		for (unsigned i = 0; i < type->count_; i++)
			functions_->arguments_.push(static_cast<Argument *>(
				truth_log(new Argument(type->contained_[i], functions_, i),
					  TRUTH_ARRAY, "optimizer::Argument", 1)));
		for (unsigned i = 0; i < 1 + next() % 8; i++)
			fill(*functions_);
		return functions_;
	}
	Function *functions() const
	{
		return functions_;
	}

      private:
	Type *any()
	{
		return types_[next() % types_.size()];
	}
	Value *constant()
	{
		return static_cast<Value *>(
			truth_log(new Constant(any(), static_cast<int64_t>(next() % 100)),
				  TRUTH_ARRAY, "optimizer::Constant", 1));
	}
	void name(Function &function, Value *value, const char *text, unsigned number)
	{
		char key[32];
		int length = snprintf(key, sizeof(key), "%s%u", text, number);
		auto *entry =
			static_cast<NameEntry *>(truth_log(malloc(sizeof(NameEntry) + length + 1),
							   TRUTH_POOL, "optimizer::NameEntry", 0));
		entry->length = length;
		entry->value = value;
		memcpy(entry + 1, key, length + 1);
		value->name_ = entry;
		if (function.name_count_ < function.name_buckets_)
			function.names_[function.name_count_++] = entry;
	}
	void fill(Function &function)
	{
		auto *block = static_cast<Block *>(
			truth_log(new Block(any(), &function), TRUTH_ARRAY, "optimizer::Block", 1));
		Value *last = function.arguments_[0];
		function.blocks_.push(block);
		name(function, block, "block.", function.blocks_.size());
		for (unsigned i = 0; i < 3 + next() % 9; i++) {
			Instruction *made;
			unsigned operands = 2;
			if (i % 3 == 0)
				made = User::make<BinaryOperator>(2, any(),
								  static_cast<int>(next() % 12));
			else if (i % 3 == 1)
				made = User::make<LoadInst>(operands = 1, any(), 8u);
			else
				made = User::make<CallInst>(operands = 1 + next() % 5, any(),
							    &function);
			for (unsigned j = 0; j < operands; j++)
				made->operands()[j].set(j ? constant() : last);
			made->line_ = next() % 1000;
			block->append(made);
			if (i % 2)
				name(function, made, "value.", i);
			last = made;
		}
	}
	Allocator allocator_;
	SmallVector<Type *, 8> types_{ "optimizer::Type *" };
	Function *functions_ = nullptr;
};

} // namespace optimizer

static optimizer::Module module;

int main()
{
	std::vector<std::unique_ptr<optimizer::Pass>> passes;
	unsigned changed = 0;

	for (unsigned i = 0; i < 120; i++)
		module.add();
	for (unsigned i = 0; i < 10; i++) {
		passes.emplace_back(static_cast<optimizer::Pass *>(truth_log(
			new optimizer::CountPass, TRUTH_ARRAY, "optimizer::CountPass", 1)));
		passes.emplace_back(static_cast<optimizer::Pass *>(truth_log(
			new optimizer::DominatorPass, TRUTH_ARRAY, "optimizer::DominatorPass", 1)));
	}
	for (auto &pass : passes) {
		for (auto *function = module.functions(); function; function = function->next_)
			changed += pass->run(*function);
	}
	truth_capture();
	printf("%u\n", changed);
	return 0;
}
