// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Hints show which blocks have a prefix: they say that there is a T at offset k, while nothing is
 * known of the start. That T may also be a part in the middle of a struct, such as a list's link.
 * Then some struct has the block's size and a T at k, and naming will find it. But if for nearly
 * all blocks with a T at k there is no such struct, and a T fits the memory behind k, then the
 * first k bytes are a prefix. Arrays of a T, and numbers or pointers instead of a T, say so where nearly all pointers to
 * the blocks of their site lead there. Where no sites are known, all that is as true of the headers of allocators
 * whose blocks form trees: then there must be a pointer to a method table behind the prefix, or the prefix is a link
 * from block to block, or a header with links to and from others, has no pointers, or tells how long the rest of the
 * block is.
 */
#include "dumper/writer/infer/prefixes/block_prefixes.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"
#include "dumper/writer/infer/prefixes/linked_prefixes.h"
#include "dumper/writer/infer/prefixes/measured_prefixes.h"
#include "dumper/writer/infer/prefixes/prefix_leads.h"
#include "dumper/writer/infer/prefixes/prefixed_types.h"
#include "dumper/writer/infer/prefixes/site_texts.h"

#include "lib/base/bits.h"
#include "lib/base/hash_table.h"
#include "lib/base/prefetch.h"

#include <stdlib.h>

enum {
	MUCH = 32,              // new hints are much if they are one in so many objects
	MIN_SUPPORT = 8,        // blocks
	MIN_TAGGED = 16,        // blocks that point to the tables of fewer ones
	MIN_LINKED = 4,         // blocks whose headers are doubly linked
	MIN_LEAD = 10,          // times as many must speak for a prefix as against it
	PREFETCH_DISTANCE = 20, // edges, objects
	MIXED = UINT8_MAX,      // headers of several sizes
};

bool block_prefixes_end_before_text(const struct inference *inference, heap_object_id object,
				    uint32_t offset, uint64_t *words)
{
	return prefix_lead_read_text(inference, object, offset, false, words) == READING_PREFIX;
}

// --- what the hints on all blocks say ----------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *find_pair(struct block_prefixes *prefixes, const struct prefix_lead *lead,
				    struct prefix_pair **result)
{
	for (size_t i = 0; i < prefixes->pairs.count; i++) {
		*result = &prefixes->pairs.items[i];
		if ((*result)->type == lead->type && (*result)->offset == lead->offset)
			return NULL;
	}
	HEAP_TRY(heap_array_append(
		&prefixes->pairs,
		(struct prefix_pair){ .type = lead->type, .offset = lead->offset }));
	*result = &prefixes->pairs.items[prefixes->pairs.count - 1];
	return NULL;
}

// True for blocks that a prefix may still be found for.
static bool is_open(const struct inference *inference, heap_object_id object)
{
	return (!claims_are_good(&inference->claims, object) ||
		storage_headers_name(inference, object)) &&
	       inference_prefix(inference, object) == 0 && !pools_have(&inference->pools, object);
}

// Counts a block whose pointers lead behind all prefixes, once: many may lead to the elements of one array.
static void note_elsewhere(struct site_leads *leads, uint8_t *are_seen, heap_object_id object)
{
	if (heap_bit_get(are_seen, object))
		return;
	heap_bit_set(are_seen, object);
	leads->elsewhere++;
}

// Counts where the pointers to each site's blocks lead, once and only if that is needed.
HEAP_MUST_CHECK
static struct heap_error *require_leads(struct inference *inference)
{
	const struct capture *capture = inference->capture;
	const struct heap_snapshot *snapshot = &capture->snapshot;
	CLEANUP_FREE uint8_t *are_seen = NULL;
	struct site_leads *leads;

