// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef TAG_NAMES_H
#define TAG_NAMES_H

/** The names of method tables, which pointer tags lead to. */

#include "dumper/writer/infer/tags/pointer_tags.h"

/** Names an address by its symbol, or by the type of the block there; "" if it has neither. */
const char *tag_names_find(const struct inference *inference, uint64_t address);

/**
 * Adds the name of the table at an address to the capture's strings: that in its member "name", as "float"
 * of a PyTypeObject, or else that of tag_names_find().
 */
uint32_t tag_names_add(struct inference *inference, uint64_t address);

#endif
