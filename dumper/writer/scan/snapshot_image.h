// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SNAPSHOT_IMAGE_H
#define SNAPSHOT_IMAGE_H

/**
 * The image of a process that a snapshot was taken of, as far as the snapshot keeps it: contents of
 * objects up to its limit, pointers between objects and from roots. All else is zeros: code and
 * constants of modules, what variables held besides pointers, and what lies beyond the limit.
 */

#include "dumper/writer/scan/core_file.h"
#include "dumper/writer/scan/objects.h"

/**
 * Lays out the memory as if a core file had it.
 *
 * @param core      to be given to core_close() in any case
 * @param snapshot  with all columns; outlives the result
 */
HEAP_MUST_CHECK
struct heap_error *snapshot_image_fill(struct core *core, struct heap_snapshot *snapshot);

/** Adds the snapshot's objects, and the memory that they lie in. */
HEAP_MUST_CHECK
struct heap_error *snapshot_image_add_objects(const struct core *core,
					      const struct heap_snapshot *snapshot,
					      struct objects *objects);

#endif
