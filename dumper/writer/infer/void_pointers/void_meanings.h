// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef VOID_MEANINGS_H
#define VOID_MEANINGS_H

/** Meanings: what the void pointers of a place lead to, by the samples of their targets. */

#include "dumper/writer/infer/void_pointers/void_places.h"

/** Finds the meaning of a place; it stays MEANS_NOTHING if the samples do not agree. */
HEAP_MUST_CHECK
struct heap_error *void_meanings_find(struct void_search *search, struct void_place *place);

/** The claim on a target of a place that has a meaning; LAYOUT_NONE: it is an exception. */
struct layout_claim void_meanings_fit(const struct void_search *search,
				      const struct void_place *place,
				      const struct void_pointer *pointer);

#endif
