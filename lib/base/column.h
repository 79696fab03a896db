// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_COLUMN_H
#define HEAP_COLUMN_H

/**
 * Memory for columns: arrays with an entry per object or per edge.
 *
 * A snapshot may have more objects than fit into memory. So the process's columns share a
 * budget: while it lasts a column is ordinary memory, and beyond it a mapped temporary file
 * that has no name any more, whose pages the kernel writes out and takes away when others
 * need them.
 *
 *	 budget ┤ edges ┃ numbers ┃ links │ types │ sizes …
 *	        └──────── memory ─────────┴── temporary files ──
 *
 * What is read in order may as well be a file; what is looked up at random must not, for a page
 * would come and go for each look. So whoever knows that a column is only read in order from now
 * on lets it rest, and when another one finds no room it makes way: its bytes go to a file in the
 * same place of memory. Where nothing is scarce nothing happens.
 *
 * The files lie in $TMPDIR, or in /var/tmp: /tmp is memory itself on many machines. Their
 * space is reserved at once, so a full disk is an error here and not SIGBUS later.
 */

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Makes a column of zeros.
 *
 * @param column  the address of a pointer, which is set on success
 * @return NULL, HEAP_ERROR_MEMORY, HEAP_ERROR_SYSTEM: no temporary file can be had
 */
HEAP_MUST_CHECK
struct heap_error *heap_column_create(size_t count, size_t width, void *column);

/** The same, of a column of which only little will be touched: it counts as a sixteenth. */
HEAP_MUST_CHECK
struct heap_error *heap_column_create_sparse(size_t count, size_t width, void *column);

/**
 * Gives a column another size, keeping what fits of its bytes; it may move. What is new is zero.
 *
 * @param bytes   of the new size, more than 0
 * @param column  the address of a pointer to a column or to what malloc() gave; on failure it
 *                stays as it is
 */
HEAP_MUST_CHECK
struct heap_error *heap_column_resize(size_t bytes, void *column);

/** Whether it is a column that is not in malloc's memory. */
bool heap_column_is_mapped(const void *column);

/**
 * Lets a column rest: nobody writes to it, and who reads it does so in order. What malloc() gave may
 * be asked for this, too, and NULL.
 */
void heap_column_rest(const void *column);

/** From now on a column is looked up at random: it becomes memory again if there is room. */
void heap_column_wake(const void *column);

/** Frees a column, or what malloc() gave. NULL is fine. */
void heap_column_destroy(void *column);

/** Sets the budget, in bytes. Without it, it is heap_memory_budget() (lib/base/memory_left.h). */
void heap_column_limit(uint64_t bytes);

/** For variables that clean up after themselves; keep() hands the column on. */
#define CLEANUP_COLUMN __attribute__((cleanup(heap_column_cleanup)))

static inline void heap_column_cleanup(void *variable)
{
	heap_column_destroy(*(void **)variable);
}

#endif
