// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/symbols/vector_buffers.h"

#include "dumper/writer/base/progress.h"
#include "lib/base/cleanup.h"
#include "lib/base/divisor.h"

#include <stdlib.h>

enum {
	WORD = 8,
	SAMPLES = 64, // of each kind
};

struct search {
	const struct library_values *values;
	const bool *is_wanted;
	vector_buffers_visitor *visit;
	void *context;
};

struct gathering {
	const struct capture *capture;
	struct vector_buffers *buffers;
	uint8_t *seen; // [objects / 8] a bit for each
};

HEAP_MUST_CHECK
static struct heap_error *note(void *context, heap_object_id object, uint64_t used,
			       uint64_t capacity)
{
	const struct gathering *gathering = context;
	const struct capture *capture = gathering->capture;
	struct vector_buffers *buffers = gathering->buffers;
	uint32_t kind = objects_kind(&capture->objects, object), site = capture->site_of_kind[kind];
	uint64_t *stride = &buffers->stride[site];
	uint8_t bit = (uint8_t)(1 << object % 8);

	*stride = heap_greatest_divisor(capacity, heap_greatest_divisor(used, *stride));
	if (gathering->seen[object / 8] & bit)
		return NULL;
	gathering->seen[object / 8] |= bit;
	if (buffers->count[kind]++ >= SAMPLES)
		return NULL;
	return heap_array_append(&buffers->samples, (struct vector_buffer){ object, site, used });
}

// Tries the words at a pointer to the start of a block.
HEAP_MUST_CHECK
static struct heap_error *try_slot(struct search *search, uint64_t slot, heap_object_id target)
{
	uint64_t words[VECTOR_WORDS];
	heap_object_id buffer = HEAP_NO_OBJECT;

	progress_step();
	pages_read(search->values->pages, slot, words, sizeof(words));
	// The kind of the target is far away in memory.
	if (words[0] >= words[1] || words[1] > words[2] ||
	    !search->is_wanted[objects_kind(&search->values->capture->objects, target)])
		return NULL;
	if (library_values_is_vector(search->values, words, &buffer) != LIBRARY_PROVEN)
		return NULL;
	return search->visit(search->context, buffer, words[1] - words[0], words[2] - words[0]);
}

HEAP_MUST_CHECK
static struct heap_error *try_objects(struct search *search)
{
	const struct capture *capture = search->values->capture;
	const struct heap_snapshot *snapshot = &capture->snapshot;

	for (heap_object_id i = 0; i < capture->objects.count && !progress_is_late(); i++) {
		for (uint32_t j = snapshot->edge_first[i]; j < snapshot->edge_first[i + 1]; j++) {
			if (snapshot->edge_interior[j] == 0)
				HEAP_TRY(try_slot(search,
						  objects_address(&capture->objects, i) +
							  snapshot->edge_slot[j] * (uint64_t)WORD,
						  snapshot->edge_target[j]));
		}
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *try_roots(struct search *search)
{
	const struct heap_snapshot *snapshot = &search->values->capture->snapshot;

	for (uint64_t i = 0; i < snapshot->root_edge_count && !progress_is_late(); i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];
		uint64_t address = snapshot->roots[edge->root].address;

		if (edge->interior == 0 && address != 0)
			HEAP_TRY(try_slot(search, address + edge->offset, edge->target));
	}
	return NULL;
}

static int compare_samples(const void *a, const void *b)
{
	const struct vector_buffer *left = a, *right = b;

	if (left->site != right->site)
		return left->site < right->site ? -1 : 1;
	return left->object < right->object ? -1 : left->object > right->object;
}

struct heap_error *vector_buffers_visit(const struct library_values *values, const bool *is_wanted,
					vector_buffers_visitor *visit, void *context)
{
	struct search search = {
		.values = values, .is_wanted = is_wanted, .visit = visit, .context = context
	};

	HEAP_TRY(try_roots(&search));
	return try_objects(&search);
}

struct heap_error *vector_buffers_find(struct vector_buffers *buffers,
				       const struct library_values *values, const bool *is_wanted)
{
	const struct capture *capture = values->capture;
	CLEANUP_FREE uint8_t *seen = calloc((size_t)capture->objects.count / 8 + 1, 1);
	struct gathering gathering = { .capture = capture, .buffers = buffers, .seen = seen };

	buffers->count = calloc((size_t)capture->objects.kinds.count + 1, sizeof(*buffers->count));
	buffers->stride =
		calloc((size_t)capture->snapshot.site_count + 1, sizeof(*buffers->stride));
	if (!seen || !buffers->count || !buffers->stride)
		return heap_error_out_of_memory();
	HEAP_TRY(vector_buffers_visit(values, is_wanted, note, &gathering));
	if (buffers->samples.count > 0)
		qsort(buffers->samples.items, buffers->samples.count,
		      sizeof(*buffers->samples.items), compare_samples);
	return NULL;
}

void vector_buffers_deinit(struct vector_buffers *buffers)
{
	free(buffers->count);
	free(buffers->stride);
	heap_array_deinit(&buffers->samples);
}
