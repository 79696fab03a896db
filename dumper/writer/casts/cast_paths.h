// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CAST_PATHS_H
#define CAST_PATHS_H

/**
 * The paths of void pointers through functions, for code_casts.h.
 *
 *	void list_append(struct list *list, void *data)   parameter ──▶ node->data
 *	void *list_first(struct list *list)               node->data ──▶ result
 *	destroy(node->data)                               node->data ──▶ parameter of destroy()
 *
 *	bool list_get(struct list *list, void **data)	node->data ──▶ what the parameter leads to
 *	node->data = job_new()				result of job_new() ──▶ node->data
 *
 * Who calls the first two or the fourth, or is the third or the last, knows the type.
 */

#include "lib/base/array.h"

#include <stdbool.h>
#include <stdint.h>

enum cast_path_kind {
	CAST_STORES,  /**< a function keeps the parameter in the member */
	CAST_RETURNS, /**< it returns the member */
	CAST_TAKES,   /**< it is called with the member as that parameter */
	CAST_GIVES,   /**< it stores the member where the parameter leads to */
	CAST_KEEPS,   /**< what it has returned is kept in the member */
};

/**
 * The place of a container, as code hands it to a function of that: a pointer to it is in a struct or in static memory, or
 * the container itself is there.
 */
struct cast_container {
	uint64_t holder; /**< as that of a member; 0: static memory */
	uint64_t at;     /**< offset, or address; both 0: it is not known */
	bool is_pointer;
};

/** One end of a path: what a function gets or returns. */
struct cast_end {
	uint64_t function; /**< address of its first instruction */
	uint8_t kind;      /**< enum cast_path_kind */
	uint8_t reg;       /**< DWARF number of the parameter's register */
};

/** The other: a member of a struct. */
struct cast_member {
	uint64_t holder; /**< place of the type of a pointer to the struct; 0: none */
	uint32_t offset;
	bool is_element;                 /**< of the array that the member leads to */
	struct cast_container container; /**< that the struct belongs to */
};

struct cast_path {
	struct cast_end end;
	struct cast_member member;
	unsigned round; /**< that found it */
};

/** Zeros are no paths. */
struct cast_paths {
	/** The first [known] by function, kind, register and member: those of the rounds that have ended. */
	struct HEAP_ARRAY(struct cast_path) list;
	size_t known;
	unsigned round; /**< that goes on */
};

void cast_paths_deinit(struct cast_paths *paths);

/** Adds a path, unless there are too many. It is known when the round has ended. */
HEAP_MUST_CHECK
struct heap_error *cast_paths_add(struct cast_paths *paths, const struct cast_end *end,
				  const struct cast_member *member);

/** Ends a round. @return true if it has found paths */
bool cast_paths_end_round(struct cast_paths *paths);

/** True if the last round has found a path of a function. @param kinds  bits, 1 << kind */
bool cast_paths_have(const struct cast_paths *paths, uint64_t function, unsigned kinds);

/** The known paths with an end. @return [*count], one behind the other */
const struct cast_path *cast_paths_find(const struct cast_paths *paths, const struct cast_end *end,
					size_t *count);

#endif
