// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/oldest.h"

#include "dumper/writer/base/strings.h"
#include "dumper/writer/infer/prune.h"
#include "lib/base/array.h"
#include "lib/base/bits.h"
#include "lib/base/search.h"
#include "lib/graph/path_tree.h"
#include "lib/snapshot/snapshot_tables.h"

#include <stdio.h>
#include <string.h>

struct ids HEAP_ARRAY(uint32_t);

// The numbers of the rows that stay, ascending once they are sorted.
struct part {
	struct heap_snapshot *snapshot; // all of it
	struct heap_graph *graph;
	struct heap_path_tree paths;
	uint8_t *has_object; // [objects / 8 + 1]
	struct HEAP_ARRAY(struct heap_sample) samples;
	struct ids objects, edges, roots, root_edges;
	struct heap_snapshot small; // shares the tables that stay as they are
	heap_type_id *types;        // [snapshot->types.count] where each is in the small one
	struct strings strings;
};

static void part_deinit(struct part *part)
{
	struct heap_snapshot *small = &part->small;

	free(small->address);
	free(small->size);
	free(small->type);
	free(small->elements);
	free(small->evidence);
	free(small->edge_first);
	free(small->edge_target);
	free(small->edge_slot);
	free(small->edge_interior);
	free(small->edge_flags);
	free(small->roots);
	free(small->root_edges);
	free(small->strings);
	heap_types_deinit(&small->types);
	strings_deinit(&part->strings);
	free(part->types);
	free(part->has_object);
	heap_array_deinit(&part->samples);
	heap_array_deinit(&part->objects);
	heap_array_deinit(&part->edges);
	heap_array_deinit(&part->roots);
	heap_array_deinit(&part->root_edges);
	heap_path_tree_deinit(&part->paths);
	heap_graph_destroy(part->graph);
	heap_snapshot_close(part->snapshot);
}

// --- choosing --------------------------------------------------------------------

