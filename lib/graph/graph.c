// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/graph/graph.h"

#include "lib/base/cleanup.h"
#include "lib/base/column.h"
#include "lib/graph/edge_bits.h"
#include "lib/graph/embedded.h"
#include "lib/graph/offsets.h"
#include "lib/graph/bfs.h"

#include <inttypes.h>
#include <string.h>

HEAP_MUST_CHECK
static struct heap_error *find_root_levels(struct heap_graph *graph);

static void cleanup_graph(struct heap_graph **graph)
{
	heap_graph_destroy(*graph);
}

struct heap_error *heap_graph_create_bare(struct heap_snapshot *snapshot,
					  struct heap_graph **result)
{
	HEAP_TRY(heap_snapshot_load(snapshot, HEAP_COLUMN_EDGES));

	// Root edges are counted in 32 bits here, like all others.
	if (snapshot->root_edge_count > UINT32_MAX)
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "%" PRIu64 " pointers in roots are too many for 32 bits",
					 snapshot->root_edge_count);

	CLEANUP(cleanup_graph) struct heap_graph *graph = calloc(1, sizeof(*graph));

	if (!graph)
		return heap_error_out_of_memory();
	graph->snapshot = snapshot;
	HEAP_TRY(find_root_levels(graph));
	*result = keep(graph);
	return NULL;
}

struct heap_error *heap_graph_create(struct heap_snapshot *snapshot, struct heap_graph **result)
{
	HEAP_TRY(heap_snapshot_load(snapshot, HEAP_COLUMN_SIZE));
	return heap_graph_create_bare(snapshot, result);
}

void heap_graph_destroy(struct heap_graph *graph)
{
	if (!graph)
		return;
	heap_column_destroy(graph->in_first);
	heap_column_destroy(graph->in_edge);
	heap_column_destroy(graph->in_source);
	heap_column_destroy(graph->root_in_first);
	heap_column_destroy(graph->root_in);
	heap_column_destroy(graph->reach);
	heap_column_destroy(graph->reached);
	heap_column_destroy(graph->distance);
	free(graph->root_levels);
	free(graph);
}

HEAP_MUST_CHECK
static struct heap_error *transpose_edges(const struct heap_graph *graph, uint32_t *in_first,
					  uint32_t *in_edge, heap_object_id *in_source)
{
	const struct heap_snapshot *snapshot = graph->snapshot;
	uint64_t steps = 2 * (uint64_t)snapshot->edge_count;

	for (uint32_t i = 0; i < snapshot->edge_count; i++) {
		HEAP_TRY(heap_progress_step(graph->progress, "reverse edges", i, steps));
		in_first[snapshot->edge_target[i] + 1]++;
	}
	heap_offsets_from_counts(in_first, snapshot->object_count);
	for (heap_object_id source = 0; source < snapshot->object_count; source++) {
		for (uint32_t i = snapshot->edge_first[source];
		     i < snapshot->edge_first[source + 1]; i++) {
			uint32_t place = in_first[snapshot->edge_target[i]]++;

			HEAP_TRY(heap_progress_step(graph->progress, "reverse edges",
						    snapshot->edge_count + (uint64_t)i, steps));
			in_edge[place] = i;
			in_source[place] = source;
		}
	}
	heap_offsets_rewind(in_first, snapshot->object_count);
	return NULL;
}

static void transpose_root_edges(const struct heap_snapshot *snapshot, uint32_t *root_in_first,
				 uint32_t *root_in)
{
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++)
		root_in_first[snapshot->root_edges[i].target + 1]++;
	heap_offsets_from_counts(root_in_first, snapshot->object_count);
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++)
		root_in[root_in_first[snapshot->root_edges[i].target]++] = (uint32_t)i;
	heap_offsets_rewind(root_in_first, snapshot->object_count);
}

struct heap_error *heap_graph_need_reverse(struct heap_graph *graph)
{
	const struct heap_snapshot *snapshot = graph->snapshot;
	size_t objects = snapshot->object_count;
	CLEANUP_COLUMN uint32_t *in_first = NULL;
	CLEANUP_COLUMN uint32_t *in_edge = NULL;
	CLEANUP_COLUMN heap_object_id *in_source = NULL;
	CLEANUP_COLUMN uint32_t *root_in_first = NULL;
	CLEANUP_COLUMN uint32_t *root_in = NULL;

