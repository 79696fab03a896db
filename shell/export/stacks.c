// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/export/stacks.h"

#include "lib/base/array.h"
#include "shell/print/describe.h"
#include "shell/tables/root_sizes.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_DEPTH = 200, // frames of a stack; deeper objects count there
};

static const uint32_t NONE = UINT32_MAX;

void export_stacks_deinit(struct export_stacks *stacks)
{
	free(stacks->frames);
	free(stacks->nodes);
	heap_hash_table_deinit(&stacks->by_parent);
	free(stacks->of_object);
	free(stacks->samples);
}

// --- the tree ----------------------------------------------------------------

// Reports that memory was short for texts.
static bool is_done(struct export_stacks *stacks, struct heap_error *error)
{
	if (!error)
		return true;
	heap_error_destroy(error);
	stacks->texts->failed = true;
	return false;
}

// @return its number; 0 if memory is short
static uint32_t add_frame(struct export_stacks *stacks, const struct export_frame *frame)
{
	if (!is_done(stacks, heap_reserve(stacks->frames, stacks->frame_capacity,
					  (size_t)stacks->frame_count + 1)))
		return 0;
	stacks->frames[stacks->frame_count] = *frame;
	return stacks->frame_count++;
}

HEAP_MUST_CHECK
static struct heap_error *add_node(struct export_stacks *stacks, uint64_t hash,
				   const struct export_stack_node *node)
{
	HEAP_TRY(heap_reserve(stacks->nodes, stacks->capacity, (size_t)stacks->count + 1));
	HEAP_TRY(heap_hash_add(&stacks->by_parent, hash, stacks->count));
	stacks->nodes[stacks->count++] = *node;
	return NULL;
}

// Finds or adds the node of a frame below another; the root if memory is short.
static uint32_t get_child(struct export_stacks *stacks, uint32_t parent, uint32_t frame)
{
	uint64_t hash = heap_hash_pair(parent, frame);
	uint32_t found = heap_hash_find(&stacks->by_parent, hash, i,
					stacks->nodes[i].parent == parent &&
						stacks->nodes[i].frame == frame);

	if (found != HEAP_HASH_NONE)
		return found;
	found = stacks->count;
	return is_done(stacks,
		       add_node(stacks, hash, &(struct export_stack_node){ parent, frame, 0, 0 }))
		       ? found
		       : 0;
}

// --- by sites ----------------------------------------------------------------

struct sites {
	struct export_stacks *stacks;
	struct session *session;
	uint32_t *of_call; // [calls] frame, or NONE
	uint32_t *of_step; // [steps] node, or NONE
	uint32_t *of_site; // [sites] node, or NONE
};

// A function's name, or else a description of the address.
static uint32_t place_name(struct session *session, struct export_texts *texts,
			   const struct described_place *place)
{
	const char *name = heap_snapshot_string(session->snapshot, place->function);

	return export_texts_add(texts, *name ? name : describe_place(session, place));
}

static uint32_t place_frame(const struct sites *sites, const struct described_place *place)
{
	struct export_texts *texts = sites->stacks->texts;
	const void *mark = session_mark(sites->session);
	const struct export_frame frame = {
		.name = place_name(sites->session, texts, place),
		.file = export_texts_add(
			texts, heap_snapshot_string(sites->session->snapshot, place->file)),
		.line = place->line,
		.module = place->module,
		.address = place->address,
	};

	session_release(sites->session, mark);
	return add_frame(sites->stacks, &frame);
}

static uint32_t call_frame(const struct sites *sites, uint32_t number)
{
	const struct heap_call *call = &sites->session->snapshot->calls[number];

	if (sites->of_call[number] == NONE)
		sites->of_call[number] = place_frame(
			sites,
			&(struct described_place){ call->function, call->offset, call->file,
						   call->line, call->module, call->address });
	return sites->of_call[number];
}

// Callers have lower numbers, so they are done before.
static void place_steps(const struct sites *sites)
{
	const struct heap_snapshot *snapshot = sites->session->snapshot;

	for (uint32_t i = 1; i < snapshot->step_count; i++) {
		const struct heap_step *step = &snapshot->steps[i];
		uint32_t parent = step->caller ? sites->of_step[step->caller] : 0;

		sites->of_step[i] = get_child(sites->stacks, parent, call_frame(sites, step->call));
	}
}

static uint32_t site_node(const struct sites *sites, heap_site_id number)
{
	const struct heap_site *site = &sites->session->snapshot->sites[number];

	if (sites->of_site[number] == NONE)
		sites->of_site[number] = get_child(
			sites->stacks, 0,
			place_frame(sites, &(struct described_place){
						   site->function, site->offset, site->file,
						   site->line, site->module, site->address }));
	return sites->of_site[number];
}

static uint32_t *none_of(size_t count)
{
	uint32_t *array = malloc((count + 1) * sizeof(*array));

	if (array)
		memset(array, 0xff, (count + 1) * sizeof(*array));
	return array;
}

