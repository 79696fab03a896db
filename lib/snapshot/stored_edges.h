// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_STORED_EDGES_H
#define HEAP_STORED_EDGES_H

/**
 * Edges in the form that a snapshot stores: compressed while they are found, so that they need not be
 * kept as columns (about 3 bytes of an edge instead of 13).
 *
 *	add (object, slot, target, interior) ─┬▶ counts     of each object
 *	                                      ├▶ slots      differences to the slot before, per object
 *	                                      ├▶ targets    differences to the object
 *	                                      └▶ interiors
 */

#include "lib/file/file.h"
#include "lib/snapshot/snapshot.h"

/** Creates one without edges. @return NULL or HEAP_ERROR_MEMORY */
HEAP_MUST_CHECK
struct heap_error *heap_stored_edges_create(struct heap_stored_edges **result);

/** NULL is fine. */
void heap_stored_edges_destroy(struct heap_stored_edges *edges);

/**
 * Adds an edge. Edges must be sorted by object, then by slot. Errors are kept: the file's writer
 * returns them once heap_stored_edges_write() has appended the sections.
 *
 * @param slot      byte offset / 8 of the pointer
 * @param interior  bytes into the target; UINT32_MAX for that many or more
 */
void heap_stored_edges_add(struct heap_stored_edges *edges, heap_object_id object, uint32_t slot,
			   heap_object_id target, uint32_t interior);

/** The number of edges. */
uint64_t heap_stored_edges_count(const struct heap_stored_edges *edges);

/** Appends the sections to a file. To be called once. @param objects  of the snapshot */
void heap_stored_edges_write(struct heap_stored_edges *edges, uint32_t objects,
			     struct heap_file_writer *writer);

#endif
