// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/series/candidates.h"

#include "lib/base/cleanup.h"
#include "shell/print/backtrace.h"
#include "shell/print/describe.h"
#include "shell/print/node.h"
#include "shell/base/format.h"
#include "shell/series/filter.h"
#include "shell/tables/root_sizes.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
	CALLS_SHOWN = 4, // of a backtrace, innermost first
};

static const char *const ways[] = { "kind", "type", "site", "backtrace", "dominator" };

enum candidates_by candidates_parse(const char *word)
{
	enum candidates_by by = 0;

	while (by < CANDIDATES_WAYS && strcmp(ways[by], word) != 0)
		by++;
	return by;
}

const char *candidates_name(enum candidates_by by)
{
	return ways[by];
}

void candidates_deinit(struct candidates *candidates)
{
	free(candidates->objects);
	free(candidates->groups);
}

// --- candidates ----------------------------------------------------------------------

// Sorted by counting: one pass for each snapshot would take as long as the series is.
HEAP_MUST_CHECK
static struct heap_error *find_candidates(struct candidates *candidates,
					  const struct heap_series *series, uint32_t end,
					  struct heap_filter *filter)
{
	uint32_t objects = heap_series_latest(series)->object_count;
	CLEANUP_FREE size_t *next = calloc((size_t)end + 1, sizeof(*next));
	CLEANUP_FREE uint8_t *passes = calloc((size_t)objects + 1, 1);

	if (!next || !passes)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < objects; i++) {
		uint32_t first = heap_series_first_seen(series, i);

		passes[i] = first > 0 && first < end && (!filter || heap_filter_matches(filter, i));
		if (passes[i])
			next[first + 1]++;
	}
	for (uint32_t i = 1; i <= end; i++)
		next[i] += next[i - 1];
	candidates->count = next[end];
	candidates->objects = malloc((candidates->count + 1) * sizeof(*candidates->objects));
	if (!candidates->objects)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < objects; i++) {
		if (passes[i])
			candidates->objects[next[heap_series_first_seen(series, i)]++] = i;
	}
	return filter ? heap_filter_finish(filter) : NULL;
}

// --- kinds and their growth ----------------------------------------------------------

struct growth {
	struct heap_trend count, bytes;
	uint64_t fresh;
};

HEAP_MUST_CHECK
static struct heap_error *judge_kinds(struct growth *growths, const struct heap_census *census)
{
	size_t length = heap_census_length(census);
	CLEANUP_FREE uint64_t *objects = calloc(length, sizeof(*objects));
	CLEANUP_FREE uint64_t *bytes = calloc(length, sizeof(*bytes));

