// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef IMAGE_PARTS_H
#define IMAGE_PARTS_H

/**
 * Reads /proc/PID/smaps of the frozen copy: which mappings are wiped, and, where a vast mapping was divided
 * into parts (dumper/base/vast.h), which parts have pages. The page map is read of those parts alone.
 */

#include "dumper/writer/scan/image/image_mapping.h"

#include "lib/base/error.h"

#include <stddef.h>
#include <sys/types.h>

#define IMAGE_PAGE_TOUCHED (UINT64_C(3) << 62) /**< of an entry: in memory, or swapped out */
#define IMAGE_PAGE_OF_FILE (UINT64_C(1) << 61) /**< it is a file's, or shared */

struct image_parts;

/**
 * Marks the mappings of a process, and makes one again of those that were divided.
 *
 * @param pagemap  its /proc/PID/pagemap, or -1
 * @param count    of the mappings; less afterwards where some were divided
 * @param parts    gets what is known of these; NULL if there are none
 */
HEAP_MUST_CHECK
struct heap_error *image_parts_join(pid_t pid, int pagemap, struct image_mapping *mappings,
				    size_t *count, struct image_parts **parts);

void image_parts_destroy(struct image_parts *parts);

/**
 * The first address of [@p start, @p end), all in one divided mapping, that may have been touched; @p end
 * if there is none.
 */
uint64_t image_parts_skip(const struct image_parts *parts, uint64_t start, uint64_t end);

#endif
