// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Evidence by kind: the types of the blocks of one site and size.
 *
 * One call with one size nearly always makes objects of one type. So evidence for some
 * holds for all: candidates are the types that have the hinted parts, the types of the allocating
 * code's variables, and the names of siblings.
 */
#include "dumper/writer/infer/naming.h"
#include "dumper/writer/infer/content_search.h"
#include "dumper/writer/infer/majority.h"

#include "dumper/writer/base/progress.h"
#include "lib/base/cleanup.h"
#include "lib/base/prefetch.h"

#include <stdlib.h>

enum {
	FEW = 256,             // news about a smaller share of blocks concerns only these
	PREFETCH_DISTANCE = 8, // objects
	FETCHED_EDGES = 4,
	STILL_AGREED = 800, // per mille of the voters, for a name by vote to stay
};

// Skips members with good names, each of them once.
static void skip_named(const struct inference *inference, struct kind *kind)
{
	while (kind->named < kind->count &&
	       claims_are_good(&inference->claims, kinds_member(inference, kind, kind->named))) {
		progress_step();
		kind->named++;
	}
}

static bool has_unnamed(const struct kind *kinds, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		progress_step();
		if (kinds[i].good < kinds[i].count)
			return true;
	}
	return false;
}

static bool has_news(const struct kind *kinds, uint32_t count, enum naming_evidence evidence)
{
	for (uint32_t i = 0; i < count; i++) {
		progress_step();
		if (kinds[i].news[evidence] > 0)
			return true;
	}
	return false;
}

// True if news about so many blocks may change the name of all.
static bool is_much(uint64_t news, uint64_t objects, enum naming_pass pass)
{
	return pass == PASS_ALL || news * FEW >= objects;
}

HEAP_MUST_CHECK
static struct heap_error *name_kinds(struct inference *inference, enum naming_evidence evidence,
				     const struct site_summary *site, uint64_t *words,
				     uint64_t *claimed)
{
	struct kind *kinds = &inference->kinds.kinds[site->first];
	uint64_t all_news = 0, changes = inference->claims.changes;

	if ((site->pass == PASS_NEWS && !has_news(kinds, site->sizes, evidence)) ||
	    !has_unnamed(kinds, site->sizes))
		return NULL;
	for (uint32_t i = 0; i < site->sizes; i++) {
		uint64_t news = kinds[i].news[evidence];
		bool singly =
			kinds[i].is_mixed[evidence] && !is_much(news, kinds[i].count, site->pass);

		kinds[i].news[evidence] = 0;
		all_news += news;
		if ((news == 0 && site->pass == PASS_NEWS) || kinds[i].good == kinds[i].count)
			continue;
		skip_named(inference, &kinds[i]);
		HEAP_TRY(singly ? name_singly(inference, &kinds[i], site, evidence, words, claimed)
				: name_kind(inference, &kinds[i], site, evidence, words, claimed));
	}
	if (evidence == NAMING_LIKELY && inference_knows_site(inference, site->site) &&
	    is_much(all_news, site->objects, site->pass))
		HEAP_TRY(name_site(inference, site, inference->claims.changes == changes, words,
				   claimed));
	return NULL;
}

static bool is_of(const struct kind *kind, const struct site_summary *site)
{
	return kind->site == site->site && kind->tag == site->tag;
}

// The first block from one on to which a char * has led since the last time, and that has no good name.
static heap_object_id next_pointed_text(struct inference *inference, heap_object_id from,
					heap_object_id end)
{
	for (; from < end; from++) {
		progress_step();
		if (!(inference->news[from] & NEWS_TEXT))
			continue;
		inference->news[from] &= (uint8_t)~NEWS_TEXT;
		if (!claims_are_good(&inference->claims, from))
			break;
	}
	return from;
}

