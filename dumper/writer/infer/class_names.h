// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CLASS_NAMES_H
#define CLASS_NAMES_H

/**
 * Finds types by their C++ names, in any of their spellings.
 *
 * They are compared as spelling.h spells them; with qualifiers where
 * several names are alike without, as those of foo<int> and foo<const int>.
 */

#include "lib/types/types.h"

struct class_names;

/** Indexes all structs, classes, unions, enums and base types. @param types  outlives the result */
HEAP_MUST_CHECK
struct heap_error *class_names_create(const struct heap_types *types, struct class_names **result);

/** NULL is fine. */
void class_names_destroy(struct class_names *names);

/** For names that destroy themselves when their block is left. */
static inline void class_names_cleanup(struct class_names **names)
{
	class_names_destroy(*names);
}

/**
 * The type of a name. Among several, an identical spelling and a definition are preferred.
 *
 * @param length  of the name, which need not end there
 * @return HEAP_NO_TYPE if there is none, or several with similar spellings only
 */
heap_type_id class_names_find(const struct class_names *names, const char *name, size_t length);

#endif
