// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/parts/arena_targets.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inner_edges.h"
#include "lib/base/cleanup.h"
#include "lib/base/search.h"

#include <stdlib.h>

enum {
	WORD = 8,
	BITS = 64, // a word of bits
};

static bool is_target(uint64_t interior, uint64_t least)
{
	return interior >= least && interior % WORD == 0;
}

static void count_target(uint8_t *counts, heap_object_id object, uint64_t interior)
{
	if (is_target(interior, ARENA_LEAST_INTERIOR) && counts[object] < ARENA_TARGETS_COUNTED)
		counts[object]++;
}

struct heap_error *arena_targets_count(const struct capture *capture, uint8_t **counts)
{
	const struct heap_snapshot *snapshot = &capture->snapshot;
	uint32_t end = (uint32_t)snapshot->edge_count;

	*counts = calloc((size_t)capture->objects.count + 1, sizeof(**counts));
	if (!*counts)
		return heap_error_out_of_memory();
	for (uint32_t i = inner_edges_find(snapshot, 0, end); i < end;
	     i = inner_edges_find(snapshot, i + 1, end))
		count_target(*counts, snapshot->edge_target[i], snapshot->edge_interior[i]);
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++)
		count_target(*counts, snapshot->root_edges[i].target,
			     snapshot->root_edges[i].interior);
	return NULL;
}

// The words of the blocks that are marked, a bit each: many more pointers lead there than there are words.
struct marks {
	uint64_t least;
	bool has_own;            // also what elements have of themselves
	const bool *is_marked;   // [objects]
	uint32_t *numbers;       // [objects] of the marked ones
	heap_object_id *objects; // [count] those
	size_t *first;           // [count + 1] in `bits`
	uint64_t *bits;          // a bit for each word that a pointer leads to
	uint32_t count;
};

static void marks_deinit(struct marks *marks)
{
	free(marks->numbers);
	free(marks->objects);
	free(marks->first);
	free(marks->bits);
}

HEAP_MUST_CHECK
static struct heap_error *marks_init(struct marks *marks, const struct objects *objects)
{
	uint32_t count = 0;
	size_t bits = 0;

	for (heap_object_id i = 0; i < objects->count; i++)
		count += marks->is_marked[i];
	marks->numbers = calloc((size_t)objects->count + 1, sizeof(*marks->numbers));
	marks->objects = malloc(((size_t)count + 1) * sizeof(*marks->objects));
	marks->first = malloc(((size_t)count + 1) * sizeof(*marks->first));
	if (!marks->numbers || !marks->objects || !marks->first)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < objects->count; i++) {
		if (!marks->is_marked[i])
			continue;
		marks->first[marks->count] = bits;
		bits += objects_size(objects, i) / WORD / BITS + 1;
		marks->numbers[i] = marks->count;
		marks->objects[marks->count++] = i;
	}
	marks->first[marks->count] = bits;
	marks->bits = calloc(bits + 1, sizeof(*marks->bits));
	return marks->bits ? NULL : heap_error_out_of_memory();
}

static void mark(struct marks *marks, heap_object_id object, uint64_t interior)
{
	if (marks->is_marked[object] && is_target(interior, marks->least))
		marks->bits[marks->first[marks->numbers[object]] + interior / WORD / BITS] |=
			UINT64_C(1) << interior / WORD % BITS;
}

HEAP_MUST_CHECK
static struct heap_error *list_targets(const struct marks *marks, struct arena_targets *targets)
{
	for (uint32_t i = 0; i < marks->count; i++) {
		for (size_t j = marks->first[i]; j < marks->first[i + 1]; j++) {
			for (uint64_t left = marks->bits[j]; left != 0; left &= left - 1) {
				uint64_t word = (j - marks->first[i]) * BITS +
						(uint64_t)__builtin_ctzll(left);

				HEAP_TRY(heap_array_append(
					targets,
					((struct arena_target){ marks->objects[i],
								(uint32_t)(word * WORD) })));
			}
		}
		progress_step();
	}
	return NULL;
}

/*
 * True if a pointer leads from an element into itself, whatever the elements are: a short std::string of libstdc++
 * has a pointer to its text, two words behind, and the head of an empty ring leads to itself.
 */
static bool is_own(uint64_t slot, uint64_t interior)
{
	return interior == slot + 2 * WORD || interior == slot || interior + WORD == slot;
}

static void mark_edges(struct marks *marks, const struct heap_snapshot *snapshot,
		       heap_object_id object)
{
	for (uint32_t i = snapshot->edge_first[object]; i < snapshot->edge_first[object + 1]; i++) {
		heap_object_id target = snapshot->edge_target[i];
		uint64_t interior = snapshot->edge_interior[i];

		if (marks->has_own || target != object ||
		    !is_own(snapshot->edge_slot[i] * (uint64_t)WORD, interior))
			mark(marks, target, interior);
	}
}

struct heap_error *arena_targets_gather(const struct capture *capture, const bool *is_marked,
					uint64_t least, bool has_own, struct arena_targets *targets)
{
	const struct heap_snapshot *snapshot = &capture->snapshot;
	CLEANUP(marks_deinit)
	struct marks marks = { .least = least, .has_own = has_own, .is_marked = is_marked };

	HEAP_TRY(marks_init(&marks, &capture->objects));
	for (heap_object_id i = 0; marks.count > 0 && i < capture->objects.count; i++)
		mark_edges(&marks, snapshot, i);
	for (uint64_t i = 0; marks.count > 0 && i < snapshot->root_edge_count; i++)
		mark(&marks, snapshot->root_edges[i].target, snapshot->root_edges[i].interior);
	return list_targets(&marks, targets);
}

size_t arena_targets_in_row(const struct arena_targets *targets, size_t first)
{
	size_t end = first;

	while (end < targets->count && targets->items[end].object == targets->items[first].object)
		end++;
	return end - first;
}

const struct arena_target *arena_targets_find(const struct arena_targets *targets,
					      heap_object_id object, size_t *count)
{
	size_t first =
		heap_partition_point(i, 0, targets->count, targets->items[i].object < object);

	*count = first < targets->count && targets->items[first].object == object
			 ? arena_targets_in_row(targets, first)
			 : 0;
	return targets->items + first;
}
