// SPDX-License-Identifier: GPL-3.0-or-later
// Queues of claims: the same objects, be they few or many.
#include "t/unit/unit.h"

#include "dumper/writer/infer/claim_queue.h"

#include <stdlib.h>

enum {
	OBJECTS = 100000,
	FEW = 1000,
	MANY = 50000,
	STRIDE = 7919, // a prime: each object is added once
};

static heap_object_id make_object(uint32_t i)
{
	return (heap_object_id)((uint64_t)i * STRIDE % OBJECTS);
}

static void add(struct claim_queue *queue, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		assert_null(claim_queue_add(queue, make_object(i)));
	assert_int_equal(queue->count, count);
}

// Drops each second object, and visits the others.
static uint32_t visit(struct claim_queue *queue, bool *seen)
{
	size_t end = claim_queue_end(queue), at;
	uint32_t count = 0;

	for (at = claim_queue_next(queue, 0, end); at < end;
	     at = claim_queue_next(queue, at + 1, end)) {
		if (count++ % 2)
			claim_queue_drop(queue, at);
	}
	count = 0;
	for (at = claim_queue_next(queue, 0, end); at < end;
	     at = claim_queue_next(queue, at + 1, end)) {
		assert_false(seen[claim_queue_object(queue, at)]);
		seen[claim_queue_object(queue, at)] = true;
		count++;
	}
	return count;
}

static void few_are_in_the_order_in_which_they_came(void **state)
{
	struct claim_queue queue = claim_queue_make(OBJECTS);
	bool *seen = calloc(OBJECTS, sizeof(*seen));

	(void)state;
	assert_non_null(seen);
	add(&queue, FEW);
	assert_null(queue.bits);
	for (uint32_t i = 0; i < FEW; i++)
		assert_int_equal(claim_queue_object(&queue, i), make_object(i));
	assert_int_equal(visit(&queue, seen), FEW / 2);
	free(seen);
	claim_queue_deinit(&queue);
}

static void many_are_by_address(void **state)
{
	struct claim_queue queue = claim_queue_make(OBJECTS);
	bool *seen = calloc(OBJECTS, sizeof(*seen));
	uint32_t left;

	(void)state;
	assert_non_null(seen);
	add(&queue, MANY);
	assert_non_null(queue.bits);
	assert_int_equal(claim_queue_end(&queue), OBJECTS);
	left = visit(&queue, seen);
	assert_int_equal(left, MANY / 2);
	for (uint32_t i = 0; i < MANY; i++)
		left -= seen[make_object(i)];
	assert_int_equal(left, 0);
	free(seen);
	claim_queue_deinit(&queue);
}

static void an_empty_queue_is_used_again(void **state)
{
	struct claim_queue queue = claim_queue_make(OBJECTS);

	(void)state;
	for (int i = 0; i < 3; i++) {
		uint32_t count = i == 1 ? MANY : FEW;

		add(&queue, count);
		claim_queue_clear(&queue);
		assert_int_equal(queue.count, 0);
		assert_int_equal(claim_queue_end(&queue), 0);
	}
	claim_queue_deinit(&queue);
}

static void the_end_stops_a_search(void **state)
{
	struct claim_queue queue = claim_queue_make(OBJECTS);

	(void)state;
	add(&queue, MANY);
	for (size_t i = 0; i < 1000; i++) {
		claim_queue_drop(&queue, i);
		assert_int_equal(claim_queue_next(&queue, 0, i), i);
	}
	assert_int_equal(claim_queue_next(&queue, 0, 0), 0);
	assert_int_equal(claim_queue_next(&queue, OBJECTS, OBJECTS), OBJECTS);
	claim_queue_deinit(&queue);
}

UNIT_TESTS("claim_queue", cmocka_unit_test(few_are_in_the_order_in_which_they_came),
	   cmocka_unit_test(many_are_by_address), cmocka_unit_test(an_empty_queue_is_used_again),
	   cmocka_unit_test(the_end_stops_a_search))
