// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/column.h"

#include "lib/base/cleanup.h"
#include "lib/base/memory_left.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum {
	SMALL = 1 << 20,  // columns up to that size are memory of malloc(), outside the budget
	PIECE = 16 << 20, // bytes that are written to a file at a time
	SPARSE = 16,      // of a sparse column, one byte in so many counts for the budget
	HUGE_PAGE = 2 << 20,
	SMALL_PAGE = 4096,
	ROUNDED = 8, // sizes become whole huge pages if that adds less than one byte in so many
};

// A column that is a mapping of its own.
struct mapping {
	struct mapping *next;
	void *start;
	size_t size;
	size_t charged; // bytes of the budget; 0: it is a file
	bool rests;
};

// Several threads may create columns.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct mapping *mappings;
static uint64_t budget;
static bool budget_known;

// --- files -------------------------------------------------------------------

// Makes a file of that size without a name.
HEAP_MUST_CHECK
static struct heap_error *make_file(size_t size, int *result)
{
	const char *directory = getenv("TMPDIR");

	if (!directory || !*directory)
		directory = "/var/tmp";

	CLEANUP_CLOSE int descriptor = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (descriptor < 0) {
		// Some file systems do not support O_TMPFILE.
		CLEANUP_FREE char *path = NULL;

		if (asprintf(&path, "%s/heapsh-XXXXXX", directory) < 0) {
			path = NULL;
			return heap_error_out_of_memory();
		}
		descriptor = mkostemp(path, O_CLOEXEC);
		if (descriptor < 0)
			return heap_error_create_system("%s: no temporary file", directory);
		unlink(path);
	}

	int problem = posix_fallocate(descriptor, 0, (off_t)size);

	if (problem)
		return heap_error_create(HEAP_ERROR_SYSTEM,
					 "%s: no room for a temporary file of %zu MiB: %s",
					 directory, size >> 20, strerror(problem));
	*result = descriptor;
	descriptor = -1;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *map_file(size_t size, void **start)
{
	CLEANUP_CLOSE int descriptor = -1;

	HEAP_TRY(make_file(size, &descriptor));
	*start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
	if (*start == MAP_FAILED)
		return heap_error_create_system("a temporary file cannot be mapped");
	return NULL;
}

static bool write_all(int descriptor, const char *bytes, size_t size, off_t offset)
{
	while (size > 0) {
		ssize_t written = pwrite(descriptor, bytes, size, offset);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		bytes += written;
		size -= (size_t)written;
		offset += written;
	}
	return true;
}

// --- memory ------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *map_memory(size_t size, void **start)
{
	*start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return *start == MAP_FAILED ? heap_error_out_of_memory() : NULL;
}

// Random access to columns takes half the time with huge pages.
static void ask_for_huge_pages(void *start, size_t size)
{
	madvise(start, size, MADV_HUGEPAGE);
}

// Linux aligns mappings of whole huge pages, so that no part of them takes a page fault for each 4 KiB.
static size_t round_to_huge_pages(size_t size)
{
	size_t rest = size % HUGE_PAGE, added = rest ? HUGE_PAGE - rest : 0;

	return added < size / ROUNDED && size < PTRDIFF_MAX - HUGE_PAGE ? size + added : size;
}

// Replaces a column's memory by a file with the same bytes, piece by piece. On failure, the pieces that
// have been replaced stay.
static bool move_to_file(struct mapping *mapping)
{
	CLEANUP_CLOSE int descriptor = -1;
	struct heap_error *error = make_file(mapping->size, &descriptor);

	if (error) {
		heap_error_destroy(error);
		return false;
	}
	for (size_t done = 0; done < mapping->size; done += PIECE) {
		char *piece = (char *)mapping->start + done;
		size_t size = mapping->size - done < PIECE ? mapping->size - done : PIECE;

		if (!write_all(descriptor, piece, size, (off_t)done) ||
		    mmap(piece, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor,
			 (off_t)done) == MAP_FAILED)
			return false;
		// Starts writing at once, so that the pages can be reclaimed soon.
		sync_file_range(descriptor, (off_t)done, (off_t)size, SYNC_FILE_RANGE_WRITE);
	}
	madvise(mapping->start, mapping->size, MADV_SEQUENTIAL);
	return true;
}

static bool move_to_memory(struct mapping *mapping)
{
	void *memory;
	struct heap_error *error = map_memory(mapping->size, &memory);

	if (error) {
		heap_error_destroy(error);
		return false;
	}
	ask_for_huge_pages(memory, mapping->size);
	memcpy(memory, mapping->start, mapping->size);
	if (mremap(memory, mapping->size, mapping->size, MREMAP_MAYMOVE | MREMAP_FIXED,
		   mapping->start) != MAP_FAILED)
		return true;
	munmap(memory, mapping->size);
	return false;
}

// --- the budget --------------------------------------------------------------

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void heap_column_limit(uint64_t bytes)
{
	pthread_mutex_lock(&mutex);
	budget = bytes;
	for (const struct mapping *mapping = mappings; mapping; mapping = mapping->next)
		budget -= least(budget, mapping->charged);
	budget_known = true;
	pthread_mutex_unlock(&mutex);
}

// Selects a resting column to move to a file: the smallest one that is large enough, or else the
// largest. @return NULL if all of them together are too small
static struct mapping *find_resting(uint64_t bytes)
{
	struct mapping *best = NULL;
	uint64_t all = 0;