	if (graph->in_first)
		return NULL;
	HEAP_TRY(heap_snapshot_load(graph->snapshot, HEAP_COLUMN_SLOTS));
	// Until the graph is transposed its edges are read in order and the reverse ones accessed at
	// random; then it is the other way round.
	heap_column_rest(snapshot->edge_first);
	heap_column_rest(snapshot->edge_target);
	HEAP_TRY(heap_column_create(objects + 1, sizeof(*in_first), &in_first));
	HEAP_TRY(heap_column_create(snapshot->edge_count, sizeof(*in_edge), &in_edge));
	HEAP_TRY(heap_column_create(snapshot->edge_count, sizeof(*in_source), &in_source));
	HEAP_TRY(heap_column_create(objects + 1, sizeof(*root_in_first), &root_in_first));
	HEAP_TRY(heap_column_create(snapshot->root_edge_count, sizeof(*root_in), &root_in));
	HEAP_TRY(transpose_edges(graph, in_first, in_edge, in_source));
	transpose_root_edges(snapshot, root_in_first, root_in);
	graph->in_first = keep(in_first);
	graph->in_edge = keep(in_edge);
	graph->in_source = keep(in_source);
	graph->root_in_first = keep(root_in_first);
	graph->root_in = keep(root_in);
	heap_column_rest(graph->in_edge);
	heap_column_rest(graph->in_source);
	heap_column_wake(snapshot->edge_first);
	heap_column_wake(snapshot->edge_target);
	return NULL;
}

static uint8_t reach_of(const struct heap_bfs *bfs, heap_object_id object, uint8_t reach)
{
	return reach != HEAP_REACH_NOT || !heap_bfs_has(bfs, object) ? reach : HEAP_REACH_INTERIOR;
}

// How reachability counts a pointer from a root.
static bool is_sure(const struct heap_snapshot *snapshot, const struct heap_embedded *embedded,
		    const struct heap_root_edge *edge)
{
	return heap_edge_is_start(edge->interior, edge->flags) ||
	       (embedded && (edge->flags & HEAP_EDGE_TYPED) &&
		heap_embedded_is(embedded, snapshot->roots[edge->root].type, edge->offset,
				 edge->target, edge->interior));
}

// Searches by pointers to starts first, then goes on by all pointers.
// @param embedded  pointers to members are as good as those to starts; NULL: they are not
// @return [objects] reach
HEAP_MUST_CHECK
static struct heap_error *find_reach(const struct heap_graph *graph, const uint8_t *sure_edges,
				     const struct heap_embedded *embedded, uint8_t *reach)
{
	CLEANUP(heap_bfs_deinit) struct heap_bfs bfs = { 0 };
	const struct heap_snapshot *snapshot = graph->snapshot;
	struct heap_bfs_options options = { .edges = sure_edges,
					    .progress = graph->progress,
					    .what = "reachability" };

	HEAP_TRY(heap_bfs_init(&bfs, graph->snapshot));
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		if (is_sure(snapshot, embedded, &snapshot->root_edges[i]))
			heap_bfs_add(&bfs, snapshot->root_edges[i].target);
	}

	HEAP_TRY(heap_bfs_run(&bfs, &options));
	for (heap_object_id i = 0; i < snapshot->object_count; i++)
		reach[i] = heap_bfs_has(&bfs, i) ? HEAP_REACH_START : HEAP_REACH_NOT;
	heap_bfs_continue(&bfs, NULL);
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++)
		heap_bfs_add(&bfs, snapshot->root_edges[i].target);
	options.edges = NULL;
	HEAP_TRY(heap_bfs_run(&bfs, &options));
	for (heap_object_id i = 0; i < snapshot->object_count; i++)
		reach[i] = reach_of(&bfs, i, reach[i]);
	return NULL;
}

// Searches again, by pointers to members, too: only where something is reached by interior pointers
// alone, since that needs types.
HEAP_MUST_CHECK
static struct heap_error *refine_reach(const struct heap_graph *graph, uint8_t *reach)
{
	CLEANUP(heap_embedded_deinit) struct heap_embedded embedded = { 0 };
	CLEANUP_COLUMN uint8_t *edges = NULL;

