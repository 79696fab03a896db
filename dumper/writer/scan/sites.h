// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SITES_H
#define SITES_H

/**
 * Allocation sites: the distinct return addresses in the blocks' headers, with names.
 *
 * A wrapper may know better than its callers what it allocates. Then it is the block's maker, whose
 * code type inference reads.
 */

#include "dumper/writer/scan/capture.h"

/** Knowledge of types, which later stages have: infer/site_types.h, infer/headers.h. */
struct site_knowledge {
	/** True if the code at a return address knows the type of the block of @p size that it gets. */
	bool (*knows)(struct capture *capture, uint64_t address, uint64_t size);
	/** True if many types begin as this one does. */
	bool (*is_prefix)(const struct heap_types *types, heap_type_id type);
};

/**
 * Finds the sites of all kinds of objects: the snapshot's table of sites, site_of_kind and
 * maker_of_kind.
 *
 * @param knowledge  must live until it returns
 */
HEAP_MUST_CHECK
struct heap_error *sites_find(struct capture *capture, const struct site_knowledge *knowledge);

/**
 * True if debug information tells the types of the code at a site, or if that code is not known. A
 * module with debug information may have objects without it, and some has no types (gcc -g1).
 */
bool sites_has_types(const struct capture *capture, heap_site_id id);

#endif
