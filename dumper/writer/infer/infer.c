// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The schedule of type inference: which stage runs when. README.md tells how a block gets its name.
 */
#include "dumper/writer/infer/infer.h"

#include "dumper/base/header.h"
#include "dumper/writer/infer/apply_claims.h"
#include "dumper/writer/infer/arrays/array_lengths.h"
#include "dumper/writer/infer/arrays/bounded_arrays.h"
#include "dumper/writer/infer/classes/bucket_tables.h"
#include "dumper/writer/infer/classes/byte_storage.h"
#include "dumper/writer/infer/classes/class_claims.h"
#include "dumper/writer/infer/conflicts.h"
#include "dumper/writer/infer/classes/containers.h"
#include "dumper/writer/infer/classes/counted.h"
#include "dumper/writer/infer/classes/counted_singles.h"
#include "dumper/writer/infer/prefixes/headed_arrays.h"
#include "dumper/writer/infer/inference.h"
#include "dumper/writer/infer/sizes/larger_targets.h"
#include "dumper/writer/infer/sizes/likeness.h"
#include "dumper/writer/infer/prefixes/linked_prefixes.h"
#include "dumper/writer/infer/symbols/lone_strings.h"
#include "dumper/writer/infer/sizes/measured_links.h"
#include "dumper/writer/infer/tags/named_pointees.h"
#include "dumper/writer/infer/naming.h"
#include "dumper/writer/infer/arrays/ring_arrays.h"
#include "dumper/writer/infer/sizes/rounded_sizes.h"
#include "dumper/writer/base/supervisor.h"
#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/texts/fitting_texts.h"
#include "dumper/writer/infer/sites/libc_blocks.h"
#include "dumper/writer/infer/symbols/library_types.h"
#include "dumper/writer/infer/tags/own_methods.h"
#include "dumper/writer/infer/parts/payloads.h"
#include "dumper/writer/infer/tags/prefix_groups.h"
#include "dumper/writer/infer/arrays/pointer_tables.h"
#include "dumper/writer/infer/parts/pool_texts.h"
#include "dumper/writer/infer/arrays/proven_arrays.h"
#include "dumper/writer/infer/symbols/shapes.h"
#include "dumper/writer/infer/parts/slabs.h"
#include "dumper/writer/infer/sizes/smaller_targets.h"
#include "dumper/writer/infer/tags/tagged_slots.h"
#include "dumper/writer/infer/classes/template_nodes.h"
#include "dumper/writer/infer/texts/text_headers.h"
#include "dumper/writer/infer/symbols/site_containers.h"
#include "dumper/writer/infer/texts/unaligned_texts.h"
#include "dumper/writer/infer/sites/unplaced_variables.h"
#include "dumper/writer/infer/sites/unset_variables.h"
#include "dumper/writer/infer/void_pointers/void_pointers.h"

#include "lib/base/cleanup.h"
#include "lib/types/virtual_bases.h"

#include <stdlib.h>
#include <string.h>

enum {
	SMALL_ROUNDS = 64,  // that name less than one object in MANY, and cost a whole pass
	PATIENT_ROUNDS = 8, // of these; then pools are divided without waiting for single hints
	MAX_PROOFS = 64,    // passes that find arrays, one behind the other
	MANY = 1000,
	LARGE_HEAP = 1 << 20, // objects
	FEW_NEW = 128,        // claims on less than one in so many objects are few
	FEW_FOR_UNIONS = 16,  // likewise, for the tags of unions
	FEW_TO_LEARN = 1024,  // likewise, to learn from
	PASSES_FOR_FEW = 8,
	MAX_CHAIN = 4096,  // nodes of lists that are named one by one
	FEW_IN_CHAIN = 16, // lists that are named at the same time
};

