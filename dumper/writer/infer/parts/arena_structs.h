// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef ARENA_STRUCTS_H
#define ARENA_STRUCTS_H

/**
 * Arenas that are structs of the program, which end in an array of bytes:
 *
 *	struct region { struct region *next; char *free; char storage[8176]; };
 *
 * No pointer has to tell: the struct has the block's size, and its array begins where the chunks do.
 */

#include "dumper/writer/infer/parts/arenas.h"

/** Finds the types of arenas: arena.type. Where several structs are possible, none is chosen. */
HEAP_MUST_CHECK
struct heap_error *arena_structs_find(struct arenas *arenas, const struct objects *objects,
				      const struct heap_types *types, bool sizes_are_exact);

#endif
