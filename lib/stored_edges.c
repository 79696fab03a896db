// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/stored_edges.h"

#include "lib/snapshot_tables.h"
#include "lib/varint.h"

#include <stdlib.h>

enum section {
	COUNTS,
	SLOTS,
	TARGETS,
	INTERIORS,
	SECTIONS,
};

static const uint32_t tags[SECTIONS] = {
	[COUNTS] = HEAP_TAG_EDGE_COUNTS,
	[SLOTS] = HEAP_TAG_EDGE_SLOTS,
	[TARGETS] = HEAP_TAG_EDGE_TARGETS,
	[INTERIORS] = HEAP_TAG_EDGE_INTERIORS,
};

struct heap_stored_edges {
	struct heap_file_writer *sections[SECTIONS];
	heap_object_id object; // the one whose edges are being added
	uint32_t count;        // of them, so far
	uint32_t slot;         // of the last
	uint64_t total;
};

struct heap_error *heap_stored_edges_create(struct heap_stored_edges **result)
{
	struct heap_stored_edges *edges = calloc(1, sizeof(*edges));
	struct heap_error *error = NULL;

	if (!edges)
		return heap_error_out_of_memory();
	for (enum section i = 0; !error && i < SECTIONS; i++) {
		error = heap_file_writer_create_part(&edges->sections[i]);
		if (!error)
			heap_file_writer_begin(edges->sections[i], tags[i], HEAP_ENCODING_VARINT,
					       1);
	}
	if (error)
		heap_stored_edges_destroy(edges);
	else
		*result = edges;
	return error;
}

void heap_stored_edges_destroy(struct heap_stored_edges *edges)
{
	for (enum section i = 0; edges && i < SECTIONS; i++)
		heap_file_writer_destroy(edges->sections[i]);
	free(edges);
}

// All objects before this one have all their edges.
static void advance(struct heap_stored_edges *edges, heap_object_id object)
{
	for (; edges->object < object; edges->object++) {
		heap_file_writer_put(edges->sections[COUNTS], edges->count);
		edges->count = edges->slot = 0;
	}
}

void heap_stored_edges_add(struct heap_stored_edges *edges, heap_object_id object, uint32_t slot,
			   heap_object_id target, uint32_t interior)
{
	advance(edges, object);
	heap_file_writer_put(edges->sections[SLOTS], slot - edges->slot);
	heap_file_writer_put(edges->sections[TARGETS], heap_zigzag_u32(target - object));
	heap_file_writer_put(edges->sections[INTERIORS], interior);
	edges->slot = slot;
	edges->count++;
	edges->total++;
}

uint64_t heap_stored_edges_count(const struct heap_stored_edges *edges)
{
	return edges->total;
}

void heap_stored_edges_write(struct heap_stored_edges *edges, uint32_t objects,
			     struct heap_file_writer *writer)
{
	advance(edges, objects);
	for (enum section i = 0; i < SECTIONS; i++) {
		heap_file_writer_end(edges->sections[i]);
		heap_file_writer_append(writer, edges->sections[i]);
	}
}
