// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/trace/call_tree.h"

#include "lib/base/array.h"
#include "shell/print/backtrace.h"
#include "shell/print/describe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_PATH = 256, // frames followed at most; the library takes far fewer
	/*
	 * Default bytes per sample. It serves to weigh the samples
	 * of one site whose sizes lie above and below it.
	 */
	SAMPLED_BYTES = 65536,
};

#define CONFIDENCE 1.96 // standard deviations: 95 % of a normal distribution

// --- places ------------------------------------------------------------------

static struct described_place place_of(const struct heap_snapshot *snapshot, uint32_t number)
{
	if (number < snapshot->call_count) {
		const struct heap_call *call = &snapshot->calls[number];

		return (struct described_place){ call->function, call->offset, call->file,
						 call->line,     call->module, call->address };
	}

	const struct heap_site *site = &snapshot->sites[number - snapshot->call_count];

	return (struct described_place){ site->function, site->offset, site->file,
					 site->line,     site->module, site->address };
}

const char *call_tree_describe(struct session *session, uint32_t number)
{
	struct described_place place;

	if (number == CALL_TREE_NOT_SAMPLED)
		return "caller not sampled";
	place = place_of(session->snapshot, number);
	return describe_place(session, &place);
}

bool call_tree_is_inlined(const struct session *session, uint32_t place)
{
	return place < session->snapshot->call_count &&
	       (session->snapshot->calls[place].flags & HEAP_FRAME_INLINED);
}

