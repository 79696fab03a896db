// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/graph/divided_edges.h"

#include "lib/base/search.h"
#include "lib/graph/offsets.h"

#include <inttypes.h>
#include <string.h>

enum {
	LEAST_PLAUSIBLE = 65536, // elements of slabs, in a heap without pointers
	PLAUSIBLE = 8,           // elements for each pointer and each object
};

// --- places ------------------------------------------------------------------

static const struct heap_part *part_of(const struct heap_divided *divided, uint32_t number)
{
	return &divided->parts[number];
}

const struct heap_part *heap_divided_part(const struct heap_divided *divided, heap_node_id node)
{
	uint32_t objects = divided->snapshot->object_count;

	return node >= objects && node - objects < divided->part_count
		       ? part_of(divided, node - objects)
		       : NULL;
}

heap_object_id heap_divided_block(const struct heap_divided *divided, heap_node_id node)
{
	const struct heap_part *part = heap_divided_part(divided, node);

	if (part)
		return part->object;
	return node < divided->snapshot->object_count ? node : HEAP_NO_OBJECT;
}

heap_node_id heap_divided_parts(const struct heap_divided *divided, heap_object_id block,
				heap_node_id *first)
{
	uint32_t objects = divided->snapshot->object_count,
		 at = heap_divided_find_block(divided, block);

	*first = objects;
	if (at == divided->block_count)
		return objects;
	*first = objects + divided->blocks[at].first_part;
	return objects + divided->blocks[at + 1].first_part;
}

// True if an offset lies in a part, or between that and the next one.
static bool is_at(const struct heap_divided *divided, const struct heap_divided_block *block,
		  uint32_t number, uint64_t offset)
{
	return part_of(divided, number)->offset <= offset &&
	       (number + 1 == block[1].first_part || offset < part_of(divided, number + 1)->offset);
}

// The part at an offset or the last one before it; parts often lie at one distance from each other.
// @return the first part's number - 1 if there is none
static uint32_t find_part(const struct heap_divided *divided,
			  const struct heap_divided_block *block, uint64_t offset)
{
	uint64_t start = part_of(divided, block->first_part)->offset, size, guess;

	if (offset < start)
		return block->first_part - 1;
	size = divided->ends[block->first_part] - start;
	guess = block->first_part + (offset - start) / size;
	if (guess < block[1].first_part && is_at(divided, block, (uint32_t)guess, offset))
		return (uint32_t)guess;
	return heap_partition_point(i, block->first_part, block[1].first_part,
				    part_of(divided, i)->offset <= offset) -
	       1;
}

// The node of a place in a divided block.
static heap_node_id node_in(const struct heap_divided *divided,
			    const struct heap_divided_block *block, uint64_t offset)
{
	uint32_t number = find_part(divided, block, offset);

	return number + 1 > block->first_part && offset < divided->ends[number]
		       ? divided->snapshot->object_count + number
		       : block->object;
}

heap_node_id heap_divided_node(const struct heap_divided *divided, heap_object_id block,
			       uint64_t offset)
{
	uint32_t at = heap_divided_find_block(divided, block);

	return at < divided->block_count ? node_in(divided, &divided->blocks[at], offset) : block;
}

// --- nodes -------------------------------------------------------------------

// Gives a part of a block a node, unless it lies at the start.
static void add_part(struct heap_divided *divided, const struct heap_part *part)
{
	if (part->offset == 0)
		return;
	if (divided->block_count == 0 ||
	    divided->blocks[divided->block_count - 1].object != part->object)
		divided->blocks[divided->block_count++] =
			(struct heap_divided_block){ part->object, divided->part_count };
	divided->parts[divided->part_count++] = *part;
}

// Gives the outermost parts of a pool nodes. @param next  its first part; moved behind the last one
static void add_pool(struct heap_divided *divided, uint32_t *next)
{
	const struct heap_snapshot *snapshot = divided->snapshot;
	heap_object_id object = snapshot->parts[*next].object;
	uint64_t end = 0; // of the latest part

	for (; *next < snapshot->part_count && snapshot->parts[*next].object == object; ++*next) {
		const struct heap_part *part = &snapshot->parts[*next];
		uint64_t size = heap_snapshot_part_size(snapshot, part);

		if (part->offset < end || size == 0)
			continue;
		end = part->offset + size;
		add_part(divided, part);
	}
}

// The number of elements of a slab; 0: it is none.
static uint64_t slab_elements(const struct heap_snapshot *snapshot, heap_object_id slab)
{
	uint64_t size = heap_types_size(&snapshot->types, snapshot->type[slab]);
	uint64_t room = size > 0 ? snapshot->size[slab] / size : 0;

	return snapshot->elements[slab] < room ? snapshot->elements[slab] : room;
}

