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

#include "lib/types/types.h"

#include <stdbool.h>

/**
 * True if a class holds a member.
 *
 * @param owner  the class, which may have no name
 * @param scope  the innermost class with a name around the member: the owner, or one around it
 */
bool held_members_are(const struct heap_types *types, heap_type_id owner, heap_type_id scope,
		      const struct heap_member *member);

#endif
