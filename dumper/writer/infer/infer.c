// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Type inference from its first claims to its last step. README.md tells how a block gets its name.
 */
#include "dumper/writer/infer/infer.h"

#include "dumper/base/header.h"
#include "dumper/writer/base/progress.h"
#include "dumper/writer/base/supervisor.h"
#include "dumper/writer/infer/arrays/pointer_tables.h"
#include "dumper/writer/infer/classes/byte_storage.h"
#include "dumper/writer/infer/classes/class_claims.h"
#include "dumper/writer/infer/classes/containers.h"
#include "dumper/writer/infer/classes/counted.h"
#include "dumper/writer/infer/classes/template_nodes.h"
#include "dumper/writer/infer/conflicts.h"
#include "dumper/writer/infer/inference.h"
#include "dumper/writer/infer/parts/payloads.h"
#include "dumper/writer/infer/parts/pool_texts.h"
#include "dumper/writer/infer/parts/slabs.h"
#include "dumper/writer/infer/sites/libc_blocks.h"
#include "dumper/writer/infer/sites/unset_variables.h"
#include "dumper/writer/infer/sizes/larger_targets.h"
#include "dumper/writer/infer/sizes/smaller_targets.h"
#include "dumper/writer/infer/stages.h"
#include "dumper/writer/infer/symbols/library_types.h"
#include "dumper/writer/infer/symbols/lone_strings.h"
#include "dumper/writer/infer/symbols/shapes.h"
#include "dumper/writer/infer/symbols/site_containers.h"
#include "dumper/writer/infer/texts/fitting_texts.h"

#include "lib/base/cleanup.h"
#include "lib/types/virtual_bases.h"

#include <stdlib.h>
#include <string.h>

enum {
	SMALL_ROUNDS = 64, // that name less than one object in MANY, and cost a whole pass
	MANY = 1000,
	LARGE_HEAP = 1 << 20, // objects
};

// --- what claims begin with --------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *claim_label(struct inference *inference,
				      const struct heapsnap_label *label)
{
	const struct capture *capture = inference->capture;
	const struct objects *objects = &capture->objects;
	const struct heap_types *types = inference->layouts.types;
	heap_object_id object = objects_find(objects, label->block);
	char name[256];

	if (object == HEAP_NO_OBJECT || objects_address(objects, object) != label->block ||
	    !(objects->flags[object] & HEAPSNAP_BLOCK_LABELLED))
		return NULL;
	image_read_string(&capture->image, label->type, name, sizeof(name));

	heap_type_id type = heap_types_find(types, name, 0);
	uint64_t size = heap_types_size(types, heap_types_strip(types, type));

	if (type == HEAP_NO_TYPE || size == 0 || size > objects_size(objects, object))
		return NULL;
	return claims_add(&inference->claims, RANK_DECLARED,
			  &(struct claim){ object, heap_types_strip(types, type),
					   objects_size(objects, object) / size,
					   HEAP_EVIDENCE_DECLARED, true });
}

// Claims the types that the program has set itself, by heapsnap_set_type(). The table is large, and
// nearly empty.
HEAP_MUST_CHECK
static struct heap_error *claim_labels(struct inference *inference)
{
	enum {
		BATCH = 4096,
	};
	const struct heapsnap_process *process = &inference->capture->process;
	CLEANUP_FREE struct heapsnap_label *labels = malloc(BATCH * sizeof(*labels));

	if (!labels)
		return heap_error_out_of_memory();
	for (uint64_t i = 0; i < process->label_slots; i += BATCH) {
		uint64_t count =
			process->label_slots - i < BATCH ? process->label_slots - i : BATCH;

		image_read_padded(&inference->capture->image, process->labels + i * sizeof(*labels),
				  labels, count * sizeof(*labels));
		for (uint64_t j = 0; j < count; j++) {
			if (labels[j].block != 0)
				HEAP_TRY(claim_label(inference, &labels[j]));
		}
	}
	return NULL;
}

// True for a local variable that is a pointer or reference itself.
static bool is_variable(const struct inference *inference, const struct heap_root *root)
{
	const struct layouts *layouts = &inference->layouts;
	uint8_t kind = layouts->types->types[layouts_strip(layouts, root->type)].kind;

	return root->kind == HEAP_ROOT_LOCAL &&
	       (kind == HEAP_TYPE_POINTER || kind == HEAP_TYPE_REFERENCE);
}

