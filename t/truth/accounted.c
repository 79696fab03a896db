// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * An allocator that keeps account: before each block is its size, which nothing but the allocator's own code knows. All
 * is in lists, so that each node is known by the one before it, and each has that prefix.
 */
#include "t/truth/truth.h"

#include <stdio.h>

enum {
	ROUTES = 900,
	STOPS = 3, // of each route
	PREFIX = sizeof(size_t)
};

struct stop {
	struct stop *next;
	char *name;
	double latitude, longitude;
};

struct route {
	int number;
	char *title;
	struct stop *stops;
	struct route *next;
};

static struct route *routes;
static size_t used; // bytes

// The size is that of the block.
static void *allocate(size_t size)
{
	size_t *block = malloc(PREFIX + size);

	*block = size;
	used += size;
	return block + 1;
}

static void *log_behind(void *object, const char *type)
{
	truth_log((char *)object - PREFIX, TRUTH_BEHIND, type, PREFIX);
	return object;
}

static char *make_text(const char *kind, int number)
{
	char *text = log_behind(allocate(24), "char");

	snprintf(text, 24, "%s %d", kind, number);
	return text;
}

static void add_stop(struct route *route, int number)
{
	struct stop *stop = log_behind(allocate(sizeof(*stop)), "struct stop");

	stop->name = make_text("Station", number);
	stop->latitude = 48.0 + number / 1000.0;
	stop->longitude = 9.0 + number / 500.0;
	stop->next = route->stops;
	route->stops = stop;
}

static void add_route(int number)
{
	struct route *route = log_behind(allocate(sizeof(*route)), "struct route");

	route->number = number;
	route->title = make_text("Linie", number);
	route->stops = NULL;
	for (int i = 0; i < STOPS; i++)
		add_stop(route, number * STOPS + i);
	route->next = routes;
	routes = route;
}

static int count_stops(void)
{
	int count = 0;

	for (const struct route *route = routes; route; route = route->next)
		for (const struct stop *stop = route->stops; stop; stop = stop->next)
			count++;
	return count;
}

int main(void)
{
	for (int i = 0; i < ROUTES; i++)
		add_route(i);
	truth_capture();
	return count_stops() != ROUTES * STOPS || used == 0;
}
