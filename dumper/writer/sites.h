// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SITES_H
#define SITES_H

/**
 * Allocation sites: the distinct return addresses of the blocks' headers, named.
 */

#include "lib/snapshot.h"

struct capture;

struct sites {
	struct heap_site *sites; /**< [count] */
	uint32_t count;
	heap_site_id *site; /**< [objects] */
};

HEAP_MUST_CHECK
struct heap_error *sites_init(struct capture *capture);

void sites_deinit(struct sites *sites);

#endif