HEAP_MUST_CHECK
static struct heap_error *place_by_sites(struct export_stacks *stacks, struct session *session)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	CLEANUP_FREE uint32_t *of_call = none_of(snapshot->call_count);
	CLEANUP_FREE uint32_t *of_step = none_of(snapshot->step_count);
	CLEANUP_FREE uint32_t *of_site = none_of(snapshot->site_count);
	const struct sites sites = { stacks, session, of_call, of_step, of_site };

	if (!of_call || !of_step || !of_site)
		return heap_error_out_of_memory();
	place_steps(&sites);
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		uint32_t step = heap_backtrace_step(snapshot->backtrace[i]);

		stacks->of_object[i] = step ? of_step[step] : site_node(&sites, snapshot->site[i]);
	}
	return NULL;
}

// --- by owners ---------------------------------------------------------------

struct owners {
	struct export_stacks *stacks;
	struct session *session;
	uint32_t *of_node;  // [objects + roots] node of the tree, or NONE
	uint32_t *of_class; // [classes] frame by number of its text
	uint32_t class_capacity;
	heap_node_id *path; // [objects + roots] without a node so far
	uint32_t leaked;    // a frame
	struct root_groups groups;
	uint32_t *of_holders; // [classes] frame of objects that no single root holds, or NONE
};

static uint32_t named_frame(struct export_stacks *stacks, const char *name)
{
	const struct export_frame frame = {
		.name = export_texts_add(stacks->texts, name),
		.module = HEAP_NO_INDEX,
	};

	return add_frame(stacks, &frame);
}

static bool has_class_room(struct owners *owners, uint32_t class)
{
	uint32_t known = owners->class_capacity;

	if (!is_done(owners->stacks,
		     heap_reserve(owners->of_class, owners->class_capacity, (size_t) class + 1)))
		return false;
	memset(owners->of_class + known, 0xff,
	       (owners->class_capacity - known) * sizeof(*owners->of_class));
	return true;
}

// The frame of the class of an object or a part.
static uint32_t class_frame(struct owners *owners, heap_node_id object)
{
	const void *mark = session_mark(owners->session);
	const char *name = export_class(owners->session, object);
	uint32_t class = export_texts_add(owners->stacks->texts, name);
	uint32_t frame = 0;

	if (has_class_room(owners, class)) {
		if (owners->of_class[class] == NONE)
			owners->of_class[class] = named_frame(owners->stacks, name);
		frame = owners->of_class[class];
	}
	session_release(owners->session, mark);
	return frame;
}

static uint32_t depth_of(const struct export_stacks *stacks, uint32_t node)
{
	uint32_t depth = 0;

	for (; node > 0; node = stacks->nodes[node].parent)
		depth++;
	return depth;
}

// The frame of the roots that only together hold an object at the top of the tree.
static uint32_t holders_frame(struct owners *owners, uint32_t class)
{
	const void *mark = session_mark(owners->session);

	if (owners->of_holders[class] == NONE)
		owners->of_holders[class] = named_frame(
			owners->stacks,
			session_format(owners->session, "(%s)",
				       root_class_name(owners->session, &owners->groups, class)));
	session_release(owners->session, mark);
	return owners->of_holders[class];
}

// The node of an object or a root below that of its dominator.
static uint32_t place_node(struct owners *owners, heap_node_id node, uint32_t parent)
{
	const struct heap_dominators *dominators = owners->session->dominators;
	struct export_stacks *stacks = owners->stacks;

	if (node >= dominators->objects) {
		const void *mark = session_mark(owners->session);
		heap_root_id root = (heap_root_id)(node - dominators->objects);
		uint32_t frame = named_frame(stacks, export_root_name(owners->session, root));
		bool is_word =
			heap_root_level(owners->session->graph,
					&owners->session->snapshot->roots[root]) == HEAP_LEVEL_WORD;
		uint32_t above = 0;

		session_release(owners->session, mark);
		if (is_word)
			above = get_child(stacks, 0, holders_frame(owners, owners->groups.words));
		return get_child(stacks, above, frame);
	}

	uint32_t frame = class_frame(owners, node);

	if (parent == NONE) {
		uint32_t class = heap_joint_class(owners->groups.all, owners->groups.joint, node);

		parent = get_child(stacks, 0,
				   class == HEAP_CLASS_LEAKED ? owners->leaked
							      : holders_frame(owners, class));
	}
	if ((parent > 0 && stacks->nodes[parent].frame == frame) ||
	    depth_of(stacks, parent) >= MAX_DEPTH)
		return parent;
	return get_child(stacks, parent, frame);
}

