// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_PAGE_SCAN_H
#define HEAPSNAP_PAGE_SCAN_H

/** The request PAGEMAP_SCAN to /proc/PID/pagemap (linux/fs.h since Linux 6.7): which pages were touched. */

#include <stdint.h>
#include <sys/ioctl.h>

/** Its argument. */
struct heapsnap_page_scan {
	uint64_t size, flags, start, end, walk_end;
	uint64_t regions, region_count, max_pages;
	uint64_t inverted, mask, any_of, returned;
};

/** An element of its answer: pages in a row, all of the same categories. */
struct heapsnap_page_region {
	uint64_t start, end, categories;
};

#define HEAPSNAP_PAGE_SCAN _IOWR('f', 16, struct heapsnap_page_scan)
#define HEAPSNAP_PAGE_PRESENT (UINT64_C(1) << 3)
#define HEAPSNAP_PAGE_SWAPPED (UINT64_C(1) << 4)

/** For the first touched page of [start, end). */
static inline struct heapsnap_page_scan heapsnap_page_scan(uint64_t start, uint64_t end,
							   struct heapsnap_page_region *found)
{
	return (struct heapsnap_page_scan){
		.size = sizeof(struct heapsnap_page_scan),
		.start = start,
		.end = end,
		.regions = (uintptr_t)found,
		.region_count = 1,
		.max_pages = 1,
		.any_of = HEAPSNAP_PAGE_PRESENT | HEAPSNAP_PAGE_SWAPPED,
		.returned = HEAPSNAP_PAGE_PRESENT | HEAPSNAP_PAGE_SWAPPED,
	};
}

#endif
