// SPDX-License-Identifier: GPL-3.0-or-later
// The unwinder of the library: against libc's, against all of libc's code, and against nonsense.
#include "t/unit/unit.h"

#include "dumper/stacks/frame_rules.h"
#include "dumper/base/process.h"
#include "dumper/base/thread_pointer.h"
#include "dumper/host/sandbox.h"
#include "dumper/stacks/hops.h"
#include "dumper/stacks/unwind.h"

#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

enum {
	MAX_FRAMES = 64,
	PAGE = 4096,
};

struct heapsnap_process heapsnap_process;

bool heapsnap_sandbox_forbids(uint32_t needs)
{
	(void)needs;
	return false;
}

static struct heapsnap_rule_slot slots[2 * HEAPSNAP_RULE_SLOTS];

static int setup(void **state)
{
	(void)state;
	heapsnap_process.main_thread_pointer = heapsnap_thread_pointer();
	return heapsnap_unwind_init(slots) ? 0 : -1;
}

static unsigned walk(struct heapsnap_walk *at, uint64_t *addresses)
{
	unsigned count = 0;

	while (count < MAX_FRAMES && heapsnap_walk_next(at))
		addresses[count++] = at->pc;
	return count;
}

// --- against libc's ---------------------------------------------------------------

#ifndef __SANITIZE_ADDRESS__ // its backtrace() and qsort() are calls of their own

static int order(const void *left, const void *right)
{
	// Called by qsort(), in code that has neither frame pointers nor debug information here.
	void *theirs[MAX_FRAMES];
	uint64_t ours[MAX_FRAMES];
	int count = backtrace(theirs, MAX_FRAMES);
	struct heapsnap_walk at = heapsnap_walk_begin();

	assert_int_equal(walk(&at, ours), count - 1);
	assert_true(count > 4);
	for (int i = 1; i < count; i++)
		assert_int_equal(ours[i - 1], (uint64_t)theirs[i]);
	return *(const int *)left - *(const int *)right;
}

static unsigned handled;

static void handle(int number)
{
	void *theirs[MAX_FRAMES];
	uint64_t ours[MAX_FRAMES];
	int count = backtrace(theirs, MAX_FRAMES);
	struct heapsnap_walk at = heapsnap_walk_begin();
	unsigned found = 0;

	(void)number;
	handled++;
	// The kernel's code that the handler returns to, raise(), and those that called that.
	assert_int_equal(walk(&at, ours), count - 1);
	for (int i = 2; i < count; i++)
		found += ours[i - 1] == (uint64_t)theirs[i];
	assert_true(found > 4);
	assert_true(found >= (unsigned)count - 3);
}

static void goes_through_signal_handlers(void **state)
{
	(void)state;
	if (getauxval(AT_SYSINFO_EHDR) == 0) // an emulator's, which has no code to return to
		return;
	assert_ptr_not_equal(signal(SIGUSR1, handle), SIG_ERR);
	assert_int_equal(raise(SIGUSR1), 0);
	assert_int_equal(handled, 1);
}

static void agrees_with_libc(void **state)
{
	int numbers[] = { 3, 1, 2 };

	(void)state;
	qsort(numbers, 3, sizeof(*numbers), order);
	heapsnap_unwind_forget(0, UINT64_MAX);
	qsort(numbers, 3, sizeof(*numbers), order);
}

#endif

// --- rules ----------------------------------------------------------------------------

static void knows_nearly_all_code(void **state)
{
	struct heapsnap_code libc;
	unsigned kinds[HEAPSNAP_RULE_GUESS + 1] = { 0 }, known;

	(void)state;
	// Not a function that sanitizers have one of their own of.
	assert_true(heapsnap_code_find((uint64_t)getenv - 1, &libc));
	for (uint64_t address = libc.start; address < libc.end; address += 5)
		kinds[heapsnap_rule_find(address).kind]++;
	known = kinds[HEAPSNAP_RULE_STACK] + kinds[HEAPSNAP_RULE_FRAME] +
		kinds[HEAPSNAP_RULE_SAVED] + kinds[HEAPSNAP_RULE_OUTERMOST] +
		kinds[HEAPSNAP_RULE_SIGNAL];
	assert_true(known > 100000);
	assert_true(kinds[HEAPSNAP_RULE_NONE] < known / 100);
}

static void knows_no_code_elsewhere(void **state)
{
	struct heapsnap_code code;
	uint64_t end;

	(void)state;
	assert_false(heapsnap_code_find((uint64_t)&code, &code));
	assert_int_equal(heapsnap_rule_find((uint64_t)&code).kind, HEAPSNAP_RULE_GUESS);
	assert_int_equal(heapsnap_function_find((uint64_t)&code, &end), 0);
	assert_int_equal(heapsnap_function_find((uint64_t)knows_no_code_elsewhere + 8, &end),
			 (uint64_t)knows_no_code_elsewhere);
	assert_true(end > (uint64_t)knows_no_code_elsewhere + 8);
}

// --- nonsense -------------------------------------------------------------------------