static int compare_texts(const struct heap_snapshot *snapshot, uint32_t a, uint32_t b)
{
	return a == b ? 0
		      : strcmp(heap_snapshot_string(snapshot, a),
			       heap_snapshot_string(snapshot, b));
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

// Orders by function and line, or by address where the line is unknown.
static int compare_places(const void *left, const void *right, void *context)
{
	const struct heap_snapshot *snapshot = context;
	const struct described_place a = place_of(snapshot, *(const uint32_t *)left);
	const struct described_place b = place_of(snapshot, *(const uint32_t *)right);
	int order = compare_texts(snapshot, a.function, b.function);

	if (order == 0)
		order = compare_texts(snapshot, a.file, b.file);
	if (order == 0)
		order = compare_numbers(a.line, b.line);
	if (order == 0 && a.line == 0)
		order = compare_numbers(a.address, b.address);
	return order;
}

// Maps each place to the first one with the same text. @return [calls + sites], or NULL
static uint32_t *unite_places(const struct heap_snapshot *snapshot)
{
	size_t count = (size_t)snapshot->call_count + snapshot->site_count;
	CLEANUP_FREE uint32_t *sorted = calloc(count + 1, sizeof(*sorted));
	uint32_t *united = calloc(count + 1, sizeof(*united));

	if (!sorted || !united) {
		free(united);
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = i;
	qsort_r(sorted, count, sizeof(*sorted), compare_places, (void *)(uintptr_t)snapshot);
	for (size_t i = 0; i < count; i++) {
		bool same = i > 0 && compare_places(&sorted[i], &sorted[i - 1],
						    (void *)(uintptr_t)snapshot) == 0;

		united[sorted[i]] = same ? united[sorted[i - 1]] : sorted[i];
	}
	return united;
}

// --- nodes -------------------------------------------------------------------

// The child of a node at a place, or HEAP_HASH_NONE.
static uint32_t child_at(const struct call_tree *tree, uint32_t parent, uint32_t place)
{
	return heap_hash_find(&tree->by_parent, heap_hash_pair(parent, place), i,
			      tree->nodes[i].parent == parent && tree->nodes[i].place == place);
}

// Finds a node's child at a place, or makes one.
HEAP_MUST_CHECK
static struct heap_error *find_child(struct call_tree *tree, uint32_t parent, uint32_t place,
				     uint32_t *result)
{
	uint32_t found = child_at(tree, parent, place);

	if (found == HEAP_HASH_NONE) {
		found = tree->count;
		HEAP_TRY(heap_reserve(tree->nodes, tree->capacity, (size_t)found + 1));
		HEAP_TRY(heap_hash_add(&tree->by_parent, heap_hash_pair(parent, place), found));
		tree->nodes[tree->count++] = (struct call_tree_node){
			.place = place, .parent = parent, .next = tree->nodes[parent].child
		};
		tree->nodes[parent].child = found;
	}
	*result = found;
	return NULL;
}

// --- samples -----------------------------------------------------------------

// The samples of a path, with their weight among those of their site.
struct path {
	heap_site_id site;
	uint32_t step; // the innermost
	double objects, bytes;
};

// The objects of a site.
struct site_sum {
	double objects, bytes;
	double object_weight, byte_weight;   // of its samples
	double object_squares, byte_squares; // sums of the squares of their weights
	uint64_t samples;
	uint32_t step; // of a backtrace that is no sample; 0: there is none
};

struct building {
	const struct heap_snapshot *snapshot;
	struct call_tree *tree;
	const uint32_t *united; // [places]
	struct site_sum *sites; // [site_count]
	struct path *paths;     // [path_count] by site, by step
	size_t path_count;
	bool from_sites;
};

// A sample stands for as many bytes as are between two samples, or for itself if it is larger:
// size / (1 - exp(-size / mean)) is the inverse of its probability (Horvitz and Thompson, 1952).
static double weight_of(uint64_t size)
{
	return size > 0 ? (double)size / -expm1(-(double)size / SAMPLED_BYTES) : SAMPLED_BYTES;
}

static void add_sample(struct building *building, heap_object_id object)
{
	const struct heap_snapshot *snapshot = building->snapshot;
	struct site_sum *site = &building->sites[snapshot->site[object]];
	uint64_t size = snapshot->size[object];
	double bytes = weight_of(size), objects = bytes / (double)(size > 0 ? size : 1);

	building->paths[building->path_count++] =
		(struct path){ snapshot->site[object],
			       heap_backtrace_step(snapshot->backtrace[object]), objects, bytes };
	site->samples++;
	site->object_weight += objects;
	site->byte_weight += bytes;
	site->object_squares += objects * objects;
	site->byte_squares += bytes * bytes;
}

static int compare_paths(const void *left, const void *right)
{
	const struct path *a = left, *b = right;

	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	return (a->step > b->step) - (a->step < b->step);
}

// Merges the samples of a path into one entry.
static void merge_paths(struct building *building)
{
	struct path *paths = building->paths;
	size_t kept = 0;

	if (building->path_count > 0)
		qsort(paths, building->path_count, sizeof(*paths), compare_paths);
	for (size_t i = 0; i < building->path_count; i++) {
		if (kept > 0 && compare_paths(&paths[kept - 1], &paths[i]) == 0) {
			paths[kept - 1].objects += paths[i].objects;
			paths[kept - 1].bytes += paths[i].bytes;
		} else {
			paths[kept++] = paths[i];
		}
	}
	building->path_count = kept;
}

static bool is_sampled(const struct heap_snapshot *snapshot, heap_object_id object)
{
	return heap_backtrace_step(snapshot->backtrace[object]) != 0 &&
	       heap_backtrace_is_own(snapshot->backtrace[object]);
}

HEAP_MUST_CHECK
static struct heap_error *gather(struct building *building)
{
	const struct heap_snapshot *snapshot = building->snapshot;
	struct call_tree *tree = building->tree;

	for (heap_object_id i = 0; i < snapshot->object_count; i++)
		tree->sampled += is_sampled(snapshot, i);
	building->paths = calloc(tree->sampled + 1, sizeof(*building->paths));
	if (!building->paths)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		struct site_sum *site = &building->sites[snapshot->site[i]];

		site->objects++;
		site->bytes += (double)snapshot->size[i];
		if (is_sampled(snapshot, i))
			add_sample(building, i);
		else if (site->step == 0)
			site->step = heap_backtrace_step(snapshot->backtrace[i]);
	}
	for (heap_site_id i = 0; i < snapshot->site_count; i++) {
		const struct site_sum *site = &building->sites[i];
		uint64_t objects = (uint64_t)site->objects;

		if (site->samples > 0)
			tree->estimated += objects - site->samples;
		else
			tree->unknown += objects;
	}
	merge_paths(building);
	return NULL;
}

// --- building ----------------------------------------------------------------

// Half of the Wilson score interval of a share that samples have (E. B. Wilson, 1927). Samples that
// weigh differently count as fewer ones (L. Kish, 1965).
static double margin_of(double share, double weight, double squares)
{
	double samples = squares > 0 ? weight * weight / squares : 1;
	double square = CONFIDENCE * CONFIDENCE;

	return CONFIDENCE / (1 + square / samples) *
	       sqrt(share * (1 - share) / samples + square / (4 * samples * samples));
}

// Descends to a child, and adds to it a share of the site.
HEAP_MUST_CHECK
static struct heap_error *add_share(struct building *building, uint32_t *node, uint32_t place,
				    const struct path *path)
{
	const struct site_sum *site = &building->sites[path->site];
	struct call_tree_node *child;

	HEAP_TRY(find_child(building->tree, *node, place, node));
	child = &building->tree->nodes[*node];
	if (child->site != path->site + 1) {
		child->site = path->site + 1;
		child->object_share = child->byte_share = 0;
	}
	child->object_share += path->objects / site->object_weight;
	child->byte_share += path->bytes / site->byte_weight;
	return NULL;
}

// Finds the step of the site itself: wrappers of malloc lie further in, some of them inlined.
static uint32_t site_step(const struct heap_snapshot *snapshot, const struct path *path)
{
	const struct heap_site *site = &snapshot->sites[path->site];
	uint32_t at = path->step, found = 0;

	for (int i = 0; at > 0 && i < MAX_PATH; i++) {
		const struct heap_step *step = &snapshot->steps[at];
		const struct heap_call *call = &snapshot->calls[step->call];

		if (call->address == site->address) {
			if (call->function == site->function && call->line == site->line)
				return at;
			found = found ? found : at;
		} else if (found) {
			break;
		}
		at = step->caller;
	}
	return found ? found : path->step;
}

// Lists the steps of a path in the order of the tree. @return their number
static uint32_t list_steps(const struct building *building, const struct path *path,
			   uint32_t steps[MAX_PATH])
{
	const struct heap_snapshot *snapshot = building->snapshot;
	uint32_t at = building->from_sites ? site_step(snapshot, path) : path->step;
	uint32_t count = 0;

	for (; at > 0 && count < MAX_PATH; at = backtrace_caller(snapshot, at))
		steps[count++] = at;
	for (uint32_t i = 0; !building->from_sites && i < count / 2; i++) {
		uint32_t other = steps[count - 1 - i];

		steps[count - 1 - i] = steps[i];
		steps[i] = other;
	}
	return count;
}

HEAP_MUST_CHECK
static struct heap_error *add_path(struct building *building, const struct path *path)
{
	uint32_t steps[MAX_PATH], count = list_steps(building, path, steps), node = 0;

	for (uint32_t i = 0; i < count; i++)
		HEAP_TRY(add_share(building, &node,
				   building->united[building->snapshot->steps[steps[i]].call],
				   path));
	return NULL;
}

// Adds the estimate for a site to a node, after all of the site's samples have been read.
static void settle(const struct building *building, uint32_t number, heap_site_id id)
{
	const struct site_sum *site = &building->sites[id];
	struct call_tree_node *node = &building->tree->nodes[number];
	// The total of the site is exact; samples only divide it.
	bool is_exact = building->from_sites && node->parent == 0;
	double margin;

	if (node->site != id + 1)
		return;
	node->site = 0;
	node->objects += node->object_share * site->objects;
	node->bytes += node->byte_share * site->bytes;
	if (is_exact || site->samples == (uint64_t)site->objects)
		return;
	margin = site->objects *
		 margin_of(node->object_share, site->object_weight, site->object_squares);
	node->object_margin = hypot(node->object_margin, margin);
	margin = site->bytes * margin_of(node->byte_share, site->byte_weight, site->byte_squares);
	node->byte_margin = hypot(node->byte_margin, margin);
}

// Adds one site to all nodes on its paths. @param first, end  of the paths
static void settle_site(const struct building *building, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		const struct path *path = &building->paths[i];
		uint32_t steps[MAX_PATH], count = list_steps(building, path, steps), node = 0;

		for (uint32_t j = 0; j < count; j++) {
			uint32_t call = building->snapshot->steps[steps[j]].call;

			node = child_at(building->tree, node, building->united[call]);
			settle(building, node, path->site);
		}
	}
}