// The elements of all slabs. Those of slabs that were made up may be more than there is any use of.
static uint64_t count_elements(const struct heap_snapshot *snapshot)
{
	uint64_t pointers = snapshot->edge_count + snapshot->root_edge_count, count = 0;
	uint64_t most = LEAST_PLAUSIBLE + PLAUSIBLE * (pointers + snapshot->object_count);

	for (uint32_t i = 0; i < snapshot->slab_count && count < most; i++)
		count += slab_elements(snapshot, snapshot->slabs[i].object);
	return count < most ? count : most;
}

static void add_slab(struct heap_divided *divided, heap_object_id slab)
{
	const struct heap_snapshot *snapshot = divided->snapshot;
	heap_type_id type = snapshot->type[slab];
	uint64_t size = heap_types_size(&snapshot->types, type);

	for (uint64_t i = 0, count = slab_elements(snapshot, slab); i < count; i++)
		add_part(divided,
			 &(struct heap_part){ slab, i * size, type, 1, snapshot->evidence[slab] });
}

// Makes what heap_divided_find_block() reads.
HEAP_MUST_CHECK
static struct heap_error *index_blocks(struct heap_divided *divided)
{
	size_t count = (size_t)divided->snapshot->object_count / 64 + 1;
	uint32_t before = 0;

	HEAP_TRY(heap_column_create(count, sizeof(*divided->is_divided), &divided->is_divided));
	for (uint32_t i = 0; i < divided->block_count; i++)
		divided->is_divided[divided->blocks[i].object / 64].bits |=
			UINT64_C(1) << divided->blocks[i].object % 64;
	for (size_t i = 0; i < count; i++) {
		divided->is_divided[i].before = before;
		before += heap_bits_count(divided->is_divided[i].bits);
	}
	return NULL;
}

// Gives parts of pools and elements of slabs nodes, and enters their blocks.
HEAP_MUST_CHECK
static struct heap_error *add_parts(struct heap_divided *divided)
{
	const struct heap_snapshot *snapshot = divided->snapshot;
	uint64_t most = snapshot->part_count + count_elements(snapshot);
	uint32_t next = 0;

	if (snapshot->object_count + most >= UINT32_MAX)
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "%" PRIu32 " objects and %" PRIu64
					 " parts are too many for 32 bits",
					 snapshot->object_count, most);
	HEAP_TRY(heap_column_create(most + 1, sizeof(*divided->parts), &divided->parts));
	HEAP_TRY(heap_column_create((size_t)snapshot->part_count + snapshot->slab_count + 1,
				    sizeof(*divided->blocks), &divided->blocks));
	for (uint32_t i = 0; i < snapshot->slab_count; i++) {
		heap_object_id slab = snapshot->slabs[i].object;

		while (next < snapshot->part_count && snapshot->parts[next].object <= slab)
			add_pool(divided, &next);
		// A slab that has parts, too, has been made up.
		if (divided->part_count + slab_elements(snapshot, slab) <= most &&
		    (divided->block_count == 0 ||
		     divided->blocks[divided->block_count - 1].object != slab))
			add_slab(divided, slab);
	}
	while (next < snapshot->part_count)
		add_pool(divided, &next);
	divided->blocks[divided->block_count] =
		(struct heap_divided_block){ HEAP_NO_OBJECT, divided->part_count };
	return index_blocks(divided);
}

HEAP_MUST_CHECK
static struct heap_error *check_edges(const struct heap_divided *divided)
{
	const struct heap_snapshot *snapshot = divided->snapshot;

	// Each part may get an edge besides its own.
	if ((uint64_t)snapshot->edge_count + divided->part_count >= UINT32_MAX)
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "%" PRIu32 " pointers and %" PRIu32
					 " parts are too many for 32 bits",
					 snapshot->edge_count, divided->part_count);
	return NULL;
}

// --- where they end --------------------------------------------------------------------------

// Gives each part the bytes up to the next one, the last one of a block no more than the one before has.
static void widen_parts(struct heap_divided *divided, const struct heap_divided_block *block)
{
	const struct heap_snapshot *snapshot = divided->snapshot;
	uint64_t most = 0; // the bytes of the part before

	for (uint32_t i = block->first_part; i < block[1].first_part; i++) {
		const struct heap_part *part = part_of(divided, i);
		uint64_t size = heap_snapshot_part_size(snapshot, part);
		uint64_t left = snapshot->size[block->object] - part->offset;

		if (i + 1 < block[1].first_part)
			size = part_of(divided, i + 1)->offset - part->offset;
		else if (size < most)
			size = most < left ? most : left;
		divided->ends[i] = part->offset + size;
		most = size;
	}
}

