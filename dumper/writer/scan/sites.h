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
	uint32_t count, capacity;
	heap_site_id *site;  /**< [kinds of objects] that matters */
	heap_site_id *maker; /**< [kinds of objects] that knows most about the blocks */
};

/** What is known of types, which later stages find out: infer/site_types.h, infer/headers.h. */
struct site_knowledge {
	/** True if the code at a return address knows the type of the block of @p size that it gets. */
	bool (*knows)(struct capture *capture, uint64_t address, uint64_t size);
	/** True if many types begin as this one does. */
	bool (*is_prefix)(const struct heap_types *types, heap_type_id type);
};

/** Finds the sites of all kinds of objects. @param knowledge  must live until it returns */
HEAP_MUST_CHECK
struct heap_error *sites_init(struct capture *capture, const struct site_knowledge *knowledge);

void sites_deinit(struct sites *sites);

#endif