HEAP_MUST_CHECK
static struct heap_error *add_sampled_sites(struct building *building)
{
	size_t end;

	for (size_t i = 0; i < building->path_count; i = end) {
		heap_site_id site = building->paths[i].site;

		for (end = i; end < building->path_count && building->paths[end].site == site;
		     end++)
			HEAP_TRY(add_path(building, &building->paths[end]));
		settle_site(building, i, end);
	}
	return NULL;
}

// Adds the objects of a site without samples to a child of a node.
HEAP_MUST_CHECK
static struct heap_error *add_unknown(struct building *building, uint32_t *node, uint32_t place,
				      const struct site_sum *site)
{
	HEAP_TRY(find_child(building->tree, *node, place, node));
	building->tree->nodes[*node].objects += site->objects;
	building->tree->nodes[*node].bytes += site->bytes;
	return NULL;
}

// The call of a site in the backtrace of one of its sizes; 0: there is none.
static uint32_t find_caller(const struct building *building, heap_site_id site)
{
	const struct heap_snapshot *snapshot = building->snapshot;
	const struct path path = { .site = site, .step = building->sites[site].step };
	uint32_t step = path.step ? backtrace_caller(snapshot, site_step(snapshot, &path)) : 0;

	return step ? building->united[snapshot->steps[step].call] : 0;
}

