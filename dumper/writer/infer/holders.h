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
	bool *are_held; /**< [name_count] by number: objects of the name are holders */
	uint32_t name_count;
	bool *are_types; /**< [type_count] the caller's: those that the search is about, not HEAP_NO_TYPE */
	size_t type_count;
	heap_object_id objects;
};

/** Begins with no type. Those that the search is about are set in are_types, before holders_begin(). */
HEAP_MUST_CHECK
struct heap_error *holders_init(struct holders *holders, const struct inference *inference);

/** Finds the names of holders. Those that are given while holders are visited are asked for their type. */
void holders_begin(struct holders *holders);

void holders_deinit(struct holders *holders);

/** True if objects with a name are holders, by its type. */
bool holders_have_name(const struct holders *holders, uint32_t number);

/** True if an object is a holder. */
static inline bool holders_have(const struct holders *holders, heap_object_id object)
{
	uint32_t number = names_number(holders->names, object);

	return number < holders->name_count ? holders->are_held[number]
					    : holders_have_name(holders, number);
}

/** The first holder from an object on; the number of objects if there is none, or the time is up. */
static inline heap_object_id holders_next(const struct holders *holders, heap_object_id object)
{
	heap_object_id next = object;

	if (progress_is_late())
		return holders->objects;
	while (next < holders->objects && !holders_have(holders, next))
		next++;
	progress_steps(next - object + 1);
	return next;
}

#endif
