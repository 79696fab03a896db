// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef VALUE_H
#define VALUE_H

/** The bytes of an object, a variable or a part of one, and what can be loaded from them. */

#include "shell/base/session.h"

/** Bytes of a value; those after `kept` were not stored in the snapshot. */
struct value {
	const uint8_t *bytes;
	uint64_t kept;
	uint64_t stored; /**< bytes that the snapshot has, if more than `kept` */
	uint64_t size;   /**< of the whole */
	/** whose bytes these are: its pointers are known even where they were not kept */
	heap_object_id object; /**< or HEAP_NO_OBJECT */
	uint64_t flexible;     /**< where its flexible array begins; 0 if it has none */
	uint64_t address;      /**< of its first byte; 0 where that is not known */
	unsigned depth;        /**< containers that it is an element of, inside each other */
};

enum value_limit {
	VALUE_SHORT, /**< arrays end after 16 elements, those in containers earlier */
	VALUE_ALL,
};

/** The number of elements of an array or a container that are shown. */
uint64_t value_shown(const struct value *value, uint64_t count, enum value_limit limit);

/** True if @p size bytes at an offset were kept. */
static inline bool value_is_kept(const struct value *value, uint64_t offset, uint64_t size)
{
	return offset <= value->kept && size <= value->kept - offset;
}

/** The first edge of the value's object at or after an offset; UINT32_MAX if there is none. */
uint32_t value_next_edge(const struct session *session, const struct value *value, uint64_t offset);

/** Loads up to 8 bytes, which were kept. */
uint64_t value_load_integer(const struct value *value, uint64_t offset, uint64_t size);

/** Loads a pointer, from the bytes or the edges. @return false if it was not kept */
bool value_load_pointer(const struct session *session, const struct value *value, uint64_t offset,
			uint64_t *result);

/** Loads an unsigned number of 1 to 8 bytes. @return false if it was not kept */
bool value_load_number(const struct value *value, uint64_t offset, uint64_t size, uint64_t *result);

#endif