	if (inference->block_prefixes.leads)
		return NULL;
	leads = calloc((size_t)capture->snapshot.site_count + 1, sizeof(*leads));
	inference->block_prefixes.leads = leads;
	are_seen = calloc((size_t)capture->objects.count / 8 + 1, 1);
	if (!leads || !are_seen)
		return heap_error_out_of_memory();
	progress_steps(snapshot->edge_count);
	for (heap_object_id i = 0; i < capture->objects.count; i++) {
		for (uint32_t j = snapshot->edge_first[i]; j < snapshot->edge_first[i + 1]; j++) {
			uint32_t kind = objects_kind(&capture->objects, snapshot->edge_target[j]);
			struct site_leads *own = &leads[capture->maker_of_kind[kind]];

			if (j + PREFETCH_DISTANCE < snapshot->edge_count)
				objects_prefetch_kind(&capture->objects,
						      snapshot->edge_target[j + PREFETCH_DISTANCE]);
			if (snapshot->edge_interior[j] > BLOCK_PREFIX_MAX ||
			    snapshot->edge_interior[j] % 8 != 0)
				note_elsewhere(own, are_seen, snapshot->edge_target[j]);
			else
				own->at[snapshot->edge_interior[j] / 8]++;
			if (snapshot->edge_slot[j] >= BLOCK_PREFIX_MAX / 8)
				continue;
			if (snapshot->edge_interior[j] == 0)
				own->from[snapshot->edge_slot[j]]++;
			else if (own ==
				 &leads[capture->maker_of_kind[objects_kind(&capture->objects, i)]])
				own->beside[snapshot->edge_slot[j]]++;
		}
	}
	return NULL;
}

static heap_site_id site_of(const struct inference *inference, heap_object_id object)
{
	const struct capture *capture = inference->capture;

	return capture->maker_of_kind[objects_kind(&capture->objects, object)];
}

// Where the pointers to the blocks of an object's site lead.
static struct site_leads *leads_of(const struct inference *inference, heap_object_id object)
{
	return &inference->block_prefixes.leads[site_of(inference, object)];
}

// The prefix that leads show for the blocks of a kind. If they show several, each run picks the
// same one.
struct kind_prefix {
	uint8_t header;        // bytes that slots say are a header; MIXED: they do not agree
	uint8_t lead;          // bytes before what slots lead to; 0: none do
	uint8_t bytes;         // that all blocks of the kind have; 0: this is not known
	bool are_arrays;       // only such blocks have that lead: it says nothing of other sites
	size_t pair;           // of the lead
	heap_object_id object; // one of them
};

/*
 * True if nearly all pointers to a site's blocks, typed or not, lead to an offset. Those from within
 * the first bytes of blocks to the start of others do not count: prefixes are linked with each other.
 * Nor do those to a header. To where arrays seem to begin, all other pointers must lead: a struct may have a pointer to
 * the numbers behind it.
 */
static bool site_leads_to(const struct inference *inference, const struct kind_prefix *prefix)
{
	const struct site_leads *leads = leads_of(inference, prefix->object);
	const uint32_t offset = prefix->lead;
	bool has_header = prefix->header == offset;
	uint64_t others = leads->elsewhere;

	if (offset % 8 != 0)
		return false;
	for (uint32_t i = has_header; i <= BLOCK_PREFIX_MAX / 8; i++)
		others += i == offset / 8 ? 0 : leads->at[i];
	for (uint32_t i = 0; !has_header && !prefix->are_arrays && i < offset / 8; i++)
		others -= leads->from[i];
	// An array has one pointer to its header, and one behind it.
	if (has_header && prefix->are_arrays &&
	    leads->at[0] * (uint64_t)MIN_LEAD > leads->at[offset / 8] * (uint64_t)(MIN_LEAD + 1))
		return false;
	return leads->at[offset / 8] >= MIN_SUPPORT && leads->at[offset / 8] >= MIN_LEAD * others;
}

// True if a struct has a pointer to its own type, and blocks of a site point there to each other's start
// more often than behind it. Then the first part of a block is no header.
static bool links(const struct layouts *layouts, heap_type_id type, const struct site_leads *leads)
{
	for (uint32_t i = 0; i < layouts_size(layouts, type) / 8; i++) {
		if (leads->from[i] > leads->beside[i] &&
		    layouts_has_pointer(layouts, type, i * UINT64_C(8), type))
			return true;
	}
	return false;
}

struct heap_error *block_prefixes_header(struct inference *inference, heap_object_id object,
					 uint64_t bytes, heap_type_id *result)
{
	heap_site_id site = site_of(inference, object);
	const struct site_types *types = &inference->kinds.site_types[site];

	*result = HEAP_NO_TYPE;
	for (uint32_t i = 0; bytes <= BLOCK_PREFIX_MAX && i < types->count; i++) {
		heap_type_id type = types->list[i].type;

		if (!layouts_is_compound(&inference->layouts, type) ||
		    layouts_size(&inference->layouts, type) != bytes)
			continue;
		HEAP_TRY(require_leads(inference));
		if (links(&inference->layouts, type, &inference->block_prefixes.leads[site])) {
			*result = type;
			break;
		}
	}
	return NULL;
}

