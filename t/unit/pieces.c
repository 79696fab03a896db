// SPDX-License-Identifier: GPL-3.0-or-later
// Pieces of work: done by several threads, joined once each, in order, one at a time.
#include "t/unit/unit.h"

#include "lib/base/pieces.h"
#include "lib/base/parallel.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
	PIECES = 1000,
};

struct part {
	size_t number;
	char *own; // that a later piece finds here
};

struct ledger {
	size_t fails_at, fails_to_join; // a piece's number; SIZE_MAX: none
	size_t parts;                   // no more at a time; 0: any
	atomic_size_t worked, joining, joined;
};

static struct heap_error *work(void *context, size_t number, void *result)
{
	struct ledger *ledger = context;
	struct part *part = result;

	assert_true(ledger->parts == 0 || number - ledger->joined < ledger->parts);
	if (number == ledger->fails_at)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "piece %zu", number);
	if (!part->own)
		part->own = calloc(1, 1);
	// Some take longer, so that others are done before them.
	for (size_t i = 0; i < number % 7; i++)
		sched_yield();
	part->number = number;
	atomic_fetch_add(&ledger->worked, 1);
	return NULL;
}

static struct heap_error *join(void *context, void *result)
{
	struct ledger *ledger = context;
	const struct part *part = result;

	assert_int_equal(atomic_fetch_add(&ledger->joining, 1), 0);
	assert_int_equal(part->number, ledger->joined);
	if (part->number == ledger->fails_to_join)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "no place for %zu", part->number);
	ledger->joined++;
	atomic_fetch_sub(&ledger->joining, 1);
	return NULL;
}

static void release(void *result)
{
	struct part *part = result;

	free(part->own);
}

static struct heap_error *run(struct ledger *ledger, size_t count)
{
	return heap_pieces_run(&(struct heap_piece_work){
		.count = count,
		.parts = ledger->parts,
		.part_size = sizeof(struct part),
		.work = work,
		.join = join,
		.release = release,
		.context = ledger,
	});
}

static void pieces_are_joined_in_order(void **unused)
{
	(void)unused;
	for (unsigned threads = 1; threads <= 8; threads++) {
		heap_parallel_set_threads(threads);
		for (size_t count = 0; count <= PIECES; count = count * 3 + 1) {
			struct ledger ledger = { .fails_at = SIZE_MAX, .fails_to_join = SIZE_MAX };

			assert_null(run(&ledger, count));
			assert_int_equal(ledger.joined, count);
			assert_int_equal(ledger.worked, count);
		}
	}
}

static void no_more_parts_than_wanted(void **unused)
{
	(void)unused;
	for (unsigned threads = 1; threads <= 8; threads++) {
		heap_parallel_set_threads(threads);
		for (size_t parts = 1; parts <= 5; parts++) {
			struct ledger ledger = { .fails_at = SIZE_MAX,
						 .fails_to_join = SIZE_MAX,
						 .parts = parts };

			assert_null(run(&ledger, PIECES));
			assert_int_equal(ledger.joined, PIECES);
		}
	}
}

static void an_error_ends_it(void **unused)
{
	(void)unused;
	for (unsigned threads = 1; threads <= 8; threads++) {
		struct ledger ledger = { .fails_at = 500, .fails_to_join = SIZE_MAX };
		struct ledger other = { .fails_at = SIZE_MAX, .fails_to_join = 500 };

		heap_parallel_set_threads(threads);
		assert_error(run(&ledger, PIECES), HEAP_ERROR_ARGUMENT, "piece 500");
		assert_true(ledger.joined <= 500);
		assert_error(run(&other, PIECES), HEAP_ERROR_ARGUMENT, "no place for 500");
		assert_int_equal(other.joined, 500);
		assert_true(other.worked < PIECES);
	}
}

UNIT_TESTS("pieces", cmocka_unit_test(pieces_are_joined_in_order),
	   cmocka_unit_test(no_more_parts_than_wanted), cmocka_unit_test(an_error_ends_it))
