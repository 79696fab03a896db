// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_VAST_H
#define HEAPSNAP_VAST_H

/**
 * Vast mappings of a frozen copy, such as a sparse table or reserved address space of terabytes, are
 * divided into parts where the kernel cannot list touched pages (page_scan.h). /proc/PID/smaps then tells
 * which parts have any: the other parts need not be asked about page by page.
 *
 *	|  part  |  part  |  part  |  part  |  part  |
 *	         |DONTFORK|        |DONTFORK|
 *
 * Every second part is left out of further copies, MADV_DONTFORK of madvise(2). In a frozen copy nothing
 * else is: what the program leaves out is not there. The first and the last part never are, so the
 * writer can put the mapping together again.
 */

#include <stdbool.h>
#include <stdint.h>

struct heapsnap_vast {
	uint64_t start, end;
	uint64_t first; /**< that is to be left out; then every second */
	uint64_t part;  /**< bytes of each */
};

/**
 * True if the kernel cannot list touched pages, though it has a page map: /proc/PID/pagemap.
 * async-signal-safe.
 */
bool heapsnap_must_divide(void);

/**
 * @param line  of /proc/PID/maps
 * @return true if it is a mapping to be divided
 */
bool heapsnap_find_vast(const char *line, struct heapsnap_vast *vast);

/** The next part that is to be left out, after @p at; begin with 0. @return 0: there is none */
static inline uint64_t heapsnap_vast_next(const struct heapsnap_vast *vast, uint64_t at)
{
	uint64_t next = at ? at + 2 * vast->part : vast->first;

	return next + vast->part < vast->end ? next : 0;
}

/** Calls madvise(2) in the frozen copy. @return 0 if that succeeded */
typedef long heapsnap_vast_advise(void *context, uint64_t start, uint64_t size, int advice);

/** Divides a mapping of the frozen copy, unless that would be too many mappings. */
void heapsnap_vast_divide(const struct heapsnap_vast *vast, heapsnap_vast_advise *advise,
			  void *context);

#endif
