// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Objects of classes that are made as the program runs: a class is a block, with the functions that its objects have, and
 * only void pointers lead to objects. One function makes those of all classes, by their size.
 */
#include "t/truth/classes.h"
#include "t/truth/random.h"

#include <stdio.h>

enum {
	OBJECTS = 4000,
};

struct bytes {
	void *data;
	size_t size;
};

struct person {
	struct object object;
	char *name;
	struct bytes *key;
};

struct link {
	struct link *next;
	void *object;
};

struct team {
	struct object object;
	struct link *members;
	unsigned count;
	double points;
};

struct match {
	struct object object;
	struct team *home, *away;
	int goals[4];
	char *place;
};

static void **objects;

__attribute__((noinline)) static void *create(struct class *class)
{
	struct object *object = calloc(1, class->size);

	object->class = class;
	object->references = 1;
	return object;
}

static void clear_person(void *object)
{
	struct person *person = object;

	FREE(person->name);
	FREE(person->key->data);
	FREE(person->key);
}

static void describe_person(const void *object)
{
	const struct person *person = object;

	printf("%s\n", person->name);
}

static void clear_team(void *object)
{
	struct team *team = object;

	for (struct link *link = team->members, *next; link; link = next) {
		next = link->next;
		FREE(link);
	}
}

static void describe_team(const void *object)
{
	const struct team *team = object;

	printf("%u %g\n", team->count, team->points);
}

static void clear_match(void *object)
{
	struct match *match = object;

	FREE(match->place);
}

static void describe_match(const void *object)
{
	const struct match *match = object;

	printf("%s %d\n", match->place, match->goals[0]);
}

static struct bytes *new_bytes(size_t size)
{
	struct bytes *bytes = NEW(struct bytes);

	bytes->data = truth_log(malloc(size), TRUTH_TEXT, "char", size);
	bytes->size = size;
	for (size_t i = 0; i < size; i++)
		((unsigned char *)bytes->data)[i] = (unsigned char)(next() | 128);
	return bytes;
}

static void *new_person(struct class *class, unsigned number)
{
	struct person *person = OF(struct person, create(class));

	person->name = new_text("person", number);
	person->key = new_bytes(number % 3 ? 4 : 18);
	return person;
}

static void *new_team(struct class *class, void **persons, unsigned count)
{
	struct team *team = OF(struct team, create(class));

	for (unsigned i = 0; i < 3; i++) {
		struct link *link = NEW(struct link);

		*link = (struct link){ team->members, persons[next() % count] };
		team->members = link;
		team->count++;
	}
	team->points = 0.5 * (double)count;
	return team;
}

static void *new_match(struct class *class, void *home, void *away, unsigned number)
{
	struct match *match = OF(struct match, create(class));

	match->home = home;
	match->away = away;
	match->goals[0] = (int)(number % 5);
	match->place = new_text("place", number);
	return match;
}

int main(void)
{
	struct class *persons =
		new_class("person", sizeof(struct person), clear_person, describe_person);
	struct class *teams = new_class("team", sizeof(struct team), clear_team, describe_team);
	struct class *matches =
		new_class("match", sizeof(struct match), clear_match, describe_match);

	objects = NEW_ZEROED_ARRAY(void *, OBJECTS);
	for (unsigned i = 0; i < OBJECTS; i++) {
		if (i % 4 < 2)
			objects[i] = new_person(persons, i);
		else if (i % 4 == 2)
			objects[i] = new_team(teams, objects, 1 + i / 4 % 2);
		else
			objects[i] = new_match(matches, objects[i - 1], objects[i / 8 * 4 + 2], i);
	}
	truth_capture();
	use_first(objects, 4);
	return 0;
}
