// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/sizes/rounded_sizes.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/candidates.h"
#include "dumper/writer/infer/inference.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/hash_table.h"

#include <stdlib.h>

enum {
	MAX_WHOLES = 64,         // structs that have a hinted part, to be compared
	LEAST_BITS = 32,         // of a length
	LEAST_ROOM = 64,         // bytes that a length tells of: ids are small numbers, too
	LEAST_ROOM_ALONE = 1024, // where no blocks of the same code confirm it
	CONFIRMING = 8,          // blocks of that code and size
};

// How a struct comes into consideration, best first.
enum source {
	SOURCE_POINTER, // to the block's start
	SOURCE_RESULT,  // of the call that allocates it
	SOURCE_CODE,    // that allocates it
	SOURCE_PARTS,   // that hints have
	SOURCE_NONE,
};

// Hints that must agree with the struct, at least. The code may make an array for a struct that it handles, and
// a block may have been handed out again by other code.
static const uint32_t least_places[] = { 1, 1, 1, 2 };

static const enum heap_evidence evidence_of[] = {
	HEAP_EVIDENCE_POINTER,
	HEAP_EVIDENCE_SITE,
	HEAP_EVIDENCE_SITE,
	HEAP_EVIDENCE_EMBEDDING,
};

// The struct that agrees best so far.
struct best {
	heap_type_id type;
	enum source source;
	uint32_t depth;  // of the code
	uint32_t places; // hints that agree
	bool is_unique;
	bool is_by_length; // alone
};

// The block that is considered.
struct search {
	const struct inference *inference;
	const struct larger_blocks *known; // or NULL
	heap_object_id object;
	bool by_lengths; // headers may be known by the length of what is behind them
	struct best best;
	bool is_searched;   // for its pointers into itself
	uint32_t first_own; // the first of these; the end of its edges: it has none
};

bool rounded_sizes_fit(const struct inference *inference, heap_object_id object, heap_type_id type)
{
	const struct layouts *layouts = &inference->layouts;
	struct layout_claim claim =
		layouts_fit_weakly(layouts, type, 0, inference_size(inference, object),
				   inference_slack(inference, object));

	return layouts_is_compound(layouts, type) && claim.fit == LAYOUT_SLACK &&
	       claim.elements == 1;
}

// --- what is known -----------------------------------------------------------

// Notes the names that blocks have got here before.
HEAP_MUST_CHECK
static struct heap_error *learn(const struct inference *inference, struct larger_blocks *known)
{
	const heap_object_id count = inference->capture->objects.count;
	const struct claims *claims = &inference->claims;

	for (heap_object_id i = claims_next(claims, RANK_SLACK, 0, count); i < count;
	     i = claims_next(claims, RANK_SLACK, i + 1, count)) {
		heap_type_id type = inference_type(inference, i);

		progress_step();
		if (rounded_sizes_fit(inference, i, type))
			HEAP_TRY(larger_blocks_note(known, type, inference_size(inference, i)));
	}
	return NULL;
}

// --- one block ---------------------------------------------------------------

// True if a pointer leads to a payload just behind a struct, which is a header then.
static bool has_payload(const struct inference *inference, heap_object_id object, heap_type_id type)
{
	const struct layouts *layouts = &inference->layouts;

	if (layouts_is_flexible(layouts, type) ||
	    layouts_size(layouts, type) >= inference_size(inference, object))
		return false;
	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		progress_step();
		if (hint_is_payload(inference, &inference->hints.list[at], type))
			return true;
	}
	return false;
}

// The first pointer of the block into itself. It is searched once for all types: a block may have many of both.
static uint32_t first_own_edge(struct search *search)
{
	const struct heap_snapshot *snapshot = &search->inference->capture->snapshot;
	uint32_t end = snapshot->edge_first[search->object + 1];

	if (search->is_searched)
		return search->first_own;
	search->is_searched = true;
	search->first_own = snapshot->edge_first[search->object];
	while (search->first_own < end &&
	       snapshot->edge_target[search->first_own] != search->object) {
		progress_step();
		search->first_own++;
	}
	return search->first_own;
}

