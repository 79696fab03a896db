// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_ABSENT_H
#define HEAP_ABSENT_H

/**
 * Errors for unknown names: each lists similar names of the snapshot, or says where all names are
 * listed.
 */

#include "lib/snapshot/snapshot.h"

/** No type is called @p word. @return HEAP_ERROR_ABSENT, as all of these do */
HEAP_MAKES_ERROR
struct heap_error *heap_absent_type(const struct heap_types *types, const char *word);

/**
 * Nothing was allocated in a function or file of that name.
 *
 * @param filter      "site" or "frame"
 * @param with_calls  the calls on the way to allocations were searched as well
 */
HEAP_MAKES_ERROR
struct heap_error *heap_absent_place(const struct heap_snapshot *snapshot, const char *filter,
				     const char *word, bool with_calls);

/**
 * How a snapshot was taken that does not know where and when blocks were allocated, in words for
 * "taken ...".
 *
 * @return NULL if it does: the library was in the process
 */
const char *heap_unprepared(const struct heap_snapshot *snapshot);

/** A filter needs what nobody has noted: where or when blocks were allocated. */
HEAP_MAKES_ERROR
struct heap_error *heap_absent_origins(const struct heap_snapshot *snapshot, const char *filter,
				       const char *word);

/** No module is called @p word. */
HEAP_MAKES_ERROR
struct heap_error *heap_absent_module(const struct heap_snapshot *snapshot, const char *word);

/**
 * No type has such a member.
 *
 * @param types  [types.count + 1] those that may have it are not 0; NULL: all may
 */
HEAP_MAKES_ERROR
struct heap_error *heap_absent_member(const struct heap_types *types, const uint8_t *among,
				      const char *name);

/** A field has more than one value. @param type  its own */
HEAP_MAKES_ERROR
struct heap_error *heap_absent_value(const struct heap_types *types, heap_type_id type,
				     const char *field);

/** An enumeration has no such value. @param type  the enumeration, or a typedef of it */
HEAP_MAKES_ERROR
struct heap_error *heap_absent_enumerator(const struct heap_types *types, heap_type_id type,
					  const char *field, const char *value);

#endif
