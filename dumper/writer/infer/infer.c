// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Type inference, by claims and hints.
 *
 * A typed slot that points to the start of a block of its pointee's size claims the block.
 * One that points elsewhere, or to a block of another size, is a hint: there is a T at this
 * place of the block. What has been named passes claims and hints on through its own slots.
 *
 *	roots ─▶ claims ─▶ queues by rank ─▶ name the block ─▶ its slots: claims ─▶ queues
 *	                                                              └── hints ─▶ kinds
 *
 * When all claims are heard, the blocks without a name are looked at by kind (those of one
 * site and size): what types have the hinted parts, what the code that allocated them means,
 * what their siblings are, and which of these agrees with what they hold (naming.c). That
 * makes new claims. Only when this comes to an end are hints taken for arrays and texts, and
 * at the very end, what still has several hints and no name is a pool, whose parts have names
 * of their own (pools.c). Each of these may name more, so it all goes round until nothing does.
 *
 * What makes this hard, and what is done about it:
 *
 * (a) The whole is unknown to the pointer: a T * may point to the first member of a larger
 *     struct, or to a list's link in its middle. Such words are hints, never claims.
 * (b) Weak claims spread: what a wrongly named block points to is named wrongly as well. A
 *     better claim that comes later replaces the name and passes on new claims, but what the
 *     wrong name has said of others stands until something better is said of them. The
 *     order of the ranks keeps this rare: no weak claim is heard while a strong one waits.
 * (c) Unions: a slot may have several pointee types. Then each is a hint, and content chooses.
 * (d) Stale pointers: a slot may still point to memory that has become something else. In the
 *     end each name is weighed against what all slots say (rivals.c).
 *
 * Nothing here may depend on addresses or on the order in which blocks lie: the same program is to
 * get the same answers in each run. So claims are heard level by level (hear_claims()), and of
 * two that are as good the one that is taken follows from what they say.
 *
 * Every block is renamed at most once per rank, so the work is linear in the edges.
 */
#include "dumper/writer/infer/inference.h"

#include "dumper/base/header.h"
#include "dumper/writer/infer/common_prefixes.h"
#include "dumper/writer/infer/counted.h"
#include "dumper/writer/base/supervisor.h"
#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/libc_blocks.h"

#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_FIRSTS = 16,   // structs in each other
	AHEAD = 12,        // edges, and claims, whose memory is asked for before they are looked at
	SMALL_ROUNDS = 64, // that name less than one object in MANY
	MANY = 1000,
	FEW_NEW = 64,       // claims on less than one in so many objects are few
	FEW_TO_LEARN = 512, // likewise, to learn from
	PASSES_FOR_FEW = 8,
};

// How many structs a type begins with, one in the other.
static int count_firsts(const struct inference *inference, heap_type_id type)
{
	const struct heap_types *types = inference->layouts.types;
	int count = 0;

	while (count < MAX_FIRSTS && layouts_is_compound(&inference->layouts, type) &&
	       types->types[type].members > 0) {
		type = heap_types_strip(types,
					types->members[types->types[type].first_member].type);
		count++;
	}
	return count;
}

bool inference_prefers(const struct inference *inference, heap_type_id one, heap_type_id other)
{
	int firsts = count_firsts(inference, one), others = count_firsts(inference, other);

	return firsts != others ? firsts > others : one < other;
}

// True if a claim is to be believed rather than another one that is as good, by what they say and
// not by which was made first.
static bool is_preferred(const struct inference *inference, const struct claim *one,
			 const struct claim *other)
{
	if (one->is_sure != other->is_sure)
		return one->is_sure;
	if (one->type != other->type)
		return inference_prefers(inference, one->type, other->type);
	if (one->elements != other->elements)
		return one->elements > other->elements;
	return one->evidence < other->evidence;
}

// The claim that waits for an object with the same rank; NULL if it has been heard already.
static struct claim *find_waiting(const struct inference *inference, const struct queue *queue,
				  heap_object_id object)
{
	uint32_t at = inference->waiting[object];

	return at >= queue->head && at < queue->tail && queue->claims[at].object == object
		       ? &queue->claims[at]
		       : NULL;
}

