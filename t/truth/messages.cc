// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Messages as a generator makes them of a schema. A union has a text behind a pointer with a flag, or another
 * message, which is as large as a text's object once the allocator has rounded it. Maps keep their nodes behind void pointers,
 * and only the template in which they are declared tells what these are.
 */
#include "t/truth/library.h"

#include <cstdint>
#include <cstdio>
#include <map>
#include <new>
#include <utility>

enum {
	CITIES = 200,
	PEOPLE = 4,
	BUCKETS = 8,
	FLAG = 2, // of a pointer to a text that the message owns
};

// --- maps --------------------------------------------------------------------------------

template <class K> size_t hash(const K &key);

template <> size_t hash(const int &key)
{
	return static_cast<size_t>(key) * 0x9e3779b97f4a7c15 >> 32;
}

template <> size_t hash(const std::string &key)
{
	size_t result = 5381;

	for (char letter : key)
		result = result * 33 + static_cast<unsigned char>(letter);
	return result;
}

static void log_key(const std::string &key)
{
	log_text(key);
}

static void log_key(int)
{
}

template <class K, class V> class Map
{
	class Table
	{
	      public:
		struct Node {
			std::pair<const K, V> pair;
			Node *next;
		};

		V &at(const char *node_type, const K &key);

	      private:
		size_t count = 0, room = 0;
		void **buckets = nullptr;
	};

	Table table;

      public:
	V &at(const char *node_type, const K &key)
	{
		return table.at(node_type, key);
	}
};

template <class K, class V> V &Map<K, V>::Table::at(const char *node_type, const K &key)
{
	if (room == 0) {
		room = BUCKETS;
		buckets = NEW_ZEROED_ARRAY(void *, BUCKETS);
	}

	size_t bucket = hash(key) % room;
	auto *node = static_cast<Node *>(
		truth_log(::operator new(sizeof(Node)), TRUTH_ARRAY, node_type, 1));

	new (node) Node{ { key, V() }, static_cast<Node *>(buckets[bucket]) };
	buckets[bucket] = node;
	count++;
	log_key(node->pair.first);
	return node->pair.second;
}

// --- messages ----------------------------------------------------------------------------

// A text, behind a pointer with a flag.
struct TaggedText {
	void *pointer;

	void set(const char *kind, int number)
	{
		char buffer[64];

		snprintf(buffer, sizeof(buffer), "the %s that has number %d", kind, number);

		auto *text = OF(std::string, new std::string(buffer));

		log_text(*text);
		pointer = reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(text) | FLAG);
	}
};

class Message
{
      public:
	virtual ~Message() = default;
	virtual const char *kind() const = 0;

	intptr_t metadata = 0;
};

class Point : public Message
{
      public:
	const char *kind() const override
	{
		return "point";
	}

	double x = 0, y = 0;
	int cached_size = 0;
};

class Person : public Message
{
      public:
	const char *kind() const override
	{
		return "person";
	}

	Map<std::string, int> scores;
	TaggedText name;
	int age = 0, cached_size = 0;
	union {
		TaggedText cat;
		Point *dog;
	} pet;
	uint32_t pet_case = 0;
};

class City : public Message
{
      public:
	const char *kind() const override
	{
		return "city";
	}

	Map<int, Person> by_number;
	Map<std::string, std::string> labels;
	TaggedText name;
	Point *at = nullptr;
	Person *people[PEOPLE] = {};
};

struct Land {
	City *cities[CITIES];
	std::map<int, Person> by_age;
};

extern Land *land;
Land *land;

static std::string long_name(const char *kind, int number)
{
	return std::string("a name that is long enough for a ") + kind + std::to_string(number);
}

__attribute__((noinline)) static void fill_person(Person *person, int i)
{
	person->name.set("person", i);
	person->age = i % 90;
	person->scores.at("Map<std::string, int>::Table::Node", long_name("game", i)) = i;
	person->pet_case = i % 3 == 0 ? 5 : 6;
	if (i % 3 == 0) {
		person->pet.cat.set("cat", i);
		return;
	}
	person->pet.dog = OF(Point, new Point());
	person->pet.dog->x = i / 4.0;
}

__attribute__((noinline)) static void fill_city(City *city, int i)
{
	city->name.set("city", i);
	city->at = OF(Point, new Point());
	city->at->y = i / 8.0;
	for (int k = 0; k < PEOPLE; k++) {
		city->people[k] = OF(Person, new Person());
		fill_person(city->people[k], i + k);
	}
	fill_person(&city->by_number.at("Map<int, Person>::Table::Node", i), i);

	std::string &label = city->labels.at("Map<std::string, std::string>::Table::Node",
					     long_name("label", i));

	label = long_name("value", i);
	log_text(label);
}

int main()
{
	land = OF(Land, new Land());
	for (int i = 0; i < CITIES; i++) {
		land->cities[i] = OF(City, new City());
		fill_city(land->cities[i], i);
		Person &person = land->by_age[i];

		log_at(&person, sizeof(std::_Rb_tree_node_base) + 8,
		       "std::_Rb_tree_node<std::pair<int const, Person>>");
		fill_person(&person, i);
	}
	truth_capture();
	return 0;
}
