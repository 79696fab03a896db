// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SNAPSHOT_IMAGE_H
#define SNAPSHOT_IMAGE_H

/**
 * The memory of a process as far as a snapshot of it has kept that: contents of objects up to the
 * snapshot's limit, and pointers between objects and from roots. All other memory reads as zeros:
 * code and constants of modules, values of variables besides pointers, and contents beyond the
 * limit.
 */

#include "dumper/writer/scan/image/core_file.h"
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
