// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * identify: the tree of who holds an object, up to the roots.
 *
 *	struct date at 0x5ed26d8 is:
 *	└─.month of struct utility at 0x5f02008, which is:
 *	  └─the global variable popular (cache.c:50, libutility.so)
 */
#include "lib/holders.h"
#include "shell/command.h"
#include "shell/describe.h"
#include "shell/field.h"
#include "shell/format.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	DEFAULT_DEPTH = 12,
	MAX_PREFIX = 512,
};

// Holders shown of one object, by level: a tree that is wide everywhere says nothing.
static const uint64_t widths[] = { 6, 3, 2, 1 };

struct tree {
	struct session *session;
	uint64_t depth; // levels that may still be shown
	uint64_t width; // holders of each object; 0: fewer and fewer, as above
	unsigned level;
	const uint32_t *distance; // [objects] of the graph: the nearest holder to a root says most
	struct heap_holders *all; // who points to whom, of those that have been looked at
	struct heap_edge_quality *qualities; // [quality_count] by edge: of the level looked at
	size_t quality_count;
	struct holders **known; // [known_count] by object: all that may be shown
	size_t known_count, known_capacity;
	char prefix[MAX_PREFIX];
};

// Holders of one object: roots first, then objects; named, typed and near ones first. One that
// holds it by several fields is there once.
struct holders {
	heap_object_id object;
	uint8_t shown;    // 1: they are being shown, 2: they have been
	uint32_t *edges;  // [roots] root edges
	uint32_t *fields; // by how many fields, roots first
	heap_object_id *sources;
	struct heap_edge_quality *qualities; // [objects]
	uint32_t roots, objects;
};

struct source {
	uint64_t rank;
	struct heap_edge_quality quality;
	uint32_t fields;
	heap_object_id object;
};

static int compare_objects(const void *left, const void *right)
{
	const struct source *a = left, *b = right;

	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->quality.edge < b->quality.edge ? -1 : a->quality.edge > b->quality.edge;
}

static int compare_sources(const void *left, const void *right)
{
	const struct source *a = left, *b = right;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->quality.edge < b->quality.edge ? -1 : a->quality.edge > b->quality.edge;
}

// Leaves the best field of each source. @return how many sources
static uint32_t merge_fields(struct source *sources, uint32_t count)
{
	uint32_t kept = 0;

	qsort(sources, count, sizeof(*sources), compare_objects);
	for (uint32_t i = 0; i < count; i++) {
		if (kept > 0 && sources[kept - 1].object == sources[i].object)
			sources[kept - 1].fields++;
		else
			sources[kept++] = sources[i];
	}
	return kept;
}

static int compare_qualities(const void *left, const void *right)
{
	const struct heap_edge_quality *a = left, *b = right;

	return a->edge < b->edge ? -1 : a->edge > b->edge;
}

static struct heap_edge_quality quality_of(const struct tree *tree, uint32_t edge)
{
	struct heap_edge_quality key = { .edge = edge };
	const struct heap_edge_quality *found =
		bsearch(&key, tree->qualities, tree->quality_count, sizeof(key), compare_qualities);

	return found ? *found : key;
}

// Typed pointers before others, to the start before into the middle, then by distance; last what
// it holds of itself.
static void sort_sources(struct tree *tree, const struct heap_holders_of *of,
			 struct holders *holders)
{
	struct source *sources = session_allocate(tree->session, of->count * sizeof(*sources));

	for (uint32_t i = 0; sources && i < of->count; i++) {
		struct heap_edge_quality quality = quality_of(tree, of->edges[i]);
		uint64_t untyped = !(quality.flags & HEAP_EDGE_TYPED);
		uint64_t interior = quality.interior != 0;
		uint64_t itself = of->sources[i] == holders->object;

		sources[i] = (struct source){
			.rank = itself << 34 | untyped << 33 | interior << 32 |
				tree->distance[of->sources[i]],
			.quality = quality,
			.fields = 1,
			.object = of->sources[i],
		};
	}
	if (!sources)
		return;
	holders->objects = merge_fields(sources, of->count);
	qsort(sources, holders->objects, sizeof(*sources), compare_sources);
	for (uint32_t i = 0; i < holders->objects; i++) {
		holders->fields[holders->roots + i] = sources[i].fields;
		holders->sources[i] = sources[i].object;
		holders->qualities[i] = sources[i].quality;
	}
}