// True if a pointer of a struct to anything but structs leads to what lies behind it in its own block, as in a string
// with its text, and nothing behind it does: then it is no array.
static bool has_own_payload(struct search *search, heap_type_id type)
{
	const struct inference *inference = search->inference;
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	const heap_object_id object = search->object;
	const struct heap_slots *slots = heap_slot_table_get(&inference->layouts.slots, type);
	uint64_t size = layouts_size(&inference->layouts, type);
	bool found = false;

	if (!slots || !layouts_is_compound(&inference->layouts, type) ||
	    layouts_is_flexible(&inference->layouts, type) ||
	    size >= inference_size(inference, object))
		return false;
	for (uint32_t i = first_own_edge(search); i < snapshot->edge_first[object + 1]; i++) {
		uint64_t offset = snapshot->edge_slot[i] * UINT64_C(8);
		uint32_t first, end;

		progress_step();
		if (snapshot->edge_target[i] != object)
			continue;
		if (offset >= size)
			return false;
		end = heap_slots_at(slots, offset, &first);
		for (uint32_t j = first; j < end && snapshot->edge_interior[i] >= size; j++)
			found |= !layouts_is_compound(&inference->layouts, slots->list[j].pointee);
	}
	return found;
}

// True if a number is the length of what lies behind a header up to the block's end, or of both.
static bool is_length(const struct inference *inference, heap_object_id object, uint64_t value,
		      uint64_t header_size)
{
	uint64_t size = inference_size(inference, object), room = size - header_size;
	uint64_t slack = inference_slack(inference, object);

	return (value <= room && room - value <= slack) || (value <= size && size - value <= slack);
}

// True if other blocks of the same code and size have their length there, too.
static bool is_confirmed(const struct inference *inference, heap_object_id object,
			 const struct header_member *member, uint64_t header_size)
{
	const struct kind *kind;
	uint32_t count;

	if (!inference_knows_site(inference, inference_site(inference, object)))
		return inference_size(inference, object) - header_size >= LEAST_ROOM_ALONE;
	kind = &inference->kinds.kinds[kinds_of(inference, object)];
	count = kind->count < CONFIRMING ? kind->count : CONFIRMING;
	for (uint32_t i = 0; i < count; i++) {
		heap_object_id other = inference->kinds.members[kind->first + i];
		struct header header;

		progress_step();
		inference_read_header(inference, other, &header);
		if (!is_length(inference, other, headers_value(member, &header), header_size))
			return false;
	}
	return true;
}

// True if a struct has the number of bytes behind it in the block, like the chunks of arenas.
static bool has_own_length(const struct inference *inference, heap_object_id object,
			   heap_type_id type)
{
	const struct layouts *layouts = &inference->layouts;
	uint64_t size = layouts_size(layouts, type);
	struct header_members members = { .count = 0 };
	struct header header;

	if (!layouts_is_compound(layouts, type) || layouts_is_flexible(layouts, type) ||
	    inference_size(inference, object) < size + LEAST_ROOM)
		return false;
	progress_step();
	headers_gather(layouts->types, type, &members);
	inference_read_header(inference, object, &header);
	for (uint32_t i = 0; i < members.count; i++) {
		const struct header_member *member = &members.list[i];

		if (member->bits >= LEAST_BITS &&
		    is_length(inference, object, headers_value(member, &header), size) &&
		    is_confirmed(inference, object, member, size))
			return true;
	}
	return false;
}

// Counts the hints that agree with a struct. @return false if they speak against it, or some struct
// lies behind it
static bool count_places(const struct inference *inference, heap_object_id object,
			 heap_type_id type, uint32_t *places)
{
	uint64_t size = layouts_size(&inference->layouts, type);
	bool is_header = has_payload(inference, object, type);
	uint32_t agree = 0, contradict = 0;

	*places = 0;
	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];
		enum verdict verdict = hint_ask(inference, hint, type);

		progress_step();
		if (hint->interior >= size && layouts_is_compound(&inference->layouts, hint->type))
			return false;
		if (is_header && hint_is_payload(inference, hint, type))
			continue;
		agree += verdict == VERDICT_FOR ? hint->count : 0;
		contradict += verdict == VERDICT_AGAINST ? hint->count : 0;
		*places += verdict == VERDICT_FOR;
	}
	return contradict == 0 || contradict < agree;
}

static bool is_better(const struct best *one, const struct best *other)
{
	if (one->source != other->source)
		return one->source < other->source;
	return one->depth != other->depth ? one->depth < other->depth : one->places > other->places;
}

static bool is_known(const struct search *search, heap_type_id type)
{
	return search->known &&
	       larger_blocks_count(search->known, type,
				   inference_size(search->inference, search->object)) >=
		       NAMING_VOTERS;
}

