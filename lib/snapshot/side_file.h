// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_SIDE_FILE_H
#define HEAP_SIDE_FILE_H

/**
 * What has been computed of a snapshot, kept for the next time somebody asks.
 *
 * A side file lies in the user's cache directory, $XDG_CACHE_HOME/heapsh or ~/.cache/heapsh,
 * and is called by the snapshot's id and what is in it: 0123…ef-5f1c2d3e.dominators. It has a
 * few columns of fixed width, as they are in memory, and is mapped: what a question does not
 * touch is not read again.
 *
 *	┌────────┬─────────────┬───────────┬──────────┬──────────┬───
 *	│ header │ CRC of each │ (to 4096) │ column 0 │ column 1 │ …
 *	│        │ 4 MiB piece │           │ of 8 · n │ bytes    │
 *	└────────┴─────────────┴───────────┴──────────┴──────────┴───
 *
 * It is checked when it is opened, to the last byte; one that is damaged, of another version,
 * of another user, or of a snapshot with the same id and other contents is as good as none.
 * Files that nobody has asked for in two weeks are removed when another is stored.
 */

#include "lib/snapshot/snapshot.h"

enum {
	HEAP_SIDE_COLUMNS = 4,
	/** Objects and pointers of a snapshot for which storing what was computed pays. */
	HEAP_SIDE_WORTH = 1000000,
};

struct heap_side_column {
	const void *values;
	uint64_t count;
	uint32_t width; /**< bytes of a value */
};

struct heap_side_file {
	struct heap_side_column columns[HEAP_SIDE_COLUMNS]; /**< as they were asked for */
	void *mapping;
	size_t size;
};

/**
 * Opens what was stored under a name.
 *
 * @param result  its columns' counts and widths say what is expected, their values are set
 * @return NULL; HEAP_ERROR_ABSENT: there is none, or it is of no use; HEAP_ERROR_SYSTEM,
 *         HEAP_ERROR_FORMAT (it is damaged), HEAP_ERROR_MEMORY
 */
HEAP_MUST_CHECK
struct heap_error *heap_side_file_open(const struct heap_snapshot *snapshot, const char *name,
				       size_t columns, struct heap_side_file *result);

/** The columns' values are gone then. */
void heap_side_file_close(struct heap_side_file *file);

/**
 * Stores columns under a name, in place of what was there. A snapshot that was not read from
 * a file, or is too small to be worth it, is ABSENT.
 */
HEAP_MUST_CHECK
struct heap_error *heap_side_file_store(const struct heap_snapshot *snapshot, const char *name,
					const struct heap_side_column *columns, size_t count);

#endif