// The edges of one root stand together.
static void add_root_edge(const struct heap_snapshot *snapshot, struct holders *holders,
			  uint32_t edge)
{
	const struct heap_root_edge *edges = snapshot->root_edges;

	if (holders->roots > 0 &&
	    edges[holders->edges[holders->roots - 1]].root == edges[edge].root) {
		holders->fields[holders->roots - 1]++;
		return;
	}
	holders->edges[holders->roots] = edge;
	holders->fields[holders->roots++] = 1;
}

// Fills in the holders of an object of the level.
HEAP_MUST_CHECK
static struct heap_error *fill_holders(struct tree *tree, struct holders *holders)
{
	const struct heap_snapshot *snapshot = tree->session->snapshot;
	struct heap_holders_of of = heap_holders_get(tree->all, holders->object);
	size_t all = (size_t)of.root_count + of.count;

	holders->edges = session_allocate(tree->session, of.root_count * sizeof(uint32_t));
	holders->fields = session_allocate(tree->session, all * sizeof(uint32_t));
	holders->sources = session_allocate(tree->session, of.count * sizeof(heap_object_id));
	holders->qualities =
		session_allocate(tree->session, of.count * sizeof(*holders->qualities));
	if (!holders->edges || !holders->fields || !holders->sources || !holders->qualities)
		return heap_error_out_of_memory();
	for (unsigned rank = 0; rank < 4; rank++) {
		for (uint32_t i = 0; i < of.root_count; i++) {
			uint32_t root = snapshot->root_edges[of.root_edges[i]].root;

			if (heap_root_rank(&snapshot->roots[root]) == rank)
				add_root_edge(snapshot, holders, of.root_edges[i]);
		}
	}
	sort_sources(tree, &of, holders);
	return NULL;
}