static void note_header(struct kind_prefix *prefix, uint64_t header)
{
	if (header > BLOCK_PREFIX_MAX ||
	    (prefix->header > 0 && header > 0 && prefix->header != header))
		prefix->header = MIXED;
	else if (header > 0)
		prefix->header = (uint8_t)header;
}

static void note_lead(struct kind_prefix *prefix, heap_object_id object,
		      const struct prefix_lead *lead, size_t pair, bool is_array)
{
	if (prefix->lead != 0 &&
	    (prefix->lead < lead->offset || (prefix->lead == lead->offset && !prefix->are_arrays)))
		return;
	prefix->lead = (uint8_t)lead->offset;
	prefix->are_arrays = is_array;
	prefix->pair = pair;
	prefix->object = object;
}

// Accepts what blocks of all types together say whose headers are doubly linked: an allocator puts one before each of its
// blocks, and few may be of each type.
static void accept_linked(struct block_prefixes *prefixes)
{
	struct {
		uint32_t supporting, contradicting;
	} sums[BLOCK_PREFIX_MAX / 8 + 1] = { 0 };

	for (size_t i = 0; i < prefixes->pairs.count; i++) {
		const struct prefix_pair *pair = &prefixes->pairs.items[i];

		if (pair->linked == 0)
			continue;
		sums[pair->offset / 8].supporting += pair->linked;
		sums[pair->offset / 8].contradicting += pair->contradicting;
	}
	for (size_t i = 0; i < prefixes->pairs.count; i++) {
		struct prefix_pair *pair = &prefixes->pairs.items[i];
		uint32_t at = pair->offset / 8;

		pair->is_accepted |=
			pair->linked > 0 && sums[at].supporting >= MIN_LINKED &&
			sums[at].supporting >= MIN_LEAD * (uint64_t)sums[at].contradicting;
	}
}

// Accepts what many blocks say, or one whose site's pointers agree.
//
// @param any  gets true if any block may have a prefix
HEAP_MUST_CHECK
static struct heap_error *accept_pairs(struct inference *inference, struct kind_prefix *of_kinds,
				       bool *any)
{
	struct block_prefixes *prefixes = &inference->block_prefixes;

	*any = false;
	for (uint32_t i = 0; inference_has_sites(inference) && i < inference->kinds.count; i++) {
		struct kind_prefix *prefix = &of_kinds[i];

		if (prefix->lead == 0)
			continue;
		HEAP_TRY(require_leads(inference));
		if (!site_leads_to(inference, prefix))
			continue;
		prefixes->pairs.items[prefix->pair].is_accepted |= !prefix->are_arrays;
		prefix->bytes = prefix->lead;
		*any = true;
	}
	accept_linked(prefixes);
	for (size_t i = 0; i < prefixes->pairs.count; i++) {
		struct prefix_pair *pair = &prefixes->pairs.items[i];

		pair->is_accepted |=
			pair->supporting > 0 &&
			(pair->supporting >= MIN_SUPPORT || pair->tagged >= MIN_TAGGED ||
			 pair->headed > 0 || pair->is_measured) &&
			pair->supporting >= MIN_LEAD * (uint64_t)pair->contradicting;
		*any |= pair->is_accepted;
	}
	return NULL;
}

// Finds the blocks that the first word of another one leads to the start of, once and where no sites are known.
HEAP_MUST_CHECK
static struct heap_error *require_next(struct inference *inference)
{
	const heap_object_id objects = inference->capture->objects.count;
	struct block_prefixes *prefixes = &inference->block_prefixes;

	if (prefixes->are_next)
		return NULL;
	prefixes->are_next = calloc(objects / 8 + 1, 1);
	if (!prefixes->are_next)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < objects; i++) {
		heap_object_id next = linked_prefixes_next(inference, i);

		progress_step();
		if (next != HEAP_NO_OBJECT)
			heap_bit_set(prefixes->are_next, next);
	}
	return NULL;
}

