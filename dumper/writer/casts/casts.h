// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CASTS_H
#define CASTS_H

/**
 * Casts: the structs that the program's code takes void pointers for (code_casts.h).
 *
 * Where the sites of blocks are known, the code there tells more, but not if it has a block's size from a table: then only those who
 * use the block know its type.
 */

#include "dumper/writer/scan/capture.h"

#include "lib/base/array.h"

/** A void pointer of a struct, or in an array of void pointers, and what it was cast to. */
struct cast {
	heap_type_id holder; /**< stripped, as is the target; void *: any array of these */
	heap_type_id target;
	uint32_t offset; /**< 0 in an array */
	/**
	 * What leads to the container that this is for: a member of a struct, of this type, at this offset, or static memory of
	 * no type at this address; HEAP_NO_TYPE and 0: it is not known.
	 */
	heap_type_id container;
	uint64_t at;
	bool is_pointer; /**< there is a pointer to the container, not itself */
};

/** True if it is known for which container a cast is. */
static inline bool casts_has_container(const struct cast *cast)
{
	return cast->container != HEAP_NO_TYPE || cast->at != 0;
}

struct casts {
	struct HEAP_ARRAY(struct cast) list; /**< by holder, offset, target, container: each once */
};

/** Finds the casts of all modules, which may add types to the capture's. casts_deinit() frees them. */
HEAP_MUST_CHECK
struct heap_error *casts_init(struct casts *casts, struct capture *capture);

void casts_deinit(struct casts *casts);

/** Those of a void pointer. @param count  how many @return the first; NULL: there is none */
const struct cast *casts_find(const struct casts *casts, heap_type_id holder, uint64_t offset,
			      size_t *count);

#endif
