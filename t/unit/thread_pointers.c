// SPDX-License-Identifier: GPL-3.0-or-later
// Descriptors of threads, found in memory that is full of what looks like descriptors.
#include "t/unit/unit.h"

#include "dumper/writer/base/machine.h"
#include "dumper/writer/scan/threads/thread_pointers.h"
#include "lib/dwarf/dwarf_registers.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	THREADS = 4000,
	FIRST_TID = 1000000,
	MAPPINGS = 250,
	MAPPING = 128 << 10,
	STEP = 2 * MAPPING, // so that no two mappings are merged
	LINE = 64,          // the alignment of descriptors
	TID_WORD = 90,
	DISTANCE = 1024, // from the head of a list of robust mutexes to the thread pointer
	TELLING = 5,     // the thread whose pointer is known
	PATIENCE =
		300, // seconds; one look at all threads for each descriptor would take far longer
};

static uint8_t *make_mappings(size_t count)
{
	uint8_t *memory = mmap(NULL, count * STEP, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(memory, MAP_FAILED);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(mprotect(memory + i * STEP, MAPPING, PROT_READ | PROT_WRITE), 0);
	return memory;
}

// @param tid  0: it belongs to no thread
static void write_descriptor(uint8_t *at, uint32_t tid)
{
	uint64_t *words = (uint64_t *)at;

	words[0] = words[2] = (uint64_t)(uintptr_t)at;
	if (tid != 0)
		words[TID_WORD] = tid;
}

// @return the thread pointer
static uint64_t write_robust_head(uint8_t *at, uint32_t tid)
{
	uint64_t *words = (uint64_t *)at;

	words[0] = tid;
	words[1] = words[2] = (uintptr_t)&words[2];
	return (uintptr_t)&words[2] + DISTANCE;
}

// @param telling  the thread pointer of thread number TELLING; 0: not known either
static void find(struct heapsnap_thread *threads, uint64_t telling)
{
	const struct heapsnap_process process = { .pid = 1, .thread_count = THREADS };
	struct image image;

	for (uint32_t i = 0; i < THREADS; i++)
		threads[i] = (struct heapsnap_thread){ .tid = FIRST_TID + i };
	threads[TELLING].thread_pointer = telling;
	assert_null(image_init(&image, getpid()));
	thread_pointers_find(&image, &process, threads);
	image_deinit(&image);
}

static struct heapsnap_thread threads[THREADS];

static void each_thread_is_found(void **state)
{
	uint8_t *memory = make_mappings(3);

	(void)state;
	if (!MACHINE_STORAGE_IS_BELOW)
		return;
	// At the start, at the end, and of the last thread.
	write_descriptor(memory, FIRST_TID + 7);
	write_descriptor(memory + STEP + MAPPING - 4096, FIRST_TID);
	write_descriptor(memory + 2 * STEP + LINE, FIRST_TID + THREADS - 1);
	find(threads, 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		const uint8_t *wanted = i == 7             ? memory
					: i == 0           ? memory + STEP + MAPPING - 4096
					: i == THREADS - 1 ? memory + 2 * STEP + LINE
							   : NULL;

		assert_int_equal(threads[i].thread_pointer, (uintptr_t)wanted);
	}
	munmap(memory, 3 * STEP);
}

// Where storage is above the thread pointer, one thread tells where others have theirs.
static void each_robust_head_is_found(void **state)
{
	uint8_t *memory = make_mappings(3);
	uint64_t telling, first, last;

	(void)state;
	if (MACHINE_STORAGE_IS_BELOW)
		return;
	telling = write_robust_head(memory + 4096, FIRST_TID + TELLING);
	first = write_robust_head(memory + STEP + 8, FIRST_TID);
	last = write_robust_head(memory + 2 * STEP + MAPPING - 4096, FIRST_TID + THREADS - 1);
	find(threads, telling);
	for (uint32_t i = 0; i < THREADS; i++)
		assert_int_equal(threads[i].thread_pointer, i == TELLING       ? telling
							    : i == 0           ? first
							    : i == THREADS - 1 ? last
									       : 0);
	munmap(memory, 3 * STEP);
}

// A stack that the program has given to a thread lies in the midst of a mapping.
static void a_descriptor_above_the_stack_pointer_is_found(void **state)
{
	const struct heapsnap_process process = { .pid = 1, .thread_count = 3 };
	const size_t size = 4 << 20;
	uint8_t *memory =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *stack = memory + (1 << 20), *storage = stack + (200 << 10);
	uint8_t *top = memory + size - 4096; // another's stack is above it
	struct image image;

	(void)state;
	if (!MACHINE_STORAGE_IS_BELOW)
		return;
	assert_ptr_not_equal(memory, MAP_FAILED);
	memset(threads, 0, 3 * sizeof(*threads));
	for (uint32_t i = 0; i < 3; i++) {
		threads[i].tid = FIRST_TID + i;
		threads[i].registers[HEAP_DWARF_REGISTER_SP] = (uintptr_t)stack + 8;
	}
	write_descriptor(storage, FIRST_TID + 1);
	write_descriptor(storage + 8192, FIRST_TID);
	write_descriptor(top, FIRST_TID + 7);
	assert_null(image_init(&image, getpid()));
	thread_pointers_find(&image, &process, threads);
	image_deinit(&image);
	assert_int_equal(threads[0].thread_pointer, (uintptr_t)storage + 8192);
	assert_int_equal(threads[1].thread_pointer, (uintptr_t)storage);
	assert_int_equal(threads[2].thread_pointer, 0);
	munmap(memory, size);
}

static void what_looks_like_descriptors_takes_a_bounded_time(void **state)
{
	uint8_t *memory = make_mappings(MAPPINGS);

	(void)state;
	if (!MACHINE_STORAGE_IS_BELOW)
		return;
	for (size_t i = 0; i < MAPPINGS; i++) {
		for (size_t at = 0; at < MAPPING; at += LINE)
			write_descriptor(memory + i * STEP + at, 0);
	}
	memset(memory, 0, MAPPING);
	write_descriptor(memory, FIRST_TID + 7);
	alarm(PATIENCE);
	find(threads, 0);
	alarm(0);
	assert_int_equal(threads[7].thread_pointer, (uintptr_t)memory);
	assert_int_equal(threads[8].thread_pointer, 0);
	munmap(memory, (size_t)MAPPINGS * STEP);
}

UNIT_TESTS("thread pointers", cmocka_unit_test(each_thread_is_found),
	   cmocka_unit_test(each_robust_head_is_found),
	   cmocka_unit_test(a_descriptor_above_the_stack_pointer_is_found),
	   cmocka_unit_test(what_looks_like_descriptors_takes_a_bounded_time))
