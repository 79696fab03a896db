// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Finds what divided blocks dominate, with their parts.
 */
#include "lib/graph/divided_edges.h"

#include "lib/graph/dominator_tree.h"

// Adds up what the nodes of each divided block retain.
HEAP_MUST_CHECK
static struct heap_error *add_up(struct heap_divided *divided)
{
	uint32_t groups = divided->block_count + 1; // the last one is that of all other blocks
	CLEANUP(heap_dominator_tree_deinit) struct heap_dominator_tree tree = { 0 };
	CLEANUP_COLUMN uint32_t *group = NULL;

	HEAP_TRY(heap_column_create((size_t)divided->objects + 1, sizeof(*group), &group));
	for (heap_node_id i = 0; i < divided->snapshot->object_count; i++)
		group[i] = divided->block_count;
	for (uint32_t i = 0; i < divided->block_count; i++) {
		const struct heap_divided_block *block = &divided->blocks[i];

		group[block->object] = i;
		for (uint32_t part = block->first_part; part < block[1].first_part; part++)
			group[divided->snapshot->object_count + part] = i;
	}
	HEAP_TRY(heap_dominator_tree_init(&tree, divided->dominators));
	HEAP_TRY(heap_column_create(groups, sizeof(*divided->retained), &divided->retained));
	return heap_dominator_tree_sum(&tree, group, groups, divided->retained);
}

struct heap_error *heap_divided_set_dominators(struct heap_divided *divided,
					       const struct heap_dominators *dominators)
{
	divided->dominators = dominators;
	return divided->part_count > 0 ? add_up(divided) : NULL;
}

uint64_t heap_divided_retained(const struct heap_divided *divided, heap_object_id block)
{
	uint32_t at = heap_divided_find_block(divided, block);

	return at < divided->block_count ? divided->retained[at]
					 : divided->dominators->retained[block];
}

heap_node_id heap_divided_holder(const struct heap_divided *divided, heap_object_id block)
{
	heap_node_id node = divided->dominators->nearest[block];

	// A forged side file may have cycles.
	for (uint32_t steps = 0; steps < divided->part_count; steps++) {
		if (node == HEAP_NO_NODE || heap_divided_block(divided, node) != block)
			break;
		node = divided->dominators->nearest[node];
	}
	return node;
}

struct heap_error *heap_divided_mark(const struct heap_divided *divided, heap_object_id block,
				     uint8_t *marks)
{
	heap_node_id first, end = heap_divided_parts(divided, block, &first);

	for (heap_node_id i = first; i < end; i++)
		heap_bit_set(marks, i);
	return heap_dominators_mark(divided->dominators, block, marks);
}
