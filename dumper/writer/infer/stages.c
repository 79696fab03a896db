// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/stages.h"

#include "dumper/writer/infer/apply_claims.h"
#include "dumper/writer/infer/arrays/array_lengths.h"
#include "dumper/writer/infer/arrays/bounded_arrays.h"
#include "dumper/writer/infer/arrays/pointer_tables.h"
#include "dumper/writer/infer/arrays/proven_arrays.h"
#include "dumper/writer/infer/arrays/ring_arrays.h"
#include "dumper/writer/infer/classes/bucket_tables.h"
#include "dumper/writer/infer/classes/counted_singles.h"
#include "dumper/writer/infer/inference.h"
#include "dumper/writer/infer/naming.h"
#include "dumper/writer/infer/parts/payloads.h"
#include "dumper/writer/infer/prefixes/headed_arrays.h"
#include "dumper/writer/infer/prefixes/linked_prefixes.h"
#include "dumper/writer/infer/sites/unplaced_variables.h"
#include "dumper/writer/infer/sizes/larger_targets.h"
#include "dumper/writer/infer/sizes/likeness.h"
#include "dumper/writer/infer/sizes/measured_links.h"
#include "dumper/writer/infer/sizes/rounded_sizes.h"
#include "dumper/writer/infer/tags/named_pointees.h"
#include "dumper/writer/infer/tags/own_methods.h"
#include "dumper/writer/infer/tags/prefix_groups.h"
#include "dumper/writer/infer/tags/tagged_slots.h"
#include "dumper/writer/infer/texts/text_headers.h"
#include "dumper/writer/infer/texts/unaligned_texts.h"
#include "dumper/writer/infer/void_pointers/void_pointers.h"

#include "dumper/writer/base/progress.h"

enum {
	PATIENT_ROUNDS = 8,  // small ones; then pools are divided without waiting for single hints
	MAX_PROOFS = 64,     // passes that find arrays, one behind the other
	EACH_TIME = 0,       // a stage that runs, however little is new
	FEW_NEW = 128,       // claims on less than one in so many objects are few
	FEW_FOR_UNIONS = 16, // likewise, for the tags of unions
	FEW_TO_LEARN = 1024, // likewise, to learn from
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

struct heap_error *stages_settle(struct inference *inference)
{
	HEAP_TRY(apply_all(inference));
	claims_rest(&inference->claims);
	return NULL;
}

// --- stages of several parts ------------------------------------------------------

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
		HEAP_TRY(stages_settle(inference));
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
		HEAP_TRY(stages_settle(inference));
		HEAP_TRY(proven_arrays_claim(inference, &more));
		*named += more;
	}
	return NULL;
}

// Follows the pointers of blocks that have got a prefix to others like them: of a list, which hints name node by node, each
// pass over all blocks would find one.
HEAP_MUST_CHECK
static struct heap_error *follow_prefixes(struct inference *inference, uint64_t *named)
{
	uint64_t all = 0, more;

	do {
		more = 0;
		HEAP_TRY(stages_settle(inference));
		HEAP_TRY(block_prefixes_follow(inference, &more));
		all += more;
	} while (more > 0 && !progress_is_late());
	*named += all;
	return all > 0 ? kinds_sort(inference) : NULL;
}

// Finds the block prefixes and pointer tags of runtimes. These passes cost as much as all others
// together, so they wait until much is new, or nothing else is left.
HEAP_MUST_CHECK
static struct heap_error *find_runtimes(struct inference *inference, bool is_thorough,
					uint64_t *named)
{
	uint64_t found = 0;

	HEAP_TRY(block_prefixes_find(inference, BLOCK_PREFIX_STRUCTS, is_thorough, &found));
	if (found > 0)
		HEAP_TRY(follow_prefixes(inference, &found));
	*named += found;
	HEAP_TRY(linked_prefixes_spread(inference, named));
	return pointer_tags_apply(inference, is_thorough, named);
}