HEAP_MUST_CHECK
static struct heap_error *add_unknown_sites(struct building *building)
{
	for (heap_site_id i = 0; i < building->snapshot->site_count; i++) {
		const struct site_sum *site = &building->sites[i];
		uint32_t place = building->united[building->snapshot->call_count + i];
		uint32_t node = 0;

		if (site->objects <= 0 || site->samples > 0)
			continue;
		HEAP_TRY(add_unknown(building, &node,
				     building->from_sites ? place : CALL_TREE_NOT_SAMPLED, site));
		HEAP_TRY(add_unknown(building, &node,
				     building->from_sites ? CALL_TREE_NOT_SAMPLED : place, site));
		if (building->from_sites && building->tree->nodes[node].caller == 0)
			building->tree->nodes[node].caller = find_caller(building, i);
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *build(struct building *building)
{
	struct call_tree *tree = building->tree;

	HEAP_TRY(heap_reserve(tree->nodes, tree->capacity, 1));
	tree->nodes[0] = (struct call_tree_node){ 0 };
	tree->count = 1;
	HEAP_TRY(gather(building));
	for (heap_site_id i = 0; i < building->snapshot->site_count; i++) {
		tree->nodes[0].objects += building->sites[i].objects;
		tree->nodes[0].bytes += building->sites[i].bytes;
	}
	HEAP_TRY(add_sampled_sites(building));
	return add_unknown_sites(building);
}

struct heap_error *call_tree_init(struct call_tree *result, struct session *session,
				  bool from_sites)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	CLEANUP_FREE struct site_sum *sites =
		calloc((size_t)snapshot->site_count + 1, sizeof(*sites));
	CLEANUP_FREE uint32_t *united = unite_places(snapshot);
	struct call_tree tree = { 0 };
	struct building building = { .snapshot = snapshot,
				     .tree = &tree,
				     .united = united,
				     .sites = sites,
				     .from_sites = from_sites };
	struct heap_error *error = sites && united ? build(&building) : heap_error_out_of_memory();

	free(building.paths);
	if (error)
		call_tree_deinit(&tree);
	else
		*result = tree;
	return error;
}

void call_tree_deinit(struct call_tree *tree)
{
	free(tree->nodes);
	heap_hash_table_deinit(&tree->by_parent);
	*tree = (struct call_tree){ 0 };
}
