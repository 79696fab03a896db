// SPDX-License-Identifier: GPL-3.0-or-later
// Vectors whose elements many pointers lead to: they belong to their owners all the same.
#include <cstdio>
#include <list>
#include <vector>

struct Item {
	long number = 0;
	Item *next = nullptr;
	double weight = 1.5;
};

struct Owner {
	std::vector<Item> items;
	long number = 0;
};

static std::list<Owner> owners;
static std::vector<Item *> picked;

int main()
{
	std::setvbuf(stdin, nullptr, _IONBF, 0);
	std::setvbuf(stdout, nullptr, _IONBF, 0);
	for (long i = 0; i < 10; i++) {
		owners.emplace_back();
		Owner &owner = owners.back();

		owner.number = i;
		for (long j = 0; j < 13; j++)
			owner.items.push_back(Item{ i * 100 + j, nullptr, 2.5 });
		for (std::size_t j = 0; j + 1 < owner.items.size(); j++)
			owner.items[j].next = &owner.items[j + 1];
	}
	for (Owner &owner : owners) {
		for (Item &item : owner.items)
			picked.push_back(&item);
	}
	std::puts("ready");
	std::getchar();
	std::printf("%ld\n", owners.front().items[0].next->number + picked[7]->number);
	return 0;
}
