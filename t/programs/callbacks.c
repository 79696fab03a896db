// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Timers with callbacks, names and tags, for searches by function, text and local variable.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct timer {
	struct timer *next;
	void (*call)(int);
	const char *name;
	char tag[8]; // filled, without a NUL
	void *argument;
};

static struct timer *timers;
static unsigned total;

static void bump(int by)
{
	total += (unsigned)by;
}

static void on_timeout(int by)
{
	total -= (unsigned)by;
}

static struct timer *add(int number)
{
	struct timer *timer = calloc(1, sizeof(*timer));

	timer->call = number % 2 ? bump : on_timeout;
	timer->name = strdup(number % 2 ? "Hello World" : "hello world, GET /api/x");
	memcpy(timer->tag, "ABCDEFGH", sizeof(timer->tag));
	timer->next = timers;
	timers = timer;
	return timer;
}

int main(void)
{
	struct timer *mine = NULL;

	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < 5; i++)
		mine = add(i);
	puts("ready");
	getchar();
	for (struct timer *timer = timers; timer; timer = timer->next)
		timer->call(1);
	printf("%u %d\n", total, mine == timers);
	return 0;
}
