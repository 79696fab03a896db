// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/snapshot/stored_edges.h"

#include "lib/base/cleanup.h"
#include "lib/base/varint.h"
#include "lib/snapshot/snapshot_tables.h"

#include <stdlib.h>

enum section {
	COUNTS,
	SLOTS,
	TARGETS,
	INTERIORS,
	SECTIONS,
};

enum {
	BATCH = 512,
};

static const uint32_t tags[SECTIONS] = {
	[COUNTS] = HEAP_TAG_EDGE_COUNTS,
	[SLOTS] = HEAP_TAG_EDGE_SLOTS,
	[TARGETS] = HEAP_TAG_EDGE_TARGETS,
	[INTERIORS] = HEAP_TAG_EDGE_INTERIORS,
};

// Values are buffered, so that a loop encodes many of them.
struct column {
	struct heap_file_writer *section;
	uint64_t values[BATCH]; // [count]
	size_t count;
};

struct heap_stored_edges {
	struct column columns[SECTIONS];
	heap_object_id object; // whose edges are being added
	uint32_t count;        // edges of the object so far
	uint32_t slot;         // of the last edge
	uint64_t total;
};

static void destroy(struct heap_stored_edges **edges)
{
	heap_stored_edges_destroy(*edges);
}

struct heap_error *heap_stored_edges_create(struct heap_stored_edges **result)
{
	CLEANUP(destroy) struct heap_stored_edges *edges = calloc(1, sizeof(*edges));

	if (!edges)
		return heap_error_out_of_memory();
	for (enum section i = 0; i < SECTIONS; i++) {
		struct column *column = &edges->columns[i];

		HEAP_TRY(heap_file_writer_create_part(&column->section));
		heap_file_writer_begin(column->section, tags[i], HEAP_ENCODING_VARINT, 1);
	}
	*result = keep(edges);
	return NULL;
}

void heap_stored_edges_destroy(struct heap_stored_edges *edges)
{
	for (enum section i = 0; edges && i < SECTIONS; i++)
		heap_file_writer_destroy(edges->columns[i].section);
	free(edges);
}

static void flush(struct column *column)
{
	heap_file_writer_put_values(column->section, column->values, column->count);
	column->count = 0;
}

static inline void put(struct column *column, uint64_t value)
{
	column->values[column->count++] = value;
	if (column->count == BATCH)
		flush(column);
}

// Completes the objects before @p object: no more of their edges follow.
static void advance(struct heap_stored_edges *edges, heap_object_id object)
{
	for (; edges->object < object; edges->object++) {
		put(&edges->columns[COUNTS], edges->count);
		edges->count = edges->slot = 0;
	}
}

void heap_stored_edges_add(struct heap_stored_edges *edges, heap_object_id object, uint32_t slot,
			   heap_object_id target, uint32_t interior)
{
	advance(edges, object);
	put(&edges->columns[SLOTS], slot - edges->slot);
	put(&edges->columns[TARGETS], heap_zigzag_u32(target - object));
	put(&edges->columns[INTERIORS], interior);
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
		flush(&edges->columns[i]);
		heap_file_writer_end(edges->columns[i].section);
		heap_file_writer_append(writer, edges->columns[i].section);
	}
}
