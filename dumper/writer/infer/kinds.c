// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Sorts blocks into kinds.
 */
#include "dumper/writer/infer/inference.h"

#include "dumper/writer/base/progress.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/hash_table.h"
#include "lib/base/parallel.h"
#include "lib/base/prefetch.h"

#include <stdlib.h>
#include <string.h>

enum {
	POINTER_TAG = UINT8_MAX, // in place of a common prefix: the tag is a pointer
	PREFETCH_DISTANCE = 16,  // members
	WORTH_THREADS = 1 << 16, // objects that take longer to count than threads to start
};

static bool is_same(const struct kind *one, const struct kind *other)
{
	return one->site == other->site && one->tag == other->tag && one->size == other->size;
}

static int compare_kinds(const void *left, const void *right)
{
	const struct kind *a = left, *b = right;

	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	if (a->tag != b->tag)
		return a->tag < b->tag ? -1 : 1;
	return a->size < b->size ? -1 : a->size > b->size;
}

// The source of an object's tag: a common prefix, POINTER_TAG, or none (0).
static uint32_t find_source(const struct inference *inference, heap_object_id object)
{
	return pointer_tags_read(&inference->pointer_tags, object) != NO_TAG
		       ? POINTER_TAG
		       : discriminators_prefix(inference, object);
}

// True if a tag has changed since kinds were sorted.
static bool is_stale(const struct inference *inference)
{
	const struct kinds *kinds = &inference->kinds;

	if (kinds->count == 0 || inference->block_prefixes.is_renewed ||
	    inference->pointer_tags.is_renewed)
		return true;
	bool has_tags = false;

	for (uint32_t i = 0; i < inference->common_prefixes.count; i++) {
		if (inference->discriminators.is_renewed[i])
			return true;
		has_tags |= inference->discriminators.has_member[i];
	}
	if (!has_tags)
		return false;
	progress_steps(inference->capture->objects.count);
	for (heap_object_id i = 0; i < inference->capture->objects.count; i++) {
		if (find_source(inference, i) != (kinds->prefix ? kinds->prefix[i] : 0))
			return true;
	}
	return false;
}

// An object's tag; from its kind, if that is current.
static uint64_t find_tag(const struct inference *inference, const struct kind *old,
			 heap_object_id object, uint32_t base)
{
	if (base == 0)
		return NO_TAG;
	if (base == POINTER_TAG)
		return pointer_tags_read(&inference->pointer_tags, object);
	if (old && inference->kinds.prefix[object] == base &&
	    !inference->discriminators.is_renewed[base - 1])
		return old->tag;
	return discriminators_read(inference, object, base);
}

// Keeps the results for a kind while it has the same blocks.
static void keep_news(struct kind *kind, const struct kind *old)
{
	const struct kind *kept =
		old && is_same(kind, old) && kind->count == old->count ? old : NULL;

	for (enum naming_evidence i = 0; i < NAMINGS; i++) {
		kind->news[i] = kept ? kept->news[i] : kind->count;
		kind->is_mixed[i] = kept && kept->is_mixed[i];
	}
}

// Finds the number of a kind, or assigns one.
HEAP_MUST_CHECK
static struct heap_error *find_kind(struct heap_hash_table *table, struct kinds *kinds,
				    const struct kind *kind, uint32_t *result)
{
	uint64_t hash = heap_hash_mix(heap_hash_pair(kind->site, kind->tag), kind->size);
	uint32_t found = heap_hash_find(table, hash, i, is_same(&kinds->kinds[i], kind));

	if (found == HEAP_HASH_NONE) {
		HEAP_TRY(heap_reserve(kinds->kinds, kinds->capacity, (size_t)kinds->count + 1));
		HEAP_TRY(heap_hash_add(table, hash, kinds->count));
		found = kinds->count++;
		kinds->kinds[found] = *kind;
	}
	*result = found;
	return NULL;
}

// Finds all kinds when no block has a tag or a prefix, and the kind of each kind of objects.
HEAP_MUST_CHECK
static struct heap_error *find_plain_kinds(struct inference *inference,
					   struct heap_hash_table *table)
{
	const struct objects *objects = &inference->capture->objects;
	struct kinds *kinds = &inference->kinds;
	CLEANUP_FREE uint32_t *counts = calloc((size_t)objects->kinds.count + 1, sizeof(*counts));

