// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/sizes/larger_targets.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/candidates.h"
#include "dumper/writer/infer/inference.h"
#include "lib/base/array.h"
#include "lib/base/hash_table.h"

#include <stdlib.h>
#include <string.h>

enum {
	LEAST_SIZE = 8,   // bytes of the smaller struct: a pointer
	LEAST_BLOCKS = 3, // of a size: glibc leaves the rest of a free chunk to few
	LEAST_CONFIRMED =
		8, // blocks whose contents speak for the struct, for others that have none
	MAX_WHOLES = 16,
	SHORT_TEXT = 4, // bytes, with the NUL
};

// A struct that a block may be by its size and its beginning: a larger one, or the smaller one itself.
struct whole {
	heap_type_id type;
	uint32_t wins; // blocks whose contents agree better with it than with any other
};

// Blocks of a size that begin with a struct.
struct larger_target {
	heap_type_id beginning;
	uint64_t size, slack;
	uint32_t blocks, confirmed;
	struct whole wholes[MAX_WHOLES]; // [count]
	uint32_t count, won;
	heap_type_id
		named; // the only larger one that has the name of the smaller one, or HEAP_NO_TYPE
	bool is_open;  // any size may be that of others, or there are too many
};

struct larger_targets {
	struct HEAP_ARRAY(struct larger_target) list; // each once
	struct heap_hash_table by_beginning;
};

// A block, and what is known of its beginning.
struct beginning {
	heap_object_id object;
	heap_type_id type; // HEAP_NO_TYPE: it has none
	int score;         // of its content
};

struct larger_targets *larger_targets_create(void)
{
	return calloc(1, sizeof(struct larger_targets));
}

void larger_targets_destroy(struct larger_targets *targets)
{
	if (!targets)
		return;
	heap_array_deinit(&targets->list);
	heap_hash_table_deinit(&targets->by_beginning);
	free(targets);
}

// --- one block ---------------------------------------------------------------

static bool is_at_start(const struct inference *inference, const struct hint *hint)
{
	const struct layouts *layouts = &inference->layouts;

	return layouts_is_start(hint->interior) && !hint->either &&
	       layouts_is_compound(layouts, hint->type) && !layouts_is_link(layouts, hint->type) &&
	       !layouts_is_flexible(layouts, hint->type) &&
	       layouts_size(layouts, hint->type) >= LEAST_SIZE;
}

// The struct that typed slots lead to at a block's start, the one that has all others as its first part.
static heap_type_id find_hinted(const struct inference *inference, heap_object_id object)
{
	heap_type_id found = HEAP_NO_TYPE;

	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (is_at_start(inference, hint) &&
		    (found == HEAP_NO_TYPE ||
		     layouts_says_more(&inference->layouts, hint->type, found)))
			found = hint->type;
	}
	return found;
}

// True if no slot says that there is something else in a block, or that it has several parts.
static bool are_agreed(const struct inference *inference, heap_object_id object, heap_type_id type)
{
	uint64_t size = layouts_size(&inference->layouts, type);

	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (hint->interior < size
			    ? hint_ask(inference, hint, type) == VERDICT_AGAINST
			    : layouts_is_compound(&inference->layouts, hint->type) && !hint->either)
			return false;
	}
	return true;
}

// True if a block rather is a text. The number with which a base begins may look like one letter.
static bool reads_as_text(const struct inference *inference, const struct content *content,
			  heap_type_id type)
{
	bool is_short = content->count > 0 && memchr(content->words, '\0', SHORT_TEXT);

	return !(is_short && layouts_is_base(&inference->layouts, type)) &&
	       content_is_text(inference, content, inference_size(inference, content->object));
}

// Finds the struct with which a block begins, and how well its content agrees.
static struct beginning find_beginning(const struct inference *inference, heap_object_id object)
{
	struct beginning beginning = { object, find_hinted(inference, object), 0 };
	uint64_t words[CONTENT_WORDS + 1];
	struct content content;
	uint64_t size;

	if (beginning.type == HEAP_NO_TYPE)
		return beginning;
	size = layouts_size(&inference->layouts, beginning.type);
	content_read(inference, object, words, &content);
	beginning.score = content_score(inference, &content, beginning.type, 1);
	if (size >= inference_size(inference, object) || beginning.score < 0 ||
	    content_contradicts(inference, &content, beginning.type) ||
	    !are_agreed(inference, object, beginning.type) ||
	    reads_as_text(inference, &content, beginning.type))
		beginning.type = HEAP_NO_TYPE;
	return beginning;
}

// --- blocks of a size ---------------------------------------------------------

