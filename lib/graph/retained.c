// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Two searches for each level of roots, from the surest down. The first counts members of the set as
 * visited already, so that it does not pass through them: whatever it visits stays reachable without
 * them. The second goes on from there through the set: whatever it visits besides is reachable
 * through the set alone. Both count as visited what surer levels reach, since paths from there do not
 * count, and leave out a level that reaches nothing more.
 */
#include "lib/graph/retained.h"

#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/base/column.h"
#include "lib/graph/bfs.h"

#include <string.h>

struct search {
	const struct heap_graph *graph;
	const uint8_t *set;
	struct heap_bfs bfs;
	uint64_t *before; // [words] what surer levels reach
	uint64_t *others; // [words] what is reachable without the set
};

static void add_roots(struct search *search, enum heap_root_level level)
{
	const struct heap_snapshot *snapshot = search->graph->snapshot;

	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		if (heap_root_edge_level(search->graph, &snapshot->root_edges[i]) == level)
			heap_bfs_add(&search->bfs, snapshot->root_edges[i].target);
	}
}

// The bits of 64 objects, of a set that has a byte for each eight.
static uint64_t word_of(const uint8_t *set, size_t word, size_t bytes)
{
	uint64_t bits = 0;

	for (size_t i = word * 8; i < word * 8 + 8 && i < bytes; i++)
		bits |= (uint64_t)set[i] << i % 8 * 8;
	return bits;
}

static bool reaches_more(const struct search *search, enum heap_root_level level)
{
	const struct heap_snapshot *snapshot = search->graph->snapshot;

	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];

		if (heap_root_edge_level(search->graph, edge) == level &&
		    !heap_bfs_has(&search->bfs, edge->target))
			return true;
	}
	return false;
}

HEAP_MUST_CHECK
static struct heap_error *search_level(struct search *search, enum heap_root_level level)
{
	const struct heap_graph *graph = search->graph;
	struct heap_bfs *bfs = &search->bfs;
	size_t bytes = (size_t)graph->snapshot->object_count / 8 + 1;
	struct heap_bfs_options options = { .progress = graph->progress, .what = "retained set" };

	if (!reaches_more(search, level))
		return NULL;
	memcpy(search->before, bfs->visited, bfs->words * sizeof(*search->before));
	for (size_t i = 0; i < bfs->words; i++)
		bfs->visited[i] |= word_of(search->set, i, bytes);
	add_roots(search, level);
	HEAP_TRY(heap_bfs_run(bfs, &options));
	for (size_t i = 0; i < bfs->words; i++) {
		bfs->visited[i] &= ~word_of(search->set, i, bytes) | search->before[i];
		search->others[i] |= bfs->visited[i] & ~search->before[i];
	}
	heap_bfs_continue(bfs, search->before);
	add_roots(search, level);
	return heap_bfs_run(bfs, &options);
}

static void search_deinit(struct search *search)
{
	heap_bfs_deinit(&search->bfs);
	heap_column_destroy(search->before);
	heap_column_destroy(search->others);
}

struct heap_error *heap_retained_by_set(const struct heap_graph *graph, const uint8_t *set,
					uint8_t *retained, struct heap_retained *result)
{
	const struct heap_snapshot *snapshot = graph->snapshot;
	__attribute__((cleanup(search_deinit))) struct search search = { graph, .set = set };
	struct heap_retained answer = { 0, 0 };

	HEAP_TRY(heap_bfs_init(&search.bfs, snapshot));
	HEAP_TRY(heap_column_create(search.bfs.words, sizeof(*search.before), &search.before));
	HEAP_TRY(heap_column_create(search.bfs.words, sizeof(*search.others), &search.others));
	for (enum heap_root_level level = 0; level < HEAP_LEVELS; level++) {
		if (heap_graph_has_level(graph, level))
			HEAP_TRY(search_level(&search, level));
	}
	for (size_t i = 0; i < search.bfs.words; i++) {
		uint64_t bits = search.bfs.visited[i] & ~search.others[i];

		answer.objects += (uint64_t)__builtin_popcountll(bits);
		for (; bits; bits &= bits - 1) {
			heap_object_id object = (uint32_t)i * 64 + (uint32_t)__builtin_ctzll(bits);

			answer.bytes += snapshot->size[object];
			heap_bit_set(retained, object);
		}
	}
	*result = answer;
	return NULL;
}
