// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef TAG_TYPES_H
#define TAG_TYPES_H

/**
 * The type of the blocks with one pointer tag: by the receivers of the method table's functions, the types
 * of members that are known, the name of the table, or the code that allocates the members.
 */

#include "dumper/writer/infer/tags/pointer_tags.h"

/** Sets a group's type, evidence and rank, if its type can be told. */
void tag_types_find(const struct inference *inference, struct tag_group *group);

/**
 * True if what the tag leads to leads back to a member: it is an object with callbacks, and no class of the member, which is
 * the argument of one of them. Then its functions say nothing of that.
 */
bool tag_types_is_owned(const struct inference *inference, const struct tag_group *group,
			heap_object_id object);

#endif