	free(kinds->of_kind);
	kinds->of_kind = calloc((size_t)objects->kinds.count + 1, sizeof(*kinds->of_kind));
	if (!counts || !kinds->of_kind)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < objects->count; i++)
		counts[objects_kind(objects, i)]++;
	progress_steps(objects->count);
	for (uint32_t i = 0; i < objects->kinds.count; i++) {
		struct kind kind = {
			.site = inference->capture->maker_of_kind[i],
			.tag = NO_TAG,
			.size = objects->kinds.list[i].size,
		};

		if (counts[i] == 0)
			continue;
		HEAP_TRY(find_kind(table, kinds, &kind, &kinds->of_kind[i]));
		kinds->kinds[kinds->of_kind[i]].count += counts[i];
	}
	for (uint32_t i = 0; i < kinds->count; i++)
		keep_news(&kinds->kinds[i], NULL);
	return NULL;
}

// From now on objects of one kind of objects may be of different kinds.
HEAP_MUST_CHECK
static struct heap_error *require_columns(struct inference *inference)
{
	struct kinds *kinds = &inference->kinds;
	size_t count = (size_t)inference->capture->objects.count + 1;
	uint32_t *of;

	if (kinds->of)
		return NULL;
	free(kinds->prefix);
	kinds->prefix = calloc(count, sizeof(*kinds->prefix));
	of = malloc(count * sizeof(*of));
	if (!of || !kinds->prefix) {
		free(of);
		return heap_error_out_of_memory();
	}
	for (heap_object_id i = 0; i < inference->capture->objects.count; i++)
		of[i] = kinds_of(inference, i);
	kinds->of = of;
	return NULL;
}

// Finds all kinds, and the kind of each object.
//
// @param old  as they were
HEAP_MUST_CHECK
static struct heap_error *find_kinds(struct inference *inference, const struct kind *old,
				     struct heap_hash_table *table)
{
	const struct objects *objects = &inference->capture->objects;
	struct kinds *kinds = &inference->kinds;
	// By kind of objects: that of those without a tag, counted from 1.
	CLEANUP_FREE uint32_t *without = calloc((size_t)objects->kinds.count + 1, sizeof(*without));

	if (!without)
		return heap_error_out_of_memory();
	HEAP_TRY(require_columns(inference));
	for (heap_object_id i = 0; i < objects->count; i++) {
		uint32_t base = find_source(inference, i), of = objects_kind(objects, i), number;

		progress_step();
		const struct kind *was = &old[kinds->of[i]];

		bool is_plain = base == 0 && inference_prefix(inference, i) == 0;

		if (is_plain && without[of]) {
			number = without[of] - 1;
		} else {
			struct kind kind = {
				.site = inference->capture->maker_of_kind[of],
				.tag = find_tag(inference, was, i, base),
				.size = inference_size(inference, i),
				.first = kinds->of[i],
			};

			HEAP_TRY(find_kind(table, kinds, &kind, &number));
			if (is_plain)
				without[of] = number + 1;
		}
		kinds->prefix[i] = (uint8_t)base;
		kinds->of[i] = number;
		kinds->kinds[number].count++;
	}
	for (uint32_t i = 0; i < kinds->count; i++)
		keep_news(&kinds->kinds[i], &old[kinds->kinds[i].first]);
	return NULL;
}

// Where each thread adds the next member of each kind to the list; at first, how many it will add.
struct listing {
	struct inference *inference;
	uint32_t *next; // [threads * kinds]
	unsigned threads;
};

// The objects of a thread, and its part of the list.
static uint32_t *begin_share(const struct listing *listing, size_t thread, heap_object_id *first,
			     heap_object_id *end)
{
	heap_object_id objects = listing->inference->capture->objects.count;

	*first = heap_share_begin(objects, thread, listing->threads);
	*end = heap_share_begin(objects, thread + 1, listing->threads);
	return listing->next + thread * listing->inference->kinds.count;
}

HEAP_MUST_CHECK
static struct heap_error *count_share(void *context, size_t thread)
{
	const struct listing *listing = context;
	heap_object_id i, end;
	uint32_t *next = begin_share(listing, thread, &i, &end);

