// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Names for the blocks of a wrapper's callers. What one caller makes is arrays or texts of one type if nearly all
 * of its blocks with a name are, whatever the wrapper's other callers make. Where none of them has a name, the
 * caller's own pointer to characters tells, if there are no pointers in the blocks.
 */
#include "dumper/writer/infer/majority.h"
#include "dumper/writer/infer/naming.h"

#include "dumper/writer/base/progress.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/hash_table.h"

enum {
	STEPS = 64, // each so many-th block without a name is a sample
	LEAST = 16, // blocks without a name: each round of names has its price
};

// The blocks of one caller.
struct caller {
	heap_site_id site;
	struct majority majority;
	heap_type_id
		meant;     // characters that the variable with the block points to, or HEAP_NO_TYPE
	heap_type_id type; // of most, if most have one; else what is meant
	uint32_t prefix;   // of the blocks with a name: it counts for those with the same
	uint32_t voters, votes, open;
	uint32_t samples, agreeing; // of the open ones
};

struct callers {
	struct HEAP_ARRAY(struct caller) list;
	struct heap_hash_table by_site;
};

static void callers_deinit(struct callers *callers)
{
	heap_array_deinit(&callers->list);
	heap_hash_table_deinit(&callers->by_site);
}

// @return NULL: the caller of a block is not known
static struct caller *find(const struct inference *inference, const struct callers *callers,
			   heap_object_id object)
{
	heap_site_id site = inference_site(inference, object);
	uint32_t found = heap_hash_find(&callers->by_site, heap_hash_u64(site), i,
					callers->list.items[i].site == site);

	return found == HEAP_HASH_NONE ? NULL : &callers->list.items[found];
}

// The characters that the caller's variable with the block points to; HEAP_NO_TYPE: it points to something else.
static heap_type_id find_meant(const struct inference *inference, heap_site_id site)
{
	const struct site_types *types = &inference->kinds.site_types[site];

	for (uint32_t i = 0; i < types->count; i++) {
		if (types->list[i].is_result)
			return layouts_is_character(&inference->layouts, types->list[i].type)
				       ? types->list[i].type
				       : HEAP_NO_TYPE;
	}
	return HEAP_NO_TYPE;
}

// Finds the only type that can have the majority for each caller.
HEAP_MUST_CHECK
static struct heap_error *elect(const struct inference *inference, const struct site_summary *maker,
				struct callers *callers)
{
	const struct kinds *kinds = &inference->kinds;
	uint32_t first = kinds->kinds[maker->first].first;

	for (uint32_t i = first; i < first + maker->objects; i++) {
		heap_object_id object = kinds->members[i];
		heap_type_id type = inference_type(inference, object);
		heap_site_id site = inference_site(inference, object);
		struct caller *caller = find(inference, callers, object);

		progress_step();
		if (site == maker->site || !inference_knows_site(inference, site))
			continue;
		if (!caller) {
			HEAP_TRY(heap_hash_add(&callers->by_site, heap_hash_u64(site),
					       (uint32_t)callers->list.count));
			heap_type_id meant = find_meant(inference, site);

			HEAP_TRY(heap_array_append(
				&callers->list,
				((struct caller){ .site = site, .meant = meant, .type = meant })));
			caller = &callers->list.items[callers->list.count - 1];
		}
		if (inference->claims.rank[object] == RANK_NONE) {
			caller->open++;
			continue;
		}
		if (caller->voters++ == 0)
			caller->prefix = inference_prefix(inference, object);
		majority_add(&caller->majority, type);
		caller->type = (heap_type_id)caller->majority.value;
	}
	return NULL;
}

static bool has_prefix(const struct inference *inference, const struct caller *caller,
		       heap_object_id object)
{
	return inference_prefix(inference, object) == caller->prefix;
}

// True if a block may be one or several of its caller's type. Behind another prefix, or none, is something else, or
// that prefix is not known yet.
static bool may_have(const struct inference *inference, const struct caller *caller,
		     heap_object_id object, uint64_t *words)
{
	return has_prefix(inference, caller, object) &&
	       naming_may_repeat(inference, object, caller->type, words);
}

// Counts the votes for the callers' types, and the samples without a name that agree.
static void count(const struct inference *inference, const struct site_summary *maker,
		  struct callers *callers, uint64_t *words)
{
	const struct kinds *kinds = &inference->kinds;
	uint32_t first = kinds->kinds[maker->first].first;

	for (uint32_t i = first; i < first + maker->objects; i++) {
		heap_object_id object = kinds->members[i];
		struct caller *caller = find(inference, callers, object);

		progress_step();
		if (!caller || caller->type == HEAP_NO_TYPE)
			continue;
		if (inference->claims.rank[object] != RANK_NONE) {
			caller->votes += inference_type(inference, object) == caller->type &&
					 has_prefix(inference, caller, object);
			continue;
		}
		if (caller->samples++ % (caller->open / STEPS + 1) == 0)
			caller->agreeing += may_have(inference, caller, object, words);
	}
}

// True if the variable with the blocks is to be believed: few of them have a name, and that is no other.
static bool is_meant(const struct caller *caller)
{
	return caller->type == caller->meant && caller->votes < NAMING_VOTERS;
}

static bool is_elected(const struct caller *caller)
{
	uint32_t step = caller->open / STEPS + 1, samples = (caller->open + step - 1) / step;

	return caller->open >= LEAST && (caller->votes >= NAMING_VOTERS || is_meant(caller)) &&
	       caller->votes * UINT64_C(1000) >= caller->voters * (uint64_t)NAMING_PER_MILLE &&
	       caller->agreeing * UINT64_C(1000) >= samples * (uint64_t)NAMING_PER_MILLE;
}

struct heap_error *name_callers(struct inference *inference, const struct site_summary *maker,
				uint64_t *words, uint64_t *claimed)
{
	const struct kinds *kinds = &inference->kinds;
	uint32_t first = kinds->kinds[maker->first].first;
	CLEANUP(callers_deinit) struct callers callers = { 0 };

	if (!kinds->is_wrapper[maker->site])
		return NULL;
	HEAP_TRY(elect(inference, maker, &callers));
	if (callers.list.count == 0)
		return NULL;
	count(inference, maker, &callers, words);
	for (uint32_t i = first; i < first + maker->objects && !progress_is_late(); i++) {
		heap_object_id object = kinds->members[i];
		const struct caller *caller = find(inference, &callers, object);

		progress_step();
		if (!caller || !is_elected(caller) || inference->claims.rank[object] != RANK_NONE ||
		    !may_have(inference, caller, object, words))
			continue;
		HEAP_TRY(naming_claim_member(
			inference, object,
			&(struct candidate){
				.type = caller->type,
				.elements = naming_elements(inference, object, caller->type) },
			is_meant(caller) ? RANK_SITE : RANK_VOTE, claimed));
	}
	return NULL;
}