static void place_with_owners(struct owners *owners, heap_node_id node)
{
	const struct heap_dominators *dominators = owners->session->dominators;
	size_t length = 0;
	uint32_t above = NONE;

	for (; node != HEAP_NO_NODE; node = dominators->nearest[node]) {
		above = owners->of_node[node];
		if (above != NONE)
			break;
		owners->path[length++] = node;
	}
	while (length > 0) {
		above = place_node(owners, owners->path[--length], above);
		owners->of_node[owners->path[length]] = above;
	}
}

HEAP_MUST_CHECK
static struct heap_error *place_by_owners(struct export_stacks *stacks, struct session *session)
{
	const struct heap_dominators *dominators = session->dominators;
	size_t nodes = dominators->objects + dominators->roots;
	CLEANUP_FREE uint32_t *of_node = none_of(nodes);
	CLEANUP_FREE heap_node_id *path = calloc(nodes + 1, sizeof(*path));
	CLEANUP_FREE uint32_t *of_holders = NULL;
	struct owners owners = {
		.stacks = stacks, .session = session, .of_node = of_node, .path = path
	};

	if (!of_node || !path)
		return heap_error_out_of_memory();
	HEAP_TRY(root_groups_by_root(session, &owners.groups));
	of_holders = none_of(HEAP_CLASS_JOINT(owners.groups.count) + owners.groups.joint->count);
	if (!of_holders)
		return heap_error_out_of_memory();
	owners.of_holders = of_holders;
	owners.leaked = named_frame(stacks, "(leaked)");
	for (heap_node_id i = 0; i < dominators->objects && !session_must_stop(session); i++) {
		place_with_owners(&owners, i);
		stacks->of_object[i] = of_node[i];
	}
	free(owners.of_class);
	return NULL;
}

// --- samples -----------------------------------------------------------------

struct sample_key {
	uint32_t node;
	uint32_t class;
	uint64_t bytes;
};

static int compare_keys(const void *left, const void *right)
{
	const struct sample_key *a = left, *b = right;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->class < b->class ? -1 : a->class > b->class;
}

static uint32_t class_text(struct session *session, struct export_texts *texts,
			   const struct heap_snapshot *nodes, heap_node_id node)
{
	const void *mark = session_mark(session);
	uint32_t class = export_texts_add(texts, nodes->type[node] == HEAP_NO_TYPE
							 ? "(untyped)"
							 : export_class(session, node));

	session_release(session, mark);
	return class;
}

HEAP_MUST_CHECK
static struct heap_error *add_up(struct export_stacks *stacks, struct session *session,
				 const struct heap_snapshot *nodes)
{
	size_t count = nodes->object_count;
	CLEANUP_FREE struct sample_key *keys = calloc(count + 1, sizeof(*keys));

	stacks->samples = calloc(count + 1, sizeof(*stacks->samples));
	if (!keys || !stacks->samples)
		return heap_error_out_of_memory();
	for (heap_node_id i = 0; i < count; i++) {
		struct export_stack_node *node = &stacks->nodes[stacks->of_object[i]];

		node->objects++;
		node->bytes += nodes->size[i];
		keys[i] = (struct sample_key){ stacks->of_object[i],
					       class_text(session, stacks->texts, nodes, i),
					       nodes->size[i] };
	}
	qsort(keys, count, sizeof(*keys), compare_keys);
	for (size_t i = 0; i < count; i++) {
		struct export_sample *sample = &stacks->samples[stacks->sample_count];

		if (i == 0 || compare_keys(&keys[i], &keys[i - 1]) != 0) {
			*sample = (struct export_sample){ keys[i].node, keys[i].class, 0, 0 };
			stacks->sample_count++;
		}
		sample = &stacks->samples[stacks->sample_count - 1];
		sample->objects++;
		sample->bytes += keys[i].bytes;
	}
	return NULL;
}

struct heap_error *export_stacks_init(struct export_stacks *result, struct session *session,
				      enum export_by by, struct export_texts *texts)
{
	CLEANUP(export_stacks_deinit)
	struct export_stacks stacks = { .texts = texts, .count = 1 };
	const struct heap_snapshot *nodes = session->snapshot;

	HEAP_TRY(heap_reserve(stacks.nodes, stacks.capacity, 1));
	stacks.nodes[0] = (struct export_stack_node){ 0 };
	if (by == EXPORT_BY_OWNERS)
		HEAP_TRY(session_node_kinds(session, &nodes));
	stacks.of_object = calloc((size_t)nodes->object_count + 1, sizeof(*stacks.of_object));
	if (!stacks.of_object || named_frame(&stacks, "(root)") != 0)
		return heap_error_out_of_memory();
	HEAP_TRY(by == EXPORT_BY_OWNERS ? place_by_owners(&stacks, session)
					: place_by_sites(&stacks, session));
	HEAP_TRY(add_up(&stacks, session, nodes));
	if (texts->failed)
		return heap_error_out_of_memory();
	*result = stacks;
	stacks = (struct export_stacks){ 0 };
	return NULL;
}
