// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/dead_words.h"

#include "dumper/writer/infer/held_parts.h"
#include "lib/base/cleanup.h"

enum {
	PAGES = 64,
	WORD = 8,
};

// Notes which parts of blocks their containers use.
HEAP_MUST_CHECK
static struct heap_error *note_ranges(struct held_parts *held, const struct capture *capture)
{
	const struct heap_snapshot *snapshot = &capture->snapshot;

	for (heap_object_id object = 0; object < capture->objects.count; object++) {
		heap_type_id type = snapshot->type[object];

		if (!held_parts_concern(held, type))
			continue;
		for (uint32_t edge = snapshot->edge_first[object];
		     edge < snapshot->edge_first[object + 1]; edge++)
			HEAP_TRY(held_parts_note(held, type, capture->objects.address[object],
						 snapshot->edge_slot[edge] * (uint64_t)WORD,
						 snapshot->edge_target[edge]));
	}
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];
		const struct heap_root *root = &snapshot->roots[edge->root];

		if (held_parts_concern(held, root->type))
			HEAP_TRY(held_parts_note(held, root->type, root->address, edge->offset,
						 edge->target));
	}
	return NULL;
}

static void remove_from_objects(struct held_parts *held, const struct capture *capture,
				struct heap_snapshot *snapshot)
{
	const struct objects *objects = &capture->objects;
	uint32_t kept = 0, edge = 0;

	for (heap_object_id object = 0; object < objects->count; object++) {
		heap_type_id type = snapshot->type[object];
		uint32_t end = snapshot->edge_first[object + 1];
		bool concerns = held_parts_concern(held, type);
		struct held_range range = held_parts_range(held, object);

		snapshot->edge_first[object] = kept;
		for (; edge < end; edge++) {
			uint64_t offset = snapshot->edge_slot[edge] * (uint64_t)WORD;

			if (!held_range_has(&range, offset) ||
			    (concerns &&
			     held_parts_is_dead(held, type, objects->address[object], offset)))
				continue;
			snapshot->edge_target[kept] = snapshot->edge_target[edge];
			snapshot->edge_slot[kept] = snapshot->edge_slot[edge];
			snapshot->edge_interior[kept] = snapshot->edge_interior[edge];
			snapshot->edge_flags[kept++] = snapshot->edge_flags[edge];
		}
	}
	snapshot->edge_first[objects->count] = kept;
	snapshot->edge_count = kept;
}

static void remove_from_roots(struct held_parts *held, struct heap_snapshot *snapshot)
{
	uint64_t kept = 0;

	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		struct heap_root_edge edge = snapshot->root_edges[i];
		const struct heap_root *root = &snapshot->roots[edge.root];

		if (!held_parts_concern(held, root->type) ||
		    !held_parts_is_dead(held, root->type, root->address, edge.offset))
			snapshot->root_edges[kept++] = edge;
	}
	snapshot->root_edge_count = kept;
}

struct heap_error *dead_words_remove(struct capture *capture)
{
	struct pages *pages = pages_create(&capture->image, PAGES);
	struct held_parts *held = pages ? held_parts_create(capture, pages) : NULL;
	struct heap_error *error = held ? note_ranges(held, capture) : heap_error_out_of_memory();

	if (!error) {
		remove_from_objects(held, capture, &capture->snapshot);
		remove_from_roots(held, &capture->snapshot);
	}
	held_parts_destroy(held);
	pages_destroy(pages);
	return error;
}
