// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Two searches from the roots. The first counts members of the set as visited already, so that it
 * does not pass through them: whatever it visits stays reachable without them. The second goes on
 * from there through the set: whatever it visits besides is reachable through the set alone.
 */
#include "lib/graph/retained.h"

#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/base/column.h"
#include "lib/graph/bfs.h"

#include <string.h>

static void add_roots(struct heap_bfs *bfs, const struct heap_snapshot *snapshot)
{
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++)
		heap_bfs_add(bfs, snapshot->root_edges[i].target);
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
					 struct heap_bfs *bfs, uint64_t *others)
{
	size_t bytes = (size_t)graph->snapshot->object_count / 8 + 1;
	struct heap_bfs_options options = { .progress = graph->progress, .what = "retained set" };
	struct heap_error *error;

	for (size_t i = 0; i < bfs->words; i++)
		bfs->visited[i] = word_of(set, i, bytes);
	add_roots(bfs, graph->snapshot);
	error = heap_bfs_run(bfs, &options);
	if (error)
		return error;
	for (size_t i = 0; i < bfs->words; i++)
		bfs->visited[i] &= ~word_of(set, i, bytes);
	memcpy(others, bfs->visited, bfs->words * sizeof(*others));
	heap_bfs_continue(bfs);
	add_roots(bfs, graph->snapshot);
	return heap_bfs_run(bfs, &options);
}

struct heap_error *heap_retained_by_set(const struct heap_graph *graph, const uint8_t *set,
					uint8_t *retained, struct heap_retained *result)
{
	const struct heap_snapshot *snapshot = graph->snapshot;
	CLEANUP_COLUMN uint64_t *others = NULL;
	struct heap_retained answer = { 0, 0 };
	struct heap_bfs bfs;
	struct heap_error *error = heap_bfs_init(&bfs, snapshot);

	if (error)
		return error;
	error = heap_column_create(bfs.words, sizeof(*others), &others);
	if (!error)
		error = find_reachable(graph, set, &bfs, others);
	for (size_t i = 0; !error && i < bfs.words; i++) {
		uint64_t bits = bfs.visited[i] & ~others[i];

		answer.objects += (uint64_t)__builtin_popcountll(bits);
		for (; bits; bits &= bits - 1) {
			heap_object_id object = (uint32_t)i * 64 + (uint32_t)__builtin_ctzll(bits);

			answer.bytes += snapshot->size[object];
			heap_bit_set(retained, object);
		}
	}
	heap_bfs_deinit(&bfs);
	if (!error)
		*result = answer;
	return error;
}