	if (!objects || !bytes)
		return heap_error_out_of_memory();
	for (heap_kind_id i = 0; i < heap_census_kinds(census); i++) {
		for (size_t j = 0; j < length; j++) {
			struct heap_amount amount = heap_census_amount(census, i, j);

			objects[j] = amount.objects;
			bytes[j] = amount.bytes;
		}
		growths[i].count = heap_trend_of(heap_census_times(census), objects, length);
		growths[i].bytes = heap_trend_of(heap_census_times(census), bytes, length);
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *count_fresh(struct growth *growths, struct session *session,
				      const struct heap_series *series, struct tally *tally,
				      struct heap_census *census)
{
	uint32_t last = heap_series_length(series) - 1;

	for (heap_object_id i = 0; i < session->snapshot->object_count; i++) {
		struct heap_error *error;
		heap_kind_id kind;

		if (heap_series_first_seen(series, i) != last)
			continue;
		error = tally_kind(tally, session, census, i, &kind);
		if (error)
			return error;
		growths[kind].fresh++;
	}
	return NULL;
}

// --- groups --------------------------------------------------------------------------

struct keyed {
	uint64_t key;
	heap_object_id object;
	heap_kind_id kind;
	size_t at; // in candidates->objects
};

// Stands for the holder of what no root reaches. No node has this number.
#define NO_HOLDER (HEAP_NO_NODE - 1)

// Objects that no single node holds have the key of their class (lib/graph/root_sizes.h), above all nodes.
#define CLASS_KEY (UINT64_C(1) << 32)

// A node that dominates another one, its child in the tree.
struct link {
	heap_node_id node, below;
};

static heap_type_id type_of_node(const struct session *session, heap_node_id node)
{
	const struct heap_part *part;

	if (node >= session->dominators->objects)
		return HEAP_NO_TYPE;
	part = heap_divided_part(session->divided, node);
	return part ? part->type
		    : session->snapshot->type[heap_divided_block(session->divided, node)];
}

// True for two nodes of a list or a tree: the one holds the other as it holds all that comes behind.
static bool is_among_alike(const struct session *session, const struct link *link)
{
	heap_type_id type = type_of_node(session, link->node);

	return type != HEAP_NO_TYPE && type == type_of_node(session, link->below);
}

// True for a node that has come since the beginning.
static bool is_new(const struct session *session, const struct heap_series *series,
		   heap_node_id node)
{
	return node < session->dominators->objects &&
	       heap_series_first_seen(series, heap_divided_block(session->divided, node)) > 0;
}

/*
 * Ways up the tree of dominators. The new nodes of a list may each hold all that come behind: so each node on a way gets to
 * know where it ends.
 */
struct climb {
	const struct session *session;
	const struct heap_series *series; // up to what is old; NULL: up from among alike nodes
	struct link *known; // [nodes] ends, but below is one more; NULL: they are not kept
};

static bool goes_on(const struct climb *climb, const struct link *link)
{
	return climb->series ? is_new(climb->session, climb->series, link->node)
			     : is_among_alike(climb->session, link);
}

static struct link up_from(const struct climb *climb, const struct link *link)
{
	return (struct link){ climb->session->dominators->nearest[link->node], link->node };
}

// The first link from one on that does not go on.
static struct link find_end(const struct climb *climb, struct link link)
{
	struct link end = link;

	while (goes_on(climb, &end)) {
		if (climb->known && climb->known[end.node].below != 0) {
			end = climb->known[end.node];
			end.below--;
			break;
		}
		end = up_from(climb, &end);
	}
	while (climb->known && goes_on(climb, &link) && climb->known[link.node].below == 0) {
		climb->known[link.node] = (struct link){ end.node, end.below + 1 };
		link = up_from(climb, &link);
	}
	return end;
}

// To the nearest dominator that has been there from the beginning; HEAP_NO_NODE if it takes several roots.
static struct link old_dominator(const struct climb *climb, heap_object_id object)
{
	return find_end(climb,
			(struct link){ climb->session->dominators->nearest[object], object });
}

// The key of a holder: a node, or the class of those roots that hold the node below together.
static uint64_t holder_key(const struct session *session, const struct link *link)
{
	const struct heap_dominators *dominators = session->dominators;
	const struct session_holders *holders = session->holders;

	if (link->node == HEAP_NO_NODE)
		return CLASS_KEY + heap_joint_class(holders->all, &holders->joint, link->below);
	if (link->node >= dominators->objects &&
	    holders->group[link->node - dominators->objects] == holders->words)
		return CLASS_KEY + holders->words;
	return link->node;
}

// What holds an object: NO_HOLDER if nothing does.
static uint64_t holder_of(const struct session *session, const struct heap_series *series,
			  heap_object_id object)
{
	struct link link;

	if (session_retained(session, object) == 0)
		return NO_HOLDER;
	link = old_dominator(&(struct climb){ session, series, NULL }, object);
	link = find_end(&(struct climb){ session, NULL, NULL }, link);
	return holder_key(session, &link);
}

// --- holders of many candidates ----------------------------------------------------------

/*
 * New entries of a tree or a list are below old ones, which is of no interest: the holder is what has the whole tree.
 * Unless one of its nodes has most of them, and several directly: what grows is what hangs there.
 *
 *	cache ─ entry ─┬─ entry ─ new      all new ones count for the cache
 *	               └─ entry ─ new
 *	tree ─ topic ─┬─ topic
 *	              └─ topic ─┬─ new     they count for that topic
 *	                        └─ new
 */
struct hanging {
	struct link link; // to the candidate's nearest old dominator
	size_t at;        // in the keys
};

struct hangings {
	struct hanging *list; // [count] by the node, then by that below
	size_t count;
	struct climb to_old, to_whole;
	uint32_t *sums; // [nodes] candidates below the end of a climb to the whole
};

static void hangings_deinit(struct hangings *hangings)
{
	free(hangings->list);
	free(hangings->to_old.known);
	free(hangings->to_whole.known);
	free(hangings->sums);
}

static int compare_hangings(const void *left, const void *right)
{
	const struct hanging *a = left, *b = right;

	if (a->link.node != b->link.node)
		return a->link.node < b->link.node ? -1 : 1;
	return (a->link.below > b->link.below) - (a->link.below < b->link.below);
}

// The end of the candidates that hang at one node. @param branches  gets how many nodes are right below that
static size_t end_of_run(const struct hangings *hangings, size_t first, size_t *branches)
{
	size_t i = first;

	*branches = 0;
	for (;
	     i < hangings->count && hangings->list[i].link.node == hangings->list[first].link.node;
	     i++)
		*branches += i == first ||
			     hangings->list[i].link.below != hangings->list[i - 1].link.below;
	return i;
}

static uint32_t *sum_at(const struct session *session, struct hangings *hangings, heap_node_id node)
{
	size_t count = session->dominators->objects + session->dominators->roots;

	return &hangings->sums[node < count ? node : count];
}

// Sets the keys of the candidates that hang at nodes among alike ones.
static void join_hangings(const struct session *session, struct hangings *hangings,
			  struct keyed *keys)
{
	size_t branches;

	for (size_t i = 0; i < hangings->count; i++)
		++*sum_at(session, hangings,
			  find_end(&hangings->to_whole, hangings->list[i].link).node);
	for (size_t i = 0, end; i < hangings->count; i = end) {
		struct link link = hangings->list[i].link;
		struct link whole = find_end(&hangings->to_whole, link);

		end = end_of_run(hangings, i, &branches);
		if (branches == 1 || end - i < *sum_at(session, hangings, whole.node) / 2)
			link = whole;
		for (; i < end; i++)
			keys[hangings->list[i].at].key = holder_key(session, &link);
	}
}

// Finds the holders of all candidates.
HEAP_MUST_CHECK
static struct heap_error *key_holders(const struct session *session,
				      const struct heap_series *series, struct keyed *keys,
				      size_t count)
{
	size_t nodes = session->dominators->objects;
	CLEANUP(hangings_deinit)
	struct hangings hangings = {
		.list = malloc((count + 1) * sizeof(*hangings.list)),
		.to_old = { session, series, calloc(nodes + 1, sizeof(struct link)) },
		.to_whole = { session, NULL, calloc(nodes + 1, sizeof(struct link)) },
		.sums = calloc(nodes + session->dominators->roots + 1, sizeof(*hangings.sums)),
	};

	if (!hangings.list || !hangings.to_old.known || !hangings.to_whole.known || !hangings.sums)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < count; i++) {
		struct link link = old_dominator(&hangings.to_old, keys[i].object);

		if (session_retained(session, keys[i].object) == 0)
			keys[i].key = NO_HOLDER;
		else if (is_among_alike(session, &link))
			hangings.list[hangings.count++] = (struct hanging){ link, i };
		else
			keys[i].key = holder_key(session, &link);
	}
	qsort(hangings.list, hangings.count, sizeof(*hangings.list), compare_hangings);
	join_hangings(session, &hangings, keys);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *make_keys(const struct candidates *candidates, enum candidates_by by,
				    struct session *session, const struct heap_series *series,
				    struct tally *tally, struct heap_census *census,
				    struct keyed *keys)
{
	for (size_t i = 0; i < candidates->count; i++) {
		heap_object_id object = candidates->objects[i];
		struct heap_error *error;

		keys[i] = (struct keyed){ .object = object, .at = i };
		error = tally_kind(tally, session, census, object, &keys[i].kind);
		if (error)
			return error;
		if (by == CANDIDATES_BY_BACKTRACE)
			keys[i].key = heap_backtrace_step(session->snapshot->backtrace[object]);
		else
			keys[i].key = keys[i].kind;
	}
	return by == CANDIDATES_BY_DOMINATOR ? key_holders(session, series, keys, candidates->count)
					     : NULL;
}

static int compare_keys(const void *left, const void *right)
{
	const struct keyed *a = left, *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->object < b->object ? -1 : a->object > b->object;
}

// Bytes of the objects of one kind in a group, which are the keys from the first on.
static uint64_t bytes_of_kind(const struct session *session, const struct keyed *keys, size_t count)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < count && keys[i].key == keys->key && keys[i].kind == keys->kind; i++)
		bytes += session->snapshot->size[keys[i].object];
	return bytes;
}

