// SPDX-License-Identifier: GPL-3.0-or-later
// A unit test with cmocka that fails if a queue keeps what has been taken from it.
//
//	cc -g -o growth-cmocka growth-cmocka.c -lcmocka
//	heapsnap run -- ./growth-cmocka
//
// With -DLEAK the queue does.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define HEAPSNAP_FAIL(message) fail_msg("%s", message)
#include <heapsnap.h>

#include <stdlib.h>

struct entry {
	struct entry *next;
	int value;
};

struct queue {
	struct entry *first;
	struct entry *taken; // to be used again
};

static struct queue queue;

static void queue_add(int value)
{
	struct entry *entry = malloc(sizeof(*entry));

	*entry = (struct entry){ .next = queue.first, .value = value };
	queue.first = entry;
}

static int queue_take(void)
{
	struct entry *entry = queue.first;
	int value = entry->value;

	queue.first = entry->next;
#ifdef LEAK
	entry->next = queue.taken;
	queue.taken = entry;
#else
	free(entry);
#endif
	return value;
}

static void a_queue_gives_back_what_it_takes(void **state)
{
	(void)state;
	HEAPSNAP_EXPECT_NO_GROWTH
	{
		queue_add(42);
		assert_int_equal(queue_take(), 42);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_queue_gives_back_what_it_takes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