	HEAP_TRY(heap_snapshot_load(graph->snapshot, HEAP_COLUMN_TYPE));
	HEAP_TRY(heap_embedded_init(&embedded, graph->snapshot));
	HEAP_TRY(heap_edge_bits_create(graph->snapshot, HEAP_EDGE_TO_START | HEAP_EDGE_TO_MEMBER,
				       &edges));
	return find_reach(graph, edges, &embedded, reach);
}

struct heap_error *heap_graph_need_reach(struct heap_graph *graph)
{
	CLEANUP_COLUMN uint8_t *reach = NULL;
	CLEANUP_COLUMN uint8_t *to_starts = NULL;
	size_t objects = graph->snapshot->object_count;

	if (graph->reach)
		return NULL;
	HEAP_TRY(heap_edge_bits_create(graph->snapshot, HEAP_EDGE_TO_START, &to_starts));
	HEAP_TRY(heap_column_create(objects + 1, 1, &reach));
	HEAP_TRY(find_reach(graph, to_starts, NULL, reach));
	if (graph->snapshot->types.count > 1 && memchr(reach, HEAP_REACH_INTERIOR, objects))
		HEAP_TRY(refine_reach(graph, reach));
	graph->reach = keep(reach);
	return NULL;
}

struct heap_error *heap_graph_need_leaked(struct heap_graph *graph)
{
	CLEANUP(heap_bfs_deinit) struct heap_bfs bfs = { 0 };
	const struct heap_snapshot *snapshot = graph->snapshot;
	struct heap_bfs_options options = { .progress = graph->progress, .what = "reachability" };

	if (graph->reach || graph->reached)
		return NULL;
	HEAP_TRY(heap_bfs_init(&bfs, snapshot));
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++)
		heap_bfs_add(&bfs, snapshot->root_edges[i].target);
	HEAP_TRY(heap_bfs_run(&bfs, &options));
	graph->reached = keep(bfs.visited);
	return NULL;
}

// By how much its name tells: 0 for a variable.
static unsigned rank_of_name(const struct heap_root *root)
{
	static const uint8_t ranks[HEAP_ROOT_KINDS] = {
		[HEAP_ROOT_GLOBAL] = 0,   [HEAP_ROOT_THREAD_LOCAL] = 0, [HEAP_ROOT_LOCAL] = 0,
		[HEAP_ROOT_REGISTER] = 1, [HEAP_ROOT_SEGMENT] = 2,      [HEAP_ROOT_STACK] = 2,
		[HEAP_ROOT_MAPPING] = 3,
	};

	return ranks[root->kind];
}

bool heap_root_is_named(const struct heap_root *root)
{
	return rank_of_name(root) == 0;
}

unsigned heap_root_rank(const struct heap_graph *graph, const struct heap_root *root)
{
	return rank_of_name(root) * HEAP_LEVELS + heap_root_level(graph, root);
}

static enum heap_root_level level_of_kind(uint8_t kind)
{
	static const uint8_t levels[HEAP_ROOT_KINDS] = {
		[HEAP_ROOT_GLOBAL] = HEAP_LEVEL_VARIABLE,
		[HEAP_ROOT_THREAD_LOCAL] = HEAP_LEVEL_VARIABLE,
		[HEAP_ROOT_LOCAL] = HEAP_LEVEL_VARIABLE,
		[HEAP_ROOT_SEGMENT] = HEAP_LEVEL_DATA,
		[HEAP_ROOT_REGISTER] = HEAP_LEVEL_WORD,
		[HEAP_ROOT_STACK] = HEAP_LEVEL_WORD,
		[HEAP_ROOT_MAPPING] = HEAP_LEVEL_WORD,
	};

	return levels[kind];
}

// True for a variable of a call that is known.
static bool has_call(const struct heap_snapshot *snapshot, const struct heap_root *root)
{
	return root->kind == HEAP_ROOT_LOCAL && root->thread < snapshot->thread_count &&
	       root->frame < snapshot->frame_count;
}