// Adds an object to its group. A group is told by the worst of its kinds, and of these by the one that has most of it.
static void add_to_group(struct candidate_group *group, const struct keyed *key,
			 const struct session *session)
{
	group->objects++;
	group->bytes += session->snapshot->size[key->object];
	if (key->object < group->example)
		group->example = key->object;
}

static void gather_groups(struct candidates *candidates, const struct keyed *keys,
			  const struct growth *growths, const struct session *session)
{
	struct candidate_group *group = NULL;
	uint64_t most = 0; // bytes of the group's kind

	for (size_t i = 0; i < candidates->count; i++) {
		const struct keyed *key = &keys[i];
		bool is_first = i == 0 || keys[i - 1].key != key->key;

		if (is_first) {
			group = &candidates->groups[candidates->group_count++];
			*group = (struct candidate_group){ .key = key->key,
							   .example = key->object,
							   .kind = key->kind };
			most = 0;
		}
		if (is_first || keys[i - 1].kind != key->kind) {
			enum heap_trend_kind trend = growths[key->kind].count.kind;
			enum heap_trend_kind worst = growths[group->kind].count.kind;
			uint64_t bytes = bytes_of_kind(session, key, candidates->count - i);

			if (trend < worst || (trend == worst && bytes > most)) {
				group->kind = key->kind;
				most = bytes;
			}
		}
		add_to_group(group, key, session);
	}
	for (size_t i = 0; i < candidates->group_count; i++) {
		const struct growth *growth = &growths[candidates->groups[i].kind];

		candidates->groups[i].count_trend = growth->count;
		candidates->groups[i].bytes_trend = growth->bytes;
		candidates->groups[i].fresh = growth->fresh;
	}
}

