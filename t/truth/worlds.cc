// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A world of entities that are numbers. What belongs to them is in one array for each class, and pages of numbers tell the place in
 * it. Sparks are constructed in the slots of blocks, and terms in chunks of bytes behind a header: tables of pointers lead into both.
 */
#include "t/truth/library.h"

#include <cstdint>
#include <cstdio>
#include <new>
#include <utility>
#include <vector>

enum {
	ENTITIES = 600,
	PAGE = 256, // numbers
	SLOTS = 32,
	SPARKS = 200,
	CHUNK = 4072, // bytes behind the header
	TERMS = 500,
};

// --- what entities have ---------------------------------------------------------

struct Place {
	float x, y;
};

struct Title {
	uint32_t language;
	const char *text;
};

struct Target {
	uint32_t who;
	Place *place;
};

// An array whose room doubles.
template <class T> class Array
{
	T *items_ = nullptr;
	size_t count_ = 0, room_ = 0;

      public:
	T &add(const T &item, const char *type, size_t first_room)
	{
		if (count_ == room_) {
			size_t room = room_ ? 2 * room_ : first_room;
			T *items = static_cast<T *>(
				truth_log(malloc(room * sizeof(T)), TRUTH_ARRAY, type, room));

			memset(items, 0, room * sizeof(T));
			if (items_) {
				memcpy(items, items_, count_ * sizeof(T));
				FREE(items_);
			}
			items_ = items;
			room_ = room;
		}
		return items_[count_++] = item;
	}

	T &operator[](size_t i)
	{
		return items_[i];
	}

	size_t count() const
	{
		return count_;
	}
};

template <class T> struct Column {
	std::vector<uint32_t *> pages;
	std::vector<T> values;

	void put(uint32_t entity, const T &value)
	{
		while (pages.size() <= entity / PAGE)
			pages.push_back(nullptr);
		if (!pages[entity / PAGE])
			pages[entity / PAGE] = NEW_ZEROED_ARRAY(uint32_t, PAGE);
		pages[entity / PAGE][entity % PAGE] = static_cast<uint32_t>(values.size());
		values.push_back(value);
	}

	void log(const char *type)
	{
		truth_log(values.data(), TRUTH_ARRAY, type, values.capacity());
		truth_log(pages.data(), TRUTH_ARRAY, "unsigned int *", pages.capacity());
	}
};

struct World {
	Column<Place> places;
	Column<Title> titles;
	Column<Target> targets;
};

World *world;

static void fill(World *into)
{
	static Place home = { 0, 0 };

	for (uint32_t i = 0; i < ENTITIES; i++) {
		into->places.put(i, Place{ i * 0.5f, 2 });
		if (i % 3 == 0) {
			char *text = NEW_TEXT(24);

			snprintf(text, 24, "the title %u", i);
			into->titles.put(i, Title{ i % 4, text });
		}
		if (i % 11 == 0)
			into->targets.put(i, Target{ i / 2, &home });
	}
	into->places.log("Place");
	into->titles.log("Title");
	into->targets.log("Target");
}

// --- slots -------------------------------------------------------------------------

struct Spark {
	float place[3], speed[3];
	int life;
	Spark *neighbour;
	char *label;
};

template <class T> class Pool
{
	union Slot {
		Slot *next;
		alignas(T) unsigned char raw[sizeof(T)];
	};
	struct Block {
		Block *previous;
		Slot slots[SLOTS];
	};
	Block *blocks_ = nullptr;
	Slot *free_ = nullptr;

      public:
	template <class... Arguments> T *make(const char *type, Arguments &&...arguments)
	{
		Slot *slot;

		if (!free_) {
			Block *block =
				static_cast<Block *>(truth_log(new Block, TRUTH_ARRAY, type, 1));

			block->previous = blocks_;
			blocks_ = block;
			for (Slot &each : block->slots) {
				each.next = free_;
				free_ = &each;
			}
		}
		slot = free_;
		free_ = slot->next;
		return new (slot->raw) T{ std::forward<Arguments>(arguments)... };
	}
};

struct Sparks {
	Pool<Spark> pool;
	Array<Spark *> list;
};

Sparks *sparks;

static void fill(Sparks *into)
{
	for (int i = 0; i < SPARKS; i++) {
		Spark *last = i ? into->list[i - 1] : nullptr;
		Spark *spark = into->pool.make("Pool<Spark>::Block",
					       Spark{ { i * 1.f, 2, 3 }, {}, i, last, nullptr });

		if (i % 5 == 0) {
			spark->label = NEW_TEXT(32);
			snprintf(spark->label, 32, "the spark of number %d", i);
		}
		into->list.add(spark, "Spark *", 8);
	}
}

// --- chunks ------------------------------------------------------------------------

struct Term {
	Term *left, *right;
	double value;
};

class Arena
{
	struct Chunk {
		Chunk *next;
		size_t used, size;
		char data[];
	};
	Chunk *first_ = nullptr;

      public:
	template <class T> T *make(const T &value)
	{
		if (!first_ || first_->used + sizeof(T) > first_->size) {
			Chunk *chunk =
				static_cast<Chunk *>(truth_log(calloc(1, sizeof(Chunk) + CHUNK),
							       TRUTH_FLEXIBLE, "Arena::Chunk", 0));

			*chunk = { first_, 0, CHUNK };
			first_ = chunk;
		}
		first_->used += sizeof(T);
		return new (first_->data + first_->used - sizeof(T)) T(value);
	}
};

struct Terms {
	Arena arena;
	Array<Term *> list;
};

Terms *terms;

static void fill(Terms *into)
{
	for (int i = 0; i < TERMS; i++) {
		Term *left = i > 3 && i % 3 ? into->list[i / 2] : nullptr;
		Term *right = i > 3 && i % 3 ? into->list[i - 1] : nullptr;

		into->list.add(into->arena.make(Term{ left, right, i * 1.5 }), "Term *", 8);
	}
}

int main()
{
	world = NEW_ZEROED(World);
	fill(world);
	sparks = NEW_ZEROED(Sparks);
	fill(sparks);
	terms = NEW_ZEROED(Terms);
	fill(terms);
	truth_capture();
	return world && sparks && terms ? 0 : 1;
}
