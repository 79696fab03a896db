// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef NODE_LINKS_H
#define NODE_LINKS_H

/**
 * The structs by which nodes of containers hang together, whatever they hold.
 *
 *	struct link { link *next; };
 *	template <class T> struct Node : link { T value; };               is derived from it
 *	template <class T> struct Entry { Entry *next; T value; };        repeats its members
 */

#include "lib/base/hash_table.h"
#include "lib/types/types.h"

struct node_links {
	const struct heap_types *types;
	uint8_t *
		is_open; /**< [types] nonzero: others than instances of templates are derived from them */
	struct heap_hash_table by_members; /**< private: structs that lead to their own kind */
};

/** @param links  zeros at first; node_links_deinit() frees it, also after an error. @param types  outlives it */
HEAP_MUST_CHECK
struct heap_error *node_links_init(struct node_links *links, const struct heap_types *types);

void node_links_deinit(struct node_links *links);

/**
 * The first base of a class that is no instance of a template, or the innermost one if that leads to its own kind, as the
 * hook of an intrusive list. Objects with a vtable tell their classes themselves.
 *
 * @return HEAP_NO_TYPE: there is none
 */
heap_type_id node_links_find_base(const struct heap_types *types, heap_type_id type);

/** The link with most members that a struct begins with; HEAP_NO_TYPE: there is none. */
heap_type_id node_links_find_repeated(const struct node_links *links, heap_type_id type);

/** True for a struct or class with a name, of which more than that is known. */
static inline bool node_links_is_class(const struct heap_type *type)
{
	return (type->kind == HEAP_TYPE_STRUCT || type->kind == HEAP_TYPE_CLASS) &&
	       type->size > 0 && type->name != 0;
}

/** How many links a type has in it, as far as one sees. */
unsigned node_links_count(const struct heap_types *types, heap_type_id type, heap_type_id link);

/** True if a struct has a pointer to its own kind among its members. */
bool node_links_lead_to_own(const struct heap_types *types, heap_type_id type);

#endif
