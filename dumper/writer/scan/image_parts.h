// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef IMAGE_PARTS_H
#define IMAGE_PARTS_H

/**
 * What /proc/PID/smaps tells of the frozen copy's mappings: which are wiped, and, where a vast mapping
 * was divided into parts (dumper/base/vast.h), which parts have pages. Only of those the page map is read.
 */

#include "dumper/writer/scan/image.h"

#define IMAGE_PAGE_TOUCHED (UINT64_C(3) << 62) /**< of an entry: in memory, or swapped out */

/** Marks the image's mappings, and makes one again of those that were divided. */
HEAP_MUST_CHECK
struct heap_error *image_parts_join(struct image *image);

void image_parts_destroy(struct image_parts *parts);

/**
 * The first address of [@p start, @p end), all in one mapping, that may have been touched; @p end if there
 * is none. @p start if the mapping was not divided
 */
uint64_t image_parts_skip(const struct image *image, uint64_t start, uint64_t end);

#endif
