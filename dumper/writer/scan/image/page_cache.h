// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef PAGES_H
#define PAGES_H

/**
 * A cache for pages of the frozen copy.
 *
 * Inference reads the contents of blocks in no order of addresses, a few bytes at a time, and many
 * of them again. A system call for each would cost more than everything else. The cache is
 * direct-mapped: a page stays in the slot that its number selects until another page takes it.
 */

#include "dumper/writer/scan/image/image.h"

struct pages;

enum {
	PAGES_FOR_ALL = 8192, /**< 32 MiB, of which only what is used is memory */
	PAGES_IF_FIT = 32768, /**< instead, where all memory that has blocks fits in these */
	PAGES_BYTES_THAT_FIT = 96 << 20, /**< which is not worth more than that */
	PAGES_IN_ORDER = 64,             /**< for who reads by ascending address */
};

/**
 * @param image  must live as long as the result
 * @param most   pages that are kept, a power of two; fewer where memory is short
 * @return NULL: memory is short
 */
struct pages *pages_create(const struct image *image, size_t most);

/** NULL is fine. */
void pages_destroy(struct pages *pages);

/** Reads what lies at an address; zeros where there is nothing. Fast if addresses ascend. */
void pages_read(struct pages *pages, uint64_t address, void *buffer, size_t size);

#endif
