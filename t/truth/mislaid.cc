// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * C++ objects without virtual functions that nothing leads to: their strings, containers and owners lead on.
 */
#include "t/truth/truth.h"

#include <cstdio>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

enum {
	CUSTOMERS = 2000,
	KEPT = 40, // customers that are in use
	STOPS = 1500,
	VISITORS = 600,
};

struct Address {
	std::string street, town;
	int number;
};

struct Customer {
	long id;
	std::string name;
	std::vector<int> orders;
	Address *address;
	std::map<int, std::string> notes;
};

// A list through its own pointers, whose addresses are owned. All letters are in the strings.
struct Stop {
	Stop *next;
	double distance;
	std::unique_ptr<Address> where;
};

// Its containers may be empty: then its pointers lead to itself.
struct Visitor {
	std::list<long> visits;
	std::map<long, Address *> hosts;
	std::string name;
	unsigned badge;
};

static std::unordered_map<std::string, Customer *> *customers;

template <typename T> static T *log(T *object, const char *type)
{
	return static_cast<T *>(truth_log(object, TRUTH_ARRAY, type, 1));
}

static __attribute__((noinline)) void forget(int i)
{
	auto *customer = log(
		new Customer{
			i, "customer of number " + std::to_string(i), { 1, 2, 3 }, nullptr, {} },
		"struct Customer");

	customer->address =
		log(new Address{ "a street with a long name", "town", i }, "struct Address");
	customer->notes[1] = "a note that is longer than its string";
	if (i % (CUSTOMERS / KEPT) == 0)
		(*customers)[customer->name] = customer;
}

static __attribute__((noinline)) void travel(int count)
{
	Stop *first = nullptr;

	for (int i = 0; i < count; i++) {
		auto *address = log(new Address{ "street", "town", i }, "struct Address");

		first = log(new Stop{ first, 0.5 * i, std::unique_ptr<Address>(address) },
			    "struct Stop");
	}
	asm volatile("" : : "r"(first));
}

static __attribute__((noinline)) void welcome(unsigned i)
{
	auto *visitor = log(new Visitor{ {}, {}, i % 2 ? "guest" : "a guest with a long name", i },
			    "struct Visitor");

	asm volatile("" : : "r"(visitor));
}

int main()
{
	customers = new std::unordered_map<std::string, Customer *>;
	for (int i = 0; i < CUSTOMERS; i++)
		forget(i);
	travel(STOPS);
	for (unsigned i = 0; i < VISITORS; i++)
		welcome(i);
	truth_capture();
	return 0;
}
