// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Lists that share their elements: each has a pointer to a block's header, one to the elements behind it, and their number.
 * Some have room for more elements, where anything may be. Nothing but elements leads to what they own.
 */
#include "t/truth/library.h"

#include <cstdint>
#include <cstdio>
#include <new>

enum {
	LISTS = 90,
	MANY = 700,
};

struct Header {
	int references;
	uint32_t flags;
	size_t room;
};

template <class T> struct Block : Header {
};

// Keeps its elements where others with the same ones have them.
template <class T> class Shared
{
      public:
	void put(const T &value)
	{
		if (!block || count == block->room)
			grow();
		new (&first[count++]) T(value);
	}

      private:
	void grow()
	{
		size_t room = block ? 2 * block->room : 2;
		auto *more = static_cast<Block<T> *>(malloc(sizeof(Header) + room * sizeof(T)));
		T *elements = reinterpret_cast<T *>(more + 1);

		POOL(void, more);
		for (size_t i = 0; i < count; i++)
			new (&elements[i]) T(first[i]);
		if (block)
			FREE(block);
		more->references = 1;
		more->flags = 0;
		more->room = room;
		block = more;
		first = elements;
	}

	Block<T> *block = nullptr;
	T *first = nullptr;
	size_t count = 0;
};

struct Badge {
	double amount;
	int level, rank;
};

struct Place {
	long north, east;
	char *name;
};

struct Employee {
	char *name;
	Badge *badge;
	Shared<Place *> places;
	long age;
};

struct Group {
	long number;
	Shared<Employee> employees;
	Shared<Badge *> badges;
};

static Shared<Employee> everybody;
static Group *groups[LISTS];

static char *new_text(const char *what, int number)
{
	char *text = NEW_TEXT(40);

	snprintf(text, 40, "the %s of number %d", what, number);
	return text;
}

static Badge *new_badge(int number)
{
	Badge *badge = NEW(Badge);

	*badge = Badge{ number * 0.5, number % 7, number % 3 };
	return badge;
}

static Place *new_place(int number)
{
	Place *place = NEW(Place);

	*place = Place{ number, 2L * number, new_text("place", number) };
	return place;
}

static Employee new_employee(int number)
{
	Employee employee = { new_text("employee", number), new_badge(number), {}, number % 70 };

	for (int i = 0; i < number % 5; i++)
		employee.places.put(new_place(i));
	return employee;
}

int main()
{
	for (int i = 0; i < MANY; i++)
		everybody.put(new_employee(i));
	for (int i = 0; i < LISTS; i++) {
		groups[i] = new (NEW(Group)) Group();
		groups[i]->number = i;
		for (int k = 0; k <= i % 6; k++) {
			groups[i]->employees.put(new_employee(k));
			groups[i]->badges.put(new_badge(k));
		}
	}
	truth_capture();
	printf("%ld\n", groups[0]->number);
	return 0;
}
