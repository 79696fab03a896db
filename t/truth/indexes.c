// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Stations in a tree of tsearch(3), and copies of any bytes in others: libc's nodes have void pointers to both. libc casts its
 * own keys in such trees to a struct of its own that ends in an array of any length, so that any block might be one.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <search.h>
#include <stdio.h>

enum {
	STATIONS = 400,
	COPIES = 900,
};

struct station {
	char *name;
	double latitude, longitude;
	unsigned platforms;
	unsigned short zone;
	struct station *beside;
};

struct measure {
	unsigned long at;
	unsigned sensor, count;
	unsigned values[36];
};

static void *stations, *copies;
static size_t length;

static int compare_stations(const void *one, const void *other)
{
	const struct station *left = one, *right = other;

	return strcmp(left->name, right->name);
}

static int compare_bytes(const void *one, const void *other)
{
	return memcmp(one, other, length);
}

static void add_station(int number)
{
	struct station *station = NEW_ZEROED(struct station);

	station->name = NEW_TEXT(24);
	snprintf(station->name, 24, "station %d", number * 7919 % STATIONS);
	station->latitude = 45 + (double)(next() % 1000) / 999;
	station->longitude = 8 + (double)(next() % 1000) / 777;
	station->platforms = 1 + next() % 20;
	station->zone = (unsigned short)(next() % 5);
	tsearch(station, &stations, compare_stations);
}

// Copies bytes into the tree of all that have that length, if they are not there yet.
__attribute__((noinline)) static void intern(const void *bytes, size_t size)
{
	const void *const *found;

	length = size;
	found = tfind(bytes, &copies, compare_bytes);
	if (!found)
		tsearch(memcpy(truth_log(malloc(size), TRUTH_ARRAY, "struct measure", 1), bytes,
			       size),
			&copies, compare_bytes);
}

static struct measure last;

__attribute__((noinline)) static void measure(void)
{
	last.at = next() % 100000;
	last.sensor = next() % 7;
	last.count = 3;
	for (unsigned i = 0; i < last.count; i++)
		last.values[i] = next() % 3;
	intern(&last, sizeof(last));
}

int main(void)
{
	for (int i = 0; i < STATIONS; i++)
		add_station(i);
	for (int i = 0; i < COPIES; i++)
		measure();
	truth_capture();
	return stations == NULL || copies == NULL;
}
