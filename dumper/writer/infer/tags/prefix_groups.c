// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/tags/prefix_groups.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/deep_content.h"
#include "dumper/writer/infer/inference.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>

enum {
	LARGEST_NUMBER = 4, // bytes
	GROUPS = 64,        // values of one number
	LEAST = 8,          // blocks of a group
	AGREEING = 95,      // per cent of these
	RIVALS = 16,        // structs that agree with one group: of more, none is elected
	STRUCTS = 128,      // of one size that begin with a prefix: likewise
	SAMPLES = 256,      // blocks of a group whose sizes are looked at
};

// A struct that agrees with a group.
struct rival {
	heap_type_id type;
	int64_t score; // of a block on average, times the samples of all: see average()
	uint32_t samples;
};

// The blocks with one value of the number.
struct group {
	uint64_t value;
	struct deep_values blocks;
	struct rival rivals[RIVALS];
	uint32_t count;       // of rivals
	heap_type_id elected; // HEAP_NO_TYPE: none
	bool is_doubtful;     // another group agrees better with what it has elected
};

struct grouping {
	struct inference *inference;
	struct deep_content deep;
	heap_type_id prefix;
	struct HEAP_ARRAY(heap_object_id) blocks; // without a name that begin with it
	struct group *groups;                     // [GROUPS]
	uint32_t count;
	uint64_t *words; // [CONTENT_WORDS + 1]
};

static void release(struct grouping *grouping)
{
	for (uint32_t i = 0; grouping->groups && i < GROUPS; i++)
		heap_array_deinit(&grouping->groups[i].blocks);
	heap_array_deinit(&grouping->blocks);
	deep_content_deinit(&grouping->deep);
	free(grouping->groups);
	free(grouping->words);
}

// --- groups -----------------------------------------------------------------------------------

// True if a pointer to a prefix leads to the start of a block without a name.
static bool begins_with(const struct inference *inference, heap_object_id object,
			heap_type_id prefix)
{
	if (!hints_have(&inference->hints, object) || claims_are_good(&inference->claims, object) ||
	    pools_have(&inference->pools, object))
		return false;
	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (layouts_is_start(hint->interior) && !hint->either &&
		    layouts_strip(&inference->layouts, hint->type) == prefix)
			return true;
	}
	return false;
}

HEAP_MUST_CHECK
static struct heap_error *find_blocks(struct grouping *grouping)
{
	const struct inference *inference = grouping->inference;

	grouping->blocks.count = 0;
	for (heap_object_id i = 0; i < inference->capture->objects.count && !progress_is_late();
	     i++) {
		progress_step();
		if (begins_with(inference, i, grouping->prefix))
			HEAP_TRY(heap_array_append(&grouping->blocks, i));
	}
	return NULL;
}

static struct group *require_group(struct grouping *grouping, uint64_t value)
{
	struct group *group;

	for (uint32_t i = 0; i < grouping->count; i++) {
		if (grouping->groups[i].value == value)
			return &grouping->groups[i];
	}
	if (grouping->count == GROUPS)
		return NULL;
	group = &grouping->groups[grouping->count++];
	group->value = value;
	group->blocks.count = group->count = 0;
	group->elected = HEAP_NO_TYPE;
	group->is_doubtful = false;
	return group;
}

// Groups the blocks by a number. @param result  gets false if it has too many values
HEAP_MUST_CHECK
static struct heap_error *find_groups(struct grouping *grouping, const struct header_member *member,
				      bool *result)
{
	const struct inference *inference = grouping->inference;

	grouping->count = 0;
	*result = false;
	for (size_t i = 0; i < grouping->blocks.count; i++) {
		heap_object_id object = grouping->blocks.items[i];
		struct header header;
		struct group *group;

		progress_step();
		inference_read_header(inference, object, &header);
		group = require_group(grouping, headers_value(member, &header));
		if (!group)
			return NULL;
		HEAP_TRY(heap_array_append(
			&group->blocks,
			((struct deep_value){ object, 0, inference_size(inference, object),
					      inference_slack(inference, object) })));
	}
	*result = grouping->count > 1;
	return NULL;
}

