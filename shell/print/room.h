// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef ROOM_H
#define ROOM_H

/**
 * Divides the lines of a screen among the members of a structure.
 *
 * Each value may take session->room lines; 0 is no limit. Members that need less than an equal
 * share get what they need, and the others share the rest; a nested structure that has no room for
 * two braces and a line is printed as {… 12 members}. So a large structure shows all of its members
 * briefly, not only the first ones in full.
 */

#include "shell/base/session.h"

enum {
	ROOM_OF_BRACES = 3, // lines of the shortest structure that is unfolded
	ROOM_MEMBERS = 128, // members that get a share; more do not fit on a screen
};

struct room {
	struct session *session;
	uint64_t before;               // the room of the structure itself
	uint32_t shown;                // members that are printed
	uint64_t shares[ROOM_MEMBERS]; // [shown] lines; unused where there is no limit
};

/** Divides session->room among the members of a structure. */
void room_begin(struct room *room, struct session *session, const struct heap_type *type);

/** Gives member @p index its share. @return false if it does not fit any more */
bool room_take(struct room *room, uint32_t index);

/** Gives the structure's own room back. */
void room_end(struct room *room);

/** True if what stands in braces has to be printed on one line. */
bool room_is_short(const struct session *session);

/** Takes the lines of two braces off. @return the room before, for session->room afterwards */
uint64_t room_take_braces(struct session *session);

/** Gives each of an array's elements its share. @param type  may be unknown @return how many fit, @p count at most */
uint64_t room_for_elements(struct session *session, heap_type_id type, uint64_t count);

#endif
