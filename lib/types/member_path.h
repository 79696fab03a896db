// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_MEMBER_PATH_H
#define HEAP_MEMBER_PATH_H

/**
 * Member paths, as in C.
 *
 *	struct table *table;                table->slots
 *	struct session *session;            session->peer.name[3]
 *	struct slot *slots;                 slots[7].value        path "[7].value"
 *
 * The search includes base classes and members without a name, and of the block of a std::make_shared()
 * the value in it. An index must be inside an array whose
 * length is known; in front of the first name, it selects one of several values.
 */

#include "lib/types/types.h"

struct heap_member_place {
	heap_type_id type;
	uint64_t offset;    /**< bytes from the start of the whole */
	uint8_t bit_offset; /**< of a bit-field, as in struct heap_member */
	uint8_t bit_size;   /**< 0: no bit-field */
};

/**
 * Finds a field in a value of @p type.
 *
 * @param path  "next", "list.next", ".slots[3].value"; "" is the whole
 * @return false if there is no such field
 */
bool heap_member_find(const struct heap_types *types, heap_type_id type, const char *path,
		      struct heap_member_place *result);

/**
 * True if there is such a field, but in a virtual base, which lies elsewhere in objects of derived classes.
 * heap_member_find() tells where it is in others.
 */
bool heap_member_is_virtual(const struct heap_types *types, heap_type_id type, const char *path);

#endif
