// SPDX-License-Identifier: GPL-3.0-or-later
// Alarms with callbacks, which alone tell what the void pointers beside them lead to: 40 lamps and 40 bells.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	ALARMS = 80,
};

struct lamp {
	double power;
	long switched;
};

struct bell {
	long rings;
	long volume;
	long broken;
	long repaired;
};

struct alarm {
	void (*ring)(void *);
	void *argument;
	struct alarm *next;
};

static struct alarm *alarms;

static void light(void *argument)
{
	struct lamp *lamp = argument;

	lamp->switched++;
}

static void toll(void *argument)
{
	struct bell *bell = argument;

	bell->rings++;
}

static void *make_lamp(void)
{
	struct lamp *lamp = calloc(1, sizeof(*lamp));

	lamp->power = 40.5;
	return lamp;
}

static void *make_bell(void)
{
	struct bell *bell = calloc(1, sizeof(*bell));

	bell->volume = 3;
	return bell;
}

int main(void)
{
	for (int i = 0; i < ALARMS; i++) {
		struct alarm *alarm = malloc(sizeof(*alarm));

		alarm->ring = i % 2 ? light : toll;
		alarm->argument = i % 2 ? make_lamp() : make_bell();
		alarm->next = alarms;
		alarms = alarm;
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF) {
		for (struct alarm *alarm = alarms; alarm; alarm = alarm->next)
			alarm->ring(alarm->argument);
	}
	return 0;
}
