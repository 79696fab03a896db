// SPDX-License-Identifier: GPL-3.0-or-later
// How much memory of a process no known allocator has: of what the process itself has touched.
#include "t/unit/unit.h"

#include "dumper/writer/scan/foreign_memory.h"
#include "lib/base/cleanup.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define POOL ((size_t)8 << 20)
#define TOUCHED ((size_t)3 << 20)

static const struct block_threads no_threads = { NULL, 0 };

struct target {
	pid_t pid;
	struct image image;
	char *pool; // 8 MiB that are mapped, of which 3 are touched
};

static int set_up(void **state)
{
	static struct target target;

	target.pool = mmap(NULL, POOL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(target.pool, MAP_FAILED);
	madvise(target.pool, POOL, MADV_NOHUGEPAGE);
	memset(target.pool, 1, TOUCHED);
	target.pid = fork();
	assert_true(target.pid >= 0);
	if (target.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_null(image_init(&target.image, target.pid));
	*state = &target;
	return 0;
}

static int tear_down(void **state)
{
	struct target *target = *state;

	image_deinit(&target->image);
	kill(target->pid, SIGKILL);
	waitpid(target->pid, NULL, 0);
	munmap(target->pool, POOL);
	return 0;
}

// As a walker reads that takes a word of it for a pointer: the kernel maps a page of zeros then.
static void read_all(const struct target *target)
{
	char page[4096];

	for (size_t at = 0; at < POOL; at += sizeof(page))
		assert_true(image_read(&target->image, (uintptr_t)(target->pool + at), page,
				       sizeof(page)));
}

static void pages_that_are_only_read_do_not_count(void **state)
{
	const struct target *target = *state;
	CLEANUP(foreign_memory_deinit) struct foreign_memory before = { 0 }, after = { 0 };
	CLEANUP(blocks_deinit) struct blocks none = { 0 };

	assert_null(foreign_memory_init(&before, &target->image));
	foreign_memory_count(&before, &none, &no_threads);
	assert_null(foreign_memory_init(&after, &target->image));
	read_all(target);
	foreign_memory_count(&after, &none, &no_threads);
	assert_true(before.foreign >= TOUCHED);
	assert_int_equal(after.foreign, before.foreign);
	assert_int_equal(after.all, before.all);
}

static void a_mapping_with_a_block_is_known(void **state)
{
	const struct target *target = *state;
	CLEANUP(foreign_memory_deinit) struct foreign_memory foreign = { 0 }, known = { 0 };
	CLEANUP(blocks_deinit) struct blocks none = { 0 }, one = { 0 };

	assert_null(foreign_memory_init(&foreign, &target->image));
	foreign_memory_count(&foreign, &none, &no_threads);
	assert_null(blocks_add(&one, (uintptr_t)target->pool + 64, 32));
	assert_null(blocks_end_run(&one));
	assert_null(blocks_sort(&one));
	assert_null(foreign_memory_init(&known, &target->image));
	foreign_memory_count(&known, &one, &no_threads);
	assert_int_equal(known.all, foreign.all);
	assert_true(foreign.foreign - known.foreign >= TOUCHED);
}

static void counting_again_begins_anew(void **state)
{
	const struct target *target = *state;
	CLEANUP(foreign_memory_deinit) struct foreign_memory memory = { 0 };
	CLEANUP(blocks_deinit) struct blocks none = { 0 };
	uint64_t all;

	assert_null(foreign_memory_init(&memory, &target->image));
	foreign_memory_count(&memory, &none, &no_threads);
	all = memory.all;
	foreign_memory_count(&memory, &none, &no_threads);
	assert_int_equal(memory.all, all);
}

static void much_is_a_quarter_and_a_mebibyte(void **state)
{
	(void)state;
	assert_false(foreign_memory_is_much(
		&(struct foreign_memory){ .foreign = 1 << 20, .all = 1 << 20 }, 0));
	assert_true(foreign_memory_is_much(
		&(struct foreign_memory){ .foreign = 2 << 20, .all = 7 << 20 }, 0));
	assert_false(foreign_memory_is_much(
		&(struct foreign_memory){ .foreign = 2 << 20, .all = 8 << 20 }, 0));
	assert_false(foreign_memory_is_much(
		&(struct foreign_memory){ .foreign = 2 << 20, .all = 2 << 20 }, 2 << 20));
}

UNIT_TESTS("foreign memory",
	   cmocka_unit_test_setup_teardown(pages_that_are_only_read_do_not_count, set_up,
					   tear_down),
	   cmocka_unit_test_setup_teardown(a_mapping_with_a_block_is_known, set_up, tear_down),
	   cmocka_unit_test_setup_teardown(counting_again_begins_anew, set_up, tear_down),
	   cmocka_unit_test(much_is_a_quarter_and_a_mebibyte))
