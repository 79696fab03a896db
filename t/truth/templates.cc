// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The structures of libraries of templates: documents whose values lie in chunks, behind pointers with a tag in their upper
 * bits; hash tables with a control byte for each slot before the slots; containers behind void pointers, whose first base
 * is an allocator without data; and values that leaked, which no variable ever had.
 */
#include "t/truth/library.h"

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

enum {
	DOCUMENTS = 200,
	CHUNK = 4096,
	VALUES = 150,
	TABLES = 24,
	BOXES = 500,
	LEAKED = 60,
};

// --- documents in chunks ----------------------------------------------------

struct Chunk {
	size_t capacity, used; // bytes behind it
	Chunk *next;
};

class Arena
{
      public:
	void *take(size_t bytes);

      private:
	Chunk *head = nullptr;
};

void *Arena::take(size_t bytes)
{
	if (!head || head->used + bytes > head->capacity) {
		auto *chunk = OF(Chunk, malloc(sizeof(Chunk) + CHUNK));

		*chunk = Chunk{ CHUNK, 0, head };
		head = chunk;
	}
	head->used += bytes;
	return reinterpret_cast<char *>(head + 1) + head->used - bytes;
}

// The kind is in the upper 16 bits of the address.
struct Packed {
	uint64_t bits;
};

struct Document {
	std::unique_ptr<Arena> arena{ OF(Arena, new Arena) };
	Packed root = { 0 };
	int values = 0;
};

static void fill_document(Document &document)
{
	for (int i = 0; i < VALUES; i++, document.values++) {
		auto *value = static_cast<Packed *>(document.arena->take(2 * sizeof(Packed)));

		value[0] = document.root;
		value[1].bits = static_cast<uint64_t>(i);
		document.root.bits = reinterpret_cast<uint64_t>(value) | UINT64_C(3) << 48;
	}
}

// --- a hash table with control bytes ------------------------------------------

template <class Key, class Value> class FlatTable
{
	// So that a slot is constructed only when it is used.
	union Slot {
		std::pair<Key, Value> value;
		Key key;
	};

      public:
	explicit FlatTable(size_t wanted);
	void put(const Key &key, const Value &value);

      private:
	signed char *control;
	Slot *slots;
	size_t size = 0, capacity;
};

template <class Key, class Value> FlatTable<Key, Value>::FlatTable(size_t wanted) : capacity(wanted)
{
	size_t before = (capacity + 16 + alignof(Slot) - 1) / alignof(Slot) * alignof(Slot);
	auto *block = static_cast<char *>(::operator new(before + capacity * sizeof(Slot)));

	POOL(void, block);
	memset(block, -128, before);
	control = reinterpret_cast<signed char *>(block);
	slots = reinterpret_cast<Slot *>(block + before);
}

template <class Key, class Value>
void FlatTable<Key, Value>::put(const Key &key, const Value &value)
{
	size_t at = std::hash<Key>{}(key) % capacity;

	while (control[at] >= 0)
		at = (at + 1) % capacity;
	control[at] = static_cast<signed char>(at & 127);
	new (&slots[at].value) std::pair<Key, Value>(key, value);
	log_text(slots[at].value.first);
	log_text(slots[at].value.second.text);
	size++;
}

struct Entry {
	std::string text;
	long count;
};

// --- containers behind void pointers -------------------------------------------

template <class T> struct Allocator {
	Allocator()
	{
	}
	Allocator(const Allocator &)
	{
	}
};

struct Ring {
	Ring *next, *previous;
};

template <class T> class Children : private Allocator<T>
{
      public:
	explicit Children(const Allocator<T> &allocator);

      private:
	Ring *header;
	size_t count = 0;
	void *last = nullptr;
	long changes = 0;
};

template <class T>
__attribute__((noinline)) Children<T>::Children(const Allocator<T> &allocator)
    : Allocator<T>(allocator), header(OF(Ring, new Ring))
{
	header->next = header->previous = header;
}

struct Box {
	explicit Box(int given);
	int number;
	void *children;
};

Box::Box(int given)
    : number(given), children(OF(Children<Box>, new Children<Box>(Allocator<Box>())))
{
}

// --- values that leaked --------------------------------------------------------

class Value
{
      public:
	Value(int number, const std::string &text);

      private:
	uint8_t kind;
	union {
		std::string *text;
		double number;
	} is;
};

__attribute__((noinline)) Value::Value(int number, const std::string &text) : kind(3)
{
	is.text = OF(std::string, new std::string(text + std::to_string(number)));
	log_text(*is.text);
}

// Addresses that the snapshot does not take for pointers.
static uint64_t leaked[LEAKED];

// --- all --------------------------------------------------------------------------

struct World {
	std::vector<Document *> documents;
	std::vector<FlatTable<std::string, Entry> *> tables;
	std::vector<Box *> boxes;
};

static World *world;

template <class T> static void log_vector(const std::vector<T> &vector, const char *type)
{
	log_at(vector.data(), 0, type, vector.capacity());
}

int main(void)
{
	world = OF(World, new World);
	for (int i = 0; i < DOCUMENTS; i++) {
		world->documents.push_back(OF(Document, new Document));
		fill_document(*world->documents.back());
	}
	for (int i = 1; i <= TABLES; i++) {
		typedef FlatTable<std::string, Entry> Table;
		auto *table = static_cast<Table *>(truth_log(new Table(static_cast<size_t>(i) * 8),
							     TRUTH_ARRAY,
							     "FlatTable<std::string, Entry>", 1));

		for (int j = 0; j < i * 6; j++)
			table->put("the key of the entry " + std::to_string(j),
				   Entry{ "the text of the entry " + std::to_string(j), j });
		world->tables.push_back(table);
	}
	for (int i = 0; i < BOXES; i++)
		world->boxes.push_back(OF(Box, new Box(i)));
	for (int i = 0; i < LEAKED; i++)
		leaked[i] = ~reinterpret_cast<uint64_t>(
			OF(Value, new Value(i, "a text that nothing holds ")));
	log_vector(world->documents, "Document *");
	log_vector(world->tables, "FlatTable<std::string, Entry> *");
	log_vector(world->boxes, "Box *");
	truth_capture();
	return leaked[0] == 0;
}
