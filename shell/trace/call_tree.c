// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/trace/call_tree.h"

#include "lib/base/cleanup.h"
#include "shell/print/backtrace.h"
#include "shell/print/describe.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_WAY = 256, // steps of a way that are followed; the library takes far fewer
};

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
	struct described_place place = place_of(session->snapshot, number);

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

// By function and line; where there is no line, by address.
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

// The first of all places that read alike, for each. @return [calls + sites], or NULL
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

static uint32_t slot_of(const struct call_tree *tree, uint32_t parent, uint32_t place)
{
	uint64_t hash = ((uint64_t)parent << 32 | place) * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t at = (uint32_t)(hash >> 32) & (tree->slot_count - 1);

	while (tree->slots[at] && (tree->nodes[tree->slots[at]].parent != parent ||
				   tree->nodes[tree->slots[at]].place != place))
		at = (at + 1) & (tree->slot_count - 1);
	return at;
}

HEAP_MUST_CHECK
static struct heap_error *grow(struct call_tree *tree)
{
	uint32_t capacity = tree->capacity ? tree->capacity * 2 : 256;
	void *larger = realloc(tree->nodes, (size_t)capacity * sizeof(*tree->nodes));

	if (!larger)
		return heap_error_out_of_memory();
	tree->nodes = larger;
	tree->capacity = capacity;

	uint32_t *slots = calloc((size_t)capacity * 2, sizeof(*slots));

	if (!slots)
		return heap_error_out_of_memory();
	free(tree->slots);
	tree->slots = slots;
	tree->slot_count = capacity * 2;
	for (uint32_t i = 1; i < tree->count; i++)
		slots[slot_of(tree, tree->nodes[i].parent, tree->nodes[i].place)] = i;
	return NULL;
}

// A node's child at a place, made if there is none.
HEAP_MUST_CHECK
static struct heap_error *find_child(struct call_tree *tree, uint32_t parent, uint32_t place,
				     uint32_t *result)
{
	struct heap_error *error = tree->count == tree->capacity ? grow(tree) : NULL;

	if (error)
		return error;

	uint32_t at = slot_of(tree, parent, place);

	if (!tree->slots[at]) {
		tree->slots[at] = tree->count;
		tree->nodes[tree->count] = (struct call_tree_node){
			.place = place, .parent = parent, .next = tree->nodes[parent].child
		};
		tree->nodes[parent].child = tree->count++;
	}
	*result = tree->slots[at];
	return NULL;
}

// --- building ----------------------------------------------------------------

// Objects that came by the same way, or from the same site.
struct sum {
	uint64_t objects;
	uint64_t bytes;
	heap_site_id site;
};

struct building {
	const struct heap_snapshot *snapshot;
	struct call_tree *tree;
	struct sum *steps;      // [step_count] by their innermost step
	struct sum *sites;      // [site_count] of those without a backtrace
	const uint32_t *united; // [places]
};

static void count_objects(struct building *building)
{
	const struct heap_snapshot *snapshot = building->snapshot;
	struct call_tree *tree = building->tree;

	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		uint32_t step = heap_backtrace_step(snapshot->backtrace[i]);
		struct sum *sum =
			step ? &building->steps[step] : &building->sites[snapshot->site[i]];

		sum->objects++;
		sum->bytes += snapshot->size[i];
		sum->site = snapshot->site[i];
		if (step == 0)
			tree->bare++;
		else if (heap_backtrace_is_own(snapshot->backtrace[i]))
			tree->own++;
		else
			tree->similar++;
	}
}

static void add(struct call_tree *tree, uint32_t node, const struct sum *sum)
{
	tree->nodes[node].objects += sum->objects;
	tree->nodes[node].bytes += sum->bytes;
}

HEAP_MUST_CHECK
static struct heap_error *add_bare_sites(struct building *building)
{
	struct call_tree *tree = building->tree;
	struct heap_error *error = NULL;