// Divides pools when single hints name only a few blocks per round: a page of chunks looks like an
// array, and leads to the next page.
HEAP_MUST_CHECK
static struct heap_error *cut_early(struct inference *inference, uint64_t *named)
{
	if (inference->small_rounds <= PATIENT_ROUNDS || progress_is_late())
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

// Flags in pointers and links of free parts are asked first, both of them.
HEAP_MUST_CHECK
static struct heap_error *begin(struct inference *inference, uint64_t *named)
{
	HEAP_TRY(flagged_pointers_decide(inference, named));
	return free_lists_cut(inference, named);
}

HEAP_MUST_CHECK
static struct heap_error *find_runtimes_soon(struct inference *inference, uint64_t *named)
{
	return progress_is_late() ? NULL : find_runtimes(inference, false, named);
}

HEAP_MUST_CHECK
static struct heap_error *find_runtimes_late(struct inference *inference, uint64_t *named)
{
	return find_runtimes(inference, true, named);
}

HEAP_MUST_CHECK
static struct heap_error *name_surely_in_time(struct inference *inference, uint64_t *named)
{
	return progress_is_late() ? NULL : name_surely(inference, named);
}

HEAP_MUST_CHECK
static struct heap_error *ask_void_pointers(struct inference *inference, uint64_t *named)
{
	return void_pointers_claim(inference, false, named);
}

HEAP_MUST_CHECK
static struct heap_error *read_behind_void_pointers(struct inference *inference, uint64_t *named)
{
	return void_pointers_claim(inference, true, named);
}

HEAP_MUST_CHECK
static struct heap_error *take_bases(struct inference *inference, uint64_t *named)
{
	return progress_is_late() ? NULL : pointer_tags_take_bases(inference, named);
}

HEAP_MUST_CHECK
static struct heap_error *compare(struct inference *inference, uint64_t *named)
{
	return pass(inference, &inference->likeness, FEW_NEW)
		       ? likeness_claim(inference, false, named)
		       : NULL;
}

// Before chains are named node by node.
HEAP_MUST_CHECK
static struct heap_error *compare_early(struct inference *inference, uint64_t *named)
{
	return inference->small_rounds > 0 ? compare(inference, named) : NULL;
}

HEAP_MUST_CHECK
static struct heap_error *name_all_kinds(struct inference *inference, uint64_t *named)
{
	HEAP_TRY(naming_claim(inference, NAMING_SURE, PASS_ALL, named));
	return *named == 0 ? naming_claim(inference, NAMING_LIKELY, PASS_ALL, named) : NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_arrays(struct inference *inference, uint64_t *named)
{
	HEAP_TRY(prove_arrays(inference, named));
	HEAP_TRY(ring_arrays_claim(inference, named));
	return pointer_tables_claim(inference, named);
}

HEAP_MUST_CHECK
static struct heap_error *round_sizes(struct inference *inference, uint64_t *named)
{
	return rounded_sizes_claim(inference, false, named);
}

HEAP_MUST_CHECK
static struct heap_error *round_all_sizes(struct inference *inference, uint64_t *named)
{
	return rounded_sizes_claim(inference, true, named);
}

HEAP_MUST_CHECK
static struct heap_error *cut_pools(struct inference *inference, uint64_t *named)
{
	return pools_cut(inference, false, named);
}

HEAP_MUST_CHECK
static struct heap_error *cut_all_pools(struct inference *inference, uint64_t *named)
{
	return pools_cut(inference, true, named);
}

HEAP_MUST_CHECK
static struct heap_error *compare_lost(struct inference *inference, uint64_t *named)
{
	return likeness_claim(inference, true, named);
}

// --- the order ------------------------------------------------------------------------

static const struct stage {
	struct heap_error *(*run)(struct inference *inference, uint64_t *named);
	uint32_t share; // it only runs if claims on one in so many objects are new
	bool is_cheap;  // it visits news only
} stages[] = {
	{ begin, EACH_TIME, true },
	{ bounded_arrays_claim, FEW_NEW, true },
	{ headed_arrays_cut, FEW_NEW, true },
	{ counted_singles_claim, FEW_NEW, true },
	{ find_runtimes_soon, EACH_TIME, true },
	{ name_surely_in_time, EACH_TIME, true },
	{ tagged_slots_cut, FEW_NEW, false },
	{ bucket_tables_find, FEW_NEW, false },
	{ text_headers_claim, FEW_NEW, false },
	{ named_pointees_claim, FEW_NEW, false },
	{ ask_void_pointers, FEW_NEW, false },
	{ find_runtimes_late, EACH_TIME, false },
	{ name_prefixed_texts, EACH_TIME, false },
	{ union_tags_learn, FEW_FOR_UNIONS, false },
	{ array_lengths_claim, FEW_NEW, false },
	{ measured_links_claim, FEW_NEW, false },
	{ compare_early, EACH_TIME, false },
	{ name_likely, EACH_TIME, false },
	{ name_all_kinds, FEW_NEW, false },
	{ unplaced_variables_claim, EACH_TIME, false },
	{ find_arrays, FEW_NEW, false },
	{ prefix_groups_claim, FEW_NEW, false },
	{ cut_early, EACH_TIME, false },
	{ naming_weigh_hints, EACH_TIME, false },
	{ round_sizes, EACH_TIME, false },
	{ compare, EACH_TIME, false },
	{ cut_pools, EACH_TIME, false },
	{ payloads_find, FEW_NEW, false },
	{ own_methods_claim, FEW_NEW, false },
	{ read_behind_void_pointers, FEW_NEW, false },
	{ take_bases, EACH_TIME, false },
	{ naming_ask_few, FEW_NEW, false },
	{ naming_reconsider, EACH_TIME, false },
	{ round_all_sizes, EACH_TIME, false },
	{ larger_targets_claim, EACH_TIME, false },
	{ cut_all_pools, EACH_TIME, false },
	{ compare_lost, FEW_NEW, false },
};

struct heap_error *stages_advance(struct inference *inference, uint64_t *named, bool *is_cheap)
{
	enum {
		COUNT = sizeof(stages) / sizeof(stages[0]),
	};
	_Static_assert((int)COUNT <= (int)MAX_STAGES, "a gate for each stage");

	HEAP_TRY(stages_settle(inference));
	*named = 0;
	*is_cheap = false;
	for (int i = 0; i < COUNT && *named == 0; i++) {
		if (stages[i].share != EACH_TIME &&
		    !pass(inference, &inference->gates[i], stages[i].share))
			continue;
		HEAP_TRY(stages[i].run(inference, named));
		*is_cheap = stages[i].is_cheap && *named > 0;
	}
	return NULL;
}
