// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef TAG_GROUPS_H
#define TAG_GROUPS_H

/**
 * The groups of blocks that have one pointer tag.
 *
 * A block of known type joins the group of the value at its type's place (tag_places.h). A block of unknown
 * type joins if half of its kind have a tag at one place, which is hardly chance.
 */

#include "dumper/writer/infer/tags/pointer_tags.h"

/** Adds blocks to their groups, and sorts the members of all groups. */
HEAP_MUST_CHECK
struct heap_error *tag_groups_find(struct inference *inference);

#endif
