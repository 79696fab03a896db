// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Alarms in a heap whose links are the first member of an alarm: nothing but the address of its callback tells what a
 * link begins.
 */
#include "t/truth/truth.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
	ALARMS = 200,
};

struct link {
	struct link *child, *sibling, *previous;
};

struct alarm {
	struct link link;
	uint64_t due;
	void (*ring)(uintptr_t argument);
	uintptr_t argument;
};

static struct link *alarms;
static uintptr_t rung;

static void ring_once(uintptr_t argument)
{
	rung += argument;
}

static void ring_twice(uintptr_t argument)
{
	rung += 2 * argument;
}

static struct alarm *alarm_of(struct link *link)
{
	return (struct alarm *)((char *)link - offsetof(struct alarm, link));
}

static struct link *meld(struct link *one, struct link *other)
{
	if (!one)
		return other;
	if (alarm_of(other)->due < alarm_of(one)->due) {
		struct link *later = one;

		one = other;
		other = later;
	}
	other->sibling = one->child;
	if (one->child)
		one->child->previous = other;
	other->previous = one;
	one->child = other;
	return one;
}

int main(void)
{
	for (unsigned i = 0; i < ALARMS; i++) {
		struct alarm *alarm = NEW_ZEROED(struct alarm);

		alarm->due = i * 7919 % 1000;
		alarm->ring = i % 2 ? ring_once : ring_twice;
		alarm->argument = i;
		alarms = meld(alarms, &alarm->link);
	}
	truth_capture();
	alarm_of(alarms)->ring(alarm_of(alarms)->argument);
	printf("%lu\n", (unsigned long)rung);
	return 0;
}
