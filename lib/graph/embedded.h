// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_EMBEDDED_H
#define HEAP_EMBEDDED_H

/**
 * Pointers to structures inside an object: the links of an intrusive list, a base class, the object
 * that std::make_shared() places behind its counts.
 *
 *	struct connection { int fd; struct list_head link; };
 *
 *	connections.next ──▶ +8 of a struct connection: a struct list_head is there
 *
 * If the type at that place is not the pointer's, the pointer may be a leftover that points
 * anywhere.
 */

#include "lib/snapshot/snapshot.h"
#include "lib/types/slots.h"

struct heap_embedded {
	const struct heap_snapshot *snapshot; /**< with HEAP_COLUMN_TYPE */
	struct heap_slot_table slots;
};

/** Notes where the types have pointers. @param snapshot  must outlive the result */
HEAP_MUST_CHECK
struct heap_error *heap_embedded_init(struct heap_embedded *embedded,
				      const struct heap_snapshot *snapshot);

void heap_embedded_deinit(struct heap_embedded *embedded);

/**
 * True if a pointer leads to a member of its own type. Thread-safe.
 *
 * @param holder    type of what holds the pointer
 * @param offset    of the pointer, in bytes; of several values in a row, in any of them
 * @param interior  bytes from the target's start
 */
bool heap_embedded_is(const struct heap_embedded *embedded, heap_type_id holder, uint64_t offset,
		      heap_object_id target, uint64_t interior);

#endif
