// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef LEAK_GROUPS_H
#define LEAK_GROUPS_H

/** Groups of leaks (lib/graph/leaks.h): direct ones, with the indirect leaks that they hold. */

#include "lib/base/hash_table.h"
#include "lib/graph/leaks.h"
#include "shell/base/session.h"

enum leak_grouping {
	LEAKS_BY_KIND, /**< type and site; where no sites are known, blocks without a type by size */
	LEAKS_BY_TYPE,
	LEAKS_BY_SITE,
	LEAKS_BY_BACKTRACE,
};

struct leak_group {
	uint64_t key;
	heap_object_id example; /**< the first by address */
	uint64_t objects, bytes;
	uint64_t indirect_objects, indirect_bytes;
	uint64_t cycles; /**< of the direct ones: those that only their own cycle holds */
};

struct leak_groups {
	struct session *session;
	enum leak_grouping grouping;
	bool perhaps;            /**< group objects that a register may hold, instead of leaks */
	struct heap_leaks leaks; /**< the caller's to find */
	struct leak_group *all;  /**< [count] the largest first */
	size_t count, capacity;
	struct heap_hash_table by_key; /**< private: groups, until they are sorted */
	const heap_site_id *site_rows; /**< private: while groups are made */
};

/**
 * Makes groups of the leaks that have been found, in place of those made before.
 *
 * @param groups  with session, grouping, perhaps and leaks; the rest is filled in. Needs the
 *                columns SIZE, TYPE, SITE and BACKTRACE.
 */
HEAP_MUST_CHECK
struct heap_error *leak_groups_make(struct leak_groups *groups);

/** "struct node, node_new (app.c:12)"; where no sites are known, "struct node" or "block(48)". The session's. */
const char *leak_groups_name(const struct leak_groups *groups, const struct leak_group *group);

/** Also of the leaks. */
void leak_groups_deinit(struct leak_groups *groups);

#endif
