// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The history of an editor: commands as classes with a common base, groups of them, snapshots that share pieces by
 * counted pointers, records that begin with an object of a class and are no such object, and listeners behind
 * interfaces that are not the first base.
 */
#include "t/truth/library.h"
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#define NEW_OBJECT(T, ...) \
	(static_cast<T *>(truth_log(new T{ __VA_ARGS__ }, TRUTH_ARRAY, "history::" #T, 1)))

namespace history
{

template <typename T> class Counted
{
      public:
	Counted() = default;
	explicit Counted(T *object) : object_(object)
	{
		if (object_)
			object_->references++;
	}
	Counted(const Counted &other) : Counted(other.object_)
	{
	}
	Counted &operator=(Counted other)
	{
		std::swap(object_, other.object_);
		return *this;
	}
	~Counted()
	{
		if (object_ && --object_->references == 0) {
			truth_forget(object_);
			delete object_;
		}
	}
	T *operator->() const
	{
		return object_;
	}
	explicit operator bool() const
	{
		return object_ != nullptr;
	}

      private:
	T *object_ = nullptr;
};

struct Buffer {
	uint32_t references = 0;
	uint32_t size = 0;
	char *bytes = nullptr;
	~Buffer()
	{
		truth_forget(bytes);
		free(bytes);
	}
};

struct Piece {
	uint32_t references = 0;
	uint32_t from = 0, to = 0;
	Counted<Buffer> buffer;
	Counted<Piece> rest;
};

class Clock
{
      public:
	virtual ~Clock() = default;
	virtual uint64_t now() const
	{
		return ticks_;
	}

      protected:
	uint64_t ticks_ = 0;
};

class Stopwatch : public Clock
{
      public:
	uint64_t now() const override
	{
		return ticks_ - started_;
	}

      private:
	uint64_t started_ = 0;
};

// Begins with an object of a class, and is none.
struct Timing {
	Stopwatch watch;
	const char *label = nullptr;
	Timing *previous = nullptr;
};

// As large as a Stopwatch with a number behind it, and begins with its base.
struct Beat {
	Clock clock;
	uint32_t number = 0, missed = 0;
};

class Document;

class Command
{
      public:
	virtual ~Command() = default;
	virtual void apply(Document &document) = 0;
	virtual size_t weight() const
	{
		return sizeof(*this);
	}

      protected:
	uint64_t when_ = next();
};

class Insert : public Command
{
      public:
	Insert(uint32_t at, Counted<Piece> piece) : at_(at), piece_(std::move(piece))
	{
	}
	void apply(Document &document) override;

      private:
	uint32_t at_;
	Counted<Piece> piece_;
};

class Erase : public Command
{
      public:
	Erase(uint32_t at, std::string text) : at_(at), text_(std::move(text))
	{
		log_text(text_);
	}
	void apply(Document &document) override;

      private:
	uint32_t at_;
	std::string text_;
};

class Format : public Command
{
      public:
	Format(uint32_t at, uint32_t style) : at_(at), style_(style)
	{
	}
	void apply(Document &document) override;

      private:
	uint32_t at_, style_;
	std::optional<uint32_t> old_;
};

class Group final : public Command
{
      public:
	void add(Command *command)
	{
		steps_.emplace_back(command);
	}
	void apply(Document &document) override
	{
		for (auto &step : steps_)
			step->apply(document);
	}

      private:
	std::vector<std::unique_ptr<Command>> steps_;
	Timing *timing_ = nullptr;
	friend class History;
};

struct Printable {
	virtual ~Printable() = default;
	virtual void print() const = 0;
};

struct Listener {
	virtual ~Listener() = default;
	virtual void changed(uint32_t at) = 0;
};

class Minimap : public Printable, public Listener
{
      public:
	void print() const override
	{
	}
	void changed(uint32_t at) override
	{
		rows_[at % 16]++;
	}

      private:
	uint16_t rows_[16] = {};
};

class Marks : public Printable, public Listener
{
      public:
	void print() const override
	{
	}
	void changed(uint32_t at) override
	{
		marks_.emplace(at, "a mark with a long name at " + std::to_string(at));
	}

      private:
	std::map<uint32_t, std::string> marks_;
};

class Document
{
      public:
	void insert(uint32_t at, Counted<Piece> piece)
	{
		pieces_.push_back(std::move(piece));
		changed(at);
	}
	void changed(uint32_t at)
	{
		for (Listener *listener : listeners_)
			listener->changed(at);
	}
	void listen(Listener *listener)
	{
		listeners_.push_back(listener);
	}
	uint32_t style = 0;
	std::string last;

      private:
	std::deque<Counted<Piece>> pieces_;
	std::list<Listener *> listeners_;
};

void Insert::apply(Document &document)
{
	document.insert(at_, piece_);
}

void Erase::apply(Document &document)
{
	document.last = text_;
	document.changed(at_);
}

void Format::apply(Document &document)
{
	old_ = document.style;
	document.style = style_;
	document.changed(at_);
}

class History
{
      public:
	explicit History(Document &document) : document_(document)
	{
	}
	Counted<Piece> type(unsigned length)
	{
		auto *buffer = NEW_OBJECT(Buffer, );
		buffer->size = length;
		buffer->bytes = NEW_TEXT(length);
		for (unsigned i = 0; i + 1 < length; i++)
			buffer->bytes[i] = static_cast<char>('a' + next() % 26);
		buffer->bytes[length - 1] = '\0';
		auto *piece = NEW_OBJECT(Piece, );
		piece->to = length;
		piece->buffer = Counted<Buffer>(buffer);
		if (next() % 2)
			piece->rest = last_;
		return last_ = Counted<Piece>(piece);
	}
	Command *step(unsigned number)
	{
		switch (number % 3) {
		case 0:
			return static_cast<Insert *>(
				truth_log(new Insert(number, type(8 + next() % 60)), TRUTH_ARRAY,
					  "history::Insert", 1));
		case 1:
			return static_cast<Erase *>(
				truth_log(new Erase(number, "text that was erased at " +
								    std::to_string(number)),
					  TRUTH_ARRAY, "history::Erase", 1));
		default:
			return static_cast<Format *>(truth_log(new Format(number, number / 2),
							       TRUTH_ARRAY, "history::Format", 1));
		}
	}
	void run(unsigned count)
	{
		for (unsigned i = 0; i < count; i++) {
			if (i % 4) {
				push(step(i));
				continue;
			}
			auto *group = NEW_OBJECT(Group, );
			for (unsigned j = 0; j < 1 + next() % 4; j++)
				group->add(step(i + j));
			auto *timing = NEW_OBJECT(Timing, );
			timing->label = "group";
			timing->previous = timings_;
			group->timing_ = timings_ = timing;
			push(group);
			beats_.push_back(NEW_OBJECT(Beat, ));
			if (i % 8 == 0)
				watches_.push_back(NEW_OBJECT(Stopwatch, ));
			else if (i % 3 == 0)
				watches_.push_back(NEW_OBJECT(Clock, ));
		}
	}
	void on_undo(std::function<void(const Command &)> hook)
	{
		hooks_.push_back(std::move(hook));
	}
	void undo()
	{
		redo_.push_back(std::move(undo_.back()));
		undo_.pop_back();
		for (auto &hook : hooks_)
			hook(*redo_.back());
	}
	size_t size() const
	{
		return undo_.size() + redo_.size();
	}

      private:
	void push(Command *command)
	{
		command->apply(document_);
		undo_.emplace_back(command);
	}
	Document &document_;
	std::vector<std::unique_ptr<Command>> undo_, redo_;
	std::vector<std::function<void(const Command &)>> hooks_;
	Counted<Piece> last_;
	Timing *timings_ = nullptr;
	std::vector<Beat *> beats_;
	std::vector<Clock *> watches_;
};

} // namespace history

static history::Document document;

int main()
{
	using namespace history;
	static History history(document);
	size_t weight = 0;

	for (int i = 0; i < 20; i++) {
		document.listen(NEW_OBJECT(Minimap, ));
		document.listen(NEW_OBJECT(Marks, ));
	}
	history.run(3000);
	history.on_undo([&weight](const Command &command) { weight += command.weight(); });
	for (int i = 0; i < 100; i++)
		history.undo();
	truth_capture();
	printf("%zu %zu\n", history.size(), weight);
	return 0;
}
