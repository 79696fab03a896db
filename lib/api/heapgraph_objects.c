// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * libheapgraph: objects, edges, reachability, dominators.
 */
#include "lib/api/heapgraph_private.h"
#include "lib/graph/paths.h"

// --- objects -----------------------------------------------------------------

uint32_t heapgraph_object_count(const struct heapgraph *graph)
{
	return graph->snapshot->object_count;
}

uint64_t heapgraph_object_address(const struct heapgraph *graph, heapgraph_object_id object)
{
	return heapgraph_has(graph, object, HEAPGRAPH_OBJECTS) ? graph->snapshot->address[object]
							       : 0;
}

uint64_t heapgraph_object_size(const struct heapgraph *graph, heapgraph_object_id object)
{
	return heapgraph_has(graph, object, HEAPGRAPH_OBJECTS) ? graph->snapshot->size[object] : 0;
}

heapgraph_type_id heapgraph_object_type(const struct heapgraph *graph, heapgraph_object_id object)
{
	return heapgraph_has(graph, object, HEAPGRAPH_OBJECTS) ? graph->snapshot->type[object]
							       : HEAPGRAPH_NO_TYPE;
}

uint64_t heapgraph_object_elements(const struct heapgraph *graph, heapgraph_object_id object)
{
	return heapgraph_has(graph, object, HEAPGRAPH_OBJECTS) ? graph->snapshot->elements[object]
							       : 0;
}

enum heapgraph_evidence heapgraph_object_evidence(const struct heapgraph *graph,
						  heapgraph_object_id object)
{
	return heapgraph_has(graph, object, HEAPGRAPH_OBJECTS)
		       ? (enum heapgraph_evidence)graph->snapshot->evidence[object]
		       : HEAPGRAPH_EVIDENCE_NONE;
}

uint64_t heapgraph_object_age(const struct heapgraph *graph, heapgraph_object_id object)
{
	const struct heap_snapshot *snapshot = graph->snapshot;

	if (!heapgraph_has(graph, object, HEAPGRAPH_OBJECTS))
		return 0;

	uint64_t born = heap_snapshot_birth_ns(snapshot, object);

	return snapshot->info.time_ns > born ? snapshot->info.time_ns - born : 0;
}

bool heapgraph_object_site(const struct heapgraph *graph, heapgraph_object_id object,
			   struct heapgraph_place *result)
{
	bool has = heapgraph_has(graph, object, HEAPGRAPH_OBJECTS);
	const struct heap_site unknown = { .module = HEAP_NO_INDEX };
	const struct heap_site *site =
		has ? &graph->snapshot->sites[graph->snapshot->site[object]] : &unknown;

	heapgraph_fill_place(graph, site->function, site->file, site->line, site->module, result);
	return has;
}

// --- backtraces, parts -------------------------------------------------------

uint32_t heapgraph_backtrace_count(const struct heapgraph *graph, heapgraph_object_id object)
{
	const struct heap_snapshot *snapshot = graph->snapshot;
	uint32_t count = 0;

	if (!heapgraph_has(graph, object, HEAPGRAPH_BACKTRACES))
		return 0;
	// Callers have lower numbers: there is an end.
	for (uint32_t step = heap_backtrace_step(snapshot->backtrace[object]); step > 0;
	     step = snapshot->steps[step].caller)
		count++;
	return count;
}

bool heapgraph_backtrace(const struct heapgraph *graph, heapgraph_object_id object, uint32_t index,
			 struct heapgraph_place *result)
{
	const struct heap_snapshot *snapshot = graph->snapshot;

	if (!heapgraph_has(graph, object, HEAPGRAPH_BACKTRACES))
		return false;

	uint32_t step = heap_backtrace_step(snapshot->backtrace[object]);

	for (; step > 0 && index > 0; index--)
		step = snapshot->steps[step].caller;
	if (step == 0)
		return false;

	const struct heap_call *call = &snapshot->calls[snapshot->steps[step].call];

	heapgraph_fill_place(graph, call->function, call->file, call->line, call->module, result);
	return true;
}