static bool have_one_name(const struct heap_types *types, heap_type_id one, heap_type_id other)
{
	const char *name = heap_types_string(types, types->types[one].name);

	return *name != '\0' &&
	       strcmp(name, heap_types_string(types, types->types[other].name)) == 0;
}

// Finds the structs of a size that begin with the members of a smaller one, and that itself.
static void find_wholes(const struct layouts *layouts, struct larger_target *target)
{
	const struct layout_wholes wholes =
		layouts_exact_wholes(layouts, target->beginning, 0, target->size, target->slack);
	const struct layout_wholes flexible =
		layouts_flexible_wholes(layouts, target->beginning, 0, target->size);
	uint64_t size = layouts_size(layouts, target->beginning);
	uint32_t named = 0;

	target->is_open = flexible.at < flexible.end;
	if (target->size % size <= target->slack)
		target->wholes[target->count++].type = target->beginning;
	for (const struct layout_part *at = wholes.at; at < wholes.end; at++) {
		progress_step();
		if (at->size <= size)
			continue;
		if (have_one_name(layouts->types, target->beginning, at->whole)) {
			named++;
			target->named = at->whole;
		}
		if (target->count < MAX_WHOLES)
			target->wholes[target->count++].type = at->whole;
		else
			target->is_open = true;
	}
	if (named > 1)
		target->named = HEAP_NO_TYPE;
}

static uint32_t find(const struct larger_targets *targets, heap_type_id beginning, uint64_t size,
		     uint64_t slack)
{
	const struct larger_target *list = targets->list.items;

	return heap_hash_find(&targets->by_beginning, heap_hash_pair(beginning, size), i,
			      list[i].beginning == beginning && list[i].size == size &&
				      list[i].slack == slack);
}

// The entry for the beginning of a block; it is made if there is none.
HEAP_MUST_CHECK
static struct heap_error *require(const struct inference *inference,
				  const struct beginning *beginning, uint32_t *number)
{
	struct larger_targets *targets = inference->larger_targets;
	struct larger_target target = {
		.beginning = beginning->type,
		.size = inference_size(inference, beginning->object),
		.slack = inference_slack(inference, beginning->object),
		.named = HEAP_NO_TYPE,
	};

	*number = find(targets, target.beginning, target.size, target.slack);
	if (*number != HEAP_HASH_NONE)
		return NULL;
	find_wholes(&inference->layouts, &target);
	*number = (uint32_t)targets->list.count;
	HEAP_TRY(heap_hash_add(&targets->by_beginning,
			       heap_hash_pair(target.beginning, target.size), *number));
	return heap_array_append(&targets->list, target);
}

// A block that is open, begins with a struct, and has an entry.
struct counted_block {
	struct beginning beginning;
	uint32_t number;
};

struct counted_blocks HEAP_ARRAY(struct counted_block);

static void forget(struct larger_target *target)
{
	target->blocks = target->confirmed = target->won = 0;
	for (uint32_t i = 0; i < target->count; i++)
		target->wholes[i].wins = 0;
}

// How well a block's content agrees with a struct that it may be: below 0 if it contradicts. The smaller struct may have
// others of its kind behind it.
static int score_whole(const struct inference *inference, const struct content *content,
		       const struct larger_target *target, heap_type_id type)
{
	uint64_t elements = type == target->beginning
				    ? target->size / layouts_size(&inference->layouts, type)
				    : 1;

	if (content_contradicts(inference, content, type) ||
	    hints_ask(inference, content->object, type) == VERDICT_AGAINST)
		return -1;
	return content_score(inference, content, type, elements);
}

// The number of the struct with which a block's content agrees better than with any other; MAX_WHOLES: there is none.
static uint32_t find_winner(const struct inference *inference, heap_object_id object,
			    const struct larger_target *target)
{
	uint64_t words[CONTENT_WORDS + 1];
	struct content content;
	uint32_t winner = MAX_WHOLES;
	int best = -1;

	content_read(inference, object, words, &content);
	for (uint32_t i = 0; i < target->count; i++) {
		int score = score_whole(inference, &content, target, target->wholes[i].type);

		if (score > best)
			winner = i;
		else if (score == best)
			winner = MAX_WHOLES;
		best = score > best ? score : best;
	}
	return winner;
}

static void count_block(const struct inference *inference, const struct beginning *beginning,
			struct larger_target *target)
{
	uint32_t winner =
		target->is_open ? MAX_WHOLES : find_winner(inference, beginning->object, target);

	target->blocks++;
	target->confirmed += beginning->score > 0;
	if (winner == MAX_WHOLES)
		return;
	target->won++;
	target->wholes[winner].wins++;
}