	for (; i < end; i++)
		next[kinds_of(listing->inference, i)]++;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *list_share(void *context, size_t thread)
{
	const struct listing *listing = context;
	heap_object_id *members = listing->inference->kinds.members, i, end;
	uint32_t *next = begin_share(listing, thread, &i, &end);

	for (; i < end; i++)
		members[next[kinds_of(listing->inference, i)]++] = i;
	return NULL;
}

// Turns the numbers of members that the threads will add into the places of the first ones.
static void place_shares(const struct listing *listing)
{
	const struct kinds *kinds = &listing->inference->kinds;

	for (uint32_t i = 0; i < kinds->count; i++) {
		uint32_t first = kinds->kinds[i].first;

		for (unsigned thread = 0; thread < listing->threads; thread++) {
			uint32_t *next = &listing->next[(size_t)thread * kinds->count + i];
			uint32_t count = *next;

			*next = first;
			first += count;
		}
	}
}

// Lists the objects of each kind.
HEAP_MUST_CHECK
static struct heap_error *list_members(struct inference *inference)
{
	heap_object_id objects = inference->capture->objects.count;
	struct kinds *kinds = &inference->kinds;
	unsigned threads = objects < WORTH_THREADS ? 1 : heap_parallel_threads();
	CLEANUP_FREE uint32_t *next = calloc((size_t)kinds->count * threads + 1, sizeof(*next));
	struct listing listing = { inference, next, threads };

	if (!kinds->members)
		kinds->members = malloc(((size_t)objects + 1) * sizeof(*kinds->members));
	if (!next || !kinds->members)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_parallel_share(threads, count_share, &listing));
	place_shares(&listing);
	return heap_parallel_share(threads, list_share, &listing);
}

// Sorts kinds by site and size, and objects by kind.
HEAP_MUST_CHECK
static struct heap_error *sort_members(struct inference *inference)
{
	const struct objects *objects = &inference->capture->objects;
	struct kinds *kinds = &inference->kinds;
	CLEANUP_FREE uint32_t *place = malloc(((size_t)kinds->count + 1) * sizeof(*place));

	if (!place)
		return heap_error_out_of_memory();
	// `first` keeps where each kind was, until it is sorted.
	for (uint32_t i = 0; i < kinds->count; i++)
		kinds->kinds[i].first = i;
	if (kinds->count > 0)
		qsort(kinds->kinds, kinds->count, sizeof(*kinds->kinds), compare_kinds);

	uint32_t first = 0;

	for (uint32_t i = 0; i < kinds->count; i++) {
		place[kinds->kinds[i].first] = i;
		kinds->kinds[i].first = first;
		first += kinds->kinds[i].count;
	}
	for (uint32_t i = 0; !kinds->of && i < objects->kinds.count; i++)
		kinds->of_kind[i] = place[kinds->of_kind[i]];
	for (heap_object_id i = 0; kinds->of && i < objects->count; i++)
		kinds->of[i] = place[kinds->of[i]];
	return list_members(inference);
}

// Finds the sites whose blocks count for those of callers.
static void find_wrappers(struct kinds *kinds, const struct capture *capture)
{
	for (uint32_t i = 0; i < capture->objects.kinds.count; i++) {
		heap_site_id maker = capture->maker_of_kind[i];

		if (maker < kinds->sites && capture->site_of_kind[i] != maker)
			kinds->is_wrapper[maker] = true;
	}
}

struct heap_error *kinds_init(struct kinds *kinds, struct capture *capture)
{
	kinds->sites = capture->snapshot.site_count;
	kinds->site_types = calloc((size_t)kinds->sites + 1, sizeof(*kinds->site_types));
	kinds->is_wrapper = calloc((size_t)kinds->sites + 1, sizeof(*kinds->is_wrapper));
	if (!kinds->site_types || !kinds->is_wrapper)
		return heap_error_out_of_memory();
	find_wrappers(kinds, capture);
	for (heap_site_id i = 0; i < kinds->sites && !progress_is_late(); i++) {
		progress_flush(); // one may take long: all variables of its function are read
		HEAP_TRY(site_types_find(capture, i, &kinds->site_types[i]));
	}
	return NULL;
}

