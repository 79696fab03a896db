// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef ROOT_SIZES_H
#define ROOT_SIZES_H

/**
 * Rows that say who holds the heap: roots or groups of them, those that hold something together, and
 * the rest. The rows' retained bytes add up to all bytes of the heap.
 *
 *	g_table ──▶ table ──▶ slots ──▶ names        retained, if nothing else holds them
 *	g_names ─────────────────────────┘           retained by g_table and g_names together
 */

#include "shell/base/session.h"

enum root_row_kind {
	ROOT_ROW_GROUP,
	ROOT_ROW_JOINT,   /**< several groups together */
	ROOT_ROW_MORE,    /**< rows that are not shown */
	ROOT_ROW_MANY,    /**< more groups together than HEAP_JOINT_MOST */
	ROOT_ROW_OUTSIDE, /**< roots that were not selected, alone or with others */
	ROOT_ROW_WORDS,   /**< words of stacks, registers and mappings alone */
	ROOT_ROW_LEAKED,
};

struct root_row {
	enum root_row_kind kind;
	uint32_t group;                      /**< of GROUP */
	const struct heap_joint_size *joint; /**< of JOINT */
	struct heap_root_size size;          /**< of JOINT and the rest only what is retained */
	uint64_t count;                      /**< MORE: rows; WORDS: roots */
	const char *types;                   /**< of JOINT: "2000 struct order, 10 char[]" */
};

/** Groups of roots, measured. */
struct root_groups {
	uint32_t count;
	uint32_t words; /**< the group that is the row WORDS, or HEAP_NO_GROUP */
	const struct heap_root_sizes *all;
	const struct heap_root_size *sizes;   /**< [count] */
	const struct heap_joint_sizes *joint; /**< what several of them retain together */
	const heap_root_id *roots; /**< [count] the first root of each; NULL: groups are roots */
	const char *const *labels; /**< [count] names, some NULL: that of the root; or NULL */
};

/** The groups of session_root_holders(). */
HEAP_MUST_CHECK
struct heap_error *root_groups_by_root(struct session *session, struct root_groups *result);

/**
 * Makes the rows.
 *
 * @param minimum  bytes that a group reaches, or several hold together, for a row of their own
 * @param limit    rows for groups and several groups together
 * @param result   [*count] the session's: by bytes retained, the most first; then the rest
 */
HEAP_MUST_CHECK
struct heap_error *root_rows_make(struct session *session, const struct root_groups *groups,
				  uint64_t minimum, uint64_t limit, struct root_row **result,
				  size_t *count);

/** A row's name: a root or group, "a and b, together: 10 struct c", or what the rest is. */
const char *root_row_name(struct session *session, const struct root_groups *groups,
			  const struct root_row *row);

/** Names of the groups that hold something together, in an array of the output. */
void root_row_json_names(struct session *session, const struct root_groups *groups,
			 const struct heap_joint_size *joint);

/** A word for a row that is neither a group nor joint: "more", "many", "others"...; else NULL. */
const char *root_row_word(enum root_row_kind kind);

/** The holders of the objects of a class: "a and b, together". @param groups  root_groups_by_root() */
const char *root_class_name(struct session *session, const struct root_groups *groups,
			    uint32_t class);

/** The holders of an object or a part that is at the top of session->dominators. */
HEAP_MUST_CHECK
struct heap_error *root_holders_of(struct session *session, heap_node_id node, const char **result);

#endif