HEAP_MUST_CHECK
static struct heap_error *count_blocks(const struct inference *inference,
				       struct counted_blocks *blocks)
{
	struct larger_targets *targets = inference->larger_targets;
	const heap_object_id count = inference->capture->objects.count;

	for (size_t i = 0; i < targets->list.count; i++)
		forget(&targets->list.items[i]);
	for (heap_object_id i = inference_next_hinted(inference, 0, count);
	     i < count && !progress_is_late(); i = inference_next_hinted(inference, i + 1, count)) {
		struct counted_block block;

		progress_step();
		if (!inference_is_open(inference, i))
			continue;
		block.beginning = find_beginning(inference, i);
		if (block.beginning.type == HEAP_NO_TYPE)
			continue;
		HEAP_TRY(require(inference, &block.beginning, &block.number));
		count_block(inference, &block.beginning, &targets->list.items[block.number]);
		HEAP_TRY(heap_array_append(blocks, block));
	}
	return NULL;
}

// The struct that all blocks of a size are that do not contradict it, or HEAP_NO_TYPE.
static heap_type_id elect(const struct larger_target *target, const uint32_t *counts)
{
	if (target->named != HEAP_NO_TYPE)
		return target->named;
	// The smaller one may have a rest behind it.
	if (target->blocks < LEAST_BLOCKS || target->blocks <= counts[target->beginning])
		return HEAP_NO_TYPE;
	for (uint32_t i = 0; i < target->count; i++) {
		const struct whole *whole = &target->wholes[i];

		if (whole->type != target->beginning && target->won * 2 >= target->blocks &&
		    whole->wins >= LEAST_BLOCKS &&
		    whole->wins * UINT64_C(1000) >= target->won * (uint64_t)NAMING_PER_MILLE)
			return whole->type;
	}
	return HEAP_NO_TYPE;
}

static bool is_confirmed(const struct larger_target *target, const struct beginning *beginning)
{
	return beginning->score > 0 || target->confirmed >= LEAST_CONFIRMED;
}

// True if a block's content agrees with a larger struct no less than with any other that it may be.
static bool agrees(const struct inference *inference, const struct beginning *beginning,
		   const struct larger_target *target, heap_type_id whole)
{
	uint64_t words[CONTENT_WORDS + 1];
	struct content content;
	int score;

	content_read(inference, beginning->object, words, &content);
	score = score_whole(inference, &content, target, whole);
	if (score < beginning->score)
		return false;
	for (uint32_t i = 0; i < target->count && whole != target->named; i++) {
		if (score_whole(inference, &content, target, target->wholes[i].type) > score)
			return false;
	}
	return true;
}

HEAP_MUST_CHECK
static struct heap_error *claim_all(struct inference *inference,
				    const struct counted_blocks *blocks, uint64_t *claimed)
{
	const uint32_t *counts;

	HEAP_TRY(inference_count_types(inference, &counts));
	for (size_t i = 0; i < blocks->count; i++) {
		const struct counted_block *block = &blocks->items[i];
		const struct larger_target *target =
			&inference->larger_targets->list.items[block->number];

		heap_type_id whole = elect(target, counts);

		progress_step();
		if (whole == HEAP_NO_TYPE || !is_confirmed(target, &block->beginning) ||
		    !agrees(inference, &block->beginning, target, whole))
			continue;
		++*claimed;
		HEAP_TRY(claims_add(&inference->claims, RANK_EMBEDDED,
				    &(struct claim){ block->beginning.object, whole, 1,
						     HEAP_EVIDENCE_EMBEDDING, false }));
	}
	return NULL;
}

struct heap_error *larger_targets_claim(struct inference *inference, uint64_t *claimed)
{
	CLEANUP_ARRAY struct counted_blocks blocks = { 0 };

	HEAP_TRY(count_blocks(inference, &blocks));
	return blocks.count > 0 ? claim_all(inference, &blocks, claimed) : NULL;
}

heap_type_id larger_targets_beginning(const struct inference *inference, heap_object_id object)
{
	const struct larger_targets *targets = inference->larger_targets;
	struct beginning beginning;
	uint32_t found;

	if (!inference_is_open(inference, object))
		return HEAP_NO_TYPE;
	beginning = find_beginning(inference, object);
	// A block that a pointer to a base leads to begins with that, whatever it contains.
	if (beginning.type == HEAP_NO_TYPE || beginning.score > 0 ||
	    layouts_is_base(&inference->layouts, beginning.type))
		return beginning.type;
	found = find(targets, beginning.type, inference_size(inference, object),
		     inference_slack(inference, object));
	return found != HEAP_HASH_NONE && is_confirmed(&targets->list.items[found], &beginning)
		       ? beginning.type
		       : HEAP_NO_TYPE;
}