uint32_t heapgraph_part_count(const struct heapgraph *graph, heapgraph_object_id object)
{
	uint32_t first = 0, end;

	if (!heapgraph_has(graph, object, HEAPGRAPH_OBJECTS | HEAPGRAPH_PARTS))
		return 0;
	end = heap_snapshot_parts(graph->snapshot, object, &first);
	return end - first;
}

bool heapgraph_part(const struct heapgraph *graph, heapgraph_object_id object, uint32_t index,
		    struct heapgraph_part *result)
{
	uint32_t first;

	if (index >= heapgraph_part_count(graph, object))
		return false;
	heap_snapshot_parts(graph->snapshot, object, &first);

	const struct heap_part *part = &graph->snapshot->parts[first + index];

	*result = (struct heapgraph_part){
		.offset = part->offset,
		.size = heap_snapshot_part_size(graph->snapshot, part),
		.elements = part->elements,
		.type = part->type,
		.evidence = part->evidence,
	};
	return true;
}

heapgraph_object_id heapgraph_object_at(const struct heapgraph *graph, uint64_t address)
{
	return graph->has & HEAPGRAPH_OBJECTS ? heap_snapshot_find(graph->snapshot, address)
					      : HEAPGRAPH_NO_OBJECT;
}

struct heapgraph_error *heapgraph_object_content(struct heapgraph *graph,
						 heapgraph_object_id object, void *buffer,
						 size_t size, size_t *kept)
{
	if (object >= graph->snapshot->object_count)
		return heapgraph_public(heap_error_create(HEAP_ERROR_ABSENT, "no such object"));
	return heapgraph_public(
		heap_snapshot_read_content(graph->snapshot, object, buffer, size, kept));
}

// --- edges -------------------------------------------------------------------

static void fill_edge(const struct heapgraph *graph, heapgraph_object_id source, uint32_t edge,
		      struct heapgraph_edge *result)
{
	const struct heap_snapshot *snapshot = graph->snapshot;

	*result = (struct heapgraph_edge){
		.source = source,
		.root = HEAPGRAPH_NO_ROOT,
		.target = snapshot->edge_target[edge],
		.flags = snapshot->edge_flags[edge],
		.offset = (uint64_t)snapshot->edge_slot[edge] * 8,
		.interior = snapshot->edge_interior[edge],
	};
}

static void fill_root_edge(const struct heapgraph *graph, uint64_t index,
			   struct heapgraph_edge *result)
{
	const struct heap_root_edge *edge = &graph->snapshot->root_edges[index];

	*result = (struct heapgraph_edge){
		.source = HEAPGRAPH_NO_OBJECT,
		.root = edge->root,
		.target = edge->target,
		.flags = edge->flags,
		.offset = edge->offset,
		.interior = edge->interior,
	};
}

uint32_t heapgraph_out_count(const struct heapgraph *graph, heapgraph_object_id object)
{
	const uint32_t *first = graph->snapshot->edge_first;

	return heapgraph_has(graph, object, HEAPGRAPH_EDGES) ? first[object + 1] - first[object]
							     : 0;
}

bool heapgraph_out(const struct heapgraph *graph, heapgraph_object_id object, uint32_t index,
		   struct heapgraph_edge *result)
{
	if (index >= heapgraph_out_count(graph, object))
		return false;
	fill_edge(graph, object, graph->snapshot->edge_first[object] + index, result);
	return true;
}

// Pointers of roots into an object: [*first, *first + result) of root_in.
static uint32_t root_holders(const struct heap_graph *graph, heapgraph_object_id object,
			     uint32_t *first)
{
	*first = graph->root_in_first[object];
	return graph->root_in_first[object + 1] - *first;
}

uint32_t heapgraph_in_count(const struct heapgraph *graph, heapgraph_object_id object)
{
	uint32_t first;

	if (!heapgraph_has(graph, object, HEAPGRAPH_HOLDERS))
		return 0;
	return root_holders(graph->graph, object, &first) + graph->graph->in_first[object + 1] -
	       graph->graph->in_first[object];
}

bool heapgraph_in(const struct heapgraph *graph, heapgraph_object_id object, uint32_t index,
		  struct heapgraph_edge *result)
{
	uint32_t first;

