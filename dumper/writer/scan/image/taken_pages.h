// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef TAKEN_PAGES_H
#define TAKEN_PAGES_H

/**
 * Huge pages (MAP_HUGETLB) that the kernel has taken from the frozen copy.
 *
 * There are only so many. When the program writes to one that it has in common with its copy, and none is free, it
 * keeps the page, and the copy loses it: what was in it is not known then, and reads as zeros.
 */

#include "dumper/writer/scan/image/image.h"

/**
 * Finds such pages, and notes them as unread. So are those that the program has touched for the first time since, which
 * are few.
 *
 * @param program  whose copy the image is of; nothing is found if it has ended
 * @param bytes    gets their size
 */
HEAP_MUST_CHECK
struct heap_error *taken_pages_find(struct image *image, pid_t program, uint64_t *bytes);

#endif
