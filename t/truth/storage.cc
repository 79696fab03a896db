// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Values that are constructed in raw bytes, of which an argument of a template alone says what they hold: behind the links of
 * nodes, in slots that may be empty, in elements of small vectors. Besides, values of which copies lie at the start of other
 * classes: optional ones, and closures.
 */
#include "t/truth/library.h"

#include <cstdint>
#include <cstdio>
#include <new>
#include <optional>
#include <vector>

enum {
	COUNT = 120,
	SLOTS = 48,
	INLINE = 2,
};

struct Price {
	double amount;
	char currency[8];
};

struct Range {
	uint32_t from, to;
	double share;
};

struct City {
	char *name;
	long inhabitants;
};

template <class T> T make(int number);

template <> Price make(int number)
{
	Price price = { number * 1.25, "EUR" };

	return price;
}

template <> Range make(int number)
{
	return { static_cast<uint32_t>(number), static_cast<uint32_t>(2 * number), number / 7.0 };
}

template <> City make(int number)
{
	char *name = NEW_TEXT(32);

	snprintf(name, 32, "the city of number %d", number);
	return { name, 1000L * number };
}

// --- storage ------------------------------------------------------------------

// What is aligned, and says nothing of its content.
template <size_t Size> union Aligned {
	unsigned char bytes[Size];
	void *aligner;
};

struct Link {
	Link *next;
};

template <class T> struct Node : Link {
	Aligned<sizeof(T)> space;

	T *value()
	{
		return reinterpret_cast<T *>(space.bytes);
	}
};

// The storage is in a class of its own, which the link follows.
template <class T> struct Holder {
	Aligned<sizeof(T)> space;
};

template <class T> struct Chained : Holder<T> {
	Chained *next;
};

template <class T> class Chain
{
      public:
	void put(const T &value, const char *type)
	{
		auto *added = static_cast<Chained<T> *>(
			truth_log(malloc(sizeof(Chained<T>)), TRUTH_ARRAY, type, 1));

		new (added->space.bytes) T(value);
		added->next = first;
		first = added;
	}

      private:
	Chained<T> *first = nullptr;
};

template <class T> class List
{
      public:
	void put(const T &value, const char *type)
	{
		auto *added = static_cast<Node<T> *>(
			truth_log(malloc(sizeof(Node<T>)), TRUTH_ARRAY, type, 1));

		new (added->value()) T(value);
		added->next = ends.next;
		ends.next = added;
	}

      private:
	Link ends = { nullptr };
};

// Slots, of which some are empty, and lead to the next empty one.
template <class T> class Slots
{
	struct Entry {
		struct {
			alignas(T) unsigned char data[sizeof(T)];
		} storage;
	};

      public:
	Slots(const char *type)
	{
		entries = static_cast<Entry *>(malloc(SLOTS * sizeof(Entry)));
		truth_log(entries, TRUTH_ARRAY, type, SLOTS);
		for (int i = 0; i < SLOTS; i++)
			entries[i].storage.data[0] = static_cast<unsigned char>(i + 1);
	}
	void put(int at, const T &value)
	{
		new (entries[at].storage.data) T(value);
	}

      private:
	Entry *entries;
};

// A few elements inside of it, and more elsewhere.
template <class T, unsigned N> class Small
{
      public:
	void put(const T &value, const char *type)
	{
		if (size == capacity)
			grow(type);
		new (&first[size++]) T(value);
	}
	void init()
	{
		first = reinterpret_cast<T *>(data);
		size = 0;
		capacity = N;
	}

      private:
	void grow(const char *type)
	{
		T *more = static_cast<T *>(truth_log(malloc(2 * capacity * sizeof(T)), TRUTH_ARRAY,
						     type, 2 * capacity));

		for (uint32_t i = 0; i < size; i++)
			new (&more[i]) T(first[i]);
		if (reinterpret_cast<char *>(first) != data)
			FREE(first);
		first = more;
		capacity *= 2;
	}

	T *first;
	uint32_t size, capacity;
	alignas(T) char data[N * sizeof(T)];
};

template <class T> struct Keyed {
	long key;
	T *value;
};

// Bytes that are what they are, though a value would fill them. They may look like anything.
struct Digest {
	unsigned char bytes[16];
};

template <class T> struct Signed {
	Digest digest;
	T value;
};

// --- the program -----------------------------------------------------------------

template <class T> struct All {
	All(const char *entries) : slots(entries)
	{
		for (auto &each : small)
			each.init();
	}

	List<T *> list;
	Chain<Keyed<T>> chain;
	Slots<Keyed<T>> slots;
	Small<T *, INLINE> small[COUNT];
	Signed<Keyed<T>> sealed[COUNT];
	std::vector<std::optional<T>> optional;
	long sum = 0;
};

template <class T> static T *add(int number, const char *type)
{
	return new (truth_log(malloc(sizeof(T)), TRUTH_ARRAY, type, 1)) T(make<T>(number));
}

struct Names {
	const char *value, *pointer, *node, *chained, *entry, *optional;
};

template <class T> __attribute__((noinline)) static long use(const T &value, long one, long two)
{
	auto closure = [value, one] { return static_cast<long>(sizeof(value)) + one; };

	return closure() + two;
}

// Leads to a block of another type.
static void seal(Digest *digest, int number)
{
	char *text = NEW_TEXT(23);
	long words[] = { number, 0 };

	snprintf(text, 23, "the seal of %d", number);
	memcpy(&words[1], &text, sizeof(text));
	memcpy(digest->bytes, words, sizeof(words));
}

template <class T> __attribute__((noinline)) static void fill(All<T> *all, const Names &names)
{
	for (int i = 0; i < COUNT; i++) {
		all->list.put(add<T>(i, names.value), names.node);
		all->chain.put({ i, add<T>(i, names.value) }, names.chained);
		if (i < SLOTS && i % 3 != 0)
			all->slots.put(i, { i, add<T>(i, names.value) });
		for (int k = 0; k < i % 5; k++)
			all->small[i].put(add<T>(i, names.value), names.pointer);
		all->optional.emplace_back(make<T>(i));
		all->sealed[i].value = { i, nullptr };
		seal(&all->sealed[i].digest, i);
		all->sum += use(all->optional.back().value(), i, i);
	}
	truth_log(all->optional.data(), TRUTH_ARRAY, names.optional, all->optional.size());
}

All<Price> *prices;
All<Range> *ranges;
All<City> *cities;

#define NAMES(T) \
	{ \
#T, #T " *", "Node<" #T "*>", "Chained<Keyed<" #T "> >", \
			"Slots<Keyed<" #T "> >::Entry", "std::optional<" #T ">" \
	}

template <class T> static All<T> *build(const char *type, const Names &names)
{
	auto *all =
		new (truth_log(malloc(sizeof(All<T>)), TRUTH_ARRAY, type, 1)) All<T>(names.entry);

	fill(all, names);
	return all;
}

int main()
{
	prices = build<Price>("All<Price>", NAMES(Price));
	ranges = build<Range>("All<Range>", NAMES(Range));
	cities = build<City>("All<City>", NAMES(City));
	truth_capture();
	printf("%ld %ld %ld\n", prices->sum, ranges->sum, cities->sum);
	return 0;
}