// Samples that were allocated in one microsecond go by their numbers in the trace.
static int compare_ages(const void *left, const void *right)
{
	const struct heap_sample *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

static int compare_objects(const void *left, const void *right)
{
	const struct heap_sample *a = left, *b = right;

	return (a->object > b->object) - (a->object < b->object);
}

static int compare_ids(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static void sort_ids(struct ids *ids)
{
	size_t kept = 0;

	if (ids->count > 0)
		qsort(ids->items, ids->count, sizeof(*ids->items), compare_ids);
	for (size_t i = 0; i < ids->count; i++) {
		if (kept == 0 || ids->items[kept - 1] != ids->items[i])
			ids->items[kept++] = ids->items[i];
	}
	ids->count = kept;
}

HEAP_MUST_CHECK
static struct heap_error *choose_samples(struct part *part, uint32_t count)
{
	const struct heap_snapshot *snapshot = part->snapshot;

	for (uint32_t i = 0; i < snapshot->sample_count; i++) {
		if (snapshot->samples[i].number != 0)
			HEAP_TRY(heap_array_append(&part->samples, snapshot->samples[i]));
	}
	if (part->samples.count == 0)
		return NULL;
	qsort(part->samples.items, part->samples.count, sizeof(*part->samples.items), compare_ages);
	if (part->samples.count > count)
		part->samples.count = count;
	qsort(part->samples.items, part->samples.count, sizeof(*part->samples.items),
	      compare_objects);
	return NULL;
}

// Adds an object and the path to it, up to the first object that is there already.
HEAP_MUST_CHECK
static struct heap_error *add_path(struct part *part, heap_object_id object)
{
	const struct heap_path_tree *paths = &part->paths;

	while (!heap_bit_get(part->has_object, object)) {
		heap_bit_set(part->has_object, object);
		HEAP_TRY(heap_array_append(&part->objects, object));
		if (!heap_bit_get(paths->visited, object))
			return NULL; // leaked

		uint32_t last = paths->last[object];

		if (heap_bit_get(paths->direct, object)) {
			HEAP_TRY(heap_array_append(&part->root_edges, last));
			return heap_array_append(&part->roots,
						 part->snapshot->root_edges[last].root);
		}
		HEAP_TRY(heap_array_append(&part->edges, last));
		object = heap_graph_source(part->graph, last);
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *choose(struct part *part, uint32_t count)
{
	HEAP_TRY(choose_samples(part, count));
	part->has_object = calloc((size_t)part->snapshot->object_count / 8 + 1, 1);
	if (!part->has_object)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < part->samples.count; i++)
		HEAP_TRY(add_path(part, part->samples.items[i].object));
	sort_ids(&part->objects);
	sort_ids(&part->edges);
	sort_ids(&part->roots);
	sort_ids(&part->root_edges);
	return NULL;
}

// --- copying ---------------------------------------------------------------------

static heap_object_id new_object(const struct part *part, heap_object_id object)
{
	return (heap_object_id)heap_lower_bound_u32(part->objects.items, part->objects.count,
						    object);
}

HEAP_MUST_CHECK
static struct heap_error *keep_types(struct part *part)
{
	const struct heap_snapshot *snapshot = part->snapshot;
	CLEANUP_FREE bool *needed = calloc(snapshot->types.count, sizeof(*needed));

	part->types = calloc(snapshot->types.count, sizeof(*part->types));
	if (!needed || !part->types)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < part->objects.count; i++)
		needed[snapshot->type[part->objects.items[i]]] = true;
	for (size_t i = 0; i < part->roots.count; i++)
		needed[snapshot->roots[part->roots.items[i]].type] = true;
	return prune_types(&snapshot->types, needed, part->types, &part->small.types);
}

HEAP_MUST_CHECK
static struct heap_error *copy_objects(struct part *part)
{
	const struct heap_snapshot *snapshot = part->snapshot;
	struct heap_snapshot *small = &part->small;
	size_t count = part->objects.count;

	small->object_count = (uint32_t)count;
	small->address = calloc(count + 1, sizeof(*small->address));
	small->size = calloc(count + 1, sizeof(*small->size));
	small->type = calloc(count + 1, sizeof(*small->type));
	small->elements = calloc(count + 1, sizeof(*small->elements));
	small->evidence = calloc(count + 1, sizeof(*small->evidence));
	if (!small->address || !small->size || !small->type || !small->elements || !small->evidence)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < count; i++) {
		heap_object_id object = part->objects.items[i];

		small->address[i] = snapshot->address[object];
		small->size[i] = snapshot->size[object];
		small->type[i] = part->types[snapshot->type[object]];
		small->elements[i] = snapshot->elements[object];
		small->evidence[i] = snapshot->evidence[object];
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *copy_edges(struct part *part)
{
	const struct heap_snapshot *snapshot = part->snapshot;
	struct heap_snapshot *small = &part->small;
	size_t count = part->edges.count;

	small->edge_count = (uint32_t)count;
	small->edge_first = calloc((size_t)small->object_count + 1, sizeof(*small->edge_first));
	small->edge_target = calloc(count + 1, sizeof(*small->edge_target));
	small->edge_slot = calloc(count + 1, sizeof(*small->edge_slot));
	small->edge_interior = calloc(count + 1, sizeof(*small->edge_interior));
	small->edge_flags = calloc(count + 1, sizeof(*small->edge_flags));
	if (!small->edge_first || !small->edge_target || !small->edge_slot ||
	    !small->edge_interior || !small->edge_flags)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < count; i++) {
		uint32_t edge = part->edges.items[i];
		heap_object_id source = heap_graph_source(part->graph, edge);

		small->edge_first[new_object(part, source) + 1]++;
		small->edge_target[i] = new_object(part, snapshot->edge_target[edge]);
		small->edge_slot[i] = snapshot->edge_slot[edge];
		small->edge_interior[i] = snapshot->edge_interior[edge];
		small->edge_flags[i] = snapshot->edge_flags[edge];
	}
	for (uint32_t i = 0; i < small->object_count; i++)
		small->edge_first[i + 1] += small->edge_first[i];
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *copy_roots(struct part *part)
{
	const struct heap_snapshot *snapshot = part->snapshot;
	struct heap_snapshot *small = &part->small;
	struct ids *roots = &part->roots;

	small->roots = calloc(roots->count + 1, sizeof(*small->roots));
	small->root_edges = calloc(part->root_edges.count + 1, sizeof(*small->root_edges));
	if (!small->roots || !small->root_edges)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < roots->count; i++) {
		struct heap_root *root = &small->roots[i];

		*root = snapshot->roots[roots->items[i]];
		root->type = part->types[root->type];
		root->content = root->content_size = 0;
	}
	for (size_t i = 0; i < part->root_edges.count; i++) {
		struct heap_root_edge *edge = &small->root_edges[i];

		*edge = snapshot->root_edges[part->root_edges.items[i]];
		edge->root =
			(heap_root_id)heap_lower_bound_u32(roots->items, roots->count, edge->root);
		edge->target = new_object(part, edge->target);
	}
	small->root_count = (uint32_t)roots->count;
	small->root_edge_count = part->root_edges.count;
	return NULL;
}

// Tables that are about other objects, or say again what the trace says.
static void drop_tables(struct heap_snapshot *small)
{
	small->call_count = small->step_count = small->function_count = 0;
	small->damage_count = small->tag_count = small->part_count = small->slab_count = 0;
	small->root_content_size = 0;
	small->backtrace = small->birth = small->conflict_type = small->conflicts = small->tag =
		NULL;
	small->site = NULL;
}

// Copies the strings of the rows that stay. They lie in tables that are this process's own.
static void copy_strings(struct part *part)
{
	for (size_t i = 0; i < heap_table_count; i++) {
		const struct heap_table *table = &heap_tables[i];
		uint8_t *base = (uint8_t *)&part->small;
		uint8_t *row = *(uint8_t **)(base + table->array_offset);
		uint64_t rows = 0;

		memcpy(&rows, base + table->count_offset, table->count_size);
		for (; rows > 0; rows--, row += table->row_size) {
			for (uint16_t j = 0; j < table->field_count; j++) {
				uint32_t *string = (uint32_t *)(row + table->fields[j].offset);

				if (table->fields[j].kind == HEAP_FIELD_STRING)
					*string = strings_add(
						&part->strings,
						heap_snapshot_string(part->snapshot, *string));
			}
		}
	}
	part->small.strings = strings_take(&part->strings, &part->small.string_size);
}

HEAP_MUST_CHECK
static struct heap_error *copy(struct part *part)
{
	struct heap_snapshot *small = &part->small;

	*small = *part->snapshot;
	small->address = NULL;
	small->size = small->elements = NULL;
	small->type = NULL;
	small->evidence = NULL;
	small->edge_first = small->edge_target = small->edge_slot = small->edge_interior = NULL;
	small->edge_flags = NULL;
	small->roots = NULL;
	small->root_edges = NULL;
	small->types = (struct heap_types){ 0 };
	small->strings = NULL;
	drop_tables(small);
	HEAP_TRY(keep_types(part));
	HEAP_TRY(copy_objects(part));
	HEAP_TRY(copy_edges(part));
	HEAP_TRY(copy_roots(part));
	HEAP_TRY(strings_init(&part->strings));
	copy_strings(part);
	for (size_t i = 0; i < part->samples.count; i++)
		part->samples.items[i].object = new_object(part, part->samples.items[i].object);
	small->samples = part->samples.items;
	small->sample_count = (uint32_t)part->samples.count;
	return NULL;
}

struct heap_error *oldest_write(int from, uint32_t count, int to)
{
	CLEANUP(part_deinit) struct part part = { 0 };
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", from);
	HEAP_TRY(heap_snapshot_open(path, &part.snapshot));
	HEAP_TRY(heap_snapshot_load(part.snapshot, HEAP_COLUMN_ADDRESS | HEAP_COLUMN_SIZE |
							   HEAP_DECLARED_COLUMNS |
							   HEAP_COLUMN_EDGES | HEAP_COLUMN_SLOTS));
	HEAP_TRY(heap_graph_create_bare(part.snapshot, &part.graph));
	HEAP_TRY(heap_path_tree_init(&part.paths, part.graph, false));
	HEAP_TRY(choose(&part, count));
	HEAP_TRY(copy(&part));
	part.small.info.oldest = count;
	return heap_snapshot_write(&part.small, to, &(struct heap_snapshot_source){ 0 });
}
