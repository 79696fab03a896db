// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef REPORT_DETAILS_H
#define REPORT_DETAILS_H

/**
 * The objects that a report tells everything of: what `show`, `retained` and `path` say.
 *
 * Other parts of the report refer to them by number. There are no more than the page has room
 * for: who asks first is served.
 */

#include "shell/base/session.h"

enum {
	REPORT_MAX_DETAILS = 700,
	REPORT_MAX_ASKED = 450, /**< the others are for what these lead to */
	REPORT_NO_DETAIL = -1,
};

struct report_details {
	heap_object_id objects[REPORT_MAX_DETAILS];
	int count;
};

/** @return its number; REPORT_NO_DETAIL if it is no object, or there is no room left */
int report_details_add(struct report_details *details, heap_object_id object);

/** Adds an object, and writes the member @p key with its number; none if there is no room. */
void report_details_refer(struct report_details *details, struct session *session, const char *key,
			  heap_object_id object);

/**
 * Writes the array "objects". Needs the graph and the dominators. Where there is room, what
 * these objects point to, and what holds them, is added.
 */
HEAP_MUST_CHECK
struct heap_error *report_details_write(struct report_details *details, struct session *session);

#endif