	for (struct mapping *mapping = mappings; mapping; mapping = mapping->next) {
		uint64_t size = mapping->rests ? mapping->charged : 0;
		uint64_t before = best ? best->charged : 0;

		all += size;
		if (before < bytes ? size > before : size >= bytes && size < before)
			best = mapping;
	}
	return all < bytes ? NULL : best;
}

// Takes bytes off the budget, moving resting columns to files if necessary. Needs the mutex.
static bool charge(size_t bytes)
{
	if (!budget_known)
		budget = heap_memory_budget();
	budget_known = true;
	while (bytes > budget) {
		struct mapping *resting = find_resting(bytes - budget);

		if (!resting)
			return false;
		if (!move_to_file(resting)) {
			resting->rests = false;
			return false;
		}
		budget += resting->charged;
		resting->charged = 0;
	}
	budget -= bytes;
	return true;
}

// --- columns -----------------------------------------------------------------

// Maps memory within the budget, or else a file. Needs the mutex. @param charged  bytes of the budget
HEAP_MUST_CHECK
static struct heap_error *map(struct mapping *mapping, size_t charged)
{
	struct heap_error *error;

	if (!charge(charged))
		return map_file(mapping->size, &mapping->start);
	error = map_memory(mapping->size, &mapping->start);
	if (error) {
		heap_error_destroy(error);
		budget += charged;
		return map_file(mapping->size, &mapping->start);
	}
	if (charged == mapping->size)
		ask_for_huge_pages(mapping->start, mapping->size);
	mapping->charged = charged;
	return NULL;
}

// @param share  one byte in so many counts for the budget
HEAP_MUST_CHECK
static struct heap_error *create(size_t count, size_t width, size_t share, void *column)
{
	struct heap_error *error;
	size_t size;

	if (__builtin_mul_overflow(count, width, &size) || size > PTRDIFF_MAX)
		return heap_error_out_of_memory();
	if (size <= SMALL) {
		void *start = calloc(1, size ? size : 1);

		if (!start)
			return heap_error_out_of_memory();
		*(void **)column = start;
		return NULL;
	}

	CLEANUP_FREE struct mapping *mapping = calloc(1, sizeof(*mapping));

	if (!mapping)
		return heap_error_out_of_memory();
	mapping->size = share == 1 ? round_to_huge_pages(size) : size;
	pthread_mutex_lock(&mutex);
	error = map(mapping, mapping->size / share);
	if (!error) {
		*(void **)column = mapping->start;
		mapping->next = mappings;
		mappings = keep(mapping);
	}
	pthread_mutex_unlock(&mutex);
	return error;
}

struct heap_error *heap_column_create(size_t count, size_t width, void *column)
{
	return create(count, width, 1, column);
}

struct heap_error *heap_column_create_sparse(size_t count, size_t width, void *column)
{
	return create(count, width, SPARSE, column);
}

// Finds a column's link in the list of mappings: NULL for memory of malloc(). Needs the mutex.
static struct mapping **find(const void *column)
{
	struct mapping **place = &mappings;