// --- applying claims ----------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *apply_all(struct inference *inference)
{
	struct heap_error *error = NULL;
	bool is_late = false;

	for (;;) {
		enum rank rank = claims_best(&inference->claims);

		if (error || progress_is_late())
			return error;
		if (rank > RANK_DISCRIMINATOR && discriminators_wait(inference)) {
			error = discriminators_apply(inference);
		} else if (rank != RANK_NONE) {
			error = claims_apply(inference, rank);
		} else if (!is_late) {
			is_late = true;
			error = discriminators_apply_late(inference);
		} else {
			return NULL;
		}
	}
}

// Applies all waiting claims, and those that result from them.
HEAP_MUST_CHECK
static struct heap_error *settle(struct inference *inference)
{
	HEAP_TRY(apply_all(inference));
	claims_rest(&inference->claims);
	return NULL;
}

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

// True if it is worth repeating a pass that costs as much as all others together.
static bool pass(const struct inference *inference, struct gate *gate, uint32_t share)
{
	uint64_t applied = inference->claims.applied - gate->applied;

	bool is_few = applied < inference->capture->objects.count / share;

	if (inference->is_last ? applied == 0 : is_few && ++gate->few > PASSES_FOR_FEW)
		return false;
	gate->applied = inference->claims.applied;
	return true;
}

// Learns from the blocks of each type with a base.
HEAP_MUST_CHECK
static struct heap_error *learn(struct inference *inference, struct prefix_types *samples)
{
	struct heap_error *error = common_prefixes_sample(inference, samples);

	return error ? error : profiles_learn(inference, samples);
}

// Applies claims on a few blocks, names what these lead to, and so on: the nodes of lists. @param named  is added to
HEAP_MUST_CHECK
static struct heap_error *follow_chains(struct inference *inference, enum naming_evidence evidence,
					uint64_t *named)
{
	uint64_t more;

	do {
		more = 0;
		HEAP_TRY(settle(inference));
		HEAP_TRY(naming_follow(inference, evidence, &more));
		*named += more;
	} while (more > 0 && !progress_is_late());
	return NULL;
}

// The best evidence: what leaves no choice, and the discriminators of common prefixes.
// Tags are learned before any weaker evidence is applied, which would blur them. The other
// rounds do not count for that: their number depends on chains of single claims.
HEAP_MUST_CHECK
static struct heap_error *name_surely(struct inference *inference, uint64_t *named)
{
	struct prefix_types samples[MAX_COMMON_PREFIXES];
	struct heap_error *error = NULL;
	bool learns;

	HEAP_TRY(common_prefixes_find(inference));
	learns = pass(inference, &inference->learning, FEW_TO_LEARN);
	if (learns)
		error = learn(inference, samples);
	if (!error)
		error = naming_claim(inference, NAMING_SURE, PASS_NEWS, named);
	if (!error && *named > 0)
		error = follow_chains(inference, NAMING_SURE, named);
	if (!error && !learns && *named == 0) {
		learns = pass(inference, &inference->telling, FEW_TO_LEARN);
		if (learns)
			error = learn(inference, samples);
	}
	if (!error && learns && *named == 0)
		error = discriminators_learn(inference, samples, named);
	if (learns)
		common_prefixes_release_samples(samples);
	return error;
}

// Likely evidence. A list whose pointers lead into the middle of its nodes is named one or two nodes at
// a time: as long as that is all, nothing else is tried between them.
HEAP_MUST_CHECK
static struct heap_error *name_likely(struct inference *inference, uint64_t *named)
{
	for (int i = 0; i < MAX_CHAIN && !progress_is_late(); i++) {
		uint64_t more = 0;

		HEAP_TRY(naming_claim(inference, NAMING_LIKELY, PASS_NEWS, &more));
		*named += more;
		if (more == 0 || more > FEW_IN_CHAIN)
			break;
		HEAP_TRY(follow_chains(inference, NAMING_LIKELY, named));
	}
	return NULL;
}

