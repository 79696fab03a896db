// SPDX-License-Identifier: GPL-3.0-or-later
// Backtraces as a tree of calls, in which those that follow one another share the outer ones.
#include "t/unit/unit.h"

#include "dumper/base/process.h"
#include "dumper/host/sandbox.h"
#include "dumper/stacks/steps.h"
#include "dumper/stacks/unwind.h"

#include <stdlib.h>
#include <string.h>

struct heapsnap_process heapsnap_process;

bool heapsnap_sandbox_forbids(uint32_t needs)
{
	(void)needs;
	return false;
}

static struct heapsnap_steps *table;
static struct heapsnap_rule_slot slots[2 * HEAPSNAP_RULE_SLOTS];

static int setup(void **state)
{
	(void)state;
	table = calloc(1, sizeof(*table));
	heapsnap_steps_init(table);
	return heapsnap_unwind_init(slots) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	free(table);
	return 0;
}

// Interns a backtrace that letters stand for, the innermost call first.
static uint32_t intern(const char *calls)
{
	uint64_t addresses[32];
	unsigned count = 0;

	for (; calls[count]; count++)
		addresses[count] = 0x400000 + (uint64_t)calls[count];
	return heapsnap_steps_intern(addresses, count);
}

static void assert_calls(uint32_t step, const char *calls)
{
	for (; *calls; calls++, step = heapsnap_step_at(table, step)->caller)
		assert_int_equal(heapsnap_step_at(table, step)->address,
				 0x400000 + (uint64_t)*calls);
	assert_int_equal(step, 0);
}

// Longer and shorter than the one before, equal to it inside, outside or not at all.
static void are_found_after_any_other(void **state)
{
	static const char *const all[] = { "cba", "dcba", "ba",   "xba",  "xya",    "cbz",
					   "z",   "cba",  "acba", "ccba", "cbacba", "a" };
	enum {
		COUNT = sizeof(all) / sizeof(*all),
	};
	uint32_t steps[COUNT], count;

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		steps[i] = intern(all[i]);
		assert_calls(steps[i], all[i]);
	}
	assert_int_equal(steps[7], steps[0]);
	count = heapsnap_process.step_count;
	for (size_t i = 0; i < COUNT; i++) {
		for (size_t j = 0; j < COUNT; j++) {
			assert_int_equal(intern(all[i]), steps[i]);
			assert_int_equal(intern(all[j]), steps[j]);
		}
	}
	assert_int_equal(heapsnap_process.step_count, count);
}

// Other code may be there now, so that the same addresses are other calls.
static void end_with_their_code(void **state)
{
	uint32_t before = intern("cba"), after;

	(void)state;
	heapsnap_unwind_forget(0x400000, 0x401000);
	heapsnap_steps_unmapped(0x400000, 0x401000);
	after = intern("cba");
	assert_int_not_equal(after, before);
	assert_calls(after, "cba");
	assert_int_equal(intern("cba"), after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(are_found_after_any_other),
		cmocka_unit_test(end_with_their_code),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("steps", tests, setup, teardown);
}