// Where no code is known, there is nothing that could contradict the parts.
static uint32_t least(const struct inference *inference, enum source source)
{
	return inference_has_sites(inference) ? least_places[source] : 1;
}

static void consider(struct search *search, struct best considered)
{
	const struct inference *inference = search->inference;
	struct best *best = &search->best;
	bool is_header, fits;

	if (considered.type == best->type)
		return;
	is_header = considered.source != SOURCE_PARTS && has_own_payload(search, considered.type);
	fits = is_header || rounded_sizes_fit(inference, search->object, considered.type) ||
	       (considered.source == SOURCE_POINTER &&
		has_payload(inference, search->object, considered.type));
	considered.is_by_length = !fits && search->by_lengths &&
				  considered.source <= SOURCE_RESULT &&
				  has_own_length(inference, search->object, considered.type);
	if (!(fits || considered.is_by_length) ||
	    !count_places(inference, search->object, considered.type, &considered.places) ||
	    (!(is_header || considered.is_by_length) &&
	     considered.places < least(inference, considered.source) &&
	     (considered.places == 0 || !is_known(search, considered.type))))
		return;
	considered.is_unique = true;
	if (is_better(&considered, best))
		*best = considered;
	else if (!is_better(best, &considered))
		best->is_unique = false;
}

static void consider_code(struct search *search, heap_site_id site)
{
	const struct site_types *site_types = &search->inference->kinds.site_types[site];

	for (uint32_t i = 0; i < site_types->count; i++) {
		const struct site_type *site_type = &site_types->list[i];

		progress_step();
		consider(search, (struct best){ .type = site_type->type,
						.source = site_type->is_result ? SOURCE_RESULT
									       : SOURCE_CODE,
						.depth = site_type->depth });
	}
}

// Considers the structs that have a hinted part in its place.
static void consider_wholes(struct search *search, const struct hint *hint)
{
	const struct inference *inference = search->inference;
	const struct layout_wholes wholes =
		layouts_smaller_wholes(&inference->layouts, hint->type,
				       layouts_is_start(hint->interior) ? 0 : hint->interior,
				       inference_size(inference, hint->object));

	if (wholes.end - wholes.at > MAX_WHOLES)
		return;
	for (const struct layout_part *at = wholes.at; at < wholes.end; at++) {
		if (!layouts_is_flexible(&inference->layouts, at->whole))
			consider(search,
				 (struct best){ .type = at->whole, .source = SOURCE_PARTS });
	}
}

// Considers all that hints and code say, the best sources first.
static void consider_all(struct search *search)
{
	const struct inference *inference = search->inference;
	const struct capture *capture = inference->capture;
	const struct hint *hints = inference->hints.list;
	uint32_t kind = objects_kind(&capture->objects, search->object);
	uint32_t first = hints_first(&inference->hints, search->object);

	for (uint32_t at = first; at != NO_HINT; at = hints[at].next) {
		progress_step();
		if (layouts_is_start(hints[at].interior) && !hints[at].either)
			consider(search,
				 (struct best){ .type = hints[at].type, .source = SOURCE_POINTER });
	}
	if (search->best.source == SOURCE_NONE)
		consider_code(search, capture->maker_of_kind[kind]);
	if (search->best.source == SOURCE_NONE)
		consider_code(search, capture->site_of_kind[kind]);
	for (uint32_t at = first; at != NO_HINT && search->best.source >= SOURCE_PARTS;
	     at = hints[at].next)
		consider_wholes(search, &hints[at]);
}

static int score_content(const struct inference *inference, heap_object_id object,
			 heap_type_id type)
{
	uint64_t words[CONTENT_WORDS + 1];
	struct content content;

	content_read(inference, object, words, &content);
	return content_score(inference, &content, type, 1);
}

// True if a type whose size is the block's may be what an answer is a part of, or what has the hinted parts.
static bool may_be_exact(const struct inference *inference, heap_object_id object,
			 const struct best *best)
{
	const struct hint *hints = inference->hints.list;
	uint64_t words[CONTENT_WORDS + 1];
	struct content content;

	content_read(inference, object, words, &content);
	if (best->source != SOURCE_PARTS)
		return hints_may_be_part(inference, &content, best->type, 0);
	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = hints[at].next) {
		if (hints_may_be_part(inference, &content, hints[at].type,
				      layouts_is_start(hints[at].interior) ? 0
									   : hints[at].interior))
			return true;
	}
	return false;
}