	if (index >= heapgraph_in_count(graph, object))
		return false;

	uint32_t of_roots = root_holders(graph->graph, object, &first);

	if (index < of_roots) {
		fill_root_edge(graph, graph->graph->root_in[first + index], result);
	} else {
		uint32_t at = graph->graph->in_first[object] + index - of_roots;

		fill_edge(graph, graph->graph->in_source[at], graph->graph->in_edge[at], result);
	}
	return true;
}

uint64_t heapgraph_root_out_count(const struct heapgraph *graph, heapgraph_root_id root)
{
	if (root >= graph->snapshot->root_count)
		return 0;
	return heap_snapshot_first_root_edge(graph->snapshot, root + 1) -
	       heap_snapshot_first_root_edge(graph->snapshot, root);
}

bool heapgraph_root_out(const struct heapgraph *graph, heapgraph_root_id root, uint64_t index,
			struct heapgraph_edge *result)
{
	uint64_t at = heap_snapshot_first_root_edge(graph->snapshot, root);

	if (index >= graph->snapshot->root_edge_count - at ||
	    graph->snapshot->root_edges[at + index].root != root)
		return false;
	fill_root_edge(graph, at + index, result);
	return true;
}

struct heapgraph_error *heapgraph_path(struct heapgraph *graph, heapgraph_object_id object,
				       struct heapgraph_edge *edges, size_t room, size_t *count)
{
	struct heap_path path;
	struct heap_error *error =
		heapgraph_has(graph, object, HEAPGRAPH_HOLDERS)
			? heap_path_find(graph->graph, object, &path)
			: heap_error_create(HEAP_ERROR_ARGUMENT,
					    "no such object, or its holders were not asked for");

	if (error)
		return heapgraph_public(error);

	heapgraph_object_id at = graph->snapshot->root_edges[path.root_edge].target;

	if (room > 0)
		fill_root_edge(graph, path.root_edge, &edges[0]);
	for (size_t i = 0; i < path.count; i++) {
		if (i + 1 < room)
			fill_edge(graph, at, path.edges[i], &edges[i + 1]);
		at = graph->snapshot->edge_target[path.edges[i]];
	}
	*count = path.count + 1;
	heap_path_deinit(&path);
	return NULL;
}

// --- reachability, dominators ------------------------------------------------

enum heapgraph_reach heapgraph_object_reach(const struct heapgraph *graph,
					    heapgraph_object_id object)
{
	return heapgraph_has(graph, object, HEAPGRAPH_REACH)
		       ? (enum heapgraph_reach)graph->graph->reach[object]
		       : HEAPGRAPH_REACH_NOT;
}

uint64_t heapgraph_object_retained(const struct heapgraph *graph, heapgraph_object_id object)
{
	return heapgraph_has(graph, object, HEAPGRAPH_RETAINED)
		       ? heap_divided_retained(graph->divided, object)
		       : 0;
}

uint64_t heapgraph_root_retained(const struct heapgraph *graph, heapgraph_root_id root)
{
	if (!(graph->has & HEAPGRAPH_RETAINED) || root >= graph->snapshot->root_count)
		return 0;
	return graph->dominators.retained[graph->dominators.objects + root];
}

static heap_node_id dominator(const struct heapgraph *graph, heapgraph_object_id object)
{
	return heapgraph_has(graph, object, HEAPGRAPH_RETAINED)
		       ? heap_divided_holder(graph->divided, object)
		       : HEAP_NO_NODE;
}

heapgraph_object_id heapgraph_object_dominator(const struct heapgraph *graph,
					       heapgraph_object_id object)
{
	heap_node_id node = dominator(graph, object);

	return node == HEAP_NO_NODE ? HEAPGRAPH_NO_OBJECT
				    : heap_divided_block(graph->divided, node);
}

heapgraph_root_id heapgraph_object_dominating_root(const struct heapgraph *graph,
						   heapgraph_object_id object)
{
	heap_node_id node = dominator(graph, object);

	return node == HEAP_NO_NODE || node < graph->divided->objects
		       ? HEAPGRAPH_NO_ROOT
		       : node - graph->divided->objects;
}
