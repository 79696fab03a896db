// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SITES_H
#define SITES_H

/**
 * Allocation sites: the distinct return addresses of the blocks' headers, named.
 *
 * A function that is looked through may know better than its callers what it makes: then it
 * is the block's maker, by whom types are found.
 */

#include "lib/snapshot/snapshot.h"

struct capture;

struct sites {
	struct heap_site *sites; /**< [count] */
	uint32_t count;
	heap_site_id *site;  /**< [kinds of objects] that matters */
	heap_site_id *maker; /**< [kinds of objects] that knows most about the blocks */
};

HEAP_MUST_CHECK
struct heap_error *sites_init(struct capture *capture);

void sites_deinit(struct sites *sites);

#endif
