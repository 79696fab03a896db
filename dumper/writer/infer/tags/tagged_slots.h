// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef TAGGED_SLOTS_H
#define TAGGED_SLOTS_H

/**
 * Tagged slots: pages that a collector divides into slots of one size, with a struct of any kind in each, which an enum
 * tag tells (enum_tags.h).
 *
 *	page │ header │ tag 2: string │ tag 0: free │ tag 5: float │ tag 2: string │ …
 *	                  ▲                              ▲
 *	                a word that may be a number    likewise
 *
 * Declared pointers lead to a few of the slots, and tell where the tag is. Words of which nothing is declared lead to
 * the others. Where nearly all of these begin like a tagged struct, each of them is one.
 */

#include "lib/base/error.h"

#include <stdint.h>

struct inference;

/**
 * Makes such pages pools, and hints at the structs in their slots.
 *
 * @param pages  increased by the number of new pools
 */
HEAP_MUST_CHECK
struct heap_error *tagged_slots_cut(struct inference *inference, uint64_t *pages);

#endif