// Ends the part before a place that a pointer leads to, unless that is within its type.
static void narrow_part(struct heap_divided *divided, heap_object_id object, uint64_t offset)
{
	uint32_t at = heap_divided_find_block(divided, object);
	heap_node_id node =
		at < divided->block_count ? node_in(divided, &divided->blocks[at], offset) : object;
	const struct heap_part *part = heap_divided_part(divided, node);

	if (part && offset - part->offset >= heap_snapshot_part_size(divided->snapshot, part))
		divided->ends[node - divided->snapshot->object_count] = offset;
}

HEAP_MUST_CHECK
static struct heap_error *find_ends(struct heap_divided *divided)
{
	const struct heap_snapshot *snapshot = divided->snapshot;

	HEAP_TRY(heap_column_create((size_t)divided->part_count + 1, sizeof(*divided->ends),
				    &divided->ends));
	for (uint32_t i = 0; i < divided->block_count; i++)
		widen_parts(divided, &divided->blocks[i]);
	for (uint32_t i = 0; i < snapshot->edge_count; i++)
		narrow_part(divided, snapshot->edge_target[i], snapshot->edge_interior[i]);
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++)
		narrow_part(divided, snapshot->root_edges[i].target,
			    snapshot->root_edges[i].interior);
	return NULL;
}

// Copies what does not depend on edges: the columns of blocks, and what parts have instead.
HEAP_MUST_CHECK
static struct heap_error *make_columns(struct heap_divided *divided)
{
	const struct heap_snapshot *snapshot = divided->snapshot;
	struct heap_snapshot *nodes = &divided->nodes;
	uint32_t objects = snapshot->object_count;
	size_t count = (size_t)nodes->object_count + 1;

	HEAP_TRY(heap_column_create(count, sizeof(*nodes->size), &nodes->size));
	HEAP_TRY(heap_column_create(count, sizeof(*nodes->type), &nodes->type));
	HEAP_TRY(heap_column_create(count, sizeof(*nodes->site), &nodes->site));
	memcpy(nodes->size, snapshot->size, objects * sizeof(*nodes->size));
	memcpy(nodes->type, snapshot->type, objects * sizeof(*nodes->type));
	memcpy(nodes->site, snapshot->site, objects * sizeof(*nodes->site));
	for (uint32_t i = 0; i < divided->part_count; i++) {
		const struct heap_part *part = part_of(divided, i);
		uint64_t size = divided->ends[i] - part->offset;

		nodes->size[part->object] -= size;
		nodes->size[objects + i] = size;
		nodes->type[objects + i] = part->type;
		nodes->site[objects + i] = snapshot->site[part->object];
	}
	return NULL;
}

// --- edges -------------------------------------------------------------------

// The node that an edge leads to.
static heap_node_id target_of(const struct heap_divided *divided, uint32_t edge)
{
	const struct heap_snapshot *snapshot = divided->snapshot;

	return heap_divided_node(divided, snapshot->edge_target[edge],
				 snapshot->edge_interior[edge]);
}

// Calls visit for all edges, with the nodes that they leave and lead to, in order of these.
static inline void each_edge(const struct heap_divided *divided, heap_divided_visit_edge *visit,
			     struct heap_divided_edges *edges)
{
	const struct heap_snapshot *snapshot = divided->snapshot;
	const struct heap_divided_block *block = divided->blocks;

	for (heap_object_id object = 0; object < snapshot->object_count; object++) {
		bool is_divided = block->object == object;

		for (uint32_t i = snapshot->edge_first[object];
		     i < snapshot->edge_first[object + 1]; i++)
			visit(edges,
			      is_divided ? node_in(divided, block,
						   (uint64_t)snapshot->edge_slot[i] * 8)
					 : object,
			      target_of(divided, i), i);
		block += is_divided;
	}
}

// Makes the edges of the nodes from those of the blocks.
HEAP_MUST_CHECK
static struct heap_error *make_edges(struct heap_divided *divided)
{
	CLEANUP(heap_divided_edges_deinit) struct heap_divided_edges edges = { NULL, NULL, NULL };
	uint32_t nodes = divided->nodes.object_count, count = divided->snapshot->edge_count;

