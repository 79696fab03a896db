// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_ENUMERATOR_H
#define HEAP_ENUMERATOR_H

/** Enumerators as people write them: RED, Colour::RED, READ|WRITE. */

#include "lib/types/types.h"

#include <stdbool.h>

/**
 * @param type  the enumeration, or a typedef of it
 * @param name  of an enumerator, or of several whose bits are joined
 * @return false if it is no enumeration, or has no such enumerator
 */
bool heap_enumerator_value(const struct heap_types *types, heap_type_id type, const char *name,
			   uint64_t *result);

#endif
