// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_MEMBER_PATH_H
#define HEAP_MEMBER_PATH_H

/**
 * Member paths, as in C, and the values of fields.
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

/** True if there is such a field, but in a virtual base, whose offset only the vtable knows. */
bool heap_member_is_virtual(const struct heap_types *types, heap_type_id type, const char *path);

enum heap_scalar_kind {
	HEAP_SCALAR_UNSIGNED,
	HEAP_SCALAR_SIGNED,
	HEAP_SCALAR_REAL,
	HEAP_SCALAR_POINTER,
};

struct heap_scalar {
	enum heap_scalar_kind kind;
	uint64_t number; /**< also pointers; two's complement if signed */
	double real;     /**< the same as a real number; of pointers 0 */
};

/** True if a field is a number or a pointer, which heap_scalar_load() can read. */
bool heap_scalar_is(const struct heap_types *types, heap_type_id type);

/**
 * Reads the value of a field.
 *
 * @param bytes  [kept] of the whole
 * @return false if it is no scalar, or its bytes are not there
 */
bool heap_scalar_load(const struct heap_types *types, const struct heap_member_place *place,
		      const uint8_t *bytes, uint64_t kept, struct heap_scalar *result);

#endif