	HEAP_TRY(heap_column_create((size_t)nodes + 1, sizeof(*edges.first), &edges.first));
	HEAP_TRY(heap_divided_create_edges(&edges, count));
	each_edge(divided, heap_divided_count_edge, &edges);
	heap_offsets_from_counts(edges.first, nodes);
	each_edge(divided, heap_divided_put_edge, &edges);
	heap_offsets_rewind(edges.first, nodes);
	heap_divided_take_edges(divided, &edges, count);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *make_root_edges(struct heap_divided *divided)
{
	const struct heap_snapshot *snapshot = divided->snapshot;
	struct heap_snapshot *nodes = &divided->nodes;

	HEAP_TRY(heap_column_create(snapshot->root_edge_count + 1, sizeof(*nodes->root_edges),
				    &nodes->root_edges));
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		struct heap_root_edge *edge = &nodes->root_edges[i];
		const struct heap_part *part;

		*edge = snapshot->root_edges[i];
		edge->target = heap_divided_node(divided, edge->target, edge->interior);
		part = heap_divided_part(divided, edge->target);
		if (part)
			edge->interior -= (uint32_t)part->offset;
	}
	return NULL;
}

// --- the graph ---------------------------------------------------------------

// The snapshot of nodes shares what is no column with that of blocks.
static void share_tables(struct heap_divided *divided)
{
	const struct heap_snapshot *snapshot = divided->snapshot;

	divided->nodes = (struct heap_snapshot){
		.types = snapshot->types,
		.sites = snapshot->sites,
		.site_count = snapshot->site_count,
		.strings = snapshot->strings,
		.string_size = snapshot->string_size,
		.threads = snapshot->threads,
		.thread_count = snapshot->thread_count,
		.frames = snapshot->frames,
		.frame_count = snapshot->frame_count,
		.roots = snapshot->roots,
		.root_count = snapshot->root_count,
		.root_edge_count = snapshot->root_edge_count,
		.object_count = snapshot->object_count + divided->part_count,
		.edge_count = snapshot->edge_count,
	};
}

HEAP_MUST_CHECK
static struct heap_error *divide(struct heap_divided *divided, bool is_conservative,
				 const struct heap_progress *progress)
{
	HEAP_TRY(check_edges(divided));
	HEAP_TRY(heap_snapshot_load(divided->snapshot,
				    HEAP_COLUMN_TYPE | HEAP_COLUMN_SITE | HEAP_COLUMN_SLOTS));
	HEAP_TRY(find_ends(divided));
	share_tables(divided);
	HEAP_TRY(make_columns(divided));
	HEAP_TRY(make_edges(divided));
	HEAP_TRY(make_root_edges(divided));
	HEAP_TRY(heap_graph_create_bare(&divided->nodes, &divided->graph));
	divided->graph->progress = progress;
	divided->graph->is_conservative = is_conservative;
	return heap_divided_bind_nodes(divided);
}

void heap_divided_destroy(struct heap_divided *divided)
{
	if (!divided)
		return;
	heap_graph_destroy(divided->graph);
	heap_column_destroy(divided->nodes.size);
	heap_column_destroy(divided->nodes.type);
	heap_column_destroy(divided->nodes.site);
	heap_column_destroy(divided->nodes.edge_first);
	heap_column_destroy(divided->nodes.edge_target);
	heap_column_destroy(divided->nodes.root_edges);
	heap_column_destroy(divided->parts);
	heap_column_destroy(divided->ends);
	heap_column_destroy(divided->origins);
	heap_column_destroy(divided->blocks);
	heap_column_destroy(divided->is_divided);
	heap_column_destroy(divided->retained);
	free(divided);
}

static void cleanup_divided(struct heap_divided **divided)
{
	heap_divided_destroy(*divided);
}

struct heap_error *heap_divided_create(struct heap_snapshot *snapshot, bool is_conservative,
				       const struct heap_progress *progress,
				       struct heap_divided **result)
{
	CLEANUP(cleanup_divided) struct heap_divided *divided = calloc(1, sizeof(*divided));

	if (!divided)
		return heap_error_out_of_memory();
	divided->snapshot = snapshot;
	HEAP_TRY(heap_snapshot_load(snapshot, HEAP_COLUMN_PARTS));
	if (snapshot->part_count > 0 || snapshot->slab_count > 0) {
		HEAP_TRY(heap_snapshot_load(snapshot, HEAP_COLUMN_SIZE | HEAP_COLUMN_TYPE |
							      HEAP_COLUMN_ELEMENTS |
							      HEAP_COLUMN_EVIDENCE));
		HEAP_TRY(add_parts(divided));
	}
	if (divided->part_count > 0)
		HEAP_TRY(divide(divided, is_conservative, progress));
	divided->objects = snapshot->object_count + divided->part_count;
	*result = keep(divided);
	return NULL;
}
