// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_SIDE_FILE_H
#define HEAP_SIDE_FILE_H

/**
 * Side files: a cache of computed columns of a snapshot.
 *
 * A side file is in the user's cache directory, $XDG_CACHE_HOME/heapsh or ~/.cache/heapsh. Its name
 * is the snapshot's id and its contents: 0123…ef-5f1c2d3e.dominators. It has a few columns of fixed
 * width, in the format of memory, and is mapped.
 *
 *	┌────────┬─────────────┬───────────┬──────────┬──────────┬───
 *	│ header │ CRC of each │ (to 4096) │ column 0 │ column 1 │ …
 *	│        │ 4 MiB piece │           │ of 8 · n │ bytes    │
 *	└────────┴─────────────┴───────────┴──────────┴──────────┴───
 *
 * Opening checks every byte. A file that is damaged, of another version, of another user, or of a
 * snapshot with the same id and other contents is ignored. Storing a file removes those that nobody
 * has used for two weeks.
 */

#include "lib/snapshot/snapshot.h"

enum {
	HEAP_SIDE_COLUMNS = 4,
	/** The number of objects and edges from which on a side file is worth it. */
	HEAP_SIDE_WORTH = 1000000,
};

struct heap_side_column {
	const void *values;
	uint64_t count;
	uint32_t width; /**< bytes of a value */
};

struct heap_side_file {
	struct heap_side_column columns[HEAP_SIDE_COLUMNS]; /**< as the caller described them */
	void *mapping;
	size_t size;
};

/**
 * Opens the side file of a name.
 *
 * @param result  with the counts and widths of the columns; gets their values
 * @return NULL; HEAP_ERROR_ABSENT: there is none, or it does not fit; HEAP_ERROR_SYSTEM,
 *         HEAP_ERROR_FORMAT (it is damaged), HEAP_ERROR_MEMORY
 */
HEAP_MUST_CHECK
struct heap_error *heap_side_file_open(const struct heap_snapshot *snapshot, const char *name,
				       size_t columns, struct heap_side_file *result);

/** Unmaps the columns' values. */
void heap_side_file_close(struct heap_side_file *file);

/**
 * Stores columns under a name, replacing the file that was there.
 *
 * @return NULL; HEAP_ERROR_ABSENT if the snapshot was not read from a file, or is too small to be
 *         worth it; HEAP_ERROR_SYSTEM, HEAP_ERROR_MEMORY
 */
HEAP_MUST_CHECK
struct heap_error *heap_side_file_store(const struct heap_snapshot *snapshot, const char *name,
					const struct heap_side_column *columns, size_t count);

#endif
