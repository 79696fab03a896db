// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Templates that are but a thin layer over containers of void pointers: arrays and lists of pointers, vectors whose elements lie behind
 * a void pointer, and lists whose cells hold small values themselves. What a container holds is known by its argument alone.
 */
#include "t/truth/library.h"

#include <cstdint>
#include <cstdio>
#include <new>

enum {
	PEOPLE = 300,
	PLACES = 250,
	EVENTS = 200,
	NAMES = 350,
	ROUTES = 60,
	STOPS = 20,
};

// --- arrays of void pointers -------------------------------------------------------

class AnyArray
{
      protected:
	void add(void *item);
	void **items = nullptr;
	size_t count = 0, room = 0;
};

__attribute__((noinline)) void AnyArray::add(void *item)
{
	if (count == room) {
		room = room ? 2 * room : 8;
		items = RENEW_ARRAY(void *, items, room);
	}
	items[count++] = item;
}

template <class T> class ArrayOf : private AnyArray
{
      public:
	void append(T *item)
	{
		add(item);
	}
	T *at(size_t i) const
	{
		return static_cast<T *>(items[i]);
	}
};

// --- lists of void pointers, behind a pointer -----------------------------------------

struct Cell {
	Cell *next;
	void *item;
};

struct AnyList {
	Cell *first;
	size_t count;

	void add(void *item);
};

__attribute__((noinline)) void AnyList::add(void *item)
{
	auto *cell = OF(Cell, static_cast<Cell *>(malloc(sizeof(Cell))));

	cell->next = first;
	cell->item = item;
	first = cell;
	count++;
}

// Values as small as a pointer lie in the cells themselves.
template <class T> class ListOf
{
      public:
	ListOf() : list(OF(AnyList, new AnyList()))
	{
	}
	void add(T *item)
	{
		list->add(item);
	}
	void add(const T &value)
	{
		void *word;

		static_assert(sizeof(T) == sizeof(word), "");
		memcpy(&word, &value, sizeof(word));
		list->add(word);
	}

      private:
	AnyList *list;
};

// --- vectors whose elements are behind a void pointer -----------------------------------

class AnyVector
{
      protected:
	void *begin = nullptr;
	unsigned size = 0, capacity = 0;

	void grow(size_t bytes, const char *type);
};

__attribute__((noinline)) void AnyVector::grow(size_t bytes, const char *type)
{
	capacity = capacity ? 2 * capacity : 4;
	begin = truth_moved(truth_forget(begin), realloc(begin, capacity * bytes), TRUTH_ARRAY,
			    type, capacity);
}

template <class T> class VectorOf : AnyVector
{
      public:
	void append(const char *type, const T &value)
	{
		if (size == capacity)
			grow(sizeof(T), type);
		new (static_cast<T *>(begin) + size++) T(value);
	}
};

// --- what they hold -----------------------------------------------------------------------

struct Person {
	char *name;
	int age;
	double height;
};

struct Place {
	char *name;
	double latitude, longitude;
};

struct Event {
	Place *where;
	long when;
	int guests;
};

struct Text {
	char *text;
};

struct Stop {
	Place *place;
	uint32_t arrival, departure;
};

struct Route {
	char *name;
	VectorOf<Stop> stops;
	ArrayOf<Person> staff;
};

struct Guide {
	ArrayOf<Person> people;
	ArrayOf<Place> places;
	ListOf<Event> events;
	ListOf<Text> names;
	ListOf<Route> routes;
};

extern Guide *guide;
Guide *guide;

static char *text(const char *kind, int number)
{
	char buffer[32];

	snprintf(buffer, sizeof(buffer), "%s %d", kind, number);
	return TEXT(strdup(buffer));
}

static void add_person(int i)
{
	auto *person = OF(Person, new Person());

	person->name = text("person", i);
	person->age = i % 90;
	person->height = 1 + i / 400.0;
	guide->people.append(person);
}

static void add_place(int i)
{
	auto *place = OF(Place, new Place());

	place->name = text("place", i);
	place->latitude = i / 3.0;
	place->longitude = -i / 7.0;
	guide->places.append(place);
}

static void add_event(int i)
{
	auto *event = OF(Event, new Event());

	event->where = guide->places.at(static_cast<size_t>(i % PLACES));
	event->when = 1700000000L + i;
	event->guests = i;
	guide->events.add(event);
}

static void add_route(int i)
{
	auto *route = OF(Route, new Route());

	route->name = text("route", i);
	for (int k = 0; k < 1 + i % STOPS; k++) {
		Stop stop = { guide->places.at(static_cast<size_t>((i * 7 + k) % PLACES)),
			      static_cast<uint32_t>(k), static_cast<uint32_t>(k + 1) };

		route->stops.append("Stop", stop);
	}
	for (int k = 0; k < 3; k++)
		route->staff.append(guide->people.at(static_cast<size_t>((i + k) % PEOPLE)));
	guide->routes.add(route);
}

int main()
{
	guide = OF(Guide, new Guide());
	for (int i = 0; i < PEOPLE; i++)
		add_person(i);
	for (int i = 0; i < PLACES; i++)
		add_place(i);
	for (int i = 0; i < EVENTS; i++)
		add_event(i);
	for (int i = 0; i < NAMES; i++)
		guide->names.add(Text{ text("name", i) });
	for (int i = 0; i < ROUTES; i++)
		add_route(i);
	truth_capture();
	return 0;
}
