// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HOLDERS_H
#define HOLDERS_H

/**
 * Holders: the objects of the types whose pointers a search is about, by address.
 *
 * Most searches are about few types, and most objects are of others. There are few names, so each is asked once
 * if its type is one of them; the objects of others are then passed over, a byte of a small table for each.
 */

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"

struct holders {
	const struct names *names;
	bool *are_held; /**< [names->count] by number: objects of the name are holders */
	heap_object_id objects;
};

/**
 * Finds the names of holders. No object may get another name while they are visited; claims may wait.
 *
 * @param are_types  [types] true for those that a search is about; HEAP_NO_TYPE is none of them
 */
HEAP_MUST_CHECK
struct heap_error *holders_init(struct holders *holders, const struct inference *inference,
				const bool *are_types);

void holders_deinit(struct holders *holders);

/** The first holder from an object on; the number of objects if there is none, or the time is up. */
static inline heap_object_id holders_next(const struct holders *holders, heap_object_id object)
{
	heap_object_id next = object;

	if (progress_is_late())
		return holders->objects;
	while (next < holders->objects && !holders->are_held[names_number(holders->names, next)])
		next++;
	progress_steps(next - object + 1);
	return next;
}

#endif