// Claims the arrays that their own pointers prove, and those to which these lead: the cells of an interpreter lie in
// several blocks, and lead from one to the next.
HEAP_MUST_CHECK
static struct heap_error *prove_arrays(struct inference *inference, uint64_t *named)
{
	uint64_t more = 1;

	for (int i = 0; i < MAX_PROOFS && more > 0 && !progress_is_late(); i++) {
		more = 0;
		HEAP_TRY(settle(inference));
		HEAP_TRY(proven_arrays_claim(inference, &more));
		*named += more;
	}
	return NULL;
}

// Finds the block prefixes and pointer tags of runtimes. These passes cost as much as all others
// together, so they wait until much is new, or nothing else is left.
HEAP_MUST_CHECK
static struct heap_error *find_runtimes(struct inference *inference, bool is_thorough,
					uint64_t *named)
{
	HEAP_TRY(block_prefixes_find(inference, BLOCK_PREFIX_STRUCTS, is_thorough, named));
	HEAP_TRY(linked_prefixes_spread(inference, named));
	return pointer_tags_apply(inference, is_thorough, named);
}

// Divides pools when single hints name only a few blocks per round: a page of chunks looks like an
// array, and leads to the next page.
HEAP_MUST_CHECK
static struct heap_error *cut_early(struct inference *inference, int small, uint64_t *named)
{
	if (small <= PATIENT_ROUNDS || progress_is_late())
		return NULL;
	HEAP_TRY(rounded_sizes_claim(inference, false, named));
	return *named == 0 ? pools_cut(inference, false, named) : NULL;
}

