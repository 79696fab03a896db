// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Finds what the nodes of one block hold of each other: a pool and its parts are free together.
 */
#include "lib/graph/divided_edges.h"

#include "lib/graph/offsets.h"

#include <string.h>

enum {
	UNREACHED = HEAP_LEVELS, // the level of a node that no root reaches
};

// A search from the roots, the surest first, which hangs the nodes of a block on each other as it goes.
struct hanging {
	const struct heap_divided *divided;
	uint8_t *levels;       // [nodes] or UNREACHED
	uint8_t *hung;         // a bit for each node that hangs on the others of its block
	heap_node_id *pending; // [pending_count] nodes whose edges have not been followed
	uint32_t pending_count;
	uint8_t *is_touched; // a bit for each divided block
	uint32_t *touched;   // [touched_count] divided blocks of which a node has been reached
	uint32_t touched_count;
	uint32_t with_block; // of these, the first whose own node may not have been reached
	uint32_t with_parts; // of these, the first whose parts may not have been reached
	uint8_t level;
};

static void reach(struct hanging *hanging, heap_node_id node)
{
	const struct heap_divided *divided = hanging->divided;
	uint32_t block;

	if (hanging->levels[node] != UNREACHED)
		return;
	hanging->levels[node] = hanging->level;
	hanging->pending[hanging->pending_count++] = node;
	if (hanging->touched_count == divided->block_count)
		return;
	block = heap_divided_find_block(divided, heap_divided_block(divided, node));
	if (block < divided->block_count && !heap_bit_get(hanging->is_touched, block)) {
		heap_bit_set(hanging->is_touched, block);
		hanging->touched[hanging->touched_count++] = block;
	}
}

static void hang(struct hanging *hanging, heap_node_id node)
{
	if (hanging->levels[node] == UNREACHED)
		heap_bit_set(hanging->hung, node);
	reach(hanging, node);
}

static void follow_pending(struct hanging *hanging)
{
	const struct heap_snapshot *nodes = &hanging->divided->nodes;

	while (hanging->pending_count > 0) {
		heap_node_id node = hanging->pending[--hanging->pending_count];

		for (uint32_t i = nodes->edge_first[node]; i < nodes->edge_first[node + 1]; i++)
			reach(hanging, nodes->edge_target[i]);
	}
}

// Hangs what edges have not reached, pools before parts: a pool's own pointers may lead to these.
// @return false if all is reached that can be
static bool hang_more(struct hanging *hanging)
{
	const struct heap_divided *divided = hanging->divided;
	uint32_t objects = divided->snapshot->object_count;

	if (hanging->with_block < hanging->touched_count) {
		uint32_t block = hanging->touched[hanging->with_block++];

		hang(hanging, divided->blocks[block].object);
		return true;
	}
	if (hanging->with_parts < hanging->touched_count) {
		const struct heap_divided_block *block =
			&divided->blocks[hanging->touched[hanging->with_parts++]];

		for (uint32_t part = block->first_part; part < block[1].first_part; part++)
			hang(hanging, objects + part);
		return true;
	}
	return false;
}

HEAP_MUST_CHECK
static struct heap_error *search(struct hanging *hanging)
{
	const struct heap_divided *divided = hanging->divided;
	const struct heap_snapshot *nodes = &divided->nodes;

	for (unsigned level = 0; level < HEAP_LEVELS; level++) {
		if (!heap_graph_has_level(divided->graph, level))
			continue;
		hanging->level = (uint8_t)level;
		for (uint64_t i = 0; i < nodes->root_edge_count; i++) {
			if (heap_root_edge_level(divided->graph, &nodes->root_edges[i]) == level)
				reach(hanging, nodes->root_edges[i].target);
		}
		do {
			HEAP_TRY(heap_progress_report(divided->graph->progress, "parts of pools",
						      level, HEAP_LEVELS));
			follow_pending(hanging);
		} while (hang_more(hanging));
	}
	return NULL;
}

// Calls visit for the edges between nodes of one block.
static inline void each_bond(const struct hanging *hanging, heap_divided_visit_edge *visit,
			     struct heap_divided_edges *edges)
{
	const struct heap_divided *divided = hanging->divided;
	uint32_t objects = divided->snapshot->object_count;

	for (uint32_t i = 0; i < divided->block_count; i++) {
		const struct heap_divided_block *block = &divided->blocks[i];
		bool is_hung = heap_bit_get(hanging->hung, block->object);

		for (uint32_t part = block->first_part; part < block[1].first_part; part++) {
			if (heap_bit_get(hanging->hung, objects + part))
				visit(edges, block->object, objects + part, UINT32_MAX);
			else if (is_hung &&
				 hanging->levels[objects + part] <= hanging->levels[block->object])
				visit(edges, objects + part, block->object, UINT32_MAX);
		}
	}
}

// Adds the edges between nodes of one block.
HEAP_MUST_CHECK
static struct heap_error *add_bonds(struct heap_divided *divided, const struct hanging *hanging)
{
	const struct heap_snapshot *nodes = &divided->nodes;
	CLEANUP(heap_divided_edges_deinit) struct heap_divided_edges edges = { NULL, NULL, NULL };
	uint32_t count;

	HEAP_TRY(heap_column_create((size_t)nodes->object_count + 1, sizeof(*edges.first),
				    &edges.first));
	each_bond(hanging, heap_divided_count_edge, &edges);
	for (heap_node_id i = 0; i < nodes->object_count; i++)
		edges.first[i + 1] += nodes->edge_first[i + 1] - nodes->edge_first[i];
	count = heap_offsets_from_counts(edges.first, nodes->object_count);
	HEAP_TRY(heap_divided_create_edges(&edges, count));
	for (heap_node_id i = 0; i < nodes->object_count; i++) {
		for (uint32_t j = nodes->edge_first[i]; j < nodes->edge_first[i + 1]; j++)
			heap_divided_put_edge(&edges, i, nodes->edge_target[j],
					      divided->origins[j]);
	}
	each_bond(hanging, heap_divided_put_edge, &edges);
	heap_offsets_rewind(edges.first, nodes->object_count);
	heap_divided_take_edges(divided, &edges, count);
	return NULL;
}

struct heap_error *heap_divided_bind_nodes(struct heap_divided *divided)
{
	size_t nodes = divided->nodes.object_count;
	CLEANUP_COLUMN uint8_t *levels = NULL;
	CLEANUP_COLUMN uint8_t *hung = NULL;
	CLEANUP_COLUMN uint8_t *is_touched = NULL;
	CLEANUP_COLUMN heap_node_id *pending = NULL;
	CLEANUP_COLUMN uint32_t *touched = NULL;
	struct hanging hanging = { .divided = divided };

	HEAP_TRY(heap_column_create(nodes + 1, 1, &levels));
	HEAP_TRY(heap_column_create(nodes / 8 + 1, 1, &hung));
	HEAP_TRY(heap_column_create(divided->block_count / 8 + 1, 1, &is_touched));
	HEAP_TRY(heap_column_create(nodes + 1, sizeof(*pending), &pending));
	HEAP_TRY(heap_column_create((size_t)divided->block_count + 1, sizeof(*touched), &touched));
	memset(levels, UNREACHED, nodes);
	hanging.levels = levels;
	hanging.hung = hung;
	hanging.is_touched = is_touched;
	hanging.pending = pending;
	hanging.touched = touched;
	HEAP_TRY(search(&hanging));
	return add_bonds(divided, &hanging);
}
