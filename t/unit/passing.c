// SPDX-License-Identifier: GPL-3.0-or-later
// Thin wrappers, known by the code that this compiler has made of them for this machine.
#include "t/unit/unit.h"

#include "dumper/code/code_flow.h"
#include "dumper/stacks/frame_rules.h"
#include "dumper/stacks/passing.h"
#include "dumper/stacks/standard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))

bool heapsnap_standard_has(uint64_t start, uint64_t address)
{
	(void)start;
	(void)address;
	return false;
}

// --- functions that allocate -------------------------------------------------------

APART static void *checked(size_t size)
{
	void *block = malloc(size);

	if (!block)
		abort();
	return block;
}

APART static void *array(size_t count, size_t size)
{
	return checked(count * size);
}

APART static void *resized(void *old, size_t size)
{
	void *block = realloc(old, size ? size : 1);

	return block ? block : checked(size);
}

APART static void *prefixed(size_t size)
{
	size_t *block = checked(((size + 7) & ~(size_t)7) + sizeof(size));

	*block = size;
	return block + 1;
}

APART static void *cleared(size_t size)
{
	return memset(checked(size), 0, size);
}

APART __attribute__((noreturn)) static void complain(const char *why)
{
	perror(why);
	exit(3);
}

// Before the call, and on the same path in the code, is one that does not return.
APART static void *ended(size_t size)
{
	char *block;

	if (__builtin_expect(size + 1 == 0, 1))
		complain("too much");
	block = checked(size + 1);
	if (block)
		block[size] = '\0';
	return block;
}

static void *table[8];
static volatile long table_length;

APART static void *listed(size_t size)
{
	void *block = malloc(size);

	table[table_length++ % 8] = block;
	return block;
}

APART static void *published(size_t size)
{
	void *block = malloc(size);

	__atomic_store_n(&table[0], block, __ATOMIC_RELEASE);
	return block;
}

APART static int *one(int value)
{
	int *block = checked(sizeof(*block) + 20);

	*block = value;
	return block;
}

APART static void *many(size_t count)
{
	return checked(count * 24 + 3 * count);
}

static void *kept;

APART static size_t keeps(size_t size)
{
	kept = checked(size);
	return kept ? size : 0;
}

// --- what is known of them -----------------------------------------------------------

// How many calls of a function pass a size on.
static int count_passing(uint64_t function)
{
	uint64_t end = 0, start = heapsnap_function_find(function + 1, &end);
	int count = 0;

	assert_int_equal(start, function);
	for (uint64_t site = start + 1; site <= end; site++)
		count += heapsnap_passes_size(start, end, site);
	return count;
}

static void knows_thin_wrappers(void **state)
{
	(void)state;
	// Whatever a linkage table leads to is known once it has been called.
	free(resized(checked(1), 2));
	heapsnap_code_init();
	heapsnap_passing_init();
	assert_true(count_passing((uint64_t)checked) > 0);
	assert_true(count_passing((uint64_t)resized) > 0);
	assert_true(count_passing((uint64_t)prefixed) > 0);
	assert_true(count_passing((uint64_t)cleared) > 0);
#ifdef __x86_64__
	// Elsewhere the first parameter and the result of the call before share a register.
	assert_true(count_passing((uint64_t)ended) > 0);
#endif
	assert_true(count_passing((uint64_t)listed) > 0);
	assert_true(count_passing((uint64_t)published) > 0);
	free(listed(4));
	free(published(5));
	free(array(1, 2));
	free(cleared(3));
	free(ended(6));
}

static void knows_others(void **state)
{
	(void)state;
	assert_int_equal(count_passing((uint64_t)one), 0);
	assert_int_equal(count_passing((uint64_t)many), 0);
	assert_int_equal(count_passing((uint64_t)keeps), 0);
	free(one(1));
	free(many(2));
	assert_int_equal(keeps(3), 3);
	free(kept);
}

struct filled {
	long first, second;
	int third;
};

APART static void fill(struct filled *filled)
{
	filled->first = 1;
	filled->second = 2;
	*(volatile int *)&filled->third = 3;
}

// The bytes of its argument that a function stores into.
static uint64_t stored_bytes(uint64_t function)
{
	const uint8_t *at = (const uint8_t *)function, *end = at + 256;
	struct heapsnap_values values;
	struct heapsnap_flow flow = { 0 };
	struct heapsnap_store store;
	uint64_t bytes = 0;

	heapsnap_values_init(&values);
	values.registers[heapsnap_parameters[0]] = heapsnap_value_make(HEAPSNAP_VALUE_BLOCK, 0, 0);
	for (; flow.kind != HEAPSNAP_FLOW_RETURN; at = flow.next) {
		if (heapsnap_flow_store(at, end, &values, &store) &&
		    store.address.kind == HEAPSNAP_VALUE_BLOCK)
			bytes |= ((UINT64_C(1) << store.bytes) - 1) << store.address.number;
		assert_true(heapsnap_flow_step(at, end, &values, &flow));
	}
	return bytes;
}

static void knows_stores(void **state)
{
	struct filled filled;

	(void)state;
	fill(&filled);
	assert_int_equal(filled.second, 2);
	assert_int_equal(stored_bytes((uint64_t)fill), (1 << 20) - 1);
}

// No function is misread so that it leads elsewhere: all of libc's code ends, or is refused.
static void survives_all_code(void **state)
{
	uint64_t end = 0, functions = 0;
	struct heapsnap_code libc;

	(void)state;
	assert_true(heapsnap_code_find((uint64_t)getenv, &libc));
	for (uint64_t at = libc.start; at<libc.end; at = end> at ? end : at + 64) {
		uint64_t start = heapsnap_function_find(at, &end);

		if (start == 0)
			end = 0;
		for (uint64_t site = start + 4; start != 0 && site <= end; site += 4)
			functions += heapsnap_passes_size(start, end, site);
	}
	assert_true(functions > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_thin_wrappers),
		cmocka_unit_test(knows_others),
		cmocka_unit_test(knows_stores),
		cmocka_unit_test(survives_all_code),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("passing", tests, NULL, NULL);
}