// --- what they are ----------------------------------------------------------------------------

// True if nearly all blocks of a sample of a group are of a size that a struct has.
static bool fits(const struct inference *inference, const struct group *group, heap_type_id type)
{
	size_t step = group->blocks.count / SAMPLES + 1;
	uint32_t fitting = 0, samples = 0;

	for (size_t i = 0; i < group->blocks.count; i += step) {
		struct layout_claim claim =
			inference_fit(inference, type, group->blocks.items[i].object);

		progress_step();
		samples++;
		fitting += claim.fit == LAYOUT_EXACT && claim.elements == 1;
	}
	return fitting * UINT64_C(100) >= samples * (uint64_t)AGREEING;
}

// Finds the structs that agree with a group; none, if there are too many. @return false: there are none, so that its
// blocks are not alike
static bool find_rivals(const struct grouping *grouping, struct group *group)
{
	const struct inference *inference = grouping->inference;
	const struct deep_value *first = &group->blocks.items[0];
	const struct layout_wholes wholes = layouts_exact_wholes(
		&inference->layouts, grouping->prefix, 0, first->size, first->slack);

	if (wholes.end - wholes.at > STRUCTS)
		return true;
	for (const struct layout_part *part = wholes.at; part < wholes.end; part++) {
		struct deep_verdict found;

		if (!fits(inference, group, part->whole))
			continue;
		found = deep_content_judge(&grouping->deep, &group->blocks, part->whole);
		if (found.against * UINT64_C(100) > found.samples * (100 - AGREEING))
			continue;
		if (group->count == RIVALS) {
			group->count = 0;
			return true;
		}
		group->rivals[group->count++] =
			(struct rival){ part->whole, found.score, found.samples };
	}
	return group->count > 0;
}

// True if each block agrees better with one than with the other by a pointer, on average.
static bool is_better(const struct rival *one, const struct rival *other)
{
	return one->samples > 0 && one->score >= other->score + one->samples;
}

// True if a group is another one's struct no more: it agrees less than the blocks that elected that one.
static bool is_taken(const struct grouping *grouping, const struct group *group,
		     const struct rival *rival)
{
	for (uint32_t i = 0; i < grouping->count; i++) {
		const struct group *other = &grouping->groups[i];

		if (other == group || other->elected != rival->type)
			continue;
		for (uint32_t j = 0; j < other->count; j++) {
			const struct rival *own = &other->rivals[j];

			if (own->type == rival->type &&
			    own->score * rival->samples >=
				    (rival->score + rival->samples) * (int64_t)own->samples)
				return true;
		}
	}
	return false;
}

// Elects the struct that agrees best with a group. @param among_left  those that others have elected do not count
static void elect(const struct grouping *grouping, struct group *group, bool among_left)
{
	const struct rival *best = NULL;
	bool is_clear = false;

	for (uint32_t i = 0; i < group->count; i++) {
		const struct rival *rival = &group->rivals[i];

		if (among_left && is_taken(grouping, group, rival))
			continue;
		if (!best || rival->score > best->score) {
			is_clear = !best || is_better(rival, best);
			best = rival;
		} else {
			is_clear = is_clear && is_better(best, rival);
		}
	}
	if (is_clear)
		group->elected = best->type;
}

// Finds the groups whose struct another one agrees better with, though they may be of other structs.
static void find_doubtful(const struct grouping *grouping)
{
	for (uint32_t i = 0; i < grouping->count; i++) {
		struct group *group = &grouping->groups[i];

		for (uint32_t j = 0; group->count > 1 && j < group->count; j++)
			group->is_doubtful |= group->rivals[j].type == group->elected &&
					      is_taken(grouping, group, &group->rivals[j]);
	}
	for (uint32_t i = 0; i < grouping->count; i++) {
		if (grouping->groups[i].is_doubtful)
			grouping->groups[i].elected = HEAP_NO_TYPE;
	}
}

