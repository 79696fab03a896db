// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef VOID_VISITS_H
#define VOID_VISITS_H

/** Visits the void pointers of objects, of the parts of pools, and of static variables. Types that have none are passed over. */

#include "dumper/writer/infer/void_pointers/void_places.h"

/** Finds out which types of objects have void pointers. They do not change while claims are made. */
HEAP_MUST_CHECK
struct heap_error *void_visits_find_holders(struct void_search *search);

/** Has the next visit pass over the types of whose places nothing is wanted. */
void void_visits_narrow(struct void_search *search,
			bool (*is_wanted)(const struct void_place *place));

typedef struct heap_error *void_visitor(struct void_search *search,
					const struct void_pointer *pointer);

/** Visits all void pointers of types that are wanted. */
HEAP_MUST_CHECK
struct heap_error *void_visits_all(struct void_search *search, void_visitor *visit);

#endif