static void fetch(const struct inference *inference, heap_object_id object)
{
	const struct hints *hints = &inference->hints;

	if (object < inference->capture->objects.count &&
	    !claims_are_good(&inference->claims, object) && hints_have(hints, object))
		heap_prefetch(&hints->list[hints_first(hints, object)]);
}

// Counts the blocks that point to the same table as one with a prefix, where no sites are known: it may be
// the only one that typed slots lead to yet.
static uint64_t count_tagged(const struct inference *inference, heap_object_id object,
			     const struct prefix_lead *lead)
{
	const struct method_table *table =
		inference_has_sites(inference) ? NULL
					       : prefix_lead_find_table(inference, object, lead);

	return table ? table->blocks : 0;
}

// @param of_kinds  [kinds] is filled
// @param texts     [sites] likewise; NULL: sites are not known, or texts not looked for
HEAP_MUST_CHECK
static struct heap_error *count_blocks(struct inference *inference, enum block_prefix_kind kind,
				       uint64_t *words, struct kind_prefix *of_kinds,
				       struct site_text *texts)
{
	struct block_prefixes *prefixes = &inference->block_prefixes;
	const heap_object_id objects = inference->capture->objects.count;

	for (size_t i = 0; i < prefixes->pairs.count; i++)
		prefixes->pairs.items[i] = (struct prefix_pair){
			.type = prefixes->pairs.items[i].type,
			.offset = prefixes->pairs.items[i].offset,
			.is_accepted = prefixes->pairs.items[i].is_accepted,
		};
	for (heap_object_id i = hints_next(&inference->hints, 0, objects); i < objects;
	     i = hints_next(&inference->hints, i + 1, objects)) {
		struct kind_prefix *prefix;
		struct prefix_pair *pair;
		enum prefix_reading reading;
		struct prefix_lead lead;

		progress_step();
		fetch(inference, i + PREFETCH_DISTANCE);
		if (!is_open(inference, i))
			continue;
		prefix = &of_kinds[kinds_of(inference, i)];

		bool leads = prefix_lead_find(inference, i, kind, &lead);

		note_header(prefix, lead.header);
		if (!leads)
			continue;
		HEAP_TRY(find_pair(prefixes, &lead, &pair));
		if (prefix_lead_may_be_linked(inference, &lead))
			HEAP_TRY(require_next(inference));
		reading = prefix_lead_read(inference, i, &lead, words);
		if (texts)
			site_texts_note(&texts[site_of(inference, i)], lead.offset,
					reading == READING_PREFIX);
		switch (reading) {
		case READING_MEASURED:
			pair->is_measured = true;
			// fall through
		case READING_PREFIX:
			pair->supporting++;
			pair->headed += lead.storage != HEAP_NO_TYPE;
			pair->headed +=
				lead.header > 0 && !lead.is_linked &&
				(!lead.is_plain || prefix_lead_is_pointer(inference, lead.type));
			pair->linked += prefix_lead_is_doubly_linked(inference, i, &lead);
			pair->tagged += count_tagged(inference, i, &lead);
			note_lead(prefix, i, &lead, (size_t)(pair - prefixes->pairs.items), false);
			break;
		case READING_ARRAY:
			note_lead(prefix, i, &lead, (size_t)(pair - prefixes->pairs.items), true);
			break;
		case READING_EMBEDDED:
			pair->contradicting++;
			break;
		default:
			break;
		}
	}
	return NULL;
}

static bool is_accepted(const struct inference *inference, const struct prefix_lead *lead)
{
	const struct block_prefixes *prefixes = &inference->block_prefixes;

	for (size_t i = 0; i < prefixes->pairs.count; i++) {
		const struct prefix_pair *pair = &prefixes->pairs.items[i];

		if (pair->is_accepted && pair->offset == lead->offset &&
		    (pair->type == lead->type ||
		     layouts_says_more(&inference->layouts, lead->type, pair->type)))
			return true;
	}
	return false;
}

