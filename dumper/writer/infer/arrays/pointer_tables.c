// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/arrays/pointer_tables.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/explained_pointers.h"
#include "dumper/writer/infer/inference.h"
#include "dumper/writer/infer/majority.h"
#include "dumper/writer/infer/arrays/pointer_strides.h"
#include "dumper/writer/infer/sampler.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>

enum {
	CHECKED = 256,    // pointers of a table
	MIN_POINTERS = 4, // whose targets are known
	MOST = 8,         // of so many, all but one
	MIN_PAIR = 2,     // pointers that show whether they lead to values of one size
	FEW = 8,          // that are enough for that
	READ = 32,        // pointers whose targets are read
	MIN_READ = 2,     // of these, to say anything
	LEAST_VALUE = 24, // bytes of a value whose size tells something: 16 are allocators' unit
};

// The targets of the pointers of a table.
struct tally {
	uint32_t known; // targets with a good name
	uint32_t agreeing;
	struct majority other; // the type of most others
};

// The type that a type's pointers lead to, if that is a struct.
static heap_type_id struct_of(const struct inference *inference, heap_type_id type)
{
	const struct heap_type *pointer = &inference->layouts.types->types[type];
	heap_type_id pointee = layouts_is_pointer(&inference->layouts, type)
				       ? layouts_strip(&inference->layouts, pointer->target)
				       : HEAP_NO_TYPE;

	return layouts_is_compound(&inference->layouts, pointee) ? pointee : HEAP_NO_TYPE;
}

// The struct that begins at a place of a block, if the block is one or several of it, or has it as a part. What an array of
// any length at a struct's end holds is something else.
static heap_type_id type_at(const struct inference *inference, heap_object_id target,
			    uint64_t interior)
{
	heap_type_id type = inference_type(inference, target);
	uint64_t size;

	if (type == HEAP_NO_TYPE)
		return pools_type_at(&inference->pools, target, interior);
	size = layouts_is_flexible(&inference->layouts, type)
		       ? inference_size(inference, target)
		       : layouts_size(&inference->layouts, type);
	return layouts_is_compound(&inference->layouts, type) && size > 0 && interior % size == 0
		       ? type
		       : HEAP_NO_TYPE;
}

static void count_target(const struct inference *inference, heap_object_id table,
			 heap_type_id pointee, uint32_t edge, struct tally *tally)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	heap_object_id target = snapshot->edge_target[edge];
	uint64_t interior = snapshot->edge_interior[edge],
		 prefix = inference_prefix(inference, target);
	heap_type_id found;

	if (interior < prefix || interior == UINT32_MAX)
		return;
	found = type_at(inference, target, interior - prefix);
	if (found == HEAP_NO_TYPE && !claims_are_good(&inference->claims, target))
		return;
	if (found == pointee || inference_has(inference, target, pointee, interior - prefix)) {
		tally->known++;
		tally->agreeing++;
		return;
	}
	// Bytes in which values are constructed may hold any.
	if (inference_leads_to(inference, target, table) ||
	    (found == HEAP_NO_TYPE && inference_is_raw(inference, target, interior - prefix)))
		return;
	tally->known++;
	majority_add(&tally->other, found);
}

static struct tally count_targets(const struct inference *inference, heap_object_id object,
				  heap_type_id pointee)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint32_t first = snapshot->edge_first[object], end = snapshot->edge_first[object + 1];
	struct sampler sampler = sampler_of((end - first) / CHECKED + 1);
	struct tally tally = { 0 };

	for (uint64_t i = sampler_next(&sampler); i < end - first; i = sampler_next(&sampler)) {
		progress_step();
		count_target(inference, object, pointee, first + (uint32_t)i, &tally);
	}
	return tally;
}

// --- tables without a name -----------------------------------------------------

// True if two pointers into blocks of one size, or into the same, are no multiple of some bytes apart: the
// blocks are no slabs of values of that size, whatever comes before the first.
static bool is_apart(const struct inference *inference, uint32_t one, uint32_t other, uint64_t size,
		     bool *is_pair)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint64_t interior = snapshot->edge_interior[one], second = snapshot->edge_interior[other];

	*is_pair = interior != second &&
		   inference_size(inference, snapshot->edge_target[one]) ==
			   inference_size(inference, snapshot->edge_target[other]);
	return *is_pair && interior % size != second % size;
}