// Texts behind their length, which pointers to characters or void pointers lead to. Void pointers are followed once:
// of the blocks that they lead to, ever more become known.
HEAP_MUST_CHECK
static struct heap_error *name_prefixed_texts(struct inference *inference, uint64_t *named)
{
	if (!inference->has_texts)
		HEAP_TRY(unaligned_texts_hint(inference));
	inference->has_texts = true;
	HEAP_TRY(text_ends_claim(inference, named));
	if (*named > 0)
		return NULL;
	return block_prefixes_find(inference, BLOCK_PREFIX_TEXTS, true, named);
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

// Runs one step: the best evidence that is left, and its consequences. The step is cheap if it
// visited news only: a list whose pointers lead to a member of its nodes is named two nodes
// at a time, in as many steps.
//
// @param small  rounds before it that were not cheap, and named few
HEAP_MUST_CHECK
static struct heap_error *advance(struct inference *inference, int small, uint64_t *named,
				  bool *is_cheap)
{
	HEAP_TRY(settle(inference));
	*named = 0;
	HEAP_TRY(flagged_pointers_decide(inference, named));
	HEAP_TRY(free_lists_cut(inference, named));
	if (*named == 0 && pass(inference, &inference->bounds, FEW_NEW))
		HEAP_TRY(bounded_arrays_claim(inference, named));
	if (*named == 0 && pass(inference, &inference->headed, FEW_NEW))
		HEAP_TRY(headed_arrays_cut(inference, named));
	if (*named == 0 && pass(inference, &inference->counted_singles, FEW_NEW))
		HEAP_TRY(counted_singles_claim(inference, named));
	if (*named == 0 && !progress_is_late())
		HEAP_TRY(find_runtimes(inference, false, named));
	if (*named == 0 && !progress_is_late())
		HEAP_TRY(name_surely(inference, named));
	*is_cheap = *named > 0;
	if (*named == 0 && pass(inference, &inference->tagged_slots, FEW_NEW))
		HEAP_TRY(tagged_slots_cut(inference, named));
	if (*named == 0 && pass(inference, &inference->tables, FEW_NEW))
		HEAP_TRY(bucket_tables_find(inference, named));
	if (*named == 0 && pass(inference, &inference->text_headers, FEW_NEW))
		HEAP_TRY(text_headers_claim(inference, named));
	if (*named == 0 && pass(inference, &inference->beside, FEW_NEW))
		HEAP_TRY(named_pointees_claim(inference, named));
	if (*named == 0 && pass(inference, &inference->voids, FEW_NEW))
		HEAP_TRY(void_pointers_claim(inference, false, named));
	if (*named == 0)
		HEAP_TRY(find_runtimes(inference, true, named));
	if (*named == 0)
		HEAP_TRY(name_prefixed_texts(inference, named));
	if (*named == 0 && pass(inference, &inference->unions, FEW_FOR_UNIONS))
		HEAP_TRY(union_tags_learn(inference, named));
	if (*named == 0 && pass(inference, &inference->lengths, FEW_NEW))
		HEAP_TRY(array_lengths_claim(inference, named));
	if (*named == 0 && pass(inference, &inference->links, FEW_NEW))
		HEAP_TRY(measured_links_claim(inference, named));
	// Before chains are named node by node.
	if (*named == 0 && small > 0 && pass(inference, &inference->likeness, FEW_NEW))
		HEAP_TRY(likeness_claim(inference, named));
	if (*named == 0)
		HEAP_TRY(name_likely(inference, named));
	if (*named == 0 && pass(inference, &inference->all_kinds, FEW_NEW)) {
		HEAP_TRY(naming_claim(inference, NAMING_SURE, PASS_ALL, named));
		if (*named == 0)
			HEAP_TRY(naming_claim(inference, NAMING_LIKELY, PASS_ALL, named));
	}
	if (*named == 0)
		HEAP_TRY(unplaced_variables_claim(inference, named));
	if (*named == 0 && pass(inference, &inference->arrays, FEW_NEW)) {
		HEAP_TRY(prove_arrays(inference, named));
		HEAP_TRY(ring_arrays_claim(inference, named));
		HEAP_TRY(pointer_tables_claim(inference, named));
	}
	if (*named == 0 && pass(inference, &inference->prefix_groups, FEW_NEW))
		HEAP_TRY(prefix_groups_claim(inference, named));
	if (*named == 0)
		HEAP_TRY(cut_early(inference, small, named));
	if (*named == 0)
		HEAP_TRY(naming_weigh_hints(inference, named));
	if (*named == 0)
		HEAP_TRY(rounded_sizes_claim(inference, false, named));
	if (*named == 0 && pass(inference, &inference->likeness, FEW_NEW))
		HEAP_TRY(likeness_claim(inference, named));
	if (*named == 0)
		HEAP_TRY(pools_cut(inference, false, named));
	if (*named == 0 && pass(inference, &inference->payloads, FEW_NEW))
		HEAP_TRY(payloads_find(inference, named));
	if (*named == 0 && pass(inference, &inference->own_methods, FEW_NEW))
		HEAP_TRY(own_methods_claim(inference, named));
	if (*named == 0 && pass(inference, &inference->void_contents, FEW_NEW))
		HEAP_TRY(void_pointers_claim(inference, true, named));
	if (*named == 0 && pass(inference, &inference->few, FEW_NEW))
		HEAP_TRY(naming_ask_few(inference, named));
	if (*named == 0)
		HEAP_TRY(naming_reconsider(inference, named));
	if (*named == 0)
		HEAP_TRY(rounded_sizes_claim(inference, true, named));
	if (*named == 0)
		HEAP_TRY(larger_targets_claim(inference, named));
	return *named == 0 ? pools_cut(inference, true, named) : NULL;
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
	HEAP_TRY(settle(inference));
	HEAP_TRY(claim_frames(inference));
	for (int small = 0; named > 0 && small < SMALL_ROUNDS && !progress_is_late();) {
		HEAP_TRY(advance(inference, small, &named, &is_cheap));
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
		small += !is_cheap && named < inference->capture->objects.count / MANY;
	}
	HEAP_TRY(settle(inference));
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
	if (!inference_has_sites(inference))
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
