// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HOLDERS_H
#define HOLDERS_H

/**
 * The holder of each object, as a path of names from a root:
 *
 *	sessions → struct session.buffer → struct text.bytes
 *
 * It has no address, index or line, and the nodes of a list or tree are one step. So it is the same
 * in each process of a program, and in the next build. Among the shortest paths, by typed pointers
 * from variables if there are any, the names decide and not the order in memory.
 */

#include "shell/base/session.h"

struct holders;

/** One breadth-first pass. The session's edges, their qualities and slots must be loaded. */
HEAP_MUST_CHECK
struct heap_error *holders_create(struct session *session, struct holders **result);

/** NULL is fine. */
void holders_destroy(struct holders *holders);

/** A hash of an object's path, for comparisons in this process; 0: nothing holds it. */
uint64_t holders_key(const struct holders *holders, heap_object_id object);

/** The length of an object's path, 255 at most. */
unsigned holders_depth(const struct holders *holders, heap_object_id object);

/** The path of an object; "" if nothing holds it. @return the session's */
const char *holders_path(struct holders *holders, heap_object_id object);

#endif
