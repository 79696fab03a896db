// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Portfolios whose vectors have an allocator with data, which stands before the pointers to their elements. Vectors have room for
 * more, in blocks of earlier tables: behind their last elements are pointers to trades that are gone, where notes are now.
 */
#include "t/truth/truth.h"

#include <cstdint>
#include <memory_resource>
#include <string>
#include <vector>

#define NEW_OBJECT(T, ...) (static_cast<T *>(truth_log(new T{ __VA_ARGS__ }, TRUTH_ARRAY, #T, 1)))

struct Trade {
	uint64_t number;
	double price;
	long amount;
	Trade *previous;
};

struct Portfolio {
	std::pmr::vector<Trade *> trades;
	std::string note;
	double limit;
	Portfolio *next;

	Portfolio(std::pmr::memory_resource *memory, double most, Portfolio *others)
	    : trades(memory), limit(most), next(others)
	{
	}
};

class Counting : public std::pmr::memory_resource
{
      public:
	size_t live = 0;

      private:
	void *do_allocate(size_t size, size_t) override
	{
		live += size;
		return ::operator new(size);
	}
	void do_deallocate(void *block, size_t size, size_t) override
	{
		live -= size;
		::operator delete(block);
	}
	bool do_is_equal(const memory_resource &other) const noexcept override
	{
		return this == &other;
	}
};

enum {
	PORTFOLIOS = 100,
	ROOM = 8, // trades of a vector
	USED = 5,
};

Counting counting;
Portfolio *portfolios;
Trade *last;

// Trades of yesterday, in tables that are as large as a vector's block.
__attribute__((noinline)) static void trade_yesterday()
{
	static Trade *trades[PORTFOLIOS];
	static Trade **tables[PORTFOLIOS];

	for (int i = 0; i < PORTFOLIOS; i++)
		trades[i] = new Trade{ (uint64_t)i, i * 1.5, i, nullptr };
	for (int i = 0; i < PORTFOLIOS; i++) {
		tables[i] = new Trade *[ROOM];
		for (int j = 0; j < ROOM; j++)
			tables[i][j] = trades[(i + j) % PORTFOLIOS];
	}
	for (int i = 0; i < PORTFOLIOS; i++) {
		delete[] tables[i];
		delete trades[i];
		tables[i] = nullptr;
		trades[i] = nullptr;
	}
}

__attribute__((noinline)) static void write_notes()
{
	for (Portfolio *at = portfolios; at; at = at->next) {
		at->note =
			"a note of thirty-two letters, no " + std::to_string(100 + (int)at->limit);
		truth_log(const_cast<char *>(at->note.data()), TRUTH_TEXT, "char",
			  at->note.capacity() + 1);
	}
}

__attribute__((noinline)) static Trade *trade(int number)
{
	return last = NEW_OBJECT(Trade, (uint64_t)number, number * 1.25, number,
				 number % 3 ? last : nullptr);
}

int main()
{
	trade_yesterday();
	for (int i = 0; i < PORTFOLIOS; i++) {
		portfolios = static_cast<Portfolio *>(truth_log(
			new Portfolio(&counting, i, portfolios), TRUTH_ARRAY, "Portfolio", 1));
		portfolios->trades.reserve(ROOM);
		truth_log(portfolios->trades.data(), TRUTH_ARRAY, "Trade *", ROOM);
	}
	write_notes();
	for (Portfolio *at = portfolios; at; at = at->next) {
		for (int i = 0; i < USED; i++)
			at->trades.push_back(trade(i));
	}
	truth_capture();
	return 0;
}