HEAP_MUST_CHECK
static struct heap_error *follow_roots(struct inference *inference)
{
	struct heap_snapshot *snapshot = &inference->capture->snapshot;

	for (uint64_t i = 0; i < snapshot->root_edge_count && !progress_is_late(); i++) {
		struct heap_root_edge *edge = &snapshot->root_edges[i];
		const struct heap_root *root = &snapshot->roots[edge->root];
		struct root_value value;

		HEAP_TRY(inference_root_value(inference, root, &value));
		if (value.type == HEAP_NO_TYPE)
			continue;
		if (value.held.has_owners)
			HEAP_TRY(held_parts_note(inference->held, value.held.type,
						 value.held.address, edge->offset, edge->target));
		if (heap_repetition_has_slots(value.repetition) &&
		    held_parts_has(inference->held, &value.held, edge->offset))
			HEAP_TRY(
				inference_follow(inference, value.repetition, edge->offset,
						 &(struct pointer){
							 .target = edge->target,
							 .interior = edge->interior,
							 .local = root->kind == HEAP_ROOT_LOCAL,
							 .is_sure = true,
							 .holder_type = value.type,
							 .holder = root->address,
							 .is_passing = is_variable(inference, root),
						 },
						 &edge->flags));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *claim_exceptions(struct inference *inference)
{
	const struct thrown_exceptions *exceptions = &inference->thrown_exceptions;

	for (size_t i = 0; i < exceptions->list.count; i++) {
		const struct thrown_exception *exception = &exceptions->list.items[i];

		progress_step();
		HEAP_TRY(claims_add(&inference->claims, RANK_VTABLE,
				    &(struct claim){ exception->object, exception->type, 1,
						     HEAP_EVIDENCE_TAG, true }));
	}
	return NULL;
}

// Claims the frames of coroutines, when all is known that variables lead to. An allocator of the program's may have
// more room behind a frame: a few bytes of its own, or what is left of a block that it uses again. Where there is room for
// two, the block has more than a frame. The functions may be left over from one, if pointers say something else.
HEAP_MUST_CHECK
static struct heap_error *claim_frames(struct inference *inference)
{
	const struct coroutine_frames *frames = &inference->coroutine_frames;

	for (size_t i = 0; i < frames->list.count; i++) {
		const struct coroutine_frame *frame = &frames->list.items[i];
		uint64_t own = heap_types_size(inference->layouts.types, frame->type);
		uint64_t size = inference_size(inference, frame->object);

		progress_step();
		if (size >= own && size < 2 * own &&
		    hints_ask(inference, frame->object, frame->type) != VERDICT_AGAINST)
			HEAP_TRY(claims_add(&inference->claims, RANK_TAG,
					    &(struct claim){ frame->object, frame->type, 1,
							     HEAP_EVIDENCE_METHODS, true }));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *run(struct inference *inference, const heap_type_id *classes)
{
	uint64_t named = 1;
	bool is_cheap;

	HEAP_TRY(claim_labels(inference));
	HEAP_TRY(class_claims_add(inference, classes));
	HEAP_TRY(claim_exceptions(inference));
	HEAP_TRY(libc_blocks_claim(inference));
	HEAP_TRY(site_containers_claim(inference));
	HEAP_TRY(symbol_types_claim(&inference->symbol_types, &inference->capture->objects,
				    &inference->claims));
	HEAP_TRY(follow_roots(inference));
	HEAP_TRY(stages_settle(inference));
	HEAP_TRY(claim_frames(inference));
	while (named > 0 && inference->small_rounds < SMALL_ROUNDS && !progress_is_late()) {
		HEAP_TRY(stages_advance(inference, &named, &is_cheap));
		if (named == 0)
			HEAP_TRY(pointer_tables_mend(inference, &named));
		if (named == 0)
			HEAP_TRY(conflicts_weigh(inference, &named));
		// Nothing is new but what came too late for passes that were not worth it: one object in a
		// hundred counts in a small heap.
		if (named == 0 && !inference->is_last &&
		    inference->capture->objects.count < LARGE_HEAP) {
			inference->is_last = true;
			named = 1;
		}
		inference->small_rounds +=
			!is_cheap && named < inference->capture->objects.count / MANY;
	}
	HEAP_TRY(stages_settle(inference));
	if (progress_is_late())
		progress_miss_types();
	HEAP_TRY(pointer_tags_finish(inference));
	HEAP_TRY(pools_finish(inference));
	HEAP_TRY(payloads_measure(inference));
	return pool_texts_add(inference);
}

static void release(struct inference *inference)
{
	casts_deinit(&inference->casts);
	template_arguments_deinit(&inference->template_arguments);
	thin_templates_deinit(&inference->thin_templates);
	claims_deinit(&inference->claims);
	coroutine_frames_deinit(&inference->coroutine_frames);
	flagged_pointers_deinit(&inference->flagged_pointers);
	frontier_deinit(&inference->frontier);
	named_part_deinit(&inference->named_part);
	hints_deinit(&inference->hints);
	kinds_deinit(&inference->kinds);
	common_prefixes_deinit(&inference->common_prefixes);
	discriminators_deinit(&inference->discriminators);
	enum_tags_deinit(&inference->enum_tags);
	pointer_tags_deinit(&inference->pointer_tags);
	profiles_deinit(&inference->profiles);
	single_objects_deinit(&inference->single_objects);
	larger_blocks_deinit(&inference->larger_blocks);
	pools_deinit(&inference->pools);
	symbol_types_deinit(&inference->symbol_types);
	thrown_exceptions_deinit(&inference->thrown_exceptions);
	trait_objects_deinit(&inference->trait_objects);
	union_tags_deinit(&inference->union_tags);
	heap_repetitions_deinit(&inference->repetitions);
	layouts_deinit(&inference->layouts);
	held_parts_destroy(inference->held);
	smaller_targets_destroy(inference->smaller_targets);
	larger_targets_destroy(inference->larger_targets);
	pages_destroy(inference->pages);
	free(inference->counted);
	free(inference->libc_types);
	free(inference->unset);
	free(inference->news);
	free(inference->type_counts.list);
}

// The capture's columns that inference fills.
HEAP_MUST_CHECK
static struct heap_error *add_columns(struct capture *capture)
{
	size_t count = (size_t)capture->objects.count + 1;

	capture->snapshot.conflict_type = calloc(count, sizeof(*capture->snapshot.conflict_type));
	capture->snapshot.conflicts = calloc(count, sizeof(*capture->snapshot.conflicts));
	if (!capture->snapshot.conflict_type || !capture->snapshot.conflicts)
		return heap_error_out_of_memory();
	return names_init(&capture->names, capture->objects.count);
}

// Completes the table of types, on which all later stages rely.
HEAP_MUST_CHECK
static struct heap_error *complete_types(struct inference *inference,
					 const struct head_words *heads)
{
	struct capture *capture = inference->capture;

	HEAP_TRY(kinds_init(&inference->kinds, capture));
	HEAP_TRY(single_objects_find(capture, &inference->single_objects));
	HEAP_TRY(pointer_tags_init(&inference->pointer_tags, capture, heads));
	HEAP_TRY(coroutine_frames_find(capture, heads, &inference->coroutine_frames));
	HEAP_TRY(casts_init(&inference->casts, capture));
	HEAP_TRY(template_arguments_init(&inference->template_arguments, capture));
	HEAP_TRY(thin_templates_init(&inference->thin_templates, &capture->snapshot.types));

	bool may_be_counted = counted_may_be(capture);

	isolation_suspect(0); // from here on no file is read
	HEAP_TRY(libc_blocks_add_types(capture));
	HEAP_TRY(thrown_exceptions_find(capture, heads, &inference->thrown_exceptions));
	inference->counted_types = capture->snapshot.types.count;
	return may_be_counted ? counted_add_types(capture, &inference->counted) : NULL;
}

// The unused memory of arenas gets no name: no claim is better than what it has.
static void leave_unused(struct inference *inference)
{
	const struct objects *objects = &inference->capture->objects;

	if (!(objects->all_flags & ARENA_UNUSED))
		return;
	for (heap_object_id i = 0; i < objects->count; i++) {
		if (objects->flags[i] & ARENA_UNUSED)
			inference->claims.rank[i] = RANK_DECLARED;
	}
}

// How many pages of contents are kept. Passes go over all blocks again and again: a cache that is but a little
// smaller than all memory that has blocks keeps hardly a page from one to the next.
static size_t count_pages(const struct objects *objects)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < objects->range_count; i++)
		bytes += objects->ranges[i].end - objects->ranges[i].start;
	return bytes <= PAGES_BYTES_THAT_FIT ? PAGES_IF_FIT : PAGES_FOR_ALL;
}

HEAP_MUST_CHECK
static struct heap_error *prepare(struct inference *inference, const struct head_words *heads)
{
	struct capture *capture = inference->capture;
	heap_object_id objects = capture->objects.count;

	HEAP_TRY(complete_types(inference, heads));
	HEAP_TRY(libc_blocks_find_types(capture, &inference->libc_types));
	inference->pages = pages_create(&capture->image, count_pages(&capture->objects));
	inference->news = calloc((size_t)objects + 1, sizeof(*inference->news));
	if (inference->pages)
		inference->held = held_parts_create(capture, inference->pages);
	inference->smaller_targets = smaller_targets_create();
	inference->larger_targets = larger_targets_create();
	if (!inference->held || !inference->news || !inference->smaller_targets ||
	    !inference->larger_targets)
		return heap_error_out_of_memory();
	HEAP_TRY(layouts_init(&inference->layouts, &capture->snapshot.types));
	inference->layouts.block_sizes = capture->block_sizes;
	HEAP_TRY(enum_tags_init(&inference->enum_tags, &inference->layouts));
	HEAP_TRY(heap_repetitions_init(&inference->repetitions, &inference->layouts.slots));
	HEAP_TRY(unset_variables_find(capture, &inference->repetitions, &inference->unset));
	HEAP_TRY(claims_init(&inference->claims, &inference->layouts, &capture->names, objects));
	leave_unused(inference);
	HEAP_TRY(hints_init(&inference->hints, objects));
	HEAP_TRY(union_tags_init(&inference->union_tags, inference->layouts.types->count));
	HEAP_TRY(kinds_sort(inference));
	return enum_tags_learn(inference);
}

// Infers types from all evidence except the blocks' shapes.
HEAP_MUST_CHECK
static struct heap_error *infer(struct inference *inference, const heap_type_id *classes,
				const struct head_words *heads)
{
	HEAP_TRY(library_types_define(&inference->capture->snapshot.types));
	HEAP_TRY(symbol_types_init(&inference->symbol_types, inference->capture, classes));
	HEAP_TRY(prepare(inference, heads));
	return run(inference, classes);
}

struct heap_error *infer_complete_types(struct capture *capture)
{
	struct heap_types *types = &capture->snapshot.types;

	heap_types_resolve(types);
	HEAP_TRY(heap_virtual_bases_place(types));
	capture->first_copy = types->count;
	HEAP_TRY(containers_complete_types(types));
	HEAP_TRY(byte_storage_complete(types));
	return template_nodes_complete(types);
}

static void deinit_prefixes(struct inference *inference)
{
	block_prefixes_deinit(&inference->block_prefixes);
	storage_headers_deinit(&inference->storage_headers);
}

struct heap_error *infer_types(struct capture *capture, const heap_type_id *classes,
			       struct head_words *heads)
{
	CLEANUP(deinit_prefixes) struct inference inference = { .capture = capture };
	CLEANUP(arena_pieces_deinit) struct arena_pieces pieces = { 0 };
	struct heap_error *error;

	HEAP_TRY(arena_pieces_cut(&pieces, capture, &classes, heads));
	HEAP_TRY(add_columns(capture));
	error = infer(&inference, classes, heads);
	release(&inference);
	if (error)
		return error;
	// Last, since this adds types to the table, on which the other stages rely.
	HEAP_TRY(block_prefixes_finish(&inference.block_prefixes, &inference.storage_headers,
				       capture));
	HEAP_TRY(arena_pieces_join(&pieces, capture, heads));
	HEAP_TRY(shapes_name(capture));
	HEAP_TRY(lone_strings_name(capture));
	HEAP_TRY(fitting_texts_name(capture));
	return slabs_find(capture);
}
