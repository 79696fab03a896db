// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef VARIABLE_H
#define VARIABLE_H

/**
 * Variables by name.
 *
 * Several may have one name: libc has a static variable `cache`, too. The program's own come before those
 * of the C and C++ libraries, a whole name before one without its namespace (`cache` for shop::cache),
 * those of the executable before those of its libraries, globals before thread-locals, and these
 * before locals, and a variable that holds an object before one that does not.
 */

#include "shell/base/session.h"

/**
 * Finds the variable that a person means.
 *
 * @param result  gets its root; UINT32_MAX: no variable has that name
 * @return NULL; HEAP_ERROR_ABSENT: it is short for several names, which the message lists
 */
HEAP_MUST_CHECK
struct heap_error *variable_find(struct session *session, const char *name, heap_root_id *result);

/** True if a variable belongs to the executable, or to one of its frames. */
bool variable_is_own(const struct heap_snapshot *snapshot, heap_root_id root);

/** True if it points to objects. */
bool variable_holds_object(const struct heap_snapshot *snapshot, heap_root_id root);

#endif
