// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef ARENA_OWNERS_H
#define ARENA_OWNERS_H

/**
 * Free chunks of arenas. The header of a chunk in use has its owner's address, which is in the head of the arena
 * as well; that of a free chunk has a link to the next one in its place.
 *
 *	head ┌ owner ┬ size, owner │ chunk ┬ size, next │ free chunk ┬ size, owner │ chunk ┐
 *
 * Where most chunks are free, no owner has a majority of the headers. The place that it has in other arenas tells
 * it then, if all chunks that have another word there are linked to each other.
 */

#include "dumper/writer/infer/parts/arenas.h"

/** Finds the owners of arenas that have none, and marks their free chunks. */
HEAP_MUST_CHECK
struct heap_error *arena_owners_complete(const struct capture *capture, struct arenas *arenas);

#endif
