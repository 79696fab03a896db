// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef REPORT_DETAILS_H
#define REPORT_DETAILS_H

/**
 * The objects that a report describes in full: the output of `show`, `retained` and `path`.
 *
 * Other parts of the report refer to them by number. Their number is limited, first come, first
 * served.
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

/** Adds an object. @return its number; REPORT_NO_DETAIL if it is no object, or the limit is reached */
int report_details_add(struct report_details *details, heap_object_id object);

/** Adds an object, and writes its number as the member @p key, or nothing at the limit. */
void report_details_refer(struct report_details *details, struct session *session, const char *key,
			  heap_object_id object);

/**
 * Writes the array "objects". Needs the graph and the dominators. Where there is room, it adds
 * the targets and the referrers of these objects.
 */
HEAP_MUST_CHECK
struct heap_error *report_details_write(struct report_details *details, struct session *session);

#endif