// Frames have higher numbers further out. @param outermost  [threads] of those whose variables hold objects
static uint8_t find_level(const struct heap_snapshot *snapshot, const struct heap_root *root,
			  const uint32_t *outermost)
{
	uint32_t most = HEAP_LEVEL_DATA - 1, depth;

	if (!has_call(snapshot, root))
		return (uint8_t)level_of_kind(root->kind);
	if (root->frame >= outermost[root->thread])
		return HEAP_LEVEL_VARIABLE; // as those of the calls further out, which hold nothing
	depth = outermost[root->thread] - root->frame;
	return (uint8_t)(depth < most ? depth : most);
}

HEAP_MUST_CHECK
static struct heap_error *find_root_levels(struct heap_graph *graph)
{
	const struct heap_snapshot *snapshot = graph->snapshot;
	CLEANUP_FREE uint32_t *outermost =
		calloc((size_t)snapshot->thread_count + 1, sizeof(*outermost));

	graph->root_levels = calloc((size_t)snapshot->root_count + 1, 1);
	if (!outermost || !graph->root_levels)
		return heap_error_out_of_memory();
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		const struct heap_root *root = &snapshot->roots[snapshot->root_edges[i].root];

		if (has_call(snapshot, root) && root->frame > outermost[root->thread])
			outermost[root->thread] = root->frame;
	}
	graph->levels = UINT64_C(1) << HEAP_LEVEL_VARIABLE | UINT64_C(1) << HEAP_LEVEL_DATA;
	for (heap_root_id i = 0; i < snapshot->root_count; i++) {
		graph->root_levels[i] = find_level(snapshot, &snapshot->roots[i], outermost);
		graph->levels |= UINT64_C(1) << graph->root_levels[i];
	}
	return NULL;
}

enum heap_root_level heap_root_level(const struct heap_graph *graph, const struct heap_root *root)
{
	return graph->is_conservative ? HEAP_LEVEL_VARIABLE
				      : graph->root_levels[root - graph->snapshot->roots];
}

enum heap_root_level heap_root_edge_level(const struct heap_graph *graph,
					  const struct heap_root_edge *edge)
{
	enum heap_root_level level =
		graph->is_conservative ? HEAP_LEVEL_VARIABLE : graph->root_levels[edge->root];

	if (level < HEAP_LEVEL_DATA && !graph->is_conservative && edge->interior > 0 &&
	    !(edge->flags & HEAP_EDGE_TYPED))
		return HEAP_LEVEL_DATA;
	return level;
}

// Goes on from the targets of roots that have a name, or from those of all others.
HEAP_MUST_CHECK
static struct heap_error *note_distances(const struct heap_graph *graph, struct heap_bfs *bfs,
					 bool named, uint32_t *distance)
{
	const struct heap_snapshot *snapshot = graph->snapshot;

	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];

		if (heap_root_is_named(&snapshot->roots[edge->root]) == named)
			heap_bfs_add(bfs, edge->target);
	}
	return heap_bfs_run(
		bfs, &(struct heap_bfs_options){ .distance = distance,
						 .first_level = named ? 0 : HEAP_DISTANCE_NAMELESS,
						 .progress = graph->progress,
						 .what = "distances from roots" });
}

struct heap_error *heap_graph_need_distance(struct heap_graph *graph)
{
	const struct heap_snapshot *snapshot = graph->snapshot;
	CLEANUP_COLUMN uint32_t *distance = NULL;
	CLEANUP(heap_bfs_deinit) struct heap_bfs bfs = { 0 };

	if (graph->distance)
		return NULL;
	HEAP_TRY(heap_column_create((size_t)snapshot->object_count + 1, sizeof(*distance),
				    &distance));
	HEAP_TRY(heap_bfs_init(&bfs, snapshot));
	memset(distance, 0xff, snapshot->object_count * sizeof(*distance));
	HEAP_TRY(note_distances(graph, &bfs, true, distance));
	HEAP_TRY(note_distances(graph, &bfs, false, distance));
	graph->distance = keep(distance);
	return NULL;
}

heap_object_id heap_graph_source(const struct heap_graph *graph, uint32_t edge)
{
	return heap_edge_source(graph->snapshot->edge_first, graph->snapshot->object_count, edge);
}
