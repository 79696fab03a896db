// SPDX-License-Identifier: GPL-3.0-or-later
// A known heap of C++: containers, virtual classes, owners. t/end-to-end/containers.t has the numbers.
#include <cstdio>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace geometry
{
struct shape {
	virtual ~shape() = default;
	virtual double area() const = 0;
	int id = 0;
};

struct circle : shape {
	double radius = 1;
	double area() const override
	{
		return 3.14 * radius * radius;
	}
};

struct square : shape {
	double side = 2;
	std::string label;
	double area() const override
	{
		return side * side;
	}
};
} // namespace geometry

struct item {
	int number;
	double price;
	item *related;
};

static std::vector<item> items;
static std::vector<geometry::shape *> shapes;
static std::map<int, std::string> names;
static std::list<item> queue;
static std::unique_ptr<item> owned;
std::string long_text;

int main()
{
	std::setvbuf(stdin, nullptr, _IONBF, 0);
	std::setvbuf(stdout, nullptr, _IONBF, 0);
	items.resize(50);
	items[3].number = 33;
	items[3].related = new item{ 7, 2.5, nullptr };
	for (int i = 0; i < 12; i++) {
		if (i % 3) {
			auto *circle = new geometry::circle;
			circle->id = i;
			shapes.push_back(circle);
		} else {
			auto *square = new geometry::square;
			square->id = i;
			square->label = "a label that is too long for the small buffer";
			shapes.push_back(square);
		}
	}
	for (int i = 0; i < 20; i++)
		names[i] = "name " + std::to_string(i);
	for (int i = 0; i < 9; i++)
		queue.push_back(item{ i, 1.5 * i, nullptr });
	owned = std::make_unique<item>(item{ 99, 9.75, nullptr });
	long_text = std::string(100, 'x');
	std::puts("ready");
	std::fflush(stdout);
	std::getchar();
	std::printf("done %zu\n", items.size() + shapes.size());
	return 0;
}
