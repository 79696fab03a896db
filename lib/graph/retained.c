// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Two floods from the roots. To the first, members of the set count as met already, so that it
 * does not go through them: all that it meets stays reachable without them. The second goes on from
 * there with all pointers: what it meets besides has only been waiting for them.
 */
#include "lib/graph/retained.h"

#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/base/column.h"
#include "lib/graph/bfs.h"

#include <string.h>

static void add_roots(struct heap_flood *flood, const struct heap_snapshot *snapshot)
{
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++)
		heap_flood_add(flood, snapshot->root_edges[i].target);
}

// The bits of 64 objects, of a set that has a byte for each eight.
static uint64_t word_of(const uint8_t *set, size_t word, size_t bytes)
{
	uint64_t bits = 0;

	for (size_t i = word * 8; i < word * 8 + 8 && i < bytes; i++)
		bits |= (uint64_t)set[i] << i % 8 * 8;
	return bits;
}

// @param others  [words] is given what is reachable without the set
HEAP_MUST_CHECK
static struct heap_error *find_reachable(const struct heap_graph *graph, const uint8_t *set,
					 struct heap_flood *flood, uint64_t *others)
{
	size_t bytes = (size_t)graph->snapshot->object_count / 8 + 1;
	struct heap_flood_way way = { .progress = graph->progress, .what = "retained set" };
	struct heap_error *error;

	for (size_t i = 0; i < flood->words; i++)
		flood->met[i] = word_of(set, i, bytes);
	add_roots(flood, graph->snapshot);
	error = heap_flood_run(flood, &way);
	if (error)
		return error;
	for (size_t i = 0; i < flood->words; i++)
		flood->met[i] &= ~word_of(set, i, bytes);
	memcpy(others, flood->met, flood->words * sizeof(*others));
	heap_flood_again(flood);
	add_roots(flood, graph->snapshot);
	return heap_flood_run(flood, &way);
}

struct heap_error *heap_retained_by_set(const struct heap_graph *graph, const uint8_t *set,
					uint8_t *retained, struct heap_retained *result)
{
	const struct heap_snapshot *snapshot = graph->snapshot;
	CLEANUP_COLUMN uint64_t *others = NULL;
	struct heap_retained answer = { 0, 0 };
	struct heap_flood flood;
	struct heap_error *error = heap_flood_init(&flood, snapshot);

	if (error)
		return error;
	error = heap_column_create(flood.words, sizeof(*others), &others);
	if (!error)
		error = find_reachable(graph, set, &flood, others);
	for (size_t i = 0; !error && i < flood.words; i++) {
		uint64_t bits = flood.met[i] & ~others[i];

		answer.objects += (uint64_t)__builtin_popcountll(bits);
		for (; bits; bits &= bits - 1) {
			heap_object_id object = (uint32_t)i * 64 + (uint32_t)__builtin_ctzll(bits);

			answer.bytes += snapshot->size[object];
			heap_bit_set(retained, object);
		}
	}
	heap_flood_deinit(&flood);
	if (!error)
		*result = answer;
	return error;
}
