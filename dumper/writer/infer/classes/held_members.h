// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HELD_MEMBERS_H
#define HELD_MEMBERS_H

/**
 * Members that are values which a template or a lambda keeps for others.
 *
 *	std::optional<price>      { price value; bool is_engaged; }
 *	[price, count] { … }      { price __price; int __count; }
 *
 * Such a class does not extend the struct with which it begins, as a derived class does, or one of C with a common
 * header. Code that has a price * has the block of a price; that of an optional it has by a pointer to optional.
 */

#include "lib/types/templates.h"
#include "lib/types/types.h"

#include <stdbool.h>

/** The innermost class with a name around members: their owner, or one around that. */
struct held_scope {
	heap_type_id type;
	bool is_read;                             /**< its arguments are */
	struct heap_template_arguments arguments; /**< without const */
};

/** True for what a compiler makes of a lambda, all members of which are held. */
bool held_members_are_all(const struct heap_types *types, heap_type_id owner);

/** True if a member is held: its type is an argument of the class. */
bool held_members_have(const struct heap_types *types, struct held_scope *scope,
		       const struct heap_member *member);

#endif
