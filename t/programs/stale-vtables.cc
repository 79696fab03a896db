// SPDX-License-Identifier: GPL-3.0-or-later
// Maps in blocks of objects that were deleted. A map leaves the first word of its block alone, where the pointer to
// the vtable of such an object remains.
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

std::vector<Value> documents;
std::vector<std::unique_ptr<std::set<long>>> sets;
std::vector<std::unique_ptr<Shape>> shapes;

void delete_squares()
{
	std::vector<std::unique_ptr<Shape>> squares;

	for (int i = 0; i < 4 * DOCUMENTS; i++)
		squares.push_back(std::make_unique<Square>());
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
	std::puts("ready");
	std::fflush(stdout);
	return std::getchar();
}