// Where an object is among those that are known, or would be.
static size_t place_of(const struct tree *tree, heap_object_id object)
{
	size_t low = 0, high = tree->known_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (tree->known[middle]->object < object)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct holders *find_known(const struct tree *tree, heap_object_id object)
{
	size_t place = place_of(tree, object);

	return place < tree->known_count && tree->known[place]->object == object
		       ? tree->known[place]
		       : NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_known(struct tree *tree, heap_object_id object)
{
	size_t place = place_of(tree, object);
	struct holders *holders = session_allocate(tree->session, sizeof(*holders));

	if (tree->known_count == tree->known_capacity) {
		size_t capacity = tree->known_capacity * 2 + 64;
		void *larger = realloc(tree->known, capacity * sizeof(struct holders *));

		if (!larger)
			return heap_error_out_of_memory();
		tree->known = larger;
		tree->known_capacity = capacity;
	}
	if (!holders)
		return heap_error_out_of_memory();
	memmove(&tree->known[place + 1], &tree->known[place],
		(tree->known_count++ - place) * sizeof(struct holders *));
	tree->known[place] = holders;
	holders->object = object;
	return fill_holders(tree, holders);
}

static uint64_t width_of(const struct tree *tree, uint64_t level)
{
	return tree->width ? tree->width : widths[level < 3 ? level : 3];
}

// The objects of one level, and those of the next that may be shown below them.
struct level {
	heap_object_id *objects;
	size_t count, capacity;
};

HEAP_MUST_CHECK
static struct heap_error *add_to_level(struct level *level, heap_object_id object)
{
	if (level->count == level->capacity) {
		size_t capacity = level->capacity * 2 + 64;
		void *larger = realloc(level->objects, capacity * sizeof(*level->objects));

		if (!larger)
			return heap_error_out_of_memory();
		level->objects = larger;
		level->capacity = capacity;
	}
	level->objects[level->count++] = object;
	return NULL;
}

// Looks up how good the pointers to a level's objects are, all together.
HEAP_MUST_CHECK
static struct heap_error *find_qualities(struct tree *tree, const struct level *level)
{
	size_t count = 0;

	for (size_t i = 0; i < level->count; i++)
		count += heap_holders_get(tree->all, level->objects[i]).count;
	free(tree->qualities);
	tree->quality_count = 0;
	tree->qualities = calloc(count + 1, sizeof(*tree->qualities));
	if (!tree->qualities)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < level->count; i++) {
		struct heap_holders_of of = heap_holders_get(tree->all, level->objects[i]);

		for (uint32_t j = 0; j < of.count; j++)
			tree->qualities[tree->quality_count++].edge = of.edges[j];
	}
	qsort(tree->qualities, count, sizeof(*tree->qualities), compare_qualities);
	return heap_snapshot_find_quality(tree->session->snapshot, tree->qualities, count);
}

// Makes a level known, and gathers the next one.
HEAP_MUST_CHECK
static struct heap_error *look_at_level(struct tree *tree, const struct level *level,
					uint64_t number, struct level *next)
{
	struct heap_error *error = heap_holders_need(tree->all, level->objects, level->count);

	if (!error)
		error = find_qualities(tree, level);
	for (size_t i = 0; !error && i < level->count; i++) {
		if (!find_known(tree, level->objects[i]))
			error = add_known(tree, level->objects[i]);
	}
	next->count = 0;
	for (size_t i = 0; !error && i < level->count; i++) {
		const struct holders *holders = find_known(tree, level->objects[i]);
		uint64_t left = width_of(tree, number);

		left -= left < holders->roots ? left : holders->roots;
		for (uint32_t j = 0; !error && j < holders->objects && j < left; j++) {
			if (!find_known(tree, holders->sources[j]))
				error = add_to_level(next, holders->sources[j]);
		}
	}
	return error;
}

// Loads what is said of all that may be shown.
HEAP_MUST_CHECK
static struct heap_error *load_known(struct tree *tree)
{
	struct level objects = { 0 };
	struct heap_error *error = NULL;

	for (size_t i = 0; !error && i < tree->known_count; i++)
		error = add_to_level(&objects, tree->known[i]->object);
	if (!error)
		error = describe_load_around(tree->session, objects.objects, objects.count);
	if (!error)
		error = heap_snapshot_load_around(tree->session->snapshot, HEAP_COLUMN_SLOTS,
						  objects.objects, objects.count);
	free(objects.objects);
	return error;
}

// Looks for the holders of all that may be shown, a level at a time: to look for those of one
// object takes as long. What is shown first further down is shown no wider there.
HEAP_MUST_CHECK
static struct heap_error *look_for_holders(struct tree *tree, heap_object_id object)
{
	struct level level = { 0 }, next = { 0 };
	struct heap_error *error = add_to_level(&level, object);

	for (uint64_t i = 0; !error && i <= tree->depth + 1 && level.count > 0; i++) {
		struct level looked_at = level;

		error = look_at_level(tree, &level, i, &next);
		level = next;
		next = looked_at;
		if (session_must_stop(tree->session))
			break;
	}
	free(level.objects);
	free(next.objects);
	return error;
}

static void print_branch(struct tree *tree, bool last)
{
	output_text(tree->session->output, "%s%s", tree->prefix, last ? "└─" : "├─");
}

// " and 3 more fields of": of a holder that holds an object several times.
static const char *more_fields(struct tree *tree, uint32_t fields)
{
	if (fields == 1)
		return "";
	return session_format(tree->session, " and %" PRIu32 " more field%s", fields - 1,
			      format_plural(fields - 1));
}

static void show_root_holder(struct tree *tree, uint32_t edge_number, uint32_t fields, bool last)
{
	struct session *session = tree->session;
	const struct heap_root_edge *edge = &session->snapshot->root_edges[edge_number];
	const char *field = field_of_root(session, edge->root, edge->offset);

	print_branch(tree, last);
	output_text(session->output, "%s%s%s%s%s\n", field, more_fields(tree, fields),
		    *field ? " of " : "", describe_root(session, edge->root),
		    field_interior(session, edge->target, edge->interior));
	output_open_object(session->output, NULL);
	output_string(session->output, "field", field);
	output_boolean(session->output, "typed", edge->flags & HEAP_EDGE_TYPED);
	output_number(session->output, "interior", edge->interior);
	if (fields > 1)
		output_number(session->output, "fields", fields);
	describe_root_json(session, "root", edge->root);
	output_close(session->output);
}

static void show_holders(struct tree *tree, struct holders *holders);

// What is said of a holder whose own holders are not shown below it.
static const char *why_not(const struct tree *tree, const struct holders *source)
{
	if (source->shown == 1)
		return ", itself (a cycle)";
	if (source->shown)
		return ", already shown";
	if (source->roots == 0 && source->objects == 0)
		return ", which nothing holds (leaked)";
	return tree->depth == 0 ? ", which is held further up" : NULL;
}

static void show_object_holder(struct tree *tree, heap_object_id source,
			       const struct heap_edge_quality *quality, uint32_t fields, bool last)
{
	struct session *session = tree->session;
	const struct heap_snapshot *snapshot = session->snapshot;
	uint32_t edge = quality->edge;
	const char *field =
		field_of_object(session, source, (uint64_t)snapshot->edge_slot[edge] * 8);
	struct holders *above = find_known(tree, source);
	const char *end = why_not(tree, above);
	size_t length = strlen(tree->prefix);

	print_branch(tree, last);
	output_text(session->output, "%s%s of %s%s%s\n", field, more_fields(tree, fields),
		    describe_object(session, source),
		    field_interior(session, snapshot->edge_target[edge], quality->interior),
		    end ? end : ", which is:");
	session_remember(session, source);
	output_open_object(session->output, NULL);
	output_string(session->output, "field", field);
	output_boolean(session->output, "typed", quality->flags & HEAP_EDGE_TYPED);
	output_number(session->output, "interior", quality->interior);
	if (fields > 1)
		output_number(session->output, "fields", fields);
	describe_object_json(session, "object", source);
	if (end)
		output_string(session->output, "end", end + 2);
	if (!end) {
		if (length + 5 < sizeof(tree->prefix))
			strcat(tree->prefix, last ? "  " : "│ ");
		tree->depth--;
		tree->level++;
		show_holders(tree, above);
		tree->level--;
		tree->depth++;
		tree->prefix[length] = '\0';
	}
	output_close(session->output);
}

void show_holders(struct tree *tree, struct holders *holders)
{
	uint64_t all = (uint64_t)holders->roots + holders->objects;
	uint64_t width = width_of(tree, tree->level);
	uint64_t shown = all < width ? all : width;

	holders->shown = 1;
	output_open_array(tree->session->output, "held_by");
	for (uint64_t i = 0; i < shown && !session_must_stop(tree->session); i++) {
		bool last = i + 1 == all;

		if (i < holders->roots)
			show_root_holder(tree, holders->edges[i], holders->fields[i], last);
		else
			show_object_holder(tree, holders->sources[i - holders->roots],
					   &holders->qualities[i - holders->roots],
					   holders->fields[i], last);
	}
	output_close(tree->session->output);
	if (shown < all) {
		output_number(tree->session->output, "more", all - shown);
		print_branch(tree, true);
		output_text(tree->session->output, "and %" PRIu64 " more (--width shows them)\n",
			    all - shown);
	}
	holders->shown = 2;
}

static void show_tree(struct tree *tree, heap_object_id object)
{
	struct session *session = tree->session;
	bool leaked = tree->distance[object] == UINT32_MAX;

	output_open_object(session->output, NULL);
	describe_object_json(session, "object", object);
	output_text(session->output, "%s is:\n", describe_object(session, object));
	show_holders(tree, find_known(tree, object));
	if (leaked)
		output_text(session->output, "no root reaches it: leaked\n");
	output_boolean(session->output, "leaked", leaked);
}

static enum command_status identify_run(struct session *session, int argc, char **argv)
{
	struct tree tree = { .session = session, .depth = DEFAULT_DEPTH };
	heap_object_id object;

	if (!command_number(&argc, argv, "--depth", &tree.depth) ||
	    !command_number(&argc, argv, "--width", &tree.width) || argc != 2 || tree.depth > 200)
		return COMMAND_USAGE;

	struct heap_error *error = session_locate_object(session, argv[1], &object);

	if (!error)
		error = session_pointers(session);
	if (!error)
		error = heap_graph_need_distance(session->graph);
	if (!error)
		error = heap_holders_create(session->graph, &tree.all);
	if (error)
		return command_fail(session, error);
	tree.distance = session->graph->distance;
	error = look_for_holders(&tree, object);
	if (!error)
		error = load_known(&tree);
	if (!error)
		show_tree(&tree, object);
	if (!error)
		describe_sample(session, object);
	heap_holders_destroy(tree.all);
	free(tree.known);
	free(tree.qualities);
	return error ? command_fail(session, error) : COMMAND_OK;
}

static const char *const identify_options[] = { "--depth", "--width", NULL };

const struct command identify_command = {
	.name = "identify",
	.synopsis = "[--depth N] [--width N] OBJ",
	.summary = "who holds an object, up to the roots",
	.details = "A tree: below each object those that hold it, named by their field. A branch "
		   "ends\n"
		   "at a root, at an object that has been shown, or after --depth levels. Of many "
		   "holders\n"
		   "those nearest to a root are shown, fewer on each level; --width N shows N on "
		   "all.\n\n"
		   "  identify 0x5ed26d8\n"
		   "  identify --depth 3 $1",
	.run = identify_run,
	.words = WORDS_OBJECT,
	.options = identify_options,
};