bool pointer_tables_lead_astray(const struct inference *inference, heap_object_id table,
				heap_type_id type)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint32_t first = snapshot->edge_first[table], end = snapshot->edge_first[table + 1];
	uint64_t size = layouts_size(&inference->layouts, struct_of(inference, type));
	uint32_t apart = 0, pairs = 0;

	if (size <= sizeof(uint64_t))
		return false;
	end = end - first > FEW ? first + FEW : end;
	for (uint32_t i = first; i < end; i++) {
		for (uint32_t j = i + 1; j < end; j++) {
			bool is_pair;

			apart += is_apart(inference, i, j, size, &is_pair);
			pairs += is_pair;
		}
	}
	return pairs > 0 && apart * 2 > pairs;
}

// True if the pointers of a table lead to places that are as far apart as values of a type.
static bool has_stride(const struct inference *inference, heap_object_id table,
		       heap_type_id pointee)
{
	uint64_t size = layouts_size(&inference->layouts, pointee);

	return size >= LEAST_VALUE &&
	       pointer_strides_find(&inference->capture->snapshot, table) == size;
}

// The word of a block's pointers on a type that it may be several of.
enum word {
	REFUTED,
	POSSIBLE,
	PROVED,
};

// True if where most pointers of a table lead, no value of their pointee can be: by its contents.
static bool are_contradicted(const struct inference *inference, heap_object_id table,
			     heap_type_id pointee, uint64_t *words)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint32_t first = snapshot->edge_first[table], end = snapshot->edge_first[table + 1];
	struct sampler sampler = sampler_of((end - first) / READ + 1);
	uint32_t read = 0, against = 0;

	for (uint64_t i = sampler_next(&sampler); i < end - first; i = sampler_next(&sampler)) {
		heap_object_id target = snapshot->edge_target[first + i];
		uint64_t interior = snapshot->edge_interior[first + i],
			 prefix = inference_prefix(inference, target);
		struct content content;

		if (interior == UINT32_MAX || interior < prefix ||
		    !content_read_value(inference, target, interior - prefix, pointee, words,
					&content))
			continue;
		read++;
		against += content_score(inference, &content, pointee, 1) < 0;
	}
	return read >= MIN_READ && against * 2 > read;
}

static enum word ask(const struct inference *inference, heap_object_id object, heap_type_id type,
		     uint64_t *words)
{
	struct explained_pointers explained = explained_pointers_find(inference, object, type);
	heap_type_id pointee = struct_of(inference, type);
	struct layout_claim claim = inference_fit_weakly(inference, type, 0, object);
	struct content content;
	struct tally tally;

	if (claim.fit == LAYOUT_NONE || claim.type != type || explained.count < explained.asked ||
	    pointer_tables_lead_astray(inference, object, type))
		return REFUTED;
	content_read(inference, object, words, &content);
	// Contents may be left over where the last pointers would be, but not where the first one is.
	if (content_score(inference, &content, type, claim.elements) < 0 ||
	    (layouts_is_pointer(&inference->layouts, type) &&
	     content_contradicts(inference, &content, type)))
		return REFUTED;
	if (pointee == HEAP_NO_TYPE)
		return POSSIBLE;
	tally = count_targets(inference, object, pointee);
	if (tally.known < MIN_POINTERS) {
		if (are_contradicted(inference, object, pointee, words))
			return REFUTED;
		return has_stride(inference, object, pointee) ? PROVED : POSSIBLE;
	}
	return tally.agreeing * MOST >= tally.known * (MOST - 1) ? PROVED : REFUTED;
}

// The only type that a union's slots to a block's start may mean by what the block's pointers say.
static heap_type_id find_meant(const struct inference *inference, heap_object_id object,
			       uint64_t *words)
{
	heap_type_id found = HEAP_NO_TYPE;
	enum word best = REFUTED;
	uint32_t refuted = 0;
	bool is_only = true;

	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];
		enum word word;

		progress_step();
		if (!hint->either || !layouts_is_start(hint->interior) || hint->type == found)
			continue;
		word = ask(inference, object, hint->type, words);
		refuted += word == REFUTED;
		if (word == REFUTED || word < best)
			continue;
		is_only = word > best;
		best = word;
		found = hint->type;
	}
	return is_only && (best == PROVED || refuted > 0) ? found : HEAP_NO_TYPE;
}

