// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * libheapgraph: opening, errors, roots.
 */
#include "lib/api/heapgraph.h"

#include "lib/base/cleanup.h"
#include "lib/base/column.h"
#include "lib/api/heapgraph_private.h"
#include "lib/snapshot/snapshot_info.h"

#include <string.h>

// The public constants are the rest of lib/'s by another name.
#define SAME(name) _Static_assert((int)HEAPGRAPH_##name == (int)HEAP_##name, #name)
SAME(ERROR_MEMORY);
SAME(ERROR_SYSTEM);
SAME(ERROR_FORMAT);
SAME(ERROR_ARGUMENT);
SAME(ERROR_ABSENT);
SAME(ERROR_INTERRUPTED);
SAME(EVIDENCE_NONE);
SAME(EVIDENCE_DECLARED);
SAME(EVIDENCE_VTABLE);
SAME(EVIDENCE_POINTER);
SAME(EVIDENCE_EMBEDDING);
SAME(EVIDENCE_SITE);
SAME(EVIDENCE_VOTE);
SAME(EVIDENCE_POOL);
SAME(TYPE_UNKNOWN);
SAME(TYPE_BASE);
SAME(TYPE_STRUCT);
SAME(TYPE_CLASS);
SAME(TYPE_UNION);
SAME(TYPE_ENUM);
SAME(TYPE_POINTER);
SAME(TYPE_REFERENCE);
SAME(TYPE_ARRAY);
SAME(TYPE_TYPEDEF);
SAME(TYPE_CONST);
SAME(TYPE_VOLATILE);
SAME(TYPE_ATOMIC);
SAME(TYPE_FUNCTION);
SAME(TYPE_MEMBER_POINTER);
SAME(EDGE_TYPED);
SAME(ROOT_GLOBAL);
SAME(ROOT_THREAD_LOCAL);
SAME(ROOT_LOCAL);
SAME(ROOT_REGISTER);
SAME(ROOT_STACK);
SAME(ROOT_SEGMENT);
SAME(ROOT_MAPPING);
SAME(REACH_NOT);
SAME(REACH_INTERIOR);
SAME(REACH_START);
_Static_assert(HEAPGRAPH_NO_OBJECT == HEAP_NO_OBJECT && HEAPGRAPH_NO_TYPE == HEAP_NO_TYPE, "none");

const char *heapgraph_version(void)
{
	return HEAPSH_VERSION;
}

// --- errors ------------------------------------------------------------------

enum heapgraph_error_code heapgraph_error_code(const struct heapgraph_error *error)
{
	return (enum heapgraph_error_code)heap_error_code((const struct heap_error *)error);
}

const char *heapgraph_error_message(const struct heapgraph_error *error)
{
	return heap_error_message((const struct heap_error *)error);
}

void heapgraph_error_free(struct heapgraph_error *error)
{
	heap_error_destroy((struct heap_error *)error);
}

// --- opening -----------------------------------------------------------------

// Loads dominators from the snapshot's side file, or computes and stores them.
HEAP_MUST_CHECK
static struct heap_error *need_dominators(struct heapgraph *graph)
{
	struct heap_divided *divided;
	struct heap_error *error;

	HEAP_TRY(heap_divided_create(graph->snapshot, false, graph->graph->progress,
				     &graph->divided));
	divided = graph->divided;
	error = heap_dominators_load(&graph->dominators, graph->snapshot, divided->objects, false);
	if (error) {
		heap_error_destroy(error);
		HEAP_TRY(heap_dominators_init(&graph->dominators,
					      divided->graph ? divided->graph : graph->graph));
		// The cache may be read-only.
		heap_error_destroy(
			heap_dominators_store(&graph->dominators, graph->snapshot, false));
	}
	return heap_divided_set_dominators(divided, &graph->dominators);
}

// Prepares one of the needs.
HEAP_MUST_CHECK
static struct heap_error *prepare_one(struct heapgraph *graph, unsigned need)
{
	switch (need) {
	case HEAPGRAPH_OBJECTS:
		return heap_snapshot_load(
			graph->snapshot, HEAP_COLUMN_ADDRESS | HEAP_COLUMN_SIZE | HEAP_COLUMN_TYPE |
						 HEAP_COLUMN_ELEMENTS | HEAP_COLUMN_EVIDENCE |
						 HEAP_COLUMN_SITE | HEAP_COLUMN_BIRTH);
	case HEAPGRAPH_EDGES:
		HEAP_TRY(heap_graph_create(graph->snapshot, &graph->graph));
		graph->graph->progress = graph->has_progress ? &graph->progress : NULL;
		return heap_snapshot_load(graph->snapshot, HEAP_COLUMN_SLOTS);
	case HEAPGRAPH_HOLDERS:
		return heap_graph_need_reverse(graph->graph);
	case HEAPGRAPH_REACH:
		return heap_graph_need_reach(graph->graph);
	case HEAPGRAPH_BACKTRACES:
		return heap_snapshot_load(graph->snapshot, HEAP_COLUMN_BACKTRACE);
	case HEAPGRAPH_PARTS:
		return heap_snapshot_load(graph->snapshot, HEAP_COLUMN_PARTS);
	default:
		return need_dominators(graph);
	}
}

struct heap_error *heapgraph_prepare(struct heapgraph *graph, unsigned needs)
{
	static const unsigned all[] = { HEAPGRAPH_OBJECTS, HEAPGRAPH_EDGES,    HEAPGRAPH_HOLDERS,
					HEAPGRAPH_REACH,   HEAPGRAPH_RETAINED, HEAPGRAPH_BACKTRACES,
					HEAPGRAPH_PARTS };

