// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A library of books in each container of the standard library, none of whose nodes the program makes
 * itself. It logs them by where their values stand.
 */
#include "t/truth/truth.h"

#include <cstdint>
#include <cstdio>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#define NEW_OBJECT(T, ...) (static_cast<T *>(truth_log(new T(__VA_ARGS__), TRUTH_ARRAY, #T, 1)))

struct Book {
	Book(uint64_t number, const char *title);
	uint64_t isbn;
	std::string name;
	Book *sequel = nullptr;
};

// Out of line, as in programs of several files.
__attribute__((noinline)) Book::Book(uint64_t number, const char *title) : isbn(number), name(title)
{
}

struct Loan {
	Book *book;
	uint32_t days, reminders;
};

struct Reader {
	std::string name;
	std::vector<Loan> loans;
	uint64_t number;
};

struct Shelf {
	explicit Shelf(int place);
	int floor;
	std::list<Book *> row;
};

__attribute__((noinline)) Shelf::Shelf(int place) : floor(place)
{
}

// Logs what holds a value, which stands some bytes behind the start of the block.
static void log_at(const void *value, size_t offset, const char *type, size_t count = 1)
{
	truth_log(const_cast<char *>(static_cast<const char *>(value)) - offset, TRUTH_ARRAY, type,
		  count);
}

static void log_text(const std::string &text)
{
	if (text.capacity() > 15)
		truth_log(const_cast<char *>(text.data()), TRUTH_TEXT, "char", text.capacity() + 1);
}

class Library
{
      public:
	void buy(uint64_t number)
	{
		auto *book = NEW_OBJECT(Book, number, "The book with a title that is rather long");
		log_text(book->name);
		if (!all_.empty())
			all_.back()->sequel = book;
		all_.push_back(book);
		by_isbn_[number * 7919 % 10007] = book;
		by_title_.emplace(book->name + std::to_string(number), book);
		years_.insert(static_cast<int>(number * 31 % 997));
		codes_.insert(number * 13);
		returned_.push_back(book);
		recent_.push_front(number);
		desk_.push_back(Loan{ book, 14, 0 });
		if (number % 4 == 0)
			read(number, book);
		if (number % 8 == 0)
			place(static_cast<int>(number), book);
	}
	void log() const
	{
		log_at(all_.data(), 0, "Book *", all_.size());
		for (auto &entry : by_isbn_)
			log_at(&entry, 32,
			       "std::_Rb_tree_node<std::pair<unsigned long const, Book *>>");
		for (auto &entry : by_title_) {
			log_at(&entry, 8,
			       "std::__detail::_Hash_node<std::pair<std::string const, Book *>, "
			       "true>");
			log_text(entry.first);
		}
		for (auto &year : years_)
			log_at(&year, 32, "std::_Rb_tree_node<int>");
		for (auto &code : codes_)
			log_at(&code, 8, "std::__detail::_Hash_node<unsigned long, false>");
		for (auto &book : returned_)
			log_at(&book, 16, "std::_List_node<Book *>");
		for (auto &number : recent_)
			log_at(&number, 8, "std::_Fwd_list_node<unsigned long>");
		for (size_t i = 0; i < desk_.size(); i += 512 / sizeof(Loan))
			log_at(&desk_[i], 0, "Loan", 512 / sizeof(Loan));
		for (auto &reader : readers_)
			log_reader(reader);
		for (auto &shelf : shelves_) {
			for (auto &book : shelf.second->row)
				log_at(&book, 16, "std::_List_node<Book *>");
			log_at(&shelf, 32,
			       "std::_Rb_tree_node<std::pair<int const, std::unique_ptr<Shelf>>>");
			log_at(shelf.second.get(), 0, "Shelf");
		}
	}

      private:
	void read(uint64_t number, Book *book)
	{
		auto reader = std::make_shared<Reader>();
		reader->name =
			"A reader whose name needs a block, number " + std::to_string(number);
		reader->number = number;
		for (unsigned i = 0; i <= number / 4 % 3; i++)
			reader->loans.push_back(Loan{ book, 14 + i, i });
		readers_.push_back(reader);
	}
	void place(int floor, Book *book)
	{
		auto shelf = std::make_unique<Shelf>(floor);
		for (int i = 0; i < 3; i++)
			shelf->row.push_back(book);
		shelves_.emplace(floor, std::move(shelf));
	}
	static void log_reader(const std::shared_ptr<Reader> &reader)
	{
		log_at(reader.get(), 16, "Reader|std::_Sp_counted_ptr_inplace<Reader>");
		log_text(reader->name);
		log_at(reader->loans.data(), 0, "Loan", reader->loans.size());
	}

	std::vector<Book *> all_;
	std::map<uint64_t, Book *> by_isbn_;
	std::unordered_map<std::string, Book *> by_title_;
	std::set<int> years_;
	std::unordered_set<uint64_t> codes_;
	std::list<Book *> returned_;
	std::forward_list<uint64_t> recent_;
	std::deque<Loan> desk_;
	std::vector<std::shared_ptr<Reader>> readers_;
	std::map<int, std::unique_ptr<Shelf>> shelves_;
};

static Library library;

int main()
{
	for (uint64_t i = 0; i < 512; i++)
		library.buy(i);
	library.log();
	truth_capture();
	return 0;
}