// A single object may grow, too: adds kinds without candidates whose bytes grow, with all that there is of them.
// Whether realloc() has moved the object since the last snapshot but one, so that it is no candidate, is chance.
HEAP_MUST_CHECK
static struct heap_error *add_growing(struct candidates *candidates, const struct growth *growths,
				      const struct heap_census *census)
{
	heap_kind_id kinds = heap_census_kinds(census);
	CLEANUP_FREE uint8_t *is_there = calloc((size_t)kinds + 1, 1);
	struct candidate_group *groups = reallocarray(
		candidates->groups, candidates->group_count + kinds + 1, sizeof(*groups));

	if (groups)
		candidates->groups = groups;
	if (!is_there || !groups)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < candidates->group_count; i++)
		is_there[groups[i].kind] = 1;
	for (heap_kind_id i = 0; i < kinds; i++) {
		struct heap_amount amount =
			heap_census_amount(census, i, heap_census_length(census) - 1);

		if (is_there[i] || growths[i].bytes.kind != HEAP_TREND_STEADY ||
		    growths[i].count.kind != HEAP_TREND_NONE)
			continue;
		groups[candidates->group_count++] = (struct candidate_group){
			.kind = i,
			.example = HEAP_NO_OBJECT,
			.objects = amount.objects,
			.bytes = amount.bytes,
			.count_trend = growths[i].count,
			.bytes_trend = growths[i].bytes,
		};
	}
	return NULL;
}

