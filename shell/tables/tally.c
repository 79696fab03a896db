// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/tables/tally.h"

#include "lib/base/array.h"
#include "shell/print/describe.h"
#include "shell/tables/root_sizes.h"

#include <inttypes.h>
#include <string.h>

enum {
	MAX_JOINT = 1000,      // sets of roots that hold something together, the largest
	NAME_MAX_BYTES = 1024, // of a type; longer names count by their beginning
	KEY_OF_SHAPE = 2,      // even: no hash of a name
};

static const char *const ways[] = { "kind", "type", "site", "module" };

enum tally_by tally_parse(const char *word)
{
	enum tally_by by = 0;

	while (by < TALLY_WAYS && strcmp(ways[by], word) != 0)
		by++;
	return by;
}

static void forget_snapshot(struct tally *tally)
{
	heap_array_deinit(&tally->found);
	heap_hash_table_deinit(&tally->by_what);
	free(tally->type_keys);
	free(tally->site_keys);
	tally->type_keys = tally->site_keys = NULL;
	tally->has_latest = false;
}

void tally_deinit(struct tally *tally)
{
	forget_snapshot(tally);
}

// --- keys that hold for all snapshots ----------------------------------------------

// The hash of a name, never 0.
static uint64_t hash_name(const char *name)
{
	return heap_hash_string(name) | 1;
}

/*
 * True for the structs that stand for shapes: "{ptr, long}", "list node {next, long}". What a site's blocks
 * hold may have another shape in the next snapshot.
 */
static bool is_shape(const struct heap_types *types, heap_type_id id)
{
	const struct heap_type *type = &types->types[id];
	const char *name = heap_types_string(types, type->name);
	size_t length = strlen(name);

	return type->kind == HEAP_TYPE_STRUCT && type->line == 0 && length > 0 &&
	       name[length - 1] == '}' && (name[0] == '{' || strstr(name, " {"));
}

// Where sites are not known, shapes of one size have nothing else that tells them apart.
static bool shapes_go_by_size(const struct tally *tally, const struct heap_snapshot *snapshot)
{
	return tally->by == TALLY_KIND && snapshot->info.origin == HEAP_ORIGIN_LIBRARY;
}

static uint64_t type_key(struct tally *tally, const struct heap_snapshot *snapshot,
			 heap_type_id type)
{
	char name[NAME_MAX_BYTES];

	if (type == HEAP_NO_TYPE)
		return 0;
	if (!tally->type_keys[type]) {
		heap_types_format(&snapshot->types, type, name, sizeof(name));
		tally->type_keys[type] =
			shapes_go_by_size(tally, snapshot) && is_shape(&snapshot->types, type)
				? KEY_OF_SHAPE
				: hash_name(name);
	}
	return tally->type_keys[type];
}

// True for objects that are told apart by size and site, as they have no type, or no more than a shape.
static bool goes_by_size(struct tally *tally, const struct heap_snapshot *snapshot,
			 heap_type_id type)
{
	return type == HEAP_NO_TYPE || type_key(tally, snapshot, type) == KEY_OF_SHAPE;
}

static const char *module_name(struct session *session, heap_site_id site)
{
	uint32_t module = session->snapshot->sites[site].module;

	return module == HEAP_NO_INDEX ? "no module" : describe_module(session, module);
}

// Code that is not known is described by how the snapshot was taken, which tells no blocks apart.
static const char *site_name(const struct tally *tally, struct session *session, heap_site_id site)
{
	if (tally->by == TALLY_MODULE)
		return module_name(session, site);
	return session->snapshot->sites[site].address == 0 ? "" : describe_site(session, site);
}

// Sites of one line are one, and so are they where the module lies elsewhere.
static uint64_t site_key(struct tally *tally, struct session *session, heap_site_id site)
{
	if (!tally->site_keys[site])
		tally->site_keys[site] = hash_name(site_name(tally, session, site));
	return tally->site_keys[site];
}

// --- kinds ---------------------------------------------------------------------------