// A slot that leads behind the prefix is now one to the start.
HEAP_MUST_CHECK
static struct heap_error *claim_again(struct inference *inference, heap_object_id object)
{
	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];
		struct layout_claim claim = inference_fit(inference, hint->type, object);

		if (hint->either || !layouts_is_start(hint->interior) || claim.fit == LAYOUT_NONE)
			continue;
		HEAP_TRY(claims_add(&inference->claims,
				    claim.fit == LAYOUT_EXACT ? RANK_PASSED_EXACT
							      : RANK_PASSED_FLEXIBLE,
				    &(struct claim){ object, claim.type, claim.elements,
						     HEAP_EVIDENCE_POINTER, false }));
	}
	return NULL;
}

struct heap_error *block_prefixes_set(struct inference *inference, heap_object_id object,
				      uint32_t bytes)
{
	struct block_prefixes *prefixes = &inference->block_prefixes;

	if (!prefixes->of)
		prefixes->of = calloc((size_t)inference->capture->objects.count + 1, 1);
	if (!prefixes->of)
		return heap_error_out_of_memory();
	prefixes->of[object] = (uint8_t)bytes;
	prefixes->count++;
	prefixes->is_renewed = true;
	HEAP_TRY(hints_rebase(inference, object, bytes));
	return claim_again(inference, object);
}

struct heap_error *block_prefixes_clear(struct inference *inference, heap_object_id object)
{
	uint32_t bytes = inference_prefix(inference, object);

	if (bytes == 0)
		return NULL;
	inference->block_prefixes.of[object] = 0;
	inference->block_prefixes.is_renewed = true;
	return hints_unbase(inference, object, bytes);
}

// True if no hint speaks against a prefix.
static bool is_open_to(const struct inference *inference, heap_object_id object,
		       const struct prefix_lead *lead, uint32_t bytes)
{
	return (!hints_have(&inference->hints, object) ||
		(lead->offset == UINT32_MAX && lead->header == bytes)) &&
	       bytes < objects_size(&inference->capture->objects, object);
}

// The prefix in place of the storage header whose name a block has, by the code that allocates it.
static uint32_t expect(const struct inference *inference, heap_object_id object)
{
	heap_type_id header = storage_headers_expect(inference, object);

	return header == HEAP_NO_TYPE ? 0 : (uint32_t)inference->layouts.facts[header].start;
}

// The place in a block without hints where its text begins, as those of its site do; 0: this is not known, or there is none.
static uint32_t guess_text(const struct inference *inference, heap_object_id object,
			   const struct site_text *text, uint64_t *words)
{
	uint32_t lead = site_texts_lead(text);

	return lead > 0 && lead < objects_size(&inference->capture->objects, object) &&
			       block_prefixes_end_before_text(inference, object, lead, words)
		       ? lead
		       : 0;
}

// The prefix that a block gets whose lead other blocks have shown to be behind one.
static uint32_t choose_accepted(const struct inference *inference, heap_object_id object,
				enum block_prefix_kind kind, const struct prefix_lead *lead,
				uint64_t *words)
{
	enum prefix_reading reading;

	if (kind == BLOCK_PREFIX_STRUCTS && inference_has_sites(inference))
		return lead->offset;
	reading = prefix_lead_read(inference, object, lead, words);
	return reading == READING_PREFIX || reading == READING_ARRAY || reading == READING_MEASURED
		       ? lead->offset
		       : 0;
}

// The prefix that a block gets: by the hints on it, or, if there are none, as others of its kind, or the texts of its site.
static uint32_t choose(const struct inference *inference, heap_object_id object,
		       enum block_prefix_kind kind, uint64_t *words,
		       const struct kind_prefix *of_kinds, const struct site_text *texts)
{
	uint32_t bytes = of_kinds[kinds_of(inference, object)].bytes;
	struct prefix_lead lead;

	bool leads = prefix_lead_find(inference, object, kind, &lead);

	if (!leads && claims_are_good(&inference->claims, object))
		return expect(inference, object);
	if (!leads && bytes == 0 && texts && !hints_have(&inference->hints, object))
		return guess_text(inference, object, &texts[site_of(inference, object)], words);
	if (!leads)
		return is_open_to(inference, object, &lead, bytes) ? bytes : 0;
	if (!is_accepted(inference, &lead))
		return bytes == lead.offset ? bytes : 0;
	return choose_accepted(inference, object, kind, &lead, words);
}