static int compare_groups(const void *left, const void *right)
{
	const struct candidate_group *a = left, *b = right;

	if (candidates_trend(a) != candidates_trend(b))
		return candidates_trend(a) < candidates_trend(b) ? -1 : 1;
	if (a->bytes_trend.rate != b->bytes_trend.rate)
		return a->bytes_trend.rate > b->bytes_trend.rate ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->example < b->example ? -1 : a->example > b->example;
}

// A group of several kinds has its own bytes, and of none of them all.
static int compare_mixed_groups(const void *left, const void *right)
{
	const struct candidate_group *a = left, *b = right;

	if (candidates_trend(a) != candidates_trend(b))
		return candidates_trend(a) < candidates_trend(b) ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->example < b->example ? -1 : a->example > b->example;
}

// Leaves out groups that are too small, and their objects.
HEAP_MUST_CHECK
static struct heap_error *select_groups(struct candidates *candidates,
					const struct candidates_options *options,
					const struct keyed *keys)
{
	size_t kept = 0, objects = 0;
	CLEANUP_FREE uint8_t *is_kept = calloc(candidates->group_count + 1, 1);
	CLEANUP_FREE size_t *group_of = calloc(candidates->count + 1, sizeof(*group_of));

	if (!is_kept || !group_of)
		return heap_error_out_of_memory();
	// Groups stand in the order of their keys.
	for (size_t i = 0, group = 0; i < candidates->count; i++) {
		group += i > 0 && keys[i - 1].key != keys[i].key;
		group_of[keys[i].at] = group;
	}
	for (size_t i = 0; i < candidates->group_count; i++) {
		struct candidate_group group = candidates->groups[i];

		if (group.objects < options->min_objects || group.bytes < options->min_bytes)
			continue;
		candidates->groups[kept++] = group;
		is_kept[i] = 1;
	}
	candidates->group_count = kept;
	for (size_t i = 0; i < candidates->count; i++) {
		if (is_kept[group_of[i]])
			candidates->objects[objects++] = candidates->objects[i];
	}
	candidates->count = objects;
	return NULL;
}

// --- names ---------------------------------------------------------------------------

static const char *name_backtrace(struct session *session, const struct candidate_group *group)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const char *name = "";
	uint32_t step = (uint32_t)group->key;

	if (step == 0)
		return describe_site(session, snapshot->site[group->example]);
	for (int i = 0; i < CALLS_SHOWN && step; i++, step = snapshot->steps[step].caller)
		name = session_format(session, "%s%s%s", name, i ? " < " : "",
				      backtrace_call(session, snapshot->steps[step].call));
	return step ? session_format(session, "%s < ...", name) : name;
}

static const char *name_holder(struct session *session, const struct root_groups *groups,
			       uint64_t key)
{
	if (key < session->dominators->objects + session->dominators->roots)
		return node_describe(session, (heap_node_id)key);
	return key == NO_HOLDER ? "nothing (leaked)"
				: root_class_name(session, groups, (uint32_t)(key - CLASS_KEY));
}