static const char *name_kind(const struct tally *tally, struct session *session,
			     heap_object_id object)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_type_id type = snapshot->type[object];
	heap_site_id site = snapshot->site[object];
	bool knows_sites = snapshot->info.origin == HEAP_ORIGIN_LIBRARY;

	switch (tally->by) {
	case TALLY_TYPE:
		return type == HEAP_NO_TYPE ? "untyped" : describe_type(session, type);
	case TALLY_SITE:
		return describe_site(session, site);
	case TALLY_MODULE:
		return module_name(session, site);
	default:
		if (!knows_sites && type != HEAP_NO_TYPE)
			return describe_type(session, type);
		if (!knows_sites)
			return session_format(session, "block(%" PRIu64 ")",
					      snapshot->size[object]);
		if (type == HEAP_NO_TYPE)
			return session_format(session, "block(%" PRIu64 "), %s",
					      snapshot->size[object], describe_site(session, site));
		return session_format(session, "%s, %s", describe_type(session, type),
				      describe_site(session, site));
	}
}

static uint64_t key_of(struct tally *tally, struct session *session, heap_object_id object)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	bool by_size = goes_by_size(tally, snapshot, snapshot->type[object]);
	uint64_t parts[3] = { 0 };

	if ((tally->by == TALLY_KIND && !by_size) || tally->by == TALLY_TYPE)
		parts[0] = type_key(tally, snapshot, snapshot->type[object]);
	if (tally->by == TALLY_KIND && by_size)
		parts[1] = snapshot->size[object];
	if (tally->by != TALLY_TYPE)
		parts[2] = site_key(tally, session, snapshot->site[object]);
	return heap_hash_bytes(HEAP_HASH_START, parts, sizeof(parts));
}

HEAP_MUST_CHECK
static struct heap_error *find_kind(struct tally *tally, struct session *session,
				    struct heap_census *census, heap_object_id object,
				    heap_kind_id *result)
{
	SESSION_SCOPE(session);
	bool is_new;

	HEAP_TRY(heap_census_kind(census, key_of(tally, session, object), result, &is_new));
	return is_new ? heap_census_name(census, *result, name_kind(tally, session, object)) : NULL;
}

struct heap_error *tally_kind(struct tally *tally, struct session *session,
			      struct heap_census *census, heap_object_id object,
			      heap_kind_id *result)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	uint64_t what = (uint64_t)snapshot->type[object] << 32 | snapshot->site[object];
	uint64_t size =
		goes_by_size(tally, snapshot, snapshot->type[object]) ? snapshot->size[object] : 0;
	uint64_t hash = heap_hash_pair(what, size);
	heap_kind_id kind;
	uint32_t found;

	if (tally->has_latest && tally->latest.what == what && tally->latest.size == size) {
		*result = tally->latest.kind;
		return NULL;
	}
	found = heap_hash_find(&tally->by_what, hash, i,
			       tally->found.items[i].what == what &&
				       tally->found.items[i].size == size);
	if (found == HEAP_HASH_NONE) {
		HEAP_TRY(find_kind(tally, session, census, object, &kind));
		found = (uint32_t)tally->found.count;
		HEAP_TRY(heap_array_append(&tally->found,
					   (struct tally_kind_of){ what, size, kind }));
		HEAP_TRY(heap_hash_add(&tally->by_what, hash, found));
	}
	tally->latest = tally->found.items[found];
	tally->has_latest = true;
	*result = tally->latest.kind;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *prepare(struct tally *tally, const struct heap_snapshot *snapshot)
{
	forget_snapshot(tally);
	tally->type_keys = calloc(snapshot->types.count + 1, sizeof(*tally->type_keys));
	tally->site_keys = calloc((size_t)snapshot->site_count + 1, sizeof(*tally->site_keys));
	if (!tally->type_keys || !tally->site_keys)
		return heap_error_out_of_memory();
	return NULL;
}

struct heap_error *tally_begin(struct tally *tally, struct session *session,
			       struct heap_census *census)
{
	struct heap_snapshot *snapshot = session->snapshot;

	HEAP_TRY(heap_snapshot_load(snapshot,
				    HEAP_COLUMN_SIZE | HEAP_COLUMN_TYPE | HEAP_COLUMN_SITE));
	HEAP_TRY(prepare(tally, snapshot));
	return heap_census_next(census, snapshot->info.time_ns);
}

struct heap_error *tally_snapshot(struct tally *tally, struct session *session,
				  struct heap_census *census)
{
	const struct heap_snapshot *snapshot = session->snapshot;

	HEAP_TRY(tally_begin(tally, session, census));

	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		heap_kind_id kind;

		HEAP_TRY(tally_kind(tally, session, census, i, &kind));
		heap_census_add(census, kind, 1, snapshot->size[i]);
	}
	return NULL;
}