HEAP_MUST_CHECK
static struct heap_error *claim_table(struct inference *inference, heap_object_id object,
				      uint64_t *words, uint64_t *claimed)
{
	heap_type_id found = find_meant(inference, object, words);

	if (found == HEAP_NO_TYPE || struct_of(inference, found) == HEAP_NO_TYPE)
		return NULL;
	++*claimed;
	return claims_add(
		&inference->claims, RANK_PASSED_FLEXIBLE,
		&(struct claim){ object, found,
				 inference_fit_weakly(inference, found, 0, object).elements,
				 HEAP_EVIDENCE_POINTER, false });
}

static bool has_pointers(const struct heap_snapshot *snapshot, heap_object_id object,
			 uint32_t least)
{
	return snapshot->edge_first[object + 1] - snapshot->edge_first[object] >= least;
}

struct heap_error *pointer_tables_claim(struct inference *inference, uint64_t *claimed)
{
	const heap_object_id count = inference->capture->objects.count;
	const struct claims *claims = &inference->claims;
	CLEANUP_FREE uint64_t *words = malloc((CONTENT_WORDS + 1) * sizeof(*words));

	if (!words)
		return heap_error_out_of_memory();
	for (heap_object_id i = inference_next_hinted(inference, 0, count);
	     i < count && !progress_is_late(); i = inference_next_hinted(inference, i + 1, count)) {
		progress_step();
		if (claims_lack(claims, i) &&
		    has_pointers(&inference->capture->snapshot, i, MIN_PAIR))
			HEAP_TRY(claim_table(inference, i, words, claimed));
	}
	return NULL;
}

// --- tables with a wrong name --------------------------------------------------

// True if a table's name may be wrong. Where a variable got the block, its type stands.
static bool may_be_wrong(const struct inference *inference, heap_object_id object)
{
	const struct claims *claims = &inference->claims;

	return claims->rank[object] >= RANK_EXACT && claims->rank[object] != RANK_SITE &&
	       claims->rank[object] != RANK_NONE && !claims->is_renamed[object] &&
	       struct_of(inference, inference_type(inference, object)) != HEAP_NO_TYPE;
}

// [types] a pointer to each type that has one; by the type's own name rather than a typedef's.
static heap_type_id *list_pointers(const struct inference *inference)
{
	const struct heap_types *types = inference->layouts.types;
	heap_type_id *pointers = calloc(types->count, sizeof(*pointers));

	for (heap_type_id id = 1; pointers && id < types->count; id++) {
		heap_type_id pointee;

		if (!layouts_is_pointer(&inference->layouts, id))
			continue;
		pointee = layouts_strip(&inference->layouts, types->types[id].target);
		if (pointers[pointee] == HEAP_NO_TYPE ||
		    (types->types[id].target == pointee &&
		     types->types[pointers[pointee]].target != pointee))
			pointers[pointee] = id;
	}
	return pointers;
}

HEAP_MUST_CHECK
static struct heap_error *mend(struct inference *inference, heap_object_id object,
			       const struct tally *tally, heap_type_id **pointers, uint64_t *mended)
{
	uint64_t elements = inference_size(inference, object) / sizeof(uint64_t);
	heap_type_id pointer;

	if (!*pointers)
		*pointers = list_pointers(inference);
	if (!*pointers)
		return heap_error_out_of_memory();
	// Those that do not agree but for one of MOST are of one type.
	pointer = tally->other.value != HEAP_NO_TYPE &&
				  tally->other.lead * MOST >= tally->known * (MOST - 2)
			  ? (*pointers)[tally->other.value]
			  : HEAP_NO_TYPE;
	inference_unname(inference, object);
	++*mended;
	if (pointer == HEAP_NO_TYPE)
		return NULL;
	return claims_add(
		&inference->claims, RANK_PASSED_EXACT,
		&(struct claim){ object, pointer, elements, HEAP_EVIDENCE_POINTER, false });
}

struct heap_error *pointer_tables_mend(struct inference *inference, uint64_t *mended)
{
	CLEANUP_FREE heap_type_id *pointers = NULL;

	for (heap_object_id i = 0; i < inference->capture->objects.count && !progress_is_late();
	     i++) {
		struct tally tally;

		progress_step();
		if (!has_pointers(&inference->capture->snapshot, i, MIN_POINTERS) ||
		    !may_be_wrong(inference, i))
			continue;
		tally = count_targets(inference, i,
				      struct_of(inference, inference_type(inference, i)));
		if (tally.known >= MIN_POINTERS && tally.agreeing * MOST <= tally.known)
			HEAP_TRY(mend(inference, i, &tally, &pointers, mended));
	}
	return NULL;
}