struct heap_error *inference_claim(struct inference *inference, enum rank rank,
				   const struct claim *claim)
{
	struct queue *queue = &inference->queues[rank];

	if (inference->rank[claim->object] < rank)
		return NULL;
	if (inference->rank[claim->object] == rank) {
		struct claim *waiting = find_waiting(inference, queue, claim->object);

		if (waiting && is_preferred(inference, claim, waiting))
			*waiting = *claim;
		return NULL;
	}
	if (queue->tail == queue->capacity) {
		size_t capacity = queue->capacity ? queue->capacity * 2 : 4096;
		void *larger = realloc(queue->claims, capacity * sizeof(*queue->claims));

		if (!larger)
			return heap_error_out_of_memory();
		queue->claims = larger;
		queue->capacity = capacity;
	}
	inference->waiting[claim->object] = (uint32_t)queue->tail;
	queue->claims[queue->tail++] = *claim;
	inference->rank[claim->object] = (uint8_t)rank;
	return NULL;
}

// --- following slots ---------------------------------------------------------

// The slots of a union at one place: any of them may be meant.
HEAP_MUST_CHECK
static struct heap_error *hint_at_all(struct inference *inference, const struct heap_slot *slots,
				      uint32_t count, const struct pointer *pointer)
{
	struct heap_error *error = NULL;

	for (uint32_t i = 0; !error && i < count; i++) {
		if (slots[i].pointee != HEAP_NO_TYPE)
			error = hints_add(inference, slots[i].pointee, pointer, true);
	}
	return error;
}

// An array behind its number, if that agrees with the block's size.
static struct layout_claim fit_counted(const struct inference *inference, heap_type_id element,
				       heap_object_id object)
{
	const struct objects *objects = &inference->capture->objects;
	uint64_t stride = heap_types_size(inference->layouts.types, element);
	uint64_t count, size = objects_size(objects, object) - COUNTED_START;
	struct layout_claim claim = { LAYOUT_NONE, HEAP_NO_TYPE, 0 };

	if (!(objects->flags[object] & HEAPSNAP_BLOCK_NEW_ARRAY) || !inference->counted ||
	    element >= inference->counted_types || inference->counted[element] == HEAP_NO_TYPE ||
	    size % stride != 0)
		return claim;
	pages_read(inference->pages, objects->address[object], &count, sizeof(count));
	if (count == size / stride)
		claim = (struct layout_claim){ LAYOUT_EXACT, inference->counted[element],
					       count + 1 };
	return claim;
}

// What one slot says: a claim if it points to the start and the sizes agree, or a hint.
HEAP_MUST_CHECK
static struct heap_error *hear(struct inference *inference, heap_type_id pointee,
			       const struct pointer *pointer)
{
	uint64_t size = objects_size(&inference->capture->objects, pointer->target);
	struct layout_claim claim = { LAYOUT_NONE, HEAP_NO_TYPE, 0 };
	enum rank rank;

	if (layouts_is_start(pointer->interior))
		claim = layouts_fit(&inference->layouts, pointee, size);
	else if (pointer->interior == COUNTED_START)
		claim = fit_counted(inference, pointee, pointer->target);
	if (claim.fit == LAYOUT_NONE)
		return pointee == HEAP_NO_TYPE ? NULL
					       : hints_add(inference, pointee, pointer, false);
	if (pointer->local)
		rank = RANK_LOCAL;
	else if (pointer->is_sure)
		rank = claim.fit == LAYOUT_EXACT ? RANK_EXACT : RANK_FLEXIBLE;
	else
		rank = claim.fit == LAYOUT_EXACT ? RANK_PASSED_EXACT : RANK_PASSED_FLEXIBLE;
	return inference_claim(inference, rank,
			       &(struct claim){ pointer->target, claim.type, claim.elements,
						HEAP_EVIDENCE_POINTER, pointer->is_sure });
}