static uint64_t next_random(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

// Two pages that can be read, between two that cannot.
static char *make_stack(void)
{
	char *memory = mmap(NULL, 4 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_int_equal(mprotect(memory + PAGE, 2 * PAGE, PROT_READ | PROT_WRITE), 0);
	return memory + PAGE;
}

static uint64_t some_address(const char *stack)
{
	uint64_t random = next_random();

	switch (random % 5) {
	case 0:
		return random;
	case 1:
		return random >> 20;
	case 2:
		return (uint64_t)stack + random % (2 * PAGE) / 8 * 8;
	case 3:
		return (uint64_t)stack - PAGE + random % (4 * PAGE);
	default:
		return (uint64_t)qsort + random % 65536;
	}
}

static void survives_nonsense(void **state)
{
	char *stack = make_stack();
	uint64_t addresses[MAX_FRAMES], *words = (uint64_t *)stack;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct heapsnap_walk at = { .pc = (uint64_t)qsort + next_random() % 262144 };

		for (int j = 0; j < 64; j++)
			words[next_random() % (2 * PAGE / 8)] = some_address(stack);
		at.is_interrupted = i % 2;
		at.fp = some_address(stack);
		at.sp = i % 8 ? (uint64_t)stack + next_random() % (2 * PAGE) : some_address(stack);
		heapsnap_walk_start(&at);
		assert_true(walk(&at, addresses) <= MAX_FRAMES);
	}
	munmap(stack - PAGE, 4 * PAGE);
}

// A frame that would be the caller's lies beyond what can be read.
static void stops_at_the_end_of_a_stack(void **state)
{
	char *stack = make_stack();
	uint64_t addresses[MAX_FRAMES];
	struct heapsnap_walk at = { .pc = (uint64_t)stack, .sp = (uint64_t)stack + 2 * PAGE - 64 };
	uint64_t *frame = (uint64_t *)(stack + 2 * PAGE - 32);

	(void)state;
	// Code without tables: by frame pointers, one of which leads outside.
	frame[0] = (uint64_t)stack + 2 * PAGE;
	frame[1] = (uint64_t)stack + 128;
	at.fp = (uint64_t)frame;
	heapsnap_walk_start(&at);
	assert_int_equal(walk(&at, addresses), 1);
	assert_int_equal(addresses[0], (uint64_t)stack + 128);
	munmap(stack - PAGE, 4 * PAGE);
}

// --- hops ----------------------------------------------------------------------------

// Sites with one first slot, which hops lead from.
static void find_neighbours(uint64_t *sites, int count)
{
	struct heapsnap_code libc;
	int found = 0;

	assert_true(heapsnap_code_find((uint64_t)getenv - 1, &libc));
	for (uint64_t site = (uint64_t)getenv; site < libc.end && found < count; site++) {
		if (heapsnap_hop_at(site) != 0 &&
		    (found == 0 || heapsnap_hop_slot(site, 0) == heapsnap_hop_slot(sites[0], 0)))
			sites[found++] = site;
	}
	assert_int_equal(found, count);
}

static void hops_leave_room_for_each_other(void **state)
{
	uint64_t sites[HEAPSNAP_HOP_SLOTS + 1];

	(void)state;
	find_neighbours(sites, HEAPSNAP_HOP_SLOTS + 1);
	for (int i = 0; i < HEAPSNAP_HOP_SLOTS; i++) {
		assert_true(heapsnap_hop_find(sites[i]) == 0);
		assert_true(heapsnap_hops_learn(sites[i], false));
	}
	for (int i = 0; i < HEAPSNAP_HOP_SLOTS; i++)
		assert_true(heapsnap_hop_find(sites[i]) == heapsnap_hop_at(sites[i]));

	// One too many takes the place of one.
	assert_true(heapsnap_hops_learn(sites[HEAPSNAP_HOP_SLOTS], true));
	assert_true(heapsnap_hop_find(sites[HEAPSNAP_HOP_SLOTS]) & HEAPSNAP_HOP_DISPLACED);
	for (int i = 0; i < HEAPSNAP_HOP_SLOTS - 1; i++)
		assert_true(heapsnap_hop_find(sites[i]) == heapsnap_hop_at(sites[i]));

	heapsnap_hops_forget_site(sites[1]);
	assert_true(heapsnap_hop_find(sites[1]) == 0);
	assert_true(heapsnap_hop_find(sites[2]) != 0);
	heapsnap_hops_forget_site(sites[HEAPSNAP_HOP_SLOTS]);
	assert_true(heapsnap_hop_find(sites[HEAPSNAP_HOP_SLOTS]) & HEAPSNAP_HOP_DISPLACED);
	heapsnap_hops_forget();
	assert_true(heapsnap_hop_find(sites[2]) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifndef __SANITIZE_ADDRESS__
		cmocka_unit_test(agrees_with_libc),
		cmocka_unit_test(goes_through_signal_handlers),
#endif
		cmocka_unit_test(knows_nearly_all_code),
		cmocka_unit_test(knows_no_code_elsewhere),
		cmocka_unit_test(survives_nonsense),
		cmocka_unit_test(stops_at_the_end_of_a_stack),
		cmocka_unit_test(hops_leave_room_for_each_other),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("unwind", tests, setup, NULL);
}
