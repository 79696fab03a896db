// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Maps of anything, whose values no variable of their type ever is loaded from or stored into: functions return them, with
 * their type or without it, and get them where a parameter leads to, which is a variable in the frame. Each of these
 * structs has another one of its size, with contents of the same kinds, that is in no map.
 */
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __clang__
#define OUTLINE __attribute__((noinline))
#else
#define OUTLINE __attribute__((noipa))
#endif

enum {
	SLOTS = 512,
	VALUES = 300,
};

// --- maps

struct slot {
	char *key;
	void *value;
};

struct map {
	size_t count;
	struct slot *slots; // [SLOTS]
};

struct walk {
	const struct map *map;
	size_t at;
};

static unsigned hash(const char *key)
{
	unsigned result = 5381;

	while (*key)
		result = result * 33 + (unsigned char)*key++;
	return result;
}

static OUTLINE void map_put(struct map *map, const char *key, void *value)
{
	size_t at = hash(key) % SLOTS;

	if (!map->slots)
		map->slots = NEW_ZEROED_ARRAY(struct slot, SLOTS);
	while (map->slots[at].key)
		at = (at + 1) % SLOTS;
	map->slots[at].key = TEXT(strdup(key));
	map->slots[at].value = value;
	map->count++;
}

static OUTLINE bool map_get(const struct map *map, const char *key, void **value)
{
	for (size_t at = hash(key) % SLOTS; map->slots[at].key; at = (at + 1) % SLOTS) {
		if (strcmp(map->slots[at].key, key) != 0)
			continue;
		*value = map->slots[at].value;
		return true;
	}
	return false;
}

static OUTLINE bool map_next(struct walk *walk, const char **key, void **value)
{
	while (walk->at < SLOTS && !walk->map->slots[walk->at].key)
		walk->at++;
	if (walk->at == SLOTS)
		return false;
	*key = walk->map->slots[walk->at].key;
	*value = walk->map->slots[walk->at].value;
	walk->at++;
	return true;
}

// --- their values

struct user { // its constructor returns it by its type
	uint64_t id;
	double quota;
	char name[32];
};

struct group { // and this one's as anything
	uint64_t id, members;
	uint64_t mask[8];
};

struct host { // looked up, then cast
	uint64_t seen;
	double load[7];
	uint64_t packets[6];
};

struct route { // looked up by its type
	uint64_t from, to;
	uint64_t costs[16];
};

struct probe { // gone through
	uint64_t due;
	uint64_t results[20];
};

// --- what is of the same sizes

struct printer {
	uint64_t serial;
	double ink;
	char model[32];
};

struct picture {
	uint64_t width, height;
	uint64_t pixels[8];
};

struct planet {
	uint64_t radius;
	double orbit[7];
	uint64_t moons[6];
};

struct tariff {
	uint64_t zone, hour;
	uint64_t prices[16];
};

struct matrix {
	uint64_t rank;
	uint64_t values[20];
};

static struct printer *all_printer[VALUES];
static struct picture *all_picture[VALUES];
static struct planet *all_planet[VALUES];
static struct tariff *all_tariff[VALUES];
static struct matrix *all_matrix[VALUES];

static void twins_make(unsigned i)
{
	all_printer[i] = NEW_ZEROED(struct printer);
	all_printer[i]->serial = i + 7;
	all_printer[i]->ink = i / 4.0;
	snprintf(all_printer[i]->model, sizeof(all_printer[i]->model), "model %u", i);
	all_picture[i] = NEW_ZEROED(struct picture);
	all_picture[i]->width = i * 3;
	all_picture[i]->pixels[3] = i;
	all_planet[i] = NEW_ZEROED(struct planet);
	all_planet[i]->radius = i * 100;
	all_planet[i]->orbit[2] = i * 1.5;
	all_tariff[i] = NEW_ZEROED(struct tariff);
	all_tariff[i]->zone = i % 9;
	all_tariff[i]->prices[8] = i * 17;
	all_matrix[i] = NEW_ZEROED(struct matrix);
	all_matrix[i]->rank = i % 5;
	all_matrix[i]->values[13] = i;
}

// --- making and using them

static struct map users, groups, hosts, routes, probes;

static OUTLINE struct user *user_new(unsigned i)
{
	struct user *user = NEW_ZEROED(struct user);

	user->id = i;
	user->quota = i * 0.25;
	snprintf(user->name, sizeof(user->name), "user %u", i);
	return user;
}

static OUTLINE void *group_new(unsigned i)
{
	struct group *group = NEW_ZEROED(struct group);

	group->id = i;
	group->members = i % 12;
	group->mask[i % 8] = i;
	return group;
}

static OUTLINE void *host_new(unsigned i)
{
	struct host *host = NEW_ZEROED(struct host);

	host->seen = i;
	host->load[i % 7] = i / 3.0;
	host->packets[i % 6] = i;
	return (char *)host + 0 * i;
}

static OUTLINE void *route_new(unsigned i)
{
	struct route *route = NEW_ZEROED(struct route);

	route->from = i;
	route->to = i * 7 % VALUES;
	route->costs[i % 16] = i;
	return (char *)route + 0 * i;
}

static OUTLINE void *probe_new(unsigned i)
{
	struct probe *probe = NEW_ZEROED(struct probe);

	probe->due = i * 60;
	probe->results[i % 20] = i;
	return (char *)probe + 0 * i;
}

static OUTLINE double host_load(const char *name)
{
	void *value;

	if (!map_get(&hosts, name, &value))
		return 0;
	struct host *host = value;

	return host->load[0] + (double)host->seen;
}

static OUTLINE uint64_t route_cost(const char *name)
{
	struct route *route;

	if (!map_get(&routes, name, (void **)&route))
		return 0;
	return route->costs[0] + route->to;
}

static OUTLINE uint64_t probes_due(uint64_t after)
{
	struct walk walk = { &probes, 0 };
	const char *key;
	void *value;
	uint64_t sum = 0;

	while (map_next(&walk, &key, &value)) {
		const struct probe *probe = value;

		if (probe->due > after)
			sum += probe->due + (unsigned char)*key;
	}
	return sum;
}

static double twins_sum(void)
{
	double sum = 0;

	for (int i = 0; i < VALUES; i++)
		sum += (double)(all_printer[i]->serial + all_picture[i]->width +
				all_planet[i]->radius + all_tariff[i]->zone + all_matrix[i]->rank);
	return sum;
}

int main(void)
{
	double sum = 0;
	char key[40];

	for (unsigned i = 0; i < VALUES; i++) {
		twins_make(i);
		snprintf(key, sizeof(key), "the key %u", i * 31);
		map_put(&users, key, user_new(i));
		map_put(&groups, key, group_new(i));
		map_put(&hosts, key, host_new(i));
		map_put(&routes, key, route_new(i));
		map_put(&probes, key, probe_new(i));
		sum += host_load(key) + (double)route_cost(key);
	}
	sum += (double)probes_due(100);
	truth_capture();
	printf("%g\n", sum + twins_sum());
	return 0;
}