struct heap_error *kinds_sort(struct inference *inference)
{
	struct kinds *kinds = &inference->kinds;
	CLEANUP_FREE struct kind *old = NULL;
	CLEANUP_HASH_TABLE struct heap_hash_table table = { 0 };
	struct heap_error *error;

	if (!is_stale(inference))
		return NULL;
	old = kinds->kinds;
	kinds->kinds = NULL;
	kinds->count = kinds->capacity = 0;
	kinds->counted = UINT64_MAX;
	error = old ? find_kinds(inference, old, &table) : find_plain_kinds(inference, &table);
	inference->block_prefixes.is_renewed = false;
	inference->pointer_tags.is_renewed = false;
	memset(inference->discriminators.is_renewed, 0,
	       sizeof(inference->discriminators.is_renewed));
	return error ? error : sort_members(inference);
}

// The members of a kind among the objects of a thread.
struct members {
	uint32_t good, hinted, free, open;
};

struct counting {
	const struct inference *inference;
	struct members *members; // [threads * kinds]
	unsigned threads;
};

// By address: columns are read in order.
HEAP_MUST_CHECK
static struct heap_error *count_members(void *context, size_t thread)
{
	const struct counting *counting = context;
	const struct inference *inference = counting->inference;
	const struct claims *claims = &inference->claims;
	struct members *members = counting->members + thread * inference->kinds.count;
	heap_object_id objects = inference->capture->objects.count;
	heap_object_id end = heap_share_begin(objects, thread + 1, counting->threads);

	for (heap_object_id i = heap_share_begin(objects, thread, counting->threads); i < end;
	     i++) {
		struct members *kind = &members[kinds_of(inference, i)];
		bool is_good = claims_are_good(claims, i);
		bool is_hinted = !is_good && hints_have(&inference->hints, i);

		kind->good += is_good;
		kind->hinted += is_hinted;
		kind->open += is_hinted && !(inference->news[i] & NEWS_NO_WHOLE);
		kind->free += claims->rank[i] == RANK_NONE;
	}
	return NULL;
}

struct heap_error *kinds_count(struct inference *inference)
{
	struct kinds *kinds = &inference->kinds;
	heap_object_id objects = inference->capture->objects.count;
	uint64_t changes = inference->claims.changes + inference->hints.count;
	unsigned threads = objects < WORTH_THREADS ? 1 : heap_parallel_threads();
	CLEANUP_FREE struct members *members = NULL;

	if (kinds->counted == changes)
		return NULL;
	members = calloc((size_t)kinds->count * threads + 1, sizeof(*members));
	if (!members)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_parallel_share(threads, count_members,
				     &(struct counting){ inference, members, threads }));
	kinds->counted = changes;
	for (uint32_t i = 0; i < kinds->count; i++) {
		struct kind *kind = &kinds->kinds[i];

		kind->good = kind->hinted = kind->free = kind->open = 0;
		for (unsigned j = 0; j < threads; j++) {
			const struct members *part = &members[(size_t)j * kinds->count + i];

			kind->good += part->good;
			kind->hinted += part->hinted;
			kind->free += part->free;
			kind->open += part->open;
		}
	}
	progress_steps(objects);
	return NULL;
}

heap_object_id kinds_member(const struct inference *inference, const struct kind *kind,
			    uint32_t number)
{
	const heap_object_id *members = inference->kinds.members + kind->first;

	if (number + PREFETCH_DISTANCE < kind->count) {
		heap_prefetch(&inference->claims.rank[members[number + PREFETCH_DISTANCE]]);
		hints_prefetch(&inference->hints, members[number + PREFETCH_DISTANCE]);
	}
	return members[number];
}

uint64_t kinds_slack(const struct inference *inference, const struct kind *kind)
{
	return kind->count > 0 ? inference_slack(inference, inference->kinds.members[kind->first])
			       : layouts_slack(&inference->layouts, kind->size);
}

void kinds_deinit(struct kinds *kinds)
{
	for (uint32_t i = 0; kinds->site_types && i < kinds->sites; i++)
		free(kinds->site_types[i].list);
	free(kinds->site_types);
	free(kinds->is_wrapper);
	free(kinds->kinds);
	free(kinds->members);
	free(kinds->of);
	free(kinds->of_kind);
	free(kinds->prefix);
}
