// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A search in breadth from what is no container. Of several paths of one length to an object that of the smallest hash
 * counts, whatever the order of the objects.
 */
#include "dumper/writer/infer/void_pointers/void_contexts.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"
#include "lib/base/array.h"
#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/base/hash_table.h"

#include <stdlib.h>

struct frontier_list HEAP_ARRAY(heap_object_id);

struct search {
	const struct inference *inference;
	const uint8_t *is_container;
	struct void_contexts *contexts;
	uint32_t *of;
	uint8_t *is_done; // [objects / 8 + 1] bits.h: the context will not change
	struct frontier_list next;
};

static void release(struct search *search)
{
	free(search->is_done);
	heap_array_deinit(&search->next);
}

static uint32_t find_context(const struct void_contexts *contexts, uint32_t hash)
{
	return heap_hash_find(&contexts->by_hash, heap_hash_u64(hash), i,
			      contexts->list.items[i].hash == hash);
}

// The hash of a path with one more member.
static uint32_t path(uint64_t before, uint64_t type, uint64_t offset)
{
	uint64_t hash = heap_hash_mix(heap_hash_pair(type, offset), before);

	return (uint32_t)(hash >> 32) | 1;
}

HEAP_MUST_CHECK
static struct heap_error *reach(struct search *search, heap_object_id target, uint64_t interior,
				uint32_t context)
{
	const struct inference *inference = search->inference;

	if (heap_bit_get(search->is_done, target) ||
	    !search->is_container[inference_type(inference, target)] ||
	    interior != inference_prefix(inference, target))
		return NULL;
	if (search->of[target] == 0)
		HEAP_TRY(heap_array_append(&search->next, target));
	if (search->of[target] == 0 || context < search->of[target])
		search->of[target] = context;
	return NULL;
}

// The offset of a member in the element of an array; behind the elements that a flexible one counts, each is its own.
static uint64_t in_element(const struct layouts *layouts, heap_type_id type, uint64_t offset)
{
	uint64_t size = layouts_size(layouts, type);

	return layouts_is_flexible(layouts, type) || size == 0 ? offset : offset % size;
}

HEAP_MUST_CHECK
static struct heap_error *require(struct search *search, uint32_t hash, uint32_t parent,
				  const struct void_origin *origin, struct void_context **result)
{
	struct void_contexts *contexts = search->contexts;
	uint32_t at = find_context(contexts, hash);

	if (at == HEAP_HASH_NONE) {
		at = (uint32_t)contexts->list.count;
		HEAP_TRY(heap_hash_add(&contexts->by_hash, heap_hash_u64(hash), at));
		HEAP_TRY(heap_array_append(&contexts->list,
					   ((struct void_context){ .hash = hash,
								   .origin = *origin,
								   .parent = parent })));
	}
	*result = &contexts->list.items[at];
	return NULL;
}

// Adds the functions that a container has pointers to. All of one context have the same ones, or there are many.
static void add_functions(const struct search *search, heap_object_id object,
			  struct void_context *context)
{
	const struct inference *inference = search->inference;
	const struct heap_slots *slots =
		heap_slot_table_get(&inference->layouts.slots, inference_type(inference, object));

	for (uint32_t i = 0; slots && i < slots->count; i++) {
		uint64_t word = 0;
		uint32_t at = 0;

		if (slots->list[i].pointee == HEAP_NO_TYPE ||
		    inference->layouts.types->types[slots->list[i].pointee].kind !=
			    HEAP_TYPE_FUNCTION)
			continue;
		pages_read(inference->pages,
			   objects_address(&inference->capture->objects, object) +
				   inference_prefix(inference, object) + slots->list[i].offset,
			   &word, sizeof(word));
		while (at < context->count && context->functions[at] != word)
			at++;
		if (word != 0 && at == context->count && at < VOID_CONTEXT_FUNCTIONS)
			context->functions[context->count++] = word;
	}
}

HEAP_MUST_CHECK
static struct heap_error *follow(struct search *search, heap_object_id object)
{
	const struct inference *inference = search->inference;
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	heap_type_id type = inference_type(inference, object);
	uint64_t prefix = inference_prefix(inference, object);
	uint32_t own = search->of[object];
	struct void_origin origin = { .type = type };
	struct void_context *known;