// True if no struct can be found for a block: no hint agrees with any, no own pointer leads behind a header, and no length
// is looked for.
static bool is_hopeless(struct search *search)
{
	const struct inference *inference = search->inference;

	return !search->by_lengths && !hints_have(&inference->hints, search->object) &&
	       first_own_edge(search) ==
		       inference->capture->snapshot.edge_first[search->object + 1];
}

// The best struct for a block, if nothing better has named it; else the source is SOURCE_NONE.
static struct best find_answer(const struct inference *inference, const struct larger_blocks *known,
			       heap_object_id object, bool by_lengths)
{
	static const struct best none = { .source = SOURCE_NONE };
	struct search search = { .inference = inference,
				 .known = known,
				 .object = object,
				 .by_lengths = by_lengths,
				 .best = none };
	int least;

	if (!inference_is_open(inference, object) || is_hopeless(&search))
		return none;
	consider_all(&search);
	if (search.best.source == SOURCE_NONE || !search.best.is_unique)
		return none;
	if (may_be_exact(inference, object, &search.best))
		return none;
	// Content has to confirm an answer that neither a pointer nor the code gives.
	least = search.best.source == SOURCE_PARTS ? 1 : 0;
	return score_content(inference, object, search.best.type) >= least ? search.best : none;
}

bool rounded_sizes_has(const struct inference *inference, heap_object_id object)
{
	return find_answer(inference, NULL, object, false).source != SOURCE_NONE;
}

bool rounded_sizes_allow(const struct inference *inference, heap_object_id object,
			 heap_type_id type)
{
	uint32_t places;

	return !rounded_sizes_fit(inference, object, type) ||
	       (count_places(inference, object, type, &places) &&
		score_content(inference, object, type) >= 0);
}

// A block that only its length shows to be a header.
struct header_block {
	heap_object_id object;
	struct best best;
};

struct header_blocks HEAP_ARRAY(struct header_block);

static void header_blocks_deinit(struct header_blocks *blocks)
{
	heap_array_deinit(blocks);
}

HEAP_MUST_CHECK
static struct heap_error *claim_block(struct inference *inference, heap_object_id object,
				      const struct best *best, uint64_t *claimed)
{
	++*claimed;
	return claims_add(
		&inference->claims, RANK_SLACK,
		&(struct claim){ object, best->type, 1, evidence_of[best->source], false });
}

// Claims those blocks, but for those into which pointers of others lead behind the header: pools, whose parts will have
// names of their own.
HEAP_MUST_CHECK
static struct heap_error *claim_undivided(struct inference *inference,
					  const struct header_blocks *blocks, uint64_t *claimed)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	const heap_object_id count = inference->capture->objects.count;
	CLEANUP_FREE bool *is_divided = calloc((size_t)count + 1, sizeof(*is_divided));

	if (!is_divided)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < count; i++) {
		for (uint32_t j = snapshot->edge_first[i]; j < snapshot->edge_first[i + 1]; j++) {
			if (snapshot->edge_interior[j] > 0 && snapshot->edge_target[j] != i)
				is_divided[snapshot->edge_target[j]] = true;
		}
		progress_step();
	}
	for (size_t i = 0; i < blocks->count; i++) {
		const struct header_block *block = &blocks->items[i];

		if (!is_divided[block->object])
			HEAP_TRY(claim_block(inference, block->object, &block->best, claimed));
	}
	return NULL;
}

struct heap_error *rounded_sizes_claim(struct inference *inference, bool by_lengths,
				       uint64_t *claimed)
{
	CLEANUP(larger_blocks_deinit) struct larger_blocks known = { 0 };
	CLEANUP(header_blocks_deinit) struct header_blocks headers = { 0 };
	const heap_object_id count = inference->capture->objects.count;
	const struct claims *claims = &inference->claims;

	if (claims_next(claims, RANK_NONE, 0, count) == count)
		return NULL;
	HEAP_TRY(learn(inference, &known));
	for (heap_object_id i = claims_next(claims, RANK_NONE, 0, count);
	     i < count && !progress_is_late(); i = claims_next(claims, RANK_NONE, i + 1, count)) {
		struct best best = find_answer(inference, &known, i, by_lengths);

		progress_step();
		if (best.source == SOURCE_NONE)
			continue;
		if (best.is_by_length)
			HEAP_TRY(heap_array_append(&headers, ((struct header_block){ i, best })));
		else
			HEAP_TRY(claim_block(inference, i, &best, claimed));
	}
	return headers.count > 0 ? claim_undivided(inference, &headers, claimed) : NULL;
}