// --- what is retained ----------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *add_holder(struct heap_census *census, const char *name,
				     uint64_t retained)
{
	heap_kind_id kind;
	bool is_new;

	HEAP_TRY(heap_census_kind(census, hash_name(name), &kind, &is_new));
	if (is_new)
		HEAP_TRY(heap_census_name(census, kind, name));
	heap_census_add(census, kind, 1, retained);
	return NULL;
}

struct heap_error *tally_roots(struct session *session, struct heap_census *census)
{
	struct root_groups groups;

	HEAP_TRY(root_groups_by_root(session, &groups));
	HEAP_TRY(heap_census_next(census, session->snapshot->info.time_ns));
	for (uint32_t i = 0; i < groups.count; i++) {
		const void *mark = session_mark(session);

		if (groups.sizes[i].retained > 0)
			HEAP_TRY(add_holder(census, root_class_name(session, &groups, i),
					    groups.sizes[i].retained));
		session_release(session, mark);
	}
	for (uint32_t i = 0; i < groups.joint->count && i < MAX_JOINT; i++) {
		const void *mark = session_mark(session);
		uint32_t class = HEAP_CLASS_JOINT(groups.count) + i;

		HEAP_TRY(add_holder(census, root_class_name(session, &groups, class),
				    groups.joint->joints[i].retained));
		session_release(session, mark);
	}
	return NULL;
}

// A walk down the dominator tree.
struct walk {
	const struct heap_dominator_tree *tree;
	struct walk_step {
		heap_node_id node;
		uint32_t next; // in tree->child
	} * path;              // [tree->nodes + 1]
	uint32_t depth;
	uint32_t *inside; // [kinds] the number of nodes on the path that are of the kind
	size_t kinds, capacity;
};

HEAP_MUST_CHECK
static struct heap_error *widen_inside(struct walk *walk, size_t kinds)
{
	HEAP_TRY(heap_reserve(walk->inside, walk->capacity, kinds));
	for (; walk->kinds < kinds; walk->kinds++)
		walk->inside[walk->kinds] = 0;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *enter(struct walk *walk, heap_node_id node, struct tally *tally,
				struct session *session, struct heap_census *census)
{
	const struct heap_dominators *dominators = session->dominators;
	heap_kind_id kind;

	walk->path[walk->depth++] = (struct walk_step){ node, walk->tree->first[node] };
	if (node >= dominators->objects)
		return NULL;
	HEAP_TRY(tally_kind(tally, session, census, heap_divided_block(session->divided, node),
			    &kind));
	HEAP_TRY(widen_inside(walk, (size_t)kind + 1));
	if (walk->inside[kind]++ == 0)
		heap_census_add(census, kind, heap_divided_part(session->divided, node) ? 0 : 1,
				dominators->retained[node]);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *leave(struct walk *walk, struct tally *tally, struct session *session,
				struct heap_census *census)
{
	heap_node_id node = walk->path[--walk->depth].node;
	heap_kind_id kind;

	if (node >= session->dominators->objects)
		return NULL;
	HEAP_TRY(tally_kind(tally, session, census, heap_divided_block(session->divided, node),
			    &kind));
	walk->inside[kind]--;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *walk_down(struct walk *walk, struct tally *tally, struct session *session,
				    struct heap_census *census)
{
	const struct heap_dominator_tree *tree = walk->tree;

	HEAP_TRY(enter(walk, tree->nodes, tally, session, census));

	while (walk->depth > 0) {
		struct walk_step *step = &walk->path[walk->depth - 1];

		if (step->next < tree->first[step->node + 1])
			HEAP_TRY(enter(walk, tree->child[step->next++], tally, session, census));
		else
			HEAP_TRY(leave(walk, tally, session, census));
	}
	return NULL;
}

static void walk_deinit(struct walk *walk)
{
	free(walk->inside);
}

struct heap_error *tally_retained(struct tally *tally, struct session *session,
				  struct heap_census *census)
{
	HEAP_TRY(session_dominators(session));
	HEAP_TRY(session_dominator_tree(session));
	HEAP_TRY(tally_begin(tally, session, census));

	CLEANUP_FREE struct walk_step *path =
		malloc(((size_t)session->tree.nodes + 2) * sizeof(*path));
	CLEANUP(walk_deinit) struct walk walk = { .tree = &session->tree, .path = path };

	return path ? walk_down(&walk, tally, session, census) : heap_error_out_of_memory();
}