	if (own != 0) {
		HEAP_TRY(require(search, own, 0, &origin, &known));
		add_functions(search, object, known);
	}
	for (uint32_t i = snapshot->edge_first[object]; i < snapshot->edge_first[object + 1]; i++) {
		heap_object_id target = snapshot->edge_target[i];
		uint64_t offset = snapshot->edge_slot[i] * UINT64_C(8) - prefix;
		uint32_t context = own;

		progress_step();
		if (!search->is_container[inference_type(inference, target)])
			continue;
		if (own == 0 || inference_type(inference, target) != type) {
			offset = in_element(&inference->layouts, type, offset);
			context = path(own, type, offset);
			origin.at = offset;
			HEAP_TRY(require(search, context, own, &origin, &known));
		}
		HEAP_TRY(reach(search, target, snapshot->edge_interior[i], context));
	}
	return NULL;
}

uint32_t void_contexts_of_variable(const struct inference *inference,
				   const struct heap_root_edge *edge, struct void_origin *origin)
{
	const struct layouts *layouts = &inference->layouts;
	const struct heap_root *root = &inference->capture->snapshot.roots[edge->root];
	heap_type_id type = layouts_strip(layouts, root->type);
	uint64_t inner = edge->offset;

	*origin = (struct void_origin){ .at = root->address, .root = edge->root };
	if (layouts->types->types[type].kind == HEAP_TYPE_STRUCT &&
	    layouts_step_in(layouts, type, &inner) != HEAP_NO_TYPE)
		origin->at += edge->offset - inner;
	return path(2, edge->root, origin->at);
}

// The variable itself is a container.
HEAP_MUST_CHECK
static struct heap_error *begin_in_variable(struct search *search,
					    const struct heap_root_edge *edge)
{
	const struct inference *inference = search->inference;
	const struct heap_root *root = &inference->capture->snapshot.roots[edge->root];
	struct void_context *known;
	struct void_origin origin;
	uint32_t context;

	if (!search->is_container[layouts_element(&inference->layouts, root->type)])
		return NULL;
	context = void_contexts_of_variable(inference, edge, &origin);
	return require(search, context, 0, &origin, &known);
}

// Begins with what objects that are no containers, and variables, lead to.
HEAP_MUST_CHECK
static struct heap_error *begin(struct search *search)
{
	const struct inference *inference = search->inference;
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;

	for (heap_object_id i = 0; i < inference->capture->objects.count && !progress_is_late();
	     i++) {
		heap_type_id type = inference_type(inference, i);

		progress_step();
		if (type != HEAP_NO_TYPE && !search->is_container[type])
			HEAP_TRY(follow(search, i));
	}
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];
		const struct heap_root *root = &snapshot->roots[edge->root];
		uint32_t context = path(1, edge->root, edge->offset);
		struct void_context *known;

		if (root->type == HEAP_NO_TYPE)
			continue;
		HEAP_TRY(begin_in_variable(search, edge));
		if (!search->is_container[inference_type(inference, edge->target)])
			continue;
		HEAP_TRY(require(search, context, 0,
				 &(struct void_origin){ .at = root->address + edge->offset,
							.root = edge->root },
				 &known));
		HEAP_TRY(reach(search, edge->target, edge->interior, context));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find(struct search *search)
{
	HEAP_TRY(begin(search));
	while (search->next.count > 0 && !progress_is_late()) {
		CLEANUP_ARRAY struct frontier_list reached = search->next;

		search->next = (struct frontier_list){ 0 };
		for (size_t i = 0; i < reached.count; i++)
			heap_bit_set(search->is_done, reached.items[i]);
		for (size_t i = 0; i < reached.count; i++)
			HEAP_TRY(follow(search, reached.items[i]));
	}
	return NULL;
}

struct heap_error *void_contexts_find(const struct inference *inference,
				      const uint8_t *is_container, struct void_contexts *contexts)
{
	size_t objects = inference->capture->objects.count;
	CLEANUP(release)
	struct search search = {
		.inference = inference,
		.is_container = is_container,
		.contexts = contexts,
		.is_done = calloc(objects / 8 + 1, 1),
	};

	contexts->of = calloc(objects + 1, sizeof(*contexts->of));
	if (!contexts->of || !search.is_done)
		return heap_error_out_of_memory();
	search.of = contexts->of;
	return find(&search);
}

const struct void_context *void_contexts_get(const struct void_contexts *contexts, uint32_t hash)
{
	uint32_t at = find_context(contexts, hash);

	return at == HEAP_HASH_NONE ? NULL : &contexts->list.items[at];
}

void void_contexts_deinit(struct void_contexts *contexts)
{
	heap_array_deinit(&contexts->list);
	heap_hash_table_deinit(&contexts->by_hash);
	free(contexts->of);
}
