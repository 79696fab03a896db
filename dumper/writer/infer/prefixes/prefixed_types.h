// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef PREFIXED_TYPES_H
#define PREFIXED_TYPES_H

/** Types of blocks in which a value lies behind a prefix: heap_types_prefixed() tells what they are made of. */

#include "lib/types/types.h"

/**
 * Adds struct { char prefix[16]; T; }, or one with a flexible array of T. There must be a type char.
 *
 * @param prefix  in bytes
 */
HEAP_MUST_CHECK
struct heap_error *prefixed_types_add(struct heap_types *types, heap_type_id body, uint32_t prefix,
				      bool is_array, heap_type_id *result);

#endif