HEAP_MUST_CHECK
static struct heap_error *judge_text(const struct inference *inference,
				     const struct content *content, struct layout_claim *claim)
{
	uint64_t size = inference_size(inference, content->object);

	*claim = (struct layout_claim){ .fit = LAYOUT_NONE };
	if (content_is_text(inference, content, size))
		*claim = (struct layout_claim){ LAYOUT_TEXT,
						hints_find_text(inference, content->object), size };
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *claim_text(struct inference *inference, heap_object_id object,
				     const struct layout_claim *claim)
{
	return claims_add(&inference->claims, RANK_STRING,
			  &(struct claim){ object, claim->type, claim->elements,
					   HEAP_EVIDENCE_POINTER, false });
}

// Claims the targets of each char * as text, if they read like text.
HEAP_MUST_CHECK
static struct heap_error *claim_texts(struct inference *inference, uint64_t *claimed)
{
	if (inference->hints.texts == 0)
		return NULL;
	inference->hints.texts = 0;
	return content_search_run(&(struct content_search){ inference, claimed, next_pointed_text,
							    judge_text, claim_text });
}

// The kinds of a site and a tag, from the first one on.
static struct site_summary summarize(const struct kinds *kinds, uint32_t first,
				     enum naming_pass pass)
{
	struct site_summary site = {
		.site = kinds->kinds[first].site,
		.tag = kinds->kinds[first].tag,
		.first = first,
		.pass = pass,
		.site_types = &kinds->site_types[kinds->kinds[first].site],
	};
	uint32_t end = first;

	for (; end < kinds->count && is_of(&kinds->kinds[end], &site); end++)
		site.objects += kinds->kinds[end].count;
	site.sizes = end - first;
	return site;
}

// Those of a kind's site and tag.
static struct site_summary summarize_around(const struct kinds *kinds, uint32_t kind)
{
	const struct kind *list = kinds->kinds;

	while (kind > 0 && list[kind - 1].site == list[kind].site &&
	       list[kind - 1].tag == list[kind].tag)
		kind--;
	return summarize(kinds, kind, PASS_NEWS);
}

struct heap_error *naming_follow(struct inference *inference, enum naming_evidence evidence,
				 uint64_t *claimed)
{
	struct fresh_hints *fresh = &inference->hints.fresh[evidence];
	const struct kinds *kinds = &inference->kinds;
	uint64_t words[CONTENT_WORDS + 1];

	for (size_t i = 0; !fresh->are_many && i < fresh->objects.count; i++) {
		heap_object_id object = fresh->objects.items[i];
		uint32_t number = kinds_of(inference, object);
		const struct kind *kind = &kinds->kinds[number];

		progress_step();
		// The first blocks of a kind are looked at together: they may have one name.
		if (!kind->is_mixed[evidence] && kind->good == 0)
			continue;

		struct site_summary site = summarize_around(kinds, number);

		HEAP_TRY(name_block(inference, kind, &site, evidence, object, words, claimed));
	}
	hints_forget_fresh(&inference->hints, evidence);
	return NULL;
}

struct heap_error *naming_claim(struct inference *inference, enum naming_evidence evidence,
				enum naming_pass pass, uint64_t *claimed)
{
	const struct kinds *kinds = &inference->kinds;
	CLEANUP_FREE uint64_t *words = malloc((CONTENT_WORDS + 1) * sizeof(*words));
	struct site_summary site;

	if (!words)
		return heap_error_out_of_memory();
	hints_forget_fresh(&inference->hints, evidence);
	if (evidence == NAMING_SURE)
		HEAP_TRY(claim_texts(inference, claimed));
	HEAP_TRY(kinds_count(inference));
	for (uint32_t first = 0; first < kinds->count && !progress_is_late(); first += site.sizes) {
		site = summarize(kinds, first, pass);
		HEAP_TRY(name_kinds(inference, evidence, &site, words, claimed));
	}
	return NULL;
}

struct heap_error *naming_ask_few(struct inference *inference, uint64_t *claimed)
{
	const struct kinds *kinds = &inference->kinds;
	CLEANUP_FREE uint64_t *words = malloc((CONTENT_WORDS + 1) * sizeof(*words));
	struct site_summary site;

	if (!words)
		return heap_error_out_of_memory();
	HEAP_TRY(kinds_count(inference));
	for (uint32_t first = 0; first < kinds->count && !progress_is_late(); first += site.sizes) {
		const struct kind *kind = &kinds->kinds[first];

		progress_step();
		site = summarize(kinds, first, PASS_ALL);
		// Code that makes several sizes makes more than one struct.
		if (site.sizes == 1 && kind->good > 0 && kind->good < NAMING_VOTERS &&
		    kind->good < kind->count)
			HEAP_TRY(name_by_few(inference, kind, &site, words, claimed));
	}
	return NULL;
}

// --- single hints ------------------------------------------------------------

static enum rank weak_rank(enum layout_fit fit)
{
	switch (fit) {
	case LAYOUT_ARRAY:
		return RANK_ARRAY;
	case LAYOUT_TEXT:
		return RANK_TEXT;
	case LAYOUT_SLACK:
		return RANK_SLACK;
	default:
		return RANK_ELEMENT;
	}
}

// @param object  without a claim
static bool is_weighed(const struct inference *inference, heap_object_id object)
{
	return hints_have(&inference->hints, object) && !pools_have(&inference->pools, object) &&
	       !pools_have_kind(&inference->pools,
				objects_kind(&inference->capture->objects, object));
}

// Prefetches what weighing an object reads of the targets of its first edges.
static void fetch_targets(const struct inference *inference, heap_object_id object)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint32_t first = snapshot->edge_first[object], end = snapshot->edge_first[object + 1];

	for (uint32_t i = first; i < end && i < first + FETCHED_EDGES; i++) {
		heap_object_id target = snapshot->edge_target[i];

		objects_prefetch_kind(&inference->capture->objects, target);
		objects_prefetch_address(&inference->capture->objects, target);
		heap_prefetch(&inference->claims.name_rank[target]);
		heap_prefetch(&inference->capture->names.of[target]);
	}
}

