// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_STORED_EDGES_H
#define HEAP_STORED_EDGES_H

/**
 * Edges as a snapshot stores them: compressed as they are found, so that whoever finds them need
 * not keep them as columns (3 bytes or so of an edge rather than 13).
 *
 *	add (object, slot, target, interior) ─┬▶ counts     of each object
 *	                                      ├▶ slots      differences to the one before of its object
 *	                                      ├▶ targets    differences to the object
 *	                                      └▶ interiors
 */

#include "lib/file/file.h"
#include "lib/snapshot/snapshot.h"

HEAP_MUST_CHECK
struct heap_error *heap_stored_edges_create(struct heap_stored_edges **result);

/** NULL is fine. */
void heap_stored_edges_destroy(struct heap_stored_edges *edges);

/**
 * Adds one, by ascending object and slot. What goes wrong is told by heap_stored_edges_write().
 *
 * @param slot      byte offset / 8 of the pointer
 * @param interior  bytes into the target; UINT32_MAX: or more
 */
void heap_stored_edges_add(struct heap_stored_edges *edges, heap_object_id object, uint32_t slot,
			   heap_object_id target, uint32_t interior);

/** How many there are. */
uint64_t heap_stored_edges_count(const struct heap_stored_edges *edges);

/** Puts the sections into a file. To be called once. @param objects  of the snapshot */
void heap_stored_edges_write(struct heap_stored_edges *edges, uint32_t objects,
			     struct heap_file_writer *writer);

#endif
