// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The writer's large arrays are columns (lib/base/column.h), whoever asks malloc for them: what has an
 * entry per object or per edge need not fit into memory.
 *
 * The linker has calls of malloc's family in the writer and in lib/ lead here (--wrap); those of
 * the C library and of other libraries stay as they are. So blocks of theirs are freed here, and
 * never one of ours by them: nobody gives them a large array to keep.
 */
#include "lib/base/column.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	LARGE = (1 << 20) + 1, // smaller columns are malloc's
	PAGE = 4096,           // where columns begin, and few blocks of malloc's
};

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_reallocarray(void *block, size_t count, size_t size);
void __wrap_free(void *block);

static bool is_column(const void *block)
{
	return block && (uintptr_t)block % PAGE == 0 && heap_column_is_mapped(block);
}

// NULL, and errno, as malloc has them.
static bool is_done(struct heap_error *error)
{
	if (!error)
		return true;
	heap_error_destroy(error);
	errno = ENOMEM;
	return false;
}

static void *make_column(size_t bytes)
{
	void *column;

	return is_done(heap_column_create(bytes, 1, &column)) ? column : NULL;
}

void *__wrap_malloc(size_t size)
{
	return size < LARGE ? __real_malloc(size) : make_column(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes) || bytes < LARGE)
		return __real_calloc(count, size);
	return make_column(bytes);
}

void *__wrap_realloc(void *block, size_t size)
{
	if (size < LARGE && !is_column(block))
		return __real_realloc(block, size);
	if (size == 0) {
		heap_column_destroy(block);
		return NULL;
	}
	return is_done(heap_column_resize(size, &block)) ? block : NULL;
}

void *__wrap_reallocarray(void *block, size_t count, size_t size)
{
	size_t bytes;

	if (!__builtin_mul_overflow(count, size, &bytes))
		return __wrap_realloc(block, bytes);
	errno = ENOMEM;
	return NULL;
}

void __wrap_free(void *block)
{
	if (is_column(block))
		heap_column_destroy(block);
	else
		__real_free(block);
}