// Threads that still weigh do not read the ranks of other objects.
static heap_object_id next_weighed(struct inference *inference, heap_object_id from,
				   heap_object_id end)
{
	heap_object_id i = inference_next_hinted(inference, from, end);

	for (; i < end && !progress_is_late(); i = inference_next_hinted(inference, i + 1, end)) {
		heap_object_id ahead = i + PREFETCH_DISTANCE;

		progress_step();
		if (ahead < inference->capture->objects.count &&
		    inference->claims.rank[ahead] == RANK_NONE && is_weighed(inference, ahead))
			fetch_targets(inference, ahead);
		if (is_weighed(inference, i))
			break;
	}
	return i;
}

HEAP_MUST_CHECK
static struct heap_error *claim_weighed(struct inference *inference, heap_object_id object,
					const struct layout_claim *claim)
{
	if (claim->fit == LAYOUT_SLACK && claim->elements == 1)
		HEAP_TRY(larger_blocks_note(&inference->larger_blocks, claim->type,
					    inference_size(inference, object)));
	return claims_add(&inference->claims, weak_rank(claim->fit),
			  &(struct claim){ object, claim->type, claim->elements,
					   HEAP_EVIDENCE_POINTER, false });
}

struct heap_error *naming_weigh_hints(struct inference *inference, uint64_t *claimed)
{
	return content_search_run(&(struct content_search){ inference, claimed, next_weighed,
							    hints_weigh, claim_weighed });
}

// --- second thoughts ---------------------------------------------------------

// The names of a kind's blocks by better evidence than that of a rank.
struct poll {
	uint32_t voters, elected; // blocks that have such a name, or one of that rank
	heap_type_id type;        // of most voters, if most have one
	uint32_t votes;
};

// Finds the only type that can have a majority.
static struct poll poll_kind(const struct inference *inference, const struct kind *kind,
			     enum rank rank)
{
	const heap_object_id *members = inference->kinds.members + kind->first;
	struct poll poll = { 0 };
	struct majority majority = { 0 };

	for (uint32_t i = 0; i < kind->count; i++) {
		progress_step();
		poll.elected += inference->claims.rank[members[i]] == rank;
		// Pools have no type.
		heap_type_id type = inference_type(inference, members[i]);

		if (inference->claims.rank[members[i]] >= rank || type == HEAP_NO_TYPE)
			continue;
		poll.voters++;
		majority_add(&majority, type);
	}
	poll.type = (heap_type_id)majority.value;
	return poll;
}

// Counts the votes for its type. @return true if so many per mille of the voters, and enough of them, agree
static bool is_agreed(const struct inference *inference, const struct kind *kind, enum rank rank,
		      uint32_t per_mille, struct poll *poll)
{
	const heap_object_id *members = inference->kinds.members + kind->first;

	for (uint32_t i = 0; i < kind->count; i++)
		poll->votes += inference->claims.rank[members[i]] < rank &&
			       inference_type(inference, members[i]) == poll->type;
	return poll->voters >= NAMING_VOTERS &&
	       poll->votes * UINT64_C(1000) >= poll->voters * (uint64_t)per_mille;
}

