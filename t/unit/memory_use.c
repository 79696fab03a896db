// SPDX-License-Identifier: GPL-3.0-or-later
// What memory of a process is used for: of what the process itself has touched.
#include "t/unit/unit.h"

#include "dumper/writer/scan/memory_use.h"
#include "lib/base/cleanup.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define POOL ((size_t)8 << 20)
#define TOUCHED ((size_t)3 << 20)

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
	CLEANUP(memory_use_deinit) struct memory_use before = { 0 }, after = { 0 };

	assert_null(memory_use_init(&before, &target->image));
	assert_null(memory_use_count(&before, &(struct memory_owners){ 0 }));
	assert_null(memory_use_init(&after, &target->image));
	read_all(target);
	assert_null(memory_use_count(&after, &(struct memory_owners){ 0 }));
	assert_true(before.mapped >= TOUCHED);
	assert_int_equal(after.mapped, before.mapped);
	assert_int_equal(after.all, before.all);
}

// Counts memory in which there is one block, and a part of which an allocator has if a region has a size.
static void count_one(const struct target *target, uint64_t offset, uint64_t size,
		      struct block_region region, struct memory_use *use)
{
	struct blocks blocks = { 0 };
	struct objects objects;

	assert_null(objects_init(&objects));
	assert_null(blocks_add(&blocks, (uintptr_t)target->pool + offset, size));
	assert_null(blocks_end_run(&blocks));
	assert_null(memory_use_init(use, &target->image));
	assert_null(blocks_add_objects(&blocks, &target->image, &objects));
	assert_null(memory_use_count(use, &(struct memory_owners){
						  .objects = &objects,
						  .regions = &region,
						  .region_count = region.end > region.start,
					  }));
	objects_deinit(&objects);
	blocks_deinit(&blocks);
}

static void an_allocator_has_all_of_a_mapping_with_a_block(void **state)
{
	const struct target *target = *state;
	CLEANUP(memory_use_deinit) struct memory_use none = { 0 }, one = { 0 };

	assert_null(memory_use_init(&none, &target->image));
	assert_null(memory_use_count(&none, &(struct memory_owners){ 0 }));
	count_one(target, 64, 32, (struct block_region){ 0 }, &one);
	assert_int_equal(one.all, none.all);
	assert_int_equal(one.blocks, 32);
	assert_true(none.mapped - one.mapped >= TOUCHED);
	assert_int_equal(one.blocks + one.spare, none.mapped - one.mapped);
}

static void an_allocator_has_its_regions_alone(void **state)
{
	const struct target *target = *state;
	CLEANUP(memory_use_deinit) struct memory_use none = { 0 }, use = { 0 };
	uint64_t start = (uintptr_t)target->pool;

	assert_null(memory_use_init(&none, &target->image));
	assert_null(memory_use_count(&none, &(struct memory_owners){ 0 }));
	count_one(target, 64, 32, (struct block_region){ start, start + 65536 }, &use);
	assert_int_equal(use.spare, 65536 - 32);
	assert_int_equal(use.spare_pages, 65536 - 4096);
	assert_int_equal(use.mapped, none.mapped - 65536);
}

static void a_large_block_beside_regions_has_its_pages(void **state)
{
	const struct target *target = *state;
	CLEANUP(memory_use_deinit) struct memory_use none = { 0 }, use = { 0 };
	uint64_t start = (uintptr_t)target->pool;

	assert_null(memory_use_init(&none, &target->image));
	assert_null(memory_use_count(&none, &(struct memory_owners){ 0 }));
	count_one(target, 131072 + 16, 200000, (struct block_region){ start, start + 65536 }, &use);
	assert_int_equal(use.blocks, 200000);
	assert_int_equal(use.blocks + use.spare, 65536 + 200704);
	assert_int_equal(use.mapped, none.mapped - 65536 - 200704);
}

// Of a block that is larger than what was touched, only that counts.
static void a_block_counts_as_far_as_it_is_touched(void **state)
{
	const struct target *target = *state;
	CLEANUP(memory_use_deinit) struct memory_use use = { 0 };

	count_one(target, 16, POOL - 32, (struct block_region){ 0 }, &use);
	assert_int_equal(use.blocks, TOUCHED - 16);
}

static void counting_again_begins_anew(void **state)
{
	const struct target *target = *state;
	CLEANUP(memory_use_deinit) struct memory_use use = { 0 };
	uint64_t all;

	assert_null(memory_use_init(&use, &target->image));
	assert_null(memory_use_count(&use, &(struct memory_owners){ 0 }));
	all = use.all;
	assert_null(memory_use_count(&use, &(struct memory_owners){ 0 }));
	assert_int_equal(use.all, all);
}

static void much_is_a_quarter_and_a_mebibyte(void **state)
{
	(void)state;
	assert_false(memory_use_is_foreign(
		&(struct memory_use){ .mapped = 1 << 20, .all = 1 << 20 }, 0));
	assert_true(memory_use_is_foreign(&(struct memory_use){ .mapped = 2 << 20, .all = 7 << 20 },
					  0));
	assert_false(memory_use_is_foreign(
		&(struct memory_use){ .mapped = 2 << 20, .all = 8 << 20 }, 0));
	assert_false(memory_use_is_foreign(
		&(struct memory_use){ .mapped = 2 << 20, .all = 2 << 20 }, 2 << 20));
}

UNIT_TESTS("memory use",
	   cmocka_unit_test_setup_teardown(pages_that_are_only_read_do_not_count, set_up,
					   tear_down),
	   cmocka_unit_test_setup_teardown(an_allocator_has_all_of_a_mapping_with_a_block, set_up,
					   tear_down),
	   cmocka_unit_test_setup_teardown(an_allocator_has_its_regions_alone, set_up, tear_down),
	   cmocka_unit_test_setup_teardown(a_large_block_beside_regions_has_its_pages, set_up,
					   tear_down),
	   cmocka_unit_test_setup_teardown(a_block_counts_as_far_as_it_is_touched, set_up,
					   tear_down),
	   cmocka_unit_test_setup_teardown(counting_again_begins_anew, set_up, tear_down),
	   cmocka_unit_test(much_is_a_quarter_and_a_mebibyte))
