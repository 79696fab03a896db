// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/sites/unset_variables.h"

#include "dumper/writer/base/progress.h"
#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/base/search.h"

#include <stdlib.h>

enum {
	MAX_WORDS = 64, // of a variable
	PAGE = 4096, // lower words, and their negatives, are values that programs keep for pointers
};

static uint32_t count_edges(const struct heap_snapshot *snapshot, heap_root_id root, uint64_t end)
{
	const struct heap_root_edge *edges = snapshot->root_edges;
	uint64_t first =
		heap_partition_point(i, 0, snapshot->root_edge_count, edges[i].root < root);
	uint32_t count = 0;

	while (first + count < snapshot->root_edge_count && edges[first + count].root == root &&
	       edges[first + count].offset < end)
		count++;
	return count;
}

static bool is_wild(const struct image *image, uint64_t word)
{
	return word >= PAGE && word < UINT64_MAX - PAGE && !image_find(image, objects_untag(word));
}

static bool is_unset(const struct capture *capture, heap_root_id root,
		     const struct heap_repetition *repetition)
{
	const struct heap_root *variable = &capture->snapshot.roots[root];
	uint64_t words[MAX_WORDS];
	uint64_t count = variable->size / 8 < MAX_WORDS ? variable->size / 8 : MAX_WORDS;
	uint32_t wild = 0;

	if (!heap_repetition_has_slots(repetition) ||
	    !image_read(&capture->image, variable->address, words, count * 8))
		return false;
	for (uint64_t i = 0; i < count; i++) {
		uint32_t first, end;

		// Of a union any member may hold, a number among them.
		if (heap_repetition_slots_at(repetition, i * 8, &first, &end) && end - first == 1)
			wild += is_wild(&capture->image, words[i]);
	}
	return wild > 0 && wild > count_edges(&capture->snapshot, root, count * 8);
}

struct heap_error *unset_variables_find(const struct capture *capture,
					struct heap_repetitions *repetitions, uint8_t **result)
{
	const struct heap_snapshot *snapshot = &capture->snapshot;
	CLEANUP_FREE uint8_t *unset = calloc(snapshot->root_count / 8 + 1, 1);

	if (!unset)
		return heap_error_out_of_memory();
	for (heap_root_id i = 0; i < snapshot->root_count && !progress_is_late(); i++) {
		const struct heap_root *root = &snapshot->roots[i];
		heap_type_id type = heap_types_strip(&snapshot->types, root->type);
		const struct heap_repetition *repetition;

		progress_step();
		if (root->kind != HEAP_ROOT_LOCAL || root->address == 0 || root->size < 2 * 8)
			continue;
		if (snapshot->types.types[type].kind == HEAP_TYPE_ARRAY)
			type = heap_types_strip(&snapshot->types,
						snapshot->types.types[type].target);
		if (type == HEAP_NO_TYPE)
			continue;
		HEAP_TRY(heap_repetitions_find(repetitions, type, &repetition));
		if (is_unset(capture, i, repetition))
			heap_bit_set(unset, i);
	}
	*result = unset;
	unset = NULL;
	return NULL;
}