	while (*place && (*place)->start != column)
		place = &(*place)->next;
	return place;
}

// Grows ordinary memory without a copy. Needs the mutex.
static bool grow_memory(struct mapping *mapping, size_t bytes)
{
	size_t size = round_to_huge_pages(bytes);

	if (mapping->charged < mapping->size || bytes < mapping->size ||
	    !charge(size - mapping->size))
		return false;

	void *start = mremap(mapping->start, mapping->size, size, MREMAP_MAYMOVE);

	if (start == MAP_FAILED) {
		budget += size - mapping->size;
		return false;
	}
	ask_for_huge_pages(start, size);
	mapping->start = start;
	mapping->size = mapping->charged = size;
	return true;
}

// @param kept  gets the present size
static bool grow(size_t bytes, void **place, size_t *kept)
{
	struct mapping *mapping;
	bool is_done;

	pthread_mutex_lock(&mutex);
	mapping = *find(*place);
	is_done = mapping && grow_memory(mapping, bytes);
	if (is_done)
		*place = mapping->start;
	*kept = mapping ? mapping->size : malloc_usable_size(*place);
	pthread_mutex_unlock(&mutex);
	return is_done;
}

struct heap_error *heap_column_resize(size_t bytes, void *column)
{
	void **place = column, *larger;
	size_t kept = 0;

	if (*place && grow(bytes, place, &kept))
		return NULL;
	HEAP_TRY(heap_column_create(bytes, 1, &larger));
	if (kept > 0)
		memcpy(larger, *place, kept < bytes ? kept : bytes);
	heap_column_destroy(*place);
	*place = larger;
	return NULL;
}

bool heap_column_is_mapped(const void *column)
{
	bool is_mapped;

	pthread_mutex_lock(&mutex);
	is_mapped = *find(column) != NULL;
	pthread_mutex_unlock(&mutex);
	return is_mapped;
}

void heap_column_rest(const void *column)
{
	struct mapping *mapping;

	pthread_mutex_lock(&mutex);
	mapping = *find(column);
	if (mapping)
		mapping->rests = true;
	if (mapping && !mapping->charged)
		madvise(mapping->start, mapping->size, MADV_SEQUENTIAL);
	pthread_mutex_unlock(&mutex);
}

void heap_column_wake(const void *column)
{
	struct mapping *mapping;

	pthread_mutex_lock(&mutex);
	mapping = *find(column);
	if (mapping)
		mapping->rests = false;
	if (mapping && !mapping->charged) {
		madvise(mapping->start, mapping->size, MADV_NORMAL);
		if (charge(mapping->size)) {
			if (move_to_memory(mapping))
				mapping->charged = mapping->size;
			else
				budget += mapping->size;
		}
	}
	pthread_mutex_unlock(&mutex);
}

// True if the bytes are part of a column that is memory. Needs the mutex.
static bool is_in_memory(const char *start, size_t size)
{
	for (const struct mapping *mapping = mappings; mapping; mapping = mapping->next) {
		const char *first = mapping->start;

		if (start >= first && start < first + mapping->size)
			return mapping->charged == mapping->size &&
			       size <= (size_t)(first + mapping->size - start);
	}
	return false;
}

void heap_column_populate(const void *start, size_t size)
{
#ifdef MADV_POPULATE_WRITE // Linux 5.14
	uintptr_t first = ((uintptr_t)start + SMALL_PAGE - 1) / SMALL_PAGE * SMALL_PAGE;
	uintptr_t end = ((uintptr_t)start + size) / SMALL_PAGE * SMALL_PAGE;
	bool is_worth_it;

	pthread_mutex_lock(&mutex);
	is_worth_it = is_in_memory(start, size);
	pthread_mutex_unlock(&mutex);
	if (is_worth_it && first < end)
		madvise((void *)first, end - first, MADV_POPULATE_WRITE);
#else
	(void)start;
	(void)size;
#endif
}

void heap_column_destroy(void *column)
{
	struct mapping **place, *found = NULL;

	if (!column)
		return;
	pthread_mutex_lock(&mutex);
	place = find(column);
	found = *place;
	if (found) {
		*place = found->next;
		budget += found->charged;
		munmap(found->start, found->size);
	}
	pthread_mutex_unlock(&mutex);
	if (!found)
		free(column);
	free(found);
}