// Gives a block a prefix in place of its storage header, whose name it may have.
//
// @param header  HEAP_NO_TYPE: it has none of so many bytes
HEAP_MUST_CHECK
static struct heap_error *set_stored(struct inference *inference, heap_object_id object,
				     enum block_prefix_kind kind, uint32_t bytes,
				     heap_type_id *header)
{
	struct prefix_lead lead;

	*header = prefix_lead_find_stored(inference, object, kind, &lead)
			  ? lead.storage
			  : storage_headers_expect(inference, object);
	if (*header == HEAP_NO_TYPE || inference->layouts.facts[*header].start != bytes) {
		*header = HEAP_NO_TYPE;
		return NULL;
	}
	HEAP_TRY(storage_headers_note(inference, object, *header));
	if (inference->claims.name_rank[object] != RANK_NONE) {
		inference_unname(inference, object);
		// The name was not wrong, and what is stored may still get one that is.
		inference->claims.is_renamed[object] = false;
	}
	return block_prefixes_set(inference, object, bytes);
}

// Gives a block the prefix that was chosen for it, unless these bytes are a struct of their own.
HEAP_MUST_CHECK
static struct heap_error *give(struct inference *inference, heap_object_id object,
			       enum block_prefix_kind kind, uint32_t bytes)
{
	heap_type_id header;

	HEAP_TRY(set_stored(inference, object, kind, bytes, &header));
	if (header != HEAP_NO_TYPE)
		return NULL;
	HEAP_TRY(block_prefixes_header(inference, object, bytes, &header));
	return header == HEAP_NO_TYPE ? block_prefixes_set(inference, object, bytes) : NULL;
}

struct heap_error *block_prefixes_find(struct inference *inference, enum block_prefix_kind kind,
				       bool is_thorough, uint64_t *found)
{
	struct block_prefixes *prefixes = &inference->block_prefixes;
	CLEANUP_FREE uint64_t *words = NULL;
	CLEANUP_FREE struct kind_prefix *of_kinds = NULL;
	CLEANUP_FREE struct site_text *texts = NULL;
	uint32_t before = prefixes->count;
	bool any;

	uint32_t seen = prefixes->hints_seen[kind], news = inference->hints.count - seen;

	if (news == 0 ||
	    (seen > 0 && !is_thorough && news * (uint64_t)MUCH < inference->capture->objects.count))
		return NULL;
	prefixes->hints_seen[kind] = inference->hints.count;
	HEAP_TRY(storage_headers_list(inference));
	words = malloc((CONTENT_WORDS + 1) * sizeof(*words));
	of_kinds = calloc((size_t)inference->kinds.count + 1, sizeof(*of_kinds));
	if (!words || !of_kinds)
		return heap_error_out_of_memory();
	if (kind == BLOCK_PREFIX_TEXTS && inference_has_sites(inference)) {
		texts = calloc((size_t)inference->capture->snapshot.site_count + 1, sizeof(*texts));
		if (!texts)
			return heap_error_out_of_memory();
	}
	HEAP_TRY(count_blocks(inference, kind, words, of_kinds, texts));
	HEAP_TRY(accept_pairs(inference, of_kinds, &any));
	for (heap_object_id i = 0; any && i < inference->capture->objects.count; i++) {
		uint32_t bytes = is_open(inference, i)
					 ? choose(inference, i, kind, words, of_kinds, texts)
					 : 0;

		progress_step();
		if (bytes > 0)
			HEAP_TRY(give(inference, i, kind, bytes));
	}
	*found += prefixes->count - before;
	return prefixes->is_renewed ? kinds_sort(inference) : NULL;
}

struct heap_error *block_prefixes_follow(struct inference *inference, uint64_t *found)
{
	const enum block_prefix_kind kind = BLOCK_PREFIX_STRUCTS;
	struct block_prefixes *prefixes = &inference->block_prefixes;
	uint64_t words[CONTENT_WORDS + 1];
	uint32_t before = prefixes->count;

	if (prefixes->followed < prefixes->hints_seen[kind])
		prefixes->followed = prefixes->hints_seen[kind];
	for (; prefixes->followed < inference->hints.count; prefixes->followed++) {
		heap_object_id object = inference->hints.list[prefixes->followed].object;
		uint32_t bytes;
		struct prefix_lead lead;

		progress_step();
		if (!is_open(inference, object) ||
		    !prefix_lead_find(inference, object, kind, &lead) ||
		    !is_accepted(inference, &lead))
			continue;
		bytes = choose_accepted(inference, object, kind, &lead, words);
		if (bytes > 0)
			HEAP_TRY(give(inference, object, kind, bytes));
	}
	*found += prefixes->count - before;
	return NULL;
}