// The number of structs that groups have elected; 0: some group is of none.
static uint32_t elect_all(struct grouping *grouping)
{
	uint32_t result = 0;

	for (uint32_t i = 0; i < grouping->count; i++) {
		struct group *group = &grouping->groups[i];

		if (group->blocks.count < LEAST)
			continue;
		if (!find_rivals(grouping, group))
			return 0;
		elect(grouping, group, false);
	}
	find_doubtful(grouping);
	for (uint32_t i = 0; i < grouping->count; i++) {
		struct group *group = &grouping->groups[i];
		bool is_new = true;

		if (group->elected == HEAP_NO_TYPE && !group->is_doubtful)
			elect(grouping, group, true);
		for (uint32_t j = 0; j < i; j++)
			is_new = is_new && grouping->groups[j].elected != group->elected;
		result += group->elected != HEAP_NO_TYPE && is_new;
	}
	return result;
}

// --- claims -----------------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *claim_block(const struct grouping *grouping, heap_object_id object,
				      heap_type_id type, uint64_t *claimed)
{
	struct inference *inference = grouping->inference;
	struct layout_claim claim = inference_fit(inference, type, object);
	struct content content;

	if (claim.fit != LAYOUT_EXACT || claim.elements != 1 ||
	    hints_ask(inference, object, type) == VERDICT_AGAINST)
		return NULL;
	content_read(inference, object, grouping->words, &content);
	if (content_score(inference, &content, type, 1) < 0)
		return NULL;
	++*claimed;
	return claims_add(&inference->claims, RANK_VOTE,
			  &(struct claim){ object, type, 1, HEAP_EVIDENCE_TAG, false });
}

HEAP_MUST_CHECK
static struct heap_error *claim_groups(const struct grouping *grouping, uint64_t *claimed)
{
	for (uint32_t i = 0; i < grouping->count; i++) {
		const struct group *group = &grouping->groups[i];

		for (size_t j = 0; group->elected != HEAP_NO_TYPE && j < group->blocks.count; j++)
			HEAP_TRY(claim_block(grouping, group->blocks.items[j].object,
					     group->elected, claimed));
	}
	return NULL;
}

// Claims the blocks that begin with a prefix, by the number that tells most structs apart.
HEAP_MUST_CHECK
static struct heap_error *claim_prefix(struct grouping *grouping, uint64_t *claimed)
{
	struct header_members members = { .count = 0 };
	const struct header_member *found = NULL;
	uint32_t most = 1;
	bool are_groups;

	HEAP_TRY(find_blocks(grouping));
	if (grouping->blocks.count < LEAST)
		return NULL;
	if (!grouping->deep.inference)
		HEAP_TRY(deep_content_init(&grouping->deep, grouping->inference));
	headers_gather(grouping->inference->layouts.types, grouping->prefix, &members);
	for (uint32_t i = 0; i < members.count && !progress_is_late(); i++) {
		uint32_t told;

		if (members.list[i].size > LARGEST_NUMBER)
			continue;
		HEAP_TRY(find_groups(grouping, &members.list[i], &are_groups));
		told = are_groups ? elect_all(grouping) : 0;
		if (told > most) {
			most = told;
			found = &members.list[i];
		}
	}
	if (!found)
		return NULL;
	HEAP_TRY(find_groups(grouping, found, &are_groups));
	elect_all(grouping);
	return claim_groups(grouping, claimed);
}

struct heap_error *prefix_groups_claim(struct inference *inference, uint64_t *claimed)
{
	const struct common_prefixes *prefixes = &inference->common_prefixes;
	CLEANUP(release)
	struct grouping grouping = {
		.inference = inference,
		.groups = calloc(GROUPS, sizeof(*grouping.groups)),
		.words = malloc((CONTENT_WORDS + 1) * sizeof(*grouping.words)),
	};

	if (!grouping.groups || !grouping.words)
		return heap_error_out_of_memory();
	if (inference_has_sites(inference))
		return NULL;
	for (uint32_t i = 0; i < prefixes->count && !progress_is_late(); i++) {
		grouping.prefix = prefixes->types[i];
		HEAP_TRY(claim_prefix(&grouping, claimed));
	}
	return NULL;
}
