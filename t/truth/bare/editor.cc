// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * An editor: text as a rope of counted pieces, marks, undo by commands of several classes, an index
 * of words, buffers that are shared, settings by name, a menu with callbacks.
 */
#include "t/truth/library.h"
#include "t/truth/truth.h"

#include <any>
#include <cstdint>
#include <cstdio>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#define LOGGED(T, ...) \
	(static_cast<T *>(truth_log(new T(__VA_ARGS__), TRUTH_ARRAY, "edit::" #T, 1)))
#ifdef _LIBCPP_VERSION
enum {
	HASH_VALUE = 16
};
#else
enum {
	HASH_VALUE = 8
};
#endif

namespace edit
{

// A counted pointer of the program's own.
class Counted
{
      public:
	void hold()
	{
		count_++;
	}
	void drop()
	{
		if (--count_ == 0)
			delete this;
	}

      protected:
	virtual ~Counted() = default;

      private:
	unsigned count_ = 0;
};

class Piece : public Counted
{
      public:
	virtual size_t length() const = 0;
};

class Leaf : public Piece
{
      public:
	explicit Leaf(std::string text) : text_(std::move(text))
	{
	}
	size_t length() const override
	{
		return text_.size();
	}
	void log() const
	{
		log_text(text_);
	}

      private:
	std::string text_;
};

class Joint : public Piece
{
      public:
	Joint(Piece *left, Piece *right)
	    : left_(left), right_(right), length_(left->length() + right->length())
	{
		left->hold();
		right->hold();
	}
	size_t length() const override
	{
		return length_;
	}

      private:
	~Joint() override
	{
		left_->drop();
		right_->drop();
	}
	Piece *left_, *right_;
	size_t length_;
};

struct Mark {
	Mark(size_t where, char letter) : at(where), name(letter)
	{
	}
	size_t at;
	char name;
	Mark *next = nullptr;
};

struct Insert {
	size_t at;
	std::string text;
};
struct Erase {
	size_t at, length;
};
using Change = std::variant<Insert, Erase>;

struct Step {
	Change change;
	std::optional<double> time;
	Step *before;
};

template <typename T> class Ring
{
      public:
	struct Slot {
		T item;
		Slot *next;
		bool used = false;
		explicit Slot(const T &value) : item(value), next(this)
		{
		}
	};
	void add(const T &item, const char *type)
	{
		auto *slot = static_cast<Slot *>(truth_log(new Slot(item), TRUTH_ARRAY, type, 1));
		if (last_) {
			slot->next = last_->next;
			last_->next = slot;
		}
		last_ = slot;
	}
	bool empty() const
	{
		return !last_;
	}

      private:
	Slot *last_ = nullptr;
};

class Buffer
{
      public:
	explicit Buffer(const std::string &name) : name_(name)
	{
	}
	void type(unsigned i)
	{
		auto *leaf = LOGGED(Leaf, "the line with the number " + std::to_string(i) +
						  " of the text");
		leaf->log();
		Piece *piece = leaf;
		if (root_)
			piece = LOGGED(Joint, root_, leaf);
		piece->hold();
		root_ = piece;
		auto *step = LOGGED(Step, );
		if (i % 2)
			step->change = Insert{ i, "the text of a change, which is long" };
		else
			step->change = Erase{ i, 5 };
		if (i % 3 == 0)
			step->time = 1.5 * i;
		step->before = steps_.empty() ? nullptr : steps_.back();
		steps_.push_back(step);
		if (i % 4 == 0)
			mark(i);
		words_["word" + std::to_string(i % 50)].push_back(static_cast<int>(i));
		lines_.emplace(i, "what a line is about is written here: " + std::to_string(i));
		recent_.push_front(static_cast<int>(i));
	}
	void log() const
	{
		log_text(name_);
		log_at(steps_.data(), 0, "edit::Step *", steps_.size());
		for (auto &entry : words_) {
			log_at(&entry, HASH_VALUE,
			       "std::__detail::_Hash_node<std::pair<std::string const, "
			       "std::vector<int>>, true>|"
			       "std::__hash_node<std::__hash_value_type<std::string, "
			       "std::vector<int>>, void *>");
			log_at(entry.second.data(), 0, "int", entry.second.size());
		}
		for (auto &entry : lines_) {
			log_at(&entry, 32,
			       "std::_Rb_tree_node<std::pair<unsigned long const, std::string>>|"
			       "std::__tree_node<std::__value_type<unsigned long, std::string>, "
			       "void *>");
			log_text(entry.second);
		}
		for (auto *step : steps_)
			if (auto *insert = std::get_if<Insert>(&step->change))
				log_text(insert->text);
		for (auto &i : recent_)
			log_at(&i, 8,
			       "std::_Fwd_list_node<int>|std::__forward_list_node<int, void *>");
	}

      private:
	void mark(size_t at)
	{
		auto *mark = LOGGED(Mark, at, static_cast<char>('a' + at % 26));
		mark->next = marks_;
		marks_ = mark;
	}
	std::string name_;
	Piece *root_ = nullptr;
	Mark *marks_ = nullptr;
	std::vector<Step *> steps_;
	std::unordered_map<std::string, std::vector<int>> words_;
	std::multimap<uint64_t, std::string> lines_;
	std::forward_list<int> recent_;
};

struct Entry {
	std::string label;
	std::function<void(Buffer &)> action;
};

class Editor
{
      public:
	void open(const std::string &name)
	{
		auto buffer = std::shared_ptr<Buffer>(LOGGED(Buffer, name));
		for (unsigned i = 0; i < 150; i++)
			buffer->type(i);
		buffers_.push_back(buffer);
		ring_.add(buffer.get(), "edit::Ring<edit::Buffer *>::Slot");
		auto *entry = LOGGED(Entry, );
		entry->label = "switch to the buffer that is called " + name;
		log_text(entry->label);
		entry->action = [this, name](Buffer &) { settings_["last"] = name; };
		menu_.push_back(entry);
		settings_["width of " + name] = 80;
	}
	void log() const
	{
		for (auto &buffer : buffers_) {
			buffer->log();
			log_at(&buffer, 16,
			       "std::_List_node<std::shared_ptr<edit::Buffer>>|"
			       "std::__list_node<std::shared_ptr<edit::Buffer>, void *>");
		}
		for (auto &entry : settings_) {
			log_at(&entry, 32,
			       "std::_Rb_tree_node<std::pair<std::string const, std::any>>|"
			       "std::__tree_node<std::__value_type<std::string, std::any>, void "
			       "*>");
			log_text(entry.first);
		}
		log_at(menu_.data(), 0, "edit::Entry *", menu_.size());
	}
	size_t size() const
	{
		return buffers_.size() + menu_.size() + ring_.empty();
	}

      private:
	std::list<std::shared_ptr<Buffer>> buffers_;
	Ring<Buffer *> ring_;
	std::vector<Entry *> menu_;
	std::map<std::string, std::any> settings_;
};

} // namespace edit

int main()
{
	static edit::Editor editor;

	for (int i = 0; i < 20; i++)
		editor.open("/home/somebody/documents/a-file-" + std::to_string(i));
	editor.log();
	truth_capture();
	printf("%zu\n", editor.size());
	return 0;
}
