// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_COLUMN_H
#define HEAP_COLUMN_H

/**
 * Memory for columns: arrays with a value per object or edge.
 *
 * A snapshot may have more objects than fit into memory. So all columns of the process share a budget.
 * Within it, a column is ordinary memory; beyond it, a mapped temporary file without a name, whose
 * pages the kernel can write out.
 *
 *	 budget ┤ edges ┃ numbers ┃ links │ types │ sizes …
 *	        └──────── memory ─────────┴── temporary files ──
 *
 * A column that is read sequentially may be in a file; one with random access must not, or each access
 * would read a page. So a column that is only read sequentially from now on is marked as resting. If
 * memory runs short for another column, the bytes of a resting one move to a file that is mapped at the
 * same address.
 *
 * The files are in $TMPDIR, or in /var/tmp, since /tmp is in memory on many machines. Their space is
 * reserved at once, so a full disk is an error here, and not SIGBUS later.
 */

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Makes a column of zeros.
 *
 * @param column  the address of a pointer, which is set on success
 * @return NULL, HEAP_ERROR_MEMORY, HEAP_ERROR_SYSTEM: a temporary file cannot be made
 */
HEAP_MUST_CHECK
struct heap_error *heap_column_create(size_t count, size_t width, void *column);

/** The same for a column that will be touched only sparsely: a sixteenth counts for the budget. */
HEAP_MUST_CHECK
struct heap_error *heap_column_create_sparse(size_t count, size_t width, void *column);

/**
 * Changes the size of a column, as realloc() does. New bytes are 0.
 *
 * @param bytes   the new size, more than 0
 * @param column  the address of a pointer to a column, or to memory of malloc(); unchanged on failure
 */
HEAP_MUST_CHECK
struct heap_error *heap_column_resize(size_t bytes, void *column);

/** True if a column is a mapping of its own, not memory of malloc(). */
bool heap_column_is_mapped(const void *column);

/**
 * Marks a column as resting: it is only read, sequentially. NULL and memory of malloc() are fine.
 */
void heap_column_rest(const void *column);

/** Ends the rest of a column, which will be accessed randomly: if there is room, it becomes memory. */
void heap_column_wake(const void *column);

/**
 * Gives a part of a column its pages, as the first access would. Clearing a page may take longer than all that
 * is done with it, so another thread does that ahead. Parts of files and memory of malloc() are left alone.
 */
void heap_column_populate(const void *start, size_t size);

/** Frees a column, or memory of malloc(). NULL is fine. */
void heap_column_destroy(void *column);

/** Sets the budget, in bytes. The default is heap_memory_budget() (lib/base/memory_left.h). */
void heap_column_limit(uint64_t bytes);

/** For variables that free their column when their block is left; keep() prevents that. */
#define CLEANUP_COLUMN __attribute__((cleanup(heap_column_cleanup)))

static inline void heap_column_cleanup(void *variable)
{
	heap_column_destroy(*(void **)variable);
}

#endif
