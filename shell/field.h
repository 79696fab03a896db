// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef FIELD_H
#define FIELD_H

/**
 * Where in an object or a variable a slot is, as C would write it: ".slots", "[3].value",
 * ".list.next"; "+0x18" where the type does not say.
 */

#include "shell/session.h"

/** @param offset  bytes from the object's start */
const char *field_of_object(struct session *session, heap_object_id object, uint64_t offset);

/** "" for a whole pointer variable. */
const char *field_of_root(struct session *session, heap_root_id root, uint64_t offset);

/**
 * What a pointer into the middle of an object points to, if that is a base class: " (base
 * shape)"; "" otherwise, and at the object's start.
 */
const char *field_base_of_object(struct session *session, heap_object_id object, uint64_t offset);

#endif