struct heap_error *candidates_holder(struct session *session, const struct heap_series *series,
				     heap_object_id object, const char **name)
{
	const struct session_holders *holders;
	struct root_groups groups;

	HEAP_TRY(describe_load(session));
	HEAP_TRY(session_holders(session, &holders));
	HEAP_TRY(root_groups_by_root(session, &groups));
	*name = name_holder(session, &groups, holder_of(session, series, object));
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *name_groups(struct candidates *candidates, enum candidates_by by,
				      struct session *session, const struct heap_census *census)
{
	struct root_groups groups;

	if (by == CANDIDATES_BY_DOMINATOR)
		HEAP_TRY(root_groups_by_root(session, &groups));
	for (size_t i = 0; i < candidates->group_count; i++) {
		struct candidate_group *group = &candidates->groups[i];

		if (by == CANDIDATES_BY_BACKTRACE)
			group->name = name_backtrace(session, group);
		else if (by == CANDIDATES_BY_DOMINATOR)
			group->name = name_holder(session, &groups, group->key);
		else
			group->name = heap_census_name_of(census, group->kind);
	}
	return NULL;
}

// --- together ------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *load(struct session *session, enum candidates_by by)
{
	const struct session_holders *holders;

	HEAP_TRY(describe_load(session));
	HEAP_TRY(heap_snapshot_load(
		session->snapshot,
		HEAP_COLUMN_SITE | (by == CANDIDATES_BY_BACKTRACE ? HEAP_COLUMN_BACKTRACE : 0)));
	if (by == CANDIDATES_BY_DOMINATOR)
		HEAP_TRY(session_holders(session, &holders));
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *make_groups(struct candidates *candidates,
				      const struct candidates_options *options,
				      struct session *session, const struct heap_series *series,
				      struct tally *tally, struct heap_census *census)
{
	CLEANUP_FREE struct keyed *keys = malloc((candidates->count + 1) * sizeof(*keys));
	CLEANUP_FREE struct growth *growths =
		calloc((size_t)heap_census_kinds(census) + 1, sizeof(*growths));

	candidates->groups = calloc(candidates->count + 1, sizeof(*candidates->groups));
	if (!keys || !growths || !candidates->groups)
		return heap_error_out_of_memory();
	HEAP_TRY(make_keys(candidates, options->by, session, series, tally, census, keys));
	HEAP_TRY(judge_kinds(growths, census));
	HEAP_TRY(count_fresh(growths, session, series, tally, census));
	qsort(keys, candidates->count, sizeof(*keys), compare_keys);
	gather_groups(candidates, keys, growths, session);
	HEAP_TRY(select_groups(candidates, options, keys));
	if (options->by <= CANDIDATES_BY_SITE && !options->second_only &&
	    options->filter_count == 0 && options->min_objects == 0 && options->min_bytes == 0)
		HEAP_TRY(add_growing(candidates, growths, census));
	return NULL;
}

struct heap_error *candidates_find(struct candidates *result,
				   const struct candidates_options *options,
				   struct session *session, const struct heap_series *series,
				   struct tally *tally, struct heap_census *census)
{
	uint32_t end = options->second_only ? 2 : heap_series_length(series) - 1;
	CLEANUP(candidates_deinit) struct candidates candidates = { 0 };
	CLEANUP(heap_filter_cleanup) struct heap_filter *filter = NULL;

	HEAP_TRY(load(session, options->by));
	if (options->filter_count > 0)
		HEAP_TRY(session_filter_leniently(session, options->filter_count, options->filter,
						  &filter));
	HEAP_TRY(find_candidates(&candidates, series, end, filter));
	HEAP_TRY(make_groups(&candidates, options, session, series, tally, census));
	qsort(candidates.groups, candidates.group_count, sizeof(*candidates.groups),
	      options->by > CANDIDATES_BY_SITE ? compare_mixed_groups : compare_groups);
	HEAP_TRY(name_groups(&candidates, options->by, session, census));
	*result = candidates;
	candidates = (struct candidates){ 0 };
	return NULL;
}

// --- in words ------------------------------------------------------------------------

bool candidates_grow_in_size(const struct candidate_group *group)
{
	return group->count_trend.kind == HEAP_TREND_NONE &&
	       group->bytes_trend.kind == HEAP_TREND_STEADY;
}

enum heap_trend_kind candidates_trend(const struct candidate_group *group)
{
	return candidates_grow_in_size(group) ? HEAP_TREND_STEADY : group->count_trend.kind;
}

const char *candidates_judgement(const struct candidate_group *group)
{
	switch (group->count_trend.kind) {
	case HEAP_TREND_STEADY:
		return "steady growth";
	case HEAP_TREND_SLOWING:
		return "slowing growth";
	case HEAP_TREND_SETTLED:
		return group->fresh ? "a full cache" : "a warm-up";
	case HEAP_TREND_NONE:
		return candidates_grow_in_size(group) ? "steady growth in size" : "no growth";
	default:
		return "unclear";
	}
}

static const char *format_rate(struct session *session, double rate)
{
	bool is_whole = fabs(rate) >= 100 || fabs(rate - round(rate)) < 0.05;

	return session_format(session, is_whole ? "%.0f" : "%.1f", fabs(rate) < 0.05 ? 0 : rate);
}

static const char *format_bytes_rate(struct session *session, double rate)
{
	const char *bytes = describe_bytes(session, (uint64_t)fmin(round(fabs(rate)), 9e18));

	return rate < 0 ? session_format(session, "-%s", bytes) : bytes;
}

// A rate that its margin exceeds says nothing: how much more there is than at first does.
static const char *describe_difference(struct session *session, const struct heap_census *census,
				       const struct candidate_group *group)
{
	struct heap_amount first = heap_census_amount(census, group->kind, 0);
	struct heap_amount last =
		heap_census_amount(census, group->kind, heap_census_length(census) - 1);
	int64_t objects = (int64_t)(last.objects - first.objects);
	int64_t bytes = (int64_t)(last.bytes - first.bytes);

	return session_format(session, "%s: %+" PRIi64 " object%s, %s%s since [0]",
			      candidates_judgement(group), objects,
			      objects == 1 || objects == -1 ? "" : "s", bytes < 0 ? "-" : "+",
			      describe_bytes(session, (uint64_t)(bytes < 0 ? -bytes : bytes)));
}

static bool is_certain(const struct heap_trend *trend)
{
	return trend->margin < fabs(trend->rate);
}

static const char *describe_growth(struct session *session, const struct heap_census *census,
				   const struct candidate_group *group)
{
	const struct heap_trend *count = &group->count_trend;
	struct heap_amount first = heap_census_amount(census, group->kind, 0);
	struct heap_amount last =
		heap_census_amount(census, group->kind, heap_census_length(census) - 1);

	if (count->kind == HEAP_TREND_SETTLED)
		return session_format(session, "%s: %" PRIu64 " object%s, no more than in [%zu]%s",
				      candidates_judgement(group), last.objects,
				      format_plural(last.objects), count->since,
				      group->fresh ? "; old ones go, new ones come"
						   : "; none is new");
	if (candidates_grow_in_size(group) ? !is_certain(&group->bytes_trend)
					   : count->kind != HEAP_TREND_NONE && !is_certain(count))
		return describe_difference(session, census, group);
	if (candidates_grow_in_size(group))
		return session_format(session, "%s: %" PRIu64 " object%s, %s an hour",
				      candidates_judgement(group), last.objects,
				      format_plural(last.objects),
				      format_bytes_rate(session, group->bytes_trend.rate));
	if (count->kind == HEAP_TREND_NONE && last.bytes > first.bytes)
		return session_format(session,
				      "no growth in number, but larger: %" PRIu64
				      " object%s, +%s since [0]",
				      last.objects, format_plural(last.objects),
				      describe_bytes(session, last.bytes - first.bytes));
	if (count->kind == HEAP_TREND_NONE)
		return session_format(session, "no growth: %" PRIu64 " object%s", last.objects,
				      format_plural(last.objects));
	return session_format(
		session, "%s: %s ±%s objects, %s an hour%s", candidates_judgement(group),
		format_rate(session, count->rate), format_rate(session, count->margin),
		format_bytes_rate(session, group->bytes_trend.rate),
		count->kind == HEAP_TREND_SLOWING ? "; a cache that fills, or a warm-up" : "");
}

const char *candidates_verdict(struct session *session, const struct heap_census *census,
			       const struct candidate_group *group)
{
	const char *kind = heap_census_name_of(census, group->kind);
	const char *growth = describe_growth(session, census, group);

	return strcmp(kind, group->name) == 0 ? growth
					      : session_format(session, "%s: %s", kind, growth);
}
