// SPDX-License-Identifier: GPL-3.0-or-later
// Work that crashes, hangs or runs out of memory by a module's symbols is done without them.
#include "t/unit/unit.h"

#include "dumper/writer/base/supervisor.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// What hangs is given so long; everything else as long as it takes on a busy machine.
static const uint64_t SHORT_NS = 400000000, LONG_NS = UINT64_C(60000000000);

enum {
	GOOD = 1000,
	BAD = 2000,
	WORSE = 3000,
};

// Memory that the attempts share.
struct history {
	int attempts;
	char reasons[8][200]; // by attempt: why BAD is left out; "" if it is not
	void (*misbehave)(void);
};

static struct history *history;
static uint64_t time_ns; // that the writer may take

static void crash(void)
{
	raise(SIGSEGV);
}

static void hang(void)
{
	pause();
}

static void die(void)
{
	raise(SIGKILL);
}

static void end(void)
{
	_exit(3);
}

static void read_module(uint64_t module, bool bad)
{
	if (isolation_reason(module))
		return;
	isolation_suspect(module);
	if (bad)
		history->misbehave();
	isolation_suspect(0);
}

HEAP_MUST_CHECK
static struct heap_error *begin(void)
{
	const char *reason = isolation_reason(BAD);

	signal(SIGSEGV, SIG_DFL); // a sanitizer would exit with 1
	snprintf(history->reasons[history->attempts++], 200, "%s", reason ? reason : "");
	return NULL;
}

static struct heap_error *read_bad(void *context)
{
	struct heap_error *error = begin();

	read_module(GOOD, false);
	read_module(BAD, true);
	read_module(*(uint64_t *)context, true);
	return error;
}

static struct heap_error *run(isolation_work *work, void (*misbehave)(void), uint64_t other)
{
	struct heapsnap_process process = { .writer_time_ns = time_ns };

	memset(history, 0, sizeof(*history));
	history->misbehave = misbehave;
	return isolation_run(&process, work, &other);
}

static void test_crash(void **state)
{
	(void)state;
	assert_null(run(read_bad, crash, BAD));
	assert_int_equal(history->attempts, 2);
	assert_string_equal(history->reasons[0], "");
	assert_string_equal(history->reasons[1],
			    "not read: heapsnap-writer crashed by it (signal 11)");
}

static void test_two_crash(void **state)
{
	(void)state;
	assert_null(run(read_bad, crash, WORSE));
	assert_int_equal(history->attempts, 3);
}

static void test_exit(void **state)
{
	(void)state;
	assert_null(run(read_bad, end, BAD));
	assert_int_equal(history->attempts, 2);
}

static void test_hang(void **state)
{
	(void)state;
	time_ns = 10 * SHORT_NS; // half of it is left for the second attempt
	assert_null(run(read_bad, hang, BAD));
	assert_int_equal(history->attempts, 2);
	assert_string_equal(history->reasons[1], "not read: that took more than 2.0 s");
}

static void test_killed(void **state)
{
	(void)state;
	assert_error(run(read_bad, die, BAD), HEAP_ERROR_SYSTEM,
		     "heapsnap-writer was ended by signal 9; is memory short?");
	assert_int_equal(history->attempts, 1);
}

// Nobody's symbols are to blame: without any it is tried once more.
static struct heap_error *always_crash(void *context)
{
	struct heap_error *error = begin();

	(void)context;
	history->misbehave();
	return error;
}

static void test_always(void **state)
{
	(void)state;
	assert_error(run(always_crash, crash, BAD), HEAP_ERROR_SYSTEM,
		     "heapsnap-writer was ended by signal 11");
	assert_int_equal(history->attempts, 2);
	time_ns = SHORT_NS;
	assert_error(run(always_crash, hang, BAD), HEAP_ERROR_SYSTEM, "not written within 0.4 s");
	assert_int_equal(history->attempts, 1);
}

static struct heap_error *return_error(void *context)
{
	struct heap_error *error = begin();

	return error ? error : heap_error_create(*(uint64_t *)context, "as was to be shown");
}

static void test_errors(void **state)
{
	(void)state;
	assert_error(run(return_error, NULL, HEAP_ERROR_ABSENT), HEAP_ERROR_ABSENT,
		     "as was to be shown");
	assert_int_equal(history->attempts, 1);
	assert_error(run(return_error, NULL, HEAP_ERROR_MEMORY), HEAP_ERROR_MEMORY,
		     "out of memory");
	assert_int_equal(history->attempts, 2);
	assert_memory_equal(history->reasons[1], "not read: heapsnap-writer may use ", 34);
}

static int setup(void **state)
{
	(void)state;
	time_ns = LONG_NS;
	history = mmap(NULL, sizeof(*history), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	return history == MAP_FAILED;
}

UNIT_TESTS("isolation", cmocka_unit_test_setup(test_crash, setup),
	   cmocka_unit_test_setup(test_two_crash, setup), cmocka_unit_test_setup(test_exit, setup),
	   cmocka_unit_test_setup(test_hang, setup), cmocka_unit_test_setup(test_killed, setup),
	   cmocka_unit_test_setup(test_always, setup), cmocka_unit_test_setup(test_errors, setup))
