// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef WINDOW_H
#define WINDOW_H

/**
 * Reads words of an image through a buffer. A walk from block to block mostly stays inside it.
 *
 * Where a walk goes on behind the window's end, another thread reads what follows, while the walk is
 * in the window:
 *
 *	memory   ───┤ window ├┤ ahead ├───▶
 */

#include "dumper/writer/scan/image/image.h"
#include "lib/base/parallel.h"

#include <string.h>

enum {
	WINDOW_FAR = 1 << 20,  /**< bytes, for walks */
	WINDOW_NEAR = 1 << 12, /**< for pointers that lead anywhere */
};

/** Memory that another thread reads. */
struct read_ahead {
	struct heap_parallel_job job;
	const struct image *image;
	uint64_t start, size;
	uint8_t *bytes; /**< [capacity of the window] NULL: not needed yet */
};

struct window {
	const struct image *image;
	uint64_t start, size; /**< of the memory that the buffer holds */
	uint64_t capacity;    /**< bytes; a multiple of the page size */
	uint8_t *bytes;
	struct read_ahead ahead;
};

/** The two windows of a walk through the structures of an allocator. */
struct windows {
	struct window far, near; /**< of WINDOW_FAR and WINDOW_NEAR bytes */
};

HEAP_MUST_CHECK
struct heap_error *windows_init(struct windows *windows, const struct image *image);

/** Zeros are fine. */
void windows_deinit(struct windows *windows);

/** Private: moves the window to where @p address is. @return false if nothing is mapped there */
bool window_move(struct window *window, uint64_t address);

/**
 * Reads a word. Pages that cannot be read are zeros.
 *
 * @return false if @p address is no multiple of 8, or nothing readable is mapped there
 */
static inline bool window_word(struct window *window, uint64_t address, uint64_t *result)
{
	if (address - window->start >= window->size && !window_move(window, address))
		return false;
	if (address % 8 != 0)
		return false;
	memcpy(result, window->bytes + (address - window->start), sizeof(*result));
	return true;
}

/** The same, or 0. */
static inline uint64_t window_peek(struct window *window, uint64_t address)
{
	uint64_t result;

	return window_word(window, address, &result) ? result : 0;
}

#endif
