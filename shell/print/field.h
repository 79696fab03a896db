// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef FIELD_H
#define FIELD_H

/**
 * The place of a slot in an object or a variable, as C would write it: ".slots", "[3].value",
 * ".list.next"; "+0x18" where the type has no member.
 */

#include "shell/base/session.h"

/** @param offset  bytes from the object's start */
const char *field_of_object(struct session *session, heap_object_id object, uint64_t offset);

/** The same of a part of a pool, or an element of a slab. @param offset  from the start of the object */
const char *field_of_part(struct session *session, const struct heap_part *part, uint64_t offset);

/** "" for a whole pointer variable. */
const char *field_of_root(struct session *session, heap_root_id root, uint64_t offset);

/**
 * Describes a pointer's target, which may lie inside an object or a part of one:
 *
 *	struct node at 0x5f0010                      &struct node.next in struct node at 0x5f0010
 *	&struct slot[3] in struct slot[12] at 0x…    char[17] "hello, world" at 0x… + 7
 *
 * @param pointee  what the pointer is said to point to, or HEAP_NO_TYPE
 */
const char *field_describe_target(struct session *session, heap_object_id object, uint64_t interior,
				  heap_type_id pointee);

/**
 * The string literal at an address, until the command ends.
 *
 * @param pointee   what the pointer points to: characters, or it is none
 * @param is_whole  gets false where only its beginning was read
 * @return NULL if there is none, or nothing is known of it
 */
const char *field_constant(struct session *session, uint64_t address, heap_type_id pointee,
			   size_t *length, bool *is_whole);

/**
 * The same of an address outside the heap: "&settings.path" inside a variable, the text of a string
 * literal, and else as describe_address() says.
 */
const char *field_describe_address(struct session *session, uint64_t address, heap_type_id pointee);

/**
 * A field without the members of the C++ library's classes, for people: ".entries" of
 * ".entries._M_h._M_buckets". The same where nothing else is in it, and in JSON.
 */
const char *field_brief(struct session *session, const char *field);

/** The remark on a pointer into an object: " (points to [3].value)"; "" at its start. */
const char *field_interior(struct session *session, heap_object_id object, uint64_t interior);

/** The same for a pointer to a part. @param interior  bytes into the part */
const char *field_interior_of_part(struct session *session, const struct heap_part *part,
				   uint64_t interior);

/**
 * Names the base class that a pointer into the middle of an object points to: " (base shape)".
 * "" at the object's start, and if there is no base class at that offset.
 */
const char *field_base_of_object(struct session *session, heap_object_id object, uint64_t offset);

#endif
