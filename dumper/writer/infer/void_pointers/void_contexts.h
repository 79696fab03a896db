// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef VOID_CONTEXTS_H
#define VOID_CONTEXTS_H

/**
 * The contexts of containers of anything. All lists have one type of nodes, with a void pointer, and all hash tables one
 * type, but those to which one member or variable leads have values of one type:
 *
 *	struct store { struct table *files, *users; }
 *	               files ─▶ table ─▶ keys ─▶ void *[] ─▶ char[]
 *	                              └▶ values ─▶ void *[] ─▶ struct file
 *
 * The context of an object is the path of members from the nearest object or variable that is no container. The head of a
 * container, all of whose pointers lead to the nodes with void pointers, or to what many heads share, is one, too.
 * Nodes that lead to each other have one context. That of a table which is a variable itself is the variable. The functions
 * that the containers on the path have, as those that free keys and values, may handle what is in them.
 */

#include "dumper/writer/infer/layout.h"
#include "lib/base/array.h"
#include "lib/base/hash_table.h"
#include "lib/snapshot/snapshot.h"

struct inference;

enum {
	VOID_CONTEXT_FUNCTIONS = 8, /**< of one context, at most */
};

/** The last pointer of a path: a member of a struct, or static memory. */
struct void_origin {
	heap_type_id type; /**< HEAP_NO_TYPE: static memory */
	uint64_t at;       /**< offset, or address */
	heap_root_id root; /**< the variable that is there */
};

struct void_context {
	uint32_t hash;
	struct void_origin origin;
	uint32_t parent; /**< hash of the path without its last member; 0: it has no other */
	uint32_t count;
	uint64_t functions[VOID_CONTEXT_FUNCTIONS]; /**< [count] addresses in its objects */
};

struct void_contexts {
	uint32_t *of; /**< [objects] hashes of paths; 0: none. NULL: they have not been found */
	struct HEAP_ARRAY(struct void_context) list;
	struct heap_hash_table by_hash; /**< private */
};

/**
 * Finds the contexts of all objects with types that have void pointers.
 *
 * @param is_container  [types] nonzero for such types
 * @param contexts      zeros at first; void_contexts_deinit() frees it, also after an error
 */
HEAP_MUST_CHECK
struct heap_error *void_contexts_find(const struct inference *inference,
				      const uint8_t *is_container, struct void_contexts *contexts);

/**
 * The context of void pointers that are in a variable themselves: the variable, or its outermost member.
 *
 * @param origin  gets where that is
 */
uint32_t void_contexts_of_variable(const struct inference *inference,
				   const struct heap_root_edge *edge, struct void_origin *origin);

/** The context with a hash; NULL: there is none. */
const struct void_context *void_contexts_get(const struct void_contexts *contexts, uint32_t hash);

void void_contexts_deinit(struct void_contexts *contexts);

#endif
