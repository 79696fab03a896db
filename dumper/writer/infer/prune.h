// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef PRUNE_H
#define PRUNE_H

/**
 * The types that a snapshot needs: those of its objects and roots, and all that they
 * refer to. Debug information has many more.
 */

#include "lib/types/types.h"

/**
 * Copies the types that are needed.
 *
 * @param needed  [types->count] the types to keep; what they refer to is added
 * @param map     [types->count] filled: where each kept type is in @p result, 0 for the rest
 * @param result  initialised here; heap_types_deinit() frees it
 */
HEAP_MUST_CHECK
struct heap_error *prune_types(const struct heap_types *types, bool *needed, heap_type_id *map,
			       struct heap_types *result);

#endif
