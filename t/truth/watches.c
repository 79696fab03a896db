// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A static table of contexts of two kinds. Code gets those of one kind by a variadic function, so that no cast tells of them: what
 * has allocated them does.
 */
#include "t/truth/truth.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __clang__
#define OUTLINE __attribute__((noinline))
#else
#define OUTLINE __attribute__((noipa))
#endif

struct timer {
	uint64_t number, due;
	uint64_t every, fired;
};
struct counter {
	uint64_t id, hits;
	uint64_t misses, bytes;
};
static struct {
	void *context;
	int kind;
} watches[400];
OUTLINE static void *timer_new(unsigned i)
{
	struct timer *t = NEW_ZEROED(struct timer);
	t->number = i;
	t->due = i * 7;
	t->every = 10;
	return t;
}
OUTLINE static void *counter_new(unsigned i)
{
	struct counter *t = NEW_ZEROED(struct counter);
	t->id = i;
	t->hits = i * 7;
	t->bytes = 10;
	return t;
}
OUTLINE static uint64_t timer_due(unsigned i)
{
	const struct timer *t = watches[i].context;
	return t->due + t->every;
}
OUTLINE static uint64_t count(int n, ...)
{
	va_list l;
	va_start(l, n);
	struct counter *c = va_arg(l, struct counter *);
	va_end(l);
	return c->hits + c->bytes;
}
int main(void)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < 400; i++) {
		watches[i].kind = i % 2;
		watches[i].context = i % 2 ? counter_new(i) : timer_new(i);
	}
	for (unsigned i = 0; i < 400; i++)
		sum += i % 2 ? count(1, watches[i].context) : timer_due(i);
	truth_capture();
	printf("%lu\n", sum);
	return 0;
}