struct heap_error *inference_follow(struct inference *inference,
				    const struct heap_repetition *repetition, uint64_t offset,
				    const struct pointer *pointer, uint8_t *flags)
{
	uint32_t first, end;
	const struct heap_slots *slots = heap_repetition_slots_at(repetition, offset, &first, &end);

	if (!slots)
		return NULL;
	*flags |= HEAP_EDGE_TYPED;
	if (inference->rank[pointer->target] < RANK_EXACT)
		return NULL;
	if (end - first == 1)
		return hear(inference, slots->list[first].pointee, pointer);
	return hint_at_all(inference, slots->list + first, end - first, pointer);
}

HEAP_MUST_CHECK
static struct heap_error *follow_object(struct inference *inference, heap_object_id object)
{
	struct edges *edges = &inference->capture->edges;
	const uint32_t *kinds = inference->capture->objects.kind;
	const struct heap_repetition *repetition;
	struct heap_error *error = heap_repetitions_find(
		&inference->repetitions, inference->capture->type[object], &repetition);

	for (uint32_t i = edges->first[object]; !error && i < edges->first[object + 1]; i++) {
		if (i + AHEAD < edges->count) {
			__builtin_prefetch(&kinds[edges->target[i + AHEAD]]);
			__builtin_prefetch(&inference->rank[edges->target[i + AHEAD]]);
			__builtin_prefetch(&inference->hint_head[edges->target[i + AHEAD]]);
			__builtin_prefetch(&inference->kinds.of[edges->target[i + AHEAD]]);
		}
		edges->flags[i] &= (uint8_t)~HEAP_EDGE_TYPED;
		progress_step();
		if (heap_repetition_has_slots(repetition))
			error = inference_follow(
				inference, repetition, (uint64_t)edges->slot[i] * 8,
				&(struct pointer){ edges->target[i], edges->interior[i], false,
						   inference->is_sure[object] },
				&edges->flags[i]);
	}
	return error;
}

heap_type_id inference_root_type(const struct inference *inference, const struct heap_root *root)
{
	const struct heap_types *types = inference->layouts.types;
	heap_type_id type = layouts_strip(&inference->layouts, root->type);

	while (types->types[type].kind == HEAP_TYPE_ARRAY)
		type = layouts_strip(&inference->layouts, types->types[type].target);
	return type;
}

bool inference_type_has(const struct inference *inference, heap_type_id type, heap_type_id part,
			uint64_t interior)
{
	const struct layouts *layouts = &inference->layouts;
	const struct layout_facts *facts = &layouts->facts[type];
	uint64_t stride = facts->size;

	if (facts->is_flexible && interior >= facts->start) {
		type = layouts_strip(layouts, facts->element);
		stride = layouts_size(layouts, type);
		interior -= facts->start;
	}
	return layouts_has(layouts, type, part, stride > 0 ? interior % stride : interior);
}

bool inference_has(const struct inference *inference, heap_object_id object, heap_type_id part,
		   uint64_t interior)
{
	return inference_type_has(inference, inference->capture->type[object], part, interior);
}

bool inference_is_raw(const struct inference *inference, heap_object_id object, uint64_t interior)
{
	return inference->capture->type[object] == HEAP_NO_TYPE ||
	       layouts_is_raw(&inference->layouts, inference->capture->type[object], interior);
}

// --- hearing claims ----------------------------------------------------------

static void name(struct inference *inference, enum rank rank, const struct claim *claim)
{
	struct capture *capture = inference->capture;

	if (capture->type[claim->object] == HEAP_NO_TYPE)
		progress_set_done(++inference->named);
	capture->type[claim->object] = claim->type;
	capture->elements[claim->object] = claim->elements;
	capture->evidence[claim->object] = claim->evidence;
	progress_step();
	inference->is_sure[claim->object] = claim->is_sure;
	inference->claims_heard++;
	inference->name_rank[claim->object] = (uint8_t)rank;
	inference->claims_heard++;
	kinds_note_news(inference, claim->object);
}

static void fetch(const struct inference *inference, heap_object_id object)
{
	const struct capture *capture = inference->capture;

	__builtin_prefetch(&capture->type[object], 1);
	__builtin_prefetch(&capture->elements[object], 1);
	__builtin_prefetch(&capture->evidence[object], 1);
	__builtin_prefetch(&capture->edges.first[object]);
	__builtin_prefetch(&inference->kinds.of[object]);
}

