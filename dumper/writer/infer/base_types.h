// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef BASE_TYPES_H
#define BASE_TYPES_H

/** C's base types for what is known without debug information. If the program has them, they are its own. */

#include "lib/types/types.h"

/** Finds the type char, or adds it. */
HEAP_MUST_CHECK
struct heap_error *base_types_find_char(struct heap_types *types, heap_type_id *result);

/** Finds the type long, or adds it. */
HEAP_MUST_CHECK
struct heap_error *base_types_find_long(struct heap_types *types, heap_type_id *result);

#endif