	if (needs & ~(HEAPGRAPH_PARTS * 2u - 1))
		return heap_error_create(HEAP_ERROR_ARGUMENT, "%#x: nothing that can be needed",
					 needs);
	if (needs & (HEAPGRAPH_HOLDERS | HEAPGRAPH_REACH | HEAPGRAPH_RETAINED))
		needs |= HEAPGRAPH_EDGES;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (!(needs & ~graph->has & all[i]))
			continue;
		// A second try must not make a second graph.
		if (all[i] == HEAPGRAPH_EDGES) {
			heap_graph_destroy(graph->graph);
			graph->graph = NULL;
		}

		HEAP_TRY(prepare_one(graph, all[i]));
		graph->has |= all[i];
	}
	return NULL;
}

struct heapgraph_error *heapgraph_need(struct heapgraph *graph, unsigned needs)
{
	return heapgraph_public(heapgraph_prepare(graph, needs));
}

static void close_graph(struct heapgraph **graph)
{
	heapgraph_close(*graph);
}

struct heapgraph_error *heapgraph_open(const char *path, unsigned needs, struct heapgraph **result)
{
	CLEANUP(close_graph) struct heapgraph *graph = calloc(1, sizeof(*graph));

	if (!graph)
		return heapgraph_public(heap_error_out_of_memory());
	HEAPGRAPH_TRY(heap_snapshot_open(path, &graph->snapshot));
	HEAPGRAPH_TRY(heapgraph_prepare(graph, needs));
	*result = keep(graph);
	return NULL;
}

void heapgraph_close(struct heapgraph *graph)
{
	if (!graph)
		return;
	heap_dominators_deinit(&graph->dominators);
	heap_divided_destroy(graph->divided);
	heap_graph_destroy(graph->graph);
	heap_snapshot_close(graph->snapshot);
	free(graph);
}

void heapgraph_set_progress(struct heapgraph *graph, heapgraph_progress *progress, void *context)
{
	graph->progress = (struct heap_progress){ progress, context };
	graph->has_progress = progress;
	if (graph->graph)
		graph->graph->progress = progress ? &graph->progress : NULL;
}

void heapgraph_set_memory(uint64_t bytes)
{
	heap_column_limit(bytes);
}

const char *heapgraph_info_text(const struct heapgraph *graph, const char *key)
{
	const char *info = (const char *)&graph->snapshot->info;

	for (size_t i = 0; i < heap_info_text_count; i++) {
		if (strcmp(heap_info_texts[i].key, key) == 0)
			return *(const char *const *)(info + heap_info_texts[i].offset);
	}
	return NULL;
}

bool heapgraph_info_number(const struct heapgraph *graph, const char *key, uint64_t *result)
{
	const char *info = (const char *)&graph->snapshot->info;

	for (size_t i = 0; i < heap_info_number_count; i++) {
		if (strcmp(heap_info_numbers[i].key, key) != 0)
			continue;
		*result = *(const uint64_t *)(info + heap_info_numbers[i].offset);
		return true;
	}
	return false;
}

// --- roots -------------------------------------------------------------------

static const struct heap_root *find_root(const struct heapgraph *graph, heapgraph_root_id root)
{
	static const struct heap_root none = { .module = HEAP_NO_INDEX,
					       .thread = HEAP_NO_INDEX,
					       .frame = HEAP_NO_INDEX };

	return root < graph->snapshot->root_count ? &graph->snapshot->roots[root] : &none;
}

uint32_t heapgraph_root_count(const struct heapgraph *graph)
{
	return graph->snapshot->root_count;
}

enum heapgraph_root_kind heapgraph_root_kind(const struct heapgraph *graph, heapgraph_root_id root)
{
	return (enum heapgraph_root_kind)find_root(graph, root)->kind;
}

const char *heapgraph_root_name(const struct heapgraph *graph, heapgraph_root_id root)
{
	return heap_snapshot_string(graph->snapshot, find_root(graph, root)->name);
}

heapgraph_type_id heapgraph_root_type(const struct heapgraph *graph, heapgraph_root_id root)
{
	return find_root(graph, root)->type;
}

uint64_t heapgraph_root_address(const struct heapgraph *graph, heapgraph_root_id root)
{
	return find_root(graph, root)->address;
}

uint64_t heapgraph_root_size(const struct heapgraph *graph, heapgraph_root_id root)
{
	return find_root(graph, root)->size;
}

uint32_t heapgraph_root_thread(const struct heapgraph *graph, heapgraph_root_id root)
{
	uint32_t thread = find_root(graph, root)->thread;

	return thread == HEAP_NO_INDEX ? 0 : graph->snapshot->threads[thread].tid;
}

void heapgraph_fill_place(const struct heapgraph *graph, uint32_t function, uint32_t file,
			  uint32_t line, uint32_t module, struct heapgraph_place *result)
{
	const struct heap_snapshot *snapshot = graph->snapshot;
	uint32_t path = module == HEAP_NO_INDEX ? 0 : snapshot->modules[module].path;

	*result = (struct heapgraph_place){ heap_snapshot_string(snapshot, function),
					    heap_snapshot_string(snapshot, file),
					    heap_snapshot_string(snapshot, path), line };
}

bool heapgraph_root_place(const struct heapgraph *graph, heapgraph_root_id id,
			  struct heapgraph_place *result)
{
	const struct heap_root *root = find_root(graph, id);
	uint32_t function =
		root->frame == HEAP_NO_INDEX ? 0 : graph->snapshot->frames[root->frame].function;

	heapgraph_fill_place(graph, function, root->file, root->line, root->module, result);
	return id < graph->snapshot->root_count;
}
