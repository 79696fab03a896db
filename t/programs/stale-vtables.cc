// SPDX-License-Identifier: GPL-3.0-or-later
// Maps in blocks of objects that were deleted. A map leaves its first word alone, where the pointer to the vtable of
// such an object remains, or one to what it has led to.
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace
{

enum {
	DOCUMENTS = 20,
	FIELDS = 3,
	SHAPES = 5,
};

struct Shape {
	virtual ~Shape() = default;
	virtual int sides() const
	{
		return 0;
	}
	long corners[5] = {};
};

struct Square : Shape {
	int sides() const override
	{
		return 4;
	}
};

struct Field {
	int number;
};

// As in libraries for JSON.
struct Value {
	enum {
		TABLE,
		LIST,
		KEYS
	} kind = LIST;
	union {
		std::map<int, Field> *table;
		std::vector<Field> *list;
		std::set<int> *keys;
	};
};

struct Item {
	long number;
};

struct Index {
	std::map<int, Field> fields;
	std::set<long> keys;
};

std::vector<Value> documents;
std::vector<std::unique_ptr<Item>> items;
std::vector<std::unique_ptr<Index>> indexes;
std::vector<std::unique_ptr<std::set<long>>> sets;
std::vector<std::unique_ptr<Shape>> shapes;

void delete_squares()
{
	std::vector<std::unique_ptr<Shape>> squares;

	for (int i = 0; i < 4 * DOCUMENTS; i++)
		squares.push_back(std::make_unique<Square>());
}

// Leaves pointers to items in each word of free blocks.
void leave_pointers()
{
	struct Leads {
		Item *to[sizeof(Index) / sizeof(Item *)];
	};
	std::vector<std::unique_ptr<Leads>> list;

	for (int i = 0; i < DOCUMENTS; i++)
		items.push_back(std::make_unique<Item>());
	for (int i = 0; i < 2 * DOCUMENTS; i++) {
		list.push_back(std::make_unique<Leads>());
		for (Item *volatile &word : list.back()->to)
			word = items[i % DOCUMENTS].get();
	}
}

void fill_indexes()
{
	for (int i = 0; i < DOCUMENTS; i++) {
		indexes.emplace_back(new Index);
		for (int key = 0; key < i % 3; key++) {
			indexes.back()->fields[key].number = key;
			indexes.back()->keys.insert(key);
		}
	}
}

void fill()
{
	static_assert(sizeof(Square) == sizeof(std::map<int, Field>), "their blocks are alike");
	documents.resize(DOCUMENTS);
	for (Value &value : documents) {
		value.kind = Value::TABLE;
		value.table = new std::map<int, Field>;
		sets.push_back(std::make_unique<std::set<long>>());
		for (int i = 0; i < FIELDS; i++) {
			(*value.table)[i].number = i;
			sets.back()->insert(i);
		}
	}
	for (int i = 0; i < SHAPES; i++)
		shapes.push_back(std::make_unique<Square>());
}

} // namespace

int main()
{
	documents.reserve(DOCUMENTS);
	sets.reserve(DOCUMENTS);
	delete_squares();
	fill();
	items.reserve(DOCUMENTS);
	indexes.reserve(DOCUMENTS);
	leave_pointers();
	fill_indexes();
	std::puts("ready");
	std::fflush(stdout);
	return std::getchar();
}