// Takes the name of a block away.
static void withdraw(struct inference *inference, heap_object_id object, uint64_t *dropped)
{
	inference_unname(inference, object);
	++*dropped;
}

// Withdraws the names that siblings voted for who have got other names since.
static void withdraw_votes(struct inference *inference, const struct kind *kind, uint64_t *dropped)
{
	struct poll poll;
	bool agreed;

	if (!inference_knows_site(inference, kind->site))
		return; // they have not voted
	poll = poll_kind(inference, kind, RANK_VOTE);
	if (poll.elected == 0 || poll.voters == 0)
		return;
	agreed = is_agreed(inference, kind, RANK_VOTE, STILL_AGREED, &poll) ||
		 (poll.voters < NAMING_VOTERS && poll.votes == poll.voters);
	for (uint32_t i = kind->first; i < kind->first + kind->count; i++) {
		heap_object_id object = inference->kinds.members[i];

		if (inference->claims.rank[object] == RANK_VOTE &&
		    !inference->claims.is_renamed[object] &&
		    !(agreed && inference_type(inference, object) == poll.type))
			withdraw(inference, object, dropped);
	}
}

bool naming_is_of_structs(const struct inference *inference, const struct kind *kind)
{
	struct poll poll = poll_kind(inference, kind, RANK_SITE);

	return poll.voters * UINT64_C(2) >= kind->count &&
	       is_agreed(inference, kind, RANK_SITE, NAMING_PER_MILLE, &poll) &&
	       layouts_is_compound(&inference->layouts, poll.type);
}

// Withdraws bytes: what the code seemed to make before its blocks turned out to be structs.
static void withdraw_bytes(struct inference *inference, const struct kind *kind, uint64_t *words,
			   uint64_t *dropped)
{
	const heap_object_id *members = inference->kinds.members + kind->first;
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < kind->count; i++)
		bytes += inference->claims.rank[members[i]] == RANK_SITE &&
			 layouts_is_character(&inference->layouts,
					      inference_type(inference, members[i]));
	if (bytes == 0 || bytes == kind->count || !naming_is_of_structs(inference, kind))
		return;
	for (uint32_t i = 0; i < kind->count; i++) {
		struct content content;

		if (inference->claims.rank[members[i]] != RANK_SITE ||
		    inference->claims.is_renamed[members[i]])
			continue;
		content_read(inference, members[i], words, &content);
		if (!content_is_text(inference, &content, inference_size(inference, members[i])))
			withdraw(inference, members[i], dropped);
	}
}

struct heap_error *naming_reconsider(struct inference *inference, uint64_t *dropped)
{
	struct capture *capture = inference->capture;
	heap_object_id objects = capture->objects.count;
	bool has_votes = claims_next(&inference->claims, RANK_VOTE, 0, objects) < objects;
	bool has_sites = claims_next(&inference->claims, RANK_SITE, 0, objects) < objects;
	CLEANUP_FREE uint64_t *words = malloc((CONTENT_WORDS + 1) * sizeof(*words));

	if (!words)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; has_votes && i < inference->kinds.count && !progress_is_late(); i++)
		withdraw_votes(inference, &inference->kinds.kinds[i], dropped);
	for (uint32_t i = 0; has_sites && i < inference->kinds.count && !progress_is_late(); i++)
		withdraw_bytes(inference, &inference->kinds.kinds[i], words, dropped);
	for (heap_object_id i = hints_next(&inference->hints, 0, objects);
	     i < objects && !progress_is_late();
	     i = hints_next(&inference->hints, i + 1, objects)) {
		struct content content;

		progress_step();

		if (inference->claims.rank[i] < RANK_SITE ||
		    inference->claims.rank[i] == RANK_NONE || inference->claims.is_renamed[i])
			continue;
		if (hints_ask_named(inference, i) != VERDICT_AGAINST) {
			if (layouts_is_character(&inference->layouts,
						 names_type(&capture->names, i)) ||
			    hints_find_text(inference, i) == HEAP_NO_TYPE)
				continue;
			content_read(inference, i, words, &content);
			if (!content_is_text(inference, &content, inference_size(inference, i)))
				continue;
		}
		withdraw(inference, i, dropped);
	}
	return NULL;
}