// The rank of the best claim that waits; RANK_NONE if there is none.
static enum rank best_rank(const struct inference *inference)
{
	enum rank rank = 0;

	while (rank < RANKS && inference->queues[rank].head == inference->queues[rank].tail)
		rank++;
	return rank;
}

/*
 * Hears all claims of a rank that wait, as if at once: first all get their names, then all names
 * are followed. Claims that are made meanwhile wait for the next time. So it does not matter in
 * what order these ones were made, which is that of addresses and differs in each run.
 */
HEAP_MUST_CHECK
static struct heap_error *hear_claims(struct inference *inference, enum rank rank)
{
	struct queue *queue = &inference->queues[rank];
	size_t first = queue->head, end = queue->tail;
	struct heap_error *error = NULL;

	queue->head = end; // they cannot be bettered any more
	for (size_t i = first; i < end; i++) {
		struct claim *claim = &queue->claims[i];

		if (i + AHEAD < end)
			fetch(inference, queue->claims[i + AHEAD].object);
		// A better claim may have come after this one was queued.
		if (inference->rank[claim->object] == rank &&
		    inference->waiting[claim->object] == i)
			name(inference, rank, claim);
		else
			claim->object = HEAP_NO_OBJECT;
	}
	progress_steps((uint32_t)(end - first));
	for (size_t i = first; !error && i < end && !progress_is_late(); i++) {
		heap_object_id object = queue->claims[i].object;

		if (object != HEAP_NO_OBJECT)
			error = follow_object(inference, object);
	}
	if (queue->head == queue->tail)
		queue->head = queue->tail = 0;
	return error;
}

struct heap_error *inference_settle(struct inference *inference)
{
	struct heap_error *error = NULL;
	bool is_late = false;

	for (;;) {
		enum rank rank = best_rank(inference);

		if (error || progress_is_late())
			return error;
		if (rank > RANK_TAG && tags_wait(inference)) {
			error = tags_hear(inference);
		} else if (rank != RANK_NONE) {
			error = hear_claims(inference, rank);
		} else if (!is_late) {
			is_late = true;
			error = tags_hear_late(inference);
		} else {
			return NULL;
		}
	}
}