// --- the end -------------------------------------------------------------------

// A type made here, by what it is made of.
struct wrapper {
	heap_type_id body, type;
	uint32_t prefix;
	bool is_array;
};

struct wrappers {
	struct HEAP_ARRAY(struct wrapper) list;
	struct heap_hash_table by_body;
};

static bool is_character(const struct heap_types *types, heap_type_id type)
{
	return types->types[type].kind == HEAP_TYPE_BASE && types->types[type].size == 1;
}

HEAP_MUST_CHECK
static struct heap_error *find_wrapper(struct heap_types *types, struct wrappers *wrappers,
				       struct wrapper *wrapper)
{
	uint64_t hash = heap_hash_u64((uint64_t)wrapper->body << 32 | wrapper->prefix << 1 |
				      wrapper->is_array);
	uint32_t at = heap_hash_find(&wrappers->by_body, hash, i,
				     wrappers->list.items[i].body == wrapper->body &&
					     wrappers->list.items[i].prefix == wrapper->prefix &&
					     wrappers->list.items[i].is_array == wrapper->is_array);

	if (at != HEAP_HASH_NONE) {
		*wrapper = wrappers->list.items[at];
		return NULL;
	}
	HEAP_TRY(prefixed_types_add(types, wrapper->body, wrapper->prefix, wrapper->is_array,
				    &wrapper->type));
	at = (uint32_t)wrappers->list.count;
	HEAP_TRY(heap_array_append(&wrappers->list, *wrapper));
	return heap_hash_add(&wrappers->by_body, hash, at);
}

HEAP_MUST_CHECK
static struct heap_error *wrap_all(const struct block_prefixes *prefixes, struct capture *capture,
				   struct wrappers *wrappers)
{
	for (heap_object_id i = 0; i < capture->objects.count; i++) {
		struct wrapper wrapper = { .body = names_type(&capture->names, i),
					   .prefix = prefixes->of[i] };

		progress_step();
		if (wrapper.prefix == 0 || wrapper.body == HEAP_NO_TYPE)
			continue;

		const struct name *name = names_of(&capture->names, i);

		wrapper.is_array =
			is_character(&capture->snapshot.types, wrapper.body) ||
			(name->elements > 1 &&
			 !heap_types_flexible(&capture->snapshot.types, wrapper.body, NULL, NULL));
		HEAP_TRY(find_wrapper(&capture->snapshot.types, wrappers, &wrapper));
		// The prefix counts as an element of an array.
		HEAP_TRY(names_set(&capture->names, i, wrapper.type,
				   name->elements + wrapper.is_array, name->evidence));
	}
	return NULL;
}

// Names blocks by their storage headers if nothing tells what is behind these.
HEAP_MUST_CHECK
static struct heap_error *restore_headers(const struct block_prefixes *prefixes,
					  const struct storage_headers *headers,
					  struct capture *capture)
{
	for (size_t i = 0; i < headers->blocks.count; i++) {
		const struct stored_block *block = &headers->blocks.items[i];

		progress_step();
		if (names_type(&capture->names, block->object) != HEAP_NO_TYPE)
			continue;
		prefixes->of[block->object] = 0;
		HEAP_TRY(names_set(&capture->names, block->object, block->header, block->elements,
				   block->evidence));
	}
	return NULL;
}

struct heap_error *block_prefixes_finish(const struct block_prefixes *prefixes,
					 const struct storage_headers *headers,
					 struct capture *capture)
{
	struct wrappers wrappers = { 0 };
	struct heap_error *error = restore_headers(prefixes, headers, capture);

	if (!error && prefixes->count > 0)
		error = wrap_all(prefixes, capture, &wrappers);

	heap_array_deinit(&wrappers.list);
	heap_hash_table_deinit(&wrappers.by_body);
	return error;
}

void block_prefixes_deinit(struct block_prefixes *prefixes)
{
	heap_array_deinit(&prefixes->pairs);
	free(prefixes->leads);
	free(prefixes->are_next);
	free(prefixes->of);
}