	for (heap_site_id i = 0; !error && i < building->snapshot->site_count; i++) {
		const struct sum *sum = &building->sites[i];
		uint32_t node;

		if (sum->objects == 0)
			continue;
		error = find_child(tree, 0, building->united[building->snapshot->call_count + i],
				   &node);
		if (!error) {
			add(tree, node, sum);
			add(tree, 0, sum);
		}
	}
	return error;
}

// Steps are a tree from main down already; only those that read alike are still to be united.
HEAP_MUST_CHECK
static struct heap_error *build_down(struct building *building)
{
	const struct heap_snapshot *snapshot = building->snapshot;
	struct sum *sums = building->steps;
	CLEANUP_FREE uint32_t *nodes = calloc((size_t)snapshot->step_count + 1, sizeof(*nodes));
	struct heap_error *error = nodes ? NULL : heap_error_out_of_memory();

	// Callers have lower numbers.
	for (uint32_t i = snapshot->step_count; i-- > 1;) {
		struct sum *caller = &sums[backtrace_caller(snapshot, i)];

		caller->objects += sums[i].objects;
		caller->bytes += sums[i].bytes;
	}
	for (uint32_t i = 1; !error && i < snapshot->step_count; i++) {
		if (sums[i].objects == 0)
			continue;
		error = find_child(building->tree, nodes[backtrace_caller(snapshot, i)],
				   building->united[snapshot->steps[i].call], &nodes[i]);
		if (!error)
			add(building->tree, nodes[i], &sums[i]);
	}
	if (!error && snapshot->step_count > 0)
		add(building->tree, 0, &sums[0]);
	return error;
}

// Where the site is on a way: wrappers of malloc lie further in.
static uint32_t site_step(const struct heap_snapshot *snapshot, uint32_t step, heap_site_id site)
{
	uint32_t at = step;

	for (int i = 0; at > 0 && i < MAX_WAY; i++) {
		const struct heap_step *way = &snapshot->steps[at];

		if (snapshot->calls[way->call].address == snapshot->sites[site].address)
			return at;
		at = way->caller;
	}
	return step;
}

HEAP_MUST_CHECK
static struct heap_error *build_up(struct building *building)
{
	const struct heap_snapshot *snapshot = building->snapshot;
	struct heap_error *error = NULL;

	for (uint32_t i = 1; !error && i < snapshot->step_count; i++) {
		const struct sum *sum = &building->steps[i];
		uint32_t node = 0, at = i;

		if (sum->objects == 0)
			continue;
		add(building->tree, 0, sum);
		at = site_step(snapshot, i, sum->site);
		for (int depth = 0; !error && at > 0 && depth < MAX_WAY; depth++) {
			error = find_child(building->tree, node,
					   building->united[snapshot->steps[at].call], &node);
			if (!error)
				add(building->tree, node, sum);
			at = backtrace_caller(snapshot, at);
		}
	}
	return error;
}

struct heap_error *call_tree_init(struct call_tree *result, struct session *session,
				  bool from_sites)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	CLEANUP_FREE struct sum *steps = calloc((size_t)snapshot->step_count + 1, sizeof(*steps));
	CLEANUP_FREE struct sum *sites = calloc((size_t)snapshot->site_count + 1, sizeof(*sites));
	CLEANUP_FREE uint32_t *united = unite_places(snapshot);
	struct call_tree tree = { 0 };
	struct building building = { snapshot, &tree, steps, sites, united };
	struct heap_error *error = steps && sites && united ? NULL : heap_error_out_of_memory();

	if (!error)
		error = grow(&tree);
	if (!error) {
		tree.nodes[0] = (struct call_tree_node){ 0 };
		tree.count = 1;
		count_objects(&building);
		error = from_sites ? build_up(&building) : build_down(&building);
	}
	if (!error)
		error = add_bare_sites(&building);
	if (error)
		call_tree_deinit(&tree);
	else
		*result = tree;
	return error;
}

void call_tree_deinit(struct call_tree *tree)
{
	free(tree->nodes);
	free(tree->slots);
	*tree = (struct call_tree){ 0 };
}