// --- what claims begin with --------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *claim_classes(struct inference *inference, const heap_type_id *classes)
{
	const struct objects *objects = &inference->capture->objects;
	struct heap_error *error = NULL;

	for (heap_object_id object = 0; !error && object < objects->count; object++) {
		heap_type_id type = classes[object];

		if (type == HEAP_NO_TYPE ||
		    heap_types_size(inference->layouts.types, type) > objects_size(objects, object))
			continue;
		error = inference_claim(
			inference, RANK_VTABLE,
			&(struct claim){ object, type, 1, HEAP_EVIDENCE_VTABLE, true });
	}
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *claim_label(struct inference *inference,
				      const struct heapsnap_label *label)
{
	const struct capture *capture = inference->capture;
	const struct objects *objects = &capture->objects;
	const struct heap_types *types = inference->layouts.types;
	heap_object_id object = objects_find(objects, label->block);
	char name[256];

	if (object == HEAP_NO_OBJECT || objects->address[object] != label->block ||
	    !(objects->flags[object] & HEAPSNAP_BLOCK_LABELLED))
		return NULL;
	image_read_string(&capture->image, label->type, name, sizeof(name));

	heap_type_id type = heap_types_find(types, name, 0);
	uint64_t size = heap_types_size(types, heap_types_strip(types, type));

	if (type == HEAP_NO_TYPE || size == 0 || size > objects_size(objects, object))
		return NULL;
	return inference_claim(inference, RANK_DECLARED,
			       &(struct claim){ object, heap_types_strip(types, type),
						objects_size(objects, object) / size,
						HEAP_EVIDENCE_DECLARED, true });
}

// What the program has said itself, by heapsnap_set_type(). The table is large, and nearly empty.
HEAP_MUST_CHECK
static struct heap_error *claim_labels(struct inference *inference)
{
	enum {
		BATCH = 4096,
	};
	const struct heapsnap_process *process = &inference->capture->process;
	CLEANUP_FREE struct heapsnap_label *labels = malloc(BATCH * sizeof(*labels));
	struct heap_error *error = labels ? NULL : heap_error_out_of_memory();

	for (uint64_t i = 0; !error && i < process->label_slots; i += BATCH) {
		uint64_t count =
			process->label_slots - i < BATCH ? process->label_slots - i : BATCH;

		image_read_padded(&inference->capture->image, process->labels + i * sizeof(*labels),
				  labels, count * sizeof(*labels));
		for (uint64_t j = 0; !error && j < count; j++) {
			if (labels[j].block != 0)
				error = claim_label(inference, &labels[j]);
		}
	}
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *follow_roots(struct inference *inference)
{
	struct roots *roots = &inference->capture->roots;
	struct heap_error *error = NULL;

	for (uint64_t i = 0; !error && i < roots->edge_count && !progress_is_late(); i++) {
		struct heap_root_edge *edge = &roots->edges[i];
		const struct heap_root *root = &roots->roots[edge->root];
		heap_type_id type = inference_root_type(inference, root);
		const struct heap_repetition *repetition;

		if (type == HEAP_NO_TYPE)
			continue;
		error = heap_repetitions_find(&inference->repetitions, type, &repetition);
		if (!error && heap_repetition_has_slots(repetition))
			error = inference_follow(inference, repetition, edge->offset,
						 &(struct pointer){ edge->target, edge->interior,
								    root->kind == HEAP_ROOT_LOCAL,
								    true },
						 &edge->flags);
	}
	return error;
}

// True if a pass that costs as much as all others together is worth repeating.
static bool pass(const struct inference *inference, struct gate *gate, uint32_t share)
{
	uint64_t heard = inference->claims_heard - gate->heard;

	if (heard < inference->capture->objects.count / share && ++gate->few > PASSES_FOR_FEW)
		return false;
	gate->heard = inference->claims_heard;
	return true;
}

// Looks at what the blocks of each type with a base have in common.
HEAP_MUST_CHECK
static struct heap_error *learn(struct inference *inference, struct base_types *samples)
{
	struct heap_error *error = bases_sample(inference, samples);

	return error ? error : profiles_learn(inference, samples);
}

// The best evidence: what leaves no choice, and what tells blocks with a common beginning apart.
// Tags are learned before any weaker evidence is heard, which would blur what they tell apart. The
// other rounds do not count for that: how many there are hangs on chains of single claims.
HEAP_MUST_CHECK
static struct heap_error *name_surely(struct inference *inference, uint64_t *named)
{
	struct base_types samples[MAX_BASES];
	struct heap_error *error = bases_find(inference);
	bool learns = pass(inference, &inference->learning, FEW_TO_LEARN);

	if (error)
		return error;
	if (learns)
		error = learn(inference, samples);
	if (!error)
		error = naming_claim(inference, NAMING_SURE, PASS_NEWS, named);
	if (!error && !learns && *named == 0) {
		learns = pass(inference, &inference->telling, FEW_TO_LEARN);
		if (learns)
			error = learn(inference, samples);
	}
	if (!error && learns && *named == 0)
		error = tags_learn(inference, samples, named);
	if (learns)
		bases_release_samples(samples);
	return error;
}

// One step of the whole: the best evidence that is left, and what follows from it.
HEAP_MUST_CHECK
static struct heap_error *advance(struct inference *inference, uint64_t *named)
{
	struct heap_error *error = inference_settle(inference);

	*named = 0;
	if (!error && !progress_is_late())
		error = name_surely(inference, named);
	if (!error && *named == 0)
		error = naming_claim(inference, NAMING_LIKELY, PASS_NEWS, named);
	if (!error && *named == 0 && pass(inference, &inference->all_kinds, FEW_NEW)) {
		error = naming_claim(inference, NAMING_SURE, PASS_ALL, named);
		if (!error && *named == 0)
			error = naming_claim(inference, NAMING_LIKELY, PASS_ALL, named);
	}
	if (!error && *named == 0)
		error = naming_weigh_hints(inference, named);
	if (!error && *named == 0)
		error = pools_cut(inference, false, named);
	if (!error && *named == 0)
		error = naming_reconsider(inference, named);
	if (!error && *named == 0)
		error = pools_cut(inference, true, named);
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *run(struct inference *inference, const heap_type_id *classes)
{
	struct heap_error *error = claim_labels(inference);
	uint64_t named = 1;

	if (!error)
		error = claim_classes(inference, classes);
	if (!error)
		error = libc_blocks_claim(inference);
	if (!error)
		error = follow_roots(inference);
	for (int small = 0; !error && named > 0 && small < SMALL_ROUNDS && !progress_is_late();) {
		error = advance(inference, &named);
		if (!error && named == 0)
			error = rivals_weigh(inference, &named);
		small += named < inference->capture->objects.count / MANY;
	}
	if (!error)
		error = inference_settle(inference);
	if (progress_is_late())
		progress_miss_types();
	return error ? error : pools_finish(inference);
}

static void release(struct inference *inference)
{
	for (unsigned i = 0; i < RANKS; i++)
		free(inference->queues[i].claims);
	free(inference->counted);
	pages_destroy(inference->pages);
	free(inference->renamed);
	free(inference->is_sure);
	free(inference->news);
	free(inference->rank);
	free(inference->name_rank);
	free(inference->waiting);
	free(inference->hint_head);
	free(inference->hints);
	free(inference->hint_table.slots);
	kinds_deinit(&inference->kinds);
	bases_deinit(&inference->bases);
	tags_deinit(&inference->tags);
	profiles_deinit(&inference->profiles);
	heap_repetitions_deinit(&inference->repetitions);
	layouts_deinit(&inference->layouts);
	pools_deinit(&inference->pools);
}

struct heap_error *infer_types(struct capture *capture, const heap_type_id *classes)
{
	size_t count = (size_t)capture->objects.count + 1;
	struct inference inference = {
		.capture = capture,
		.pages = pages_create(&capture->image, PAGES_FOR_ALL),
		.rank = malloc(count),
		.name_rank = malloc(count),
		.waiting = calloc(count, sizeof(*inference.waiting)),
		.renamed = calloc(count, sizeof(*inference.renamed)),
		.is_sure = calloc(count, sizeof(*inference.is_sure)),
		.news = calloc(count, sizeof(*inference.news)),
		.hint_head = calloc(count, sizeof(*inference.hint_head)),
	};
	struct heap_error *error = NULL;

	capture->type = calloc(count, sizeof(*capture->type));
	capture->elements = calloc(count, sizeof(*capture->elements));
	capture->evidence = calloc(count, sizeof(*capture->evidence));
	capture->rival = calloc(count, sizeof(*capture->rival));
	capture->rivals = calloc(count, sizeof(*capture->rivals));
	if (!inference.pages || !inference.rank || !inference.name_rank || !inference.waiting ||
	    !inference.renamed || !inference.is_sure || !inference.news || !inference.hint_head ||
	    !capture->type || !capture->elements || !capture->evidence || !capture->rival ||
	    !capture->rivals)
		error = heap_error_out_of_memory();
	if (!error)
		error = kinds_init(&inference.kinds, capture);
	isolation_suspect(0); // from here on no file is read
	if (!error)
		error = libc_blocks_add_types(capture);
	inference.counted_types = capture->types.count;
	if (!error)
		error = counted_add_types(capture, &inference.counted);
	if (!error)
		error = layouts_init(&inference.layouts, &capture->types);
	if (!error)
		error = heap_repetitions_init(&inference.repetitions, &inference.layouts.slots);
	if (!error) {
		memset(inference.rank, RANK_NONE, count);
		memset(inference.name_rank, RANK_NONE, count);
		error = kinds_sort(&inference);
	}
	if (!error)
		error = run(&inference, classes);
	release(&inference);
	return error;
}
