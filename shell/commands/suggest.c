// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * suggest: the objects whose types it would help most to know.
 *
 * Types spread along pointers, so an object is worth what it alone leads to: all objects without a
 * type below it in the dominator tree. An object below another one without a type is not listed,
 * since that one comes first.
 */
#include "lib/base/array.h"
#include "lib/base/column.h"
#include "lib/snapshot/declarations.h"
#include "shell/command.h"
#include "shell/print/describe.h"
#include "shell/base/format.h"
#include "shell/base/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	DEFAULT_LIMIT = 10,
	MAX_LIMIT = 1000,
	TYPES = 3, // that it may be
};

// An object without a type, and the objects whose types would follow from its type.
struct suggestion {
	uint64_t bytes;
	heap_object_id object;
	uint32_t objects;
	uint32_t alike; // without a type, of its site and size
};

struct search {
	struct session *session;
	uint64_t *bytes;   // [nodes + 1] without a type, at a node of the dominator tree and below
	uint32_t *objects; // [nodes + 1] likewise
	heap_node_id *order; // [nodes] each after those that dominate it
	uint32_t ordered;
	struct suggestion *list; // [count]
	size_t count, capacity;
	struct heap_slot_table slots;
	struct heap_repetitions repetitions;
};

static bool is_unknown(const struct heap_snapshot *snapshot, heap_node_id node)
{
	return node < snapshot->object_count && snapshot->type[node] == HEAP_NO_TYPE &&
	       snapshot->evidence[node] == HEAP_EVIDENCE_NONE;
}

// --- their worth -------------------------------------------------------------

static void order_children(struct search *search, heap_node_id node)
{
	const struct heap_dominator_tree *tree = &search->session->tree;

	for (uint32_t i = tree->first[node]; i < tree->first[node + 1]; i++)
		search->order[search->ordered++] = tree->child[i];
}

static void order_nodes(struct search *search)
{
	order_children(search, search->session->tree.nodes);
	for (uint32_t i = 0; i < search->ordered; i++)
		order_children(search, search->order[i]);
}

static void add_up(struct search *search)
{
	const struct heap_snapshot *snapshot = search->session->snapshot;
	const heap_node_id *nearest = search->session->dominators->nearest;

	for (uint32_t i = search->ordered; i > 0; i--) {
		heap_node_id node = search->order[i - 1];

		if (is_unknown(snapshot, node)) {
			search->bytes[node] += snapshot->size[node];
			search->objects[node]++;
		}
		if (nearest[node] == HEAP_NO_NODE)
			continue;
		search->bytes[nearest[node]] += search->bytes[node];
		search->objects[nearest[node]] += search->objects[node];
	}
}

HEAP_MUST_CHECK
static struct heap_error *add(struct search *search, heap_object_id object, uint64_t bytes,
			      uint32_t objects)
{
	HEAP_TRY(heap_reserve(search->list, search->capacity, search->count + 1));
	search->list[search->count++] = (struct suggestion){ bytes, object, objects, 0 };
	return NULL;
}

// Collects the first objects without a type on each path down the tree, and every leaked one.
HEAP_MUST_CHECK
static struct heap_error *collect(struct search *search)
{
	const struct heap_snapshot *snapshot = search->session->snapshot;
	const struct heap_dominators *dominators = search->session->dominators;
	CLEANUP_COLUMN uint8_t *below = NULL;
	struct heap_error *error =
		heap_column_create((size_t)search->session->tree.nodes + 1, 1, &below);

	for (uint32_t i = 0; !error && i < search->ordered; i++) {
		heap_node_id node = search->order[i], above = dominators->nearest[node];

		below[node] =
			above != HEAP_NO_NODE && (below[above] || is_unknown(snapshot, above));
		if (!below[node] && is_unknown(snapshot, node))
			error = add(search, node, search->bytes[node], search->objects[node]);
	}
	for (heap_object_id i = 0; !error && i < snapshot->object_count; i++) {
		if (session_retained(search->session, i) == 0 && is_unknown(snapshot, i))
			error = add(search, i, snapshot->size[i], 1);
	}
	return error;
}

static int compare(const void *left, const void *right)
{
	const struct suggestion *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->object < b->object ? -1 : a->object > b->object;
}

// Keeps the best of each site and size: the others are likely to have the same type.
static void keep_best(struct search *search, uint64_t limit)
{
	const struct heap_snapshot *snapshot = search->session->snapshot;
	size_t kept = 0;

	if (search->count > 0)
		qsort(search->list, search->count, sizeof(*search->list), compare);
	for (size_t i = 0; i < search->count && kept < limit; i++) {
		heap_object_id object = search->list[i].object;
		size_t same = 0;

		while (same < kept &&
		       (snapshot->site[search->list[same].object] != snapshot->site[object] ||
			snapshot->size[search->list[same].object] != snapshot->size[object]))
			same++;
		if (same == kept)
			search->list[kept++] = search->list[i];
	}
	search->count = kept;
}

static void count_alike(struct search *search)
{
	const struct heap_snapshot *snapshot = search->session->snapshot;

	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		if (!is_unknown(snapshot, i))
			continue;
		for (size_t j = 0; j < search->count; j++) {
			heap_object_id object = search->list[j].object;

			search->list[j].alike += snapshot->site[object] == snapshot->site[i] &&
						 snapshot->size[object] == snapshot->size[i];
		}
	}
}

// --- possible types ----------------------------------------------------------

struct guess {
	heap_type_id type;
	int64_t score;
	uint64_t bytes; // of one value; 0: it is a header and elements
};

static bool is_better(const struct guess *one, const struct guess *other)
{
	return one->score != other->score ? one->score > other->score : one->bytes > other->bytes;
}

// True for a struct that an object of some bytes may hold, or that grows to these.
static bool may_be(const struct heap_snapshot *snapshot, heap_type_id type, uint64_t size,
		   bool *is_single)
{
	const struct heap_types *types = &snapshot->types;
	uint8_t kind = types->types[type].kind;
	uint64_t start, value = types->types[type].size;
	heap_type_id element;

	if ((kind != HEAP_TYPE_STRUCT && kind != HEAP_TYPE_CLASS && kind != HEAP_TYPE_UNION) ||
	    !heap_declarations_fill(snapshot, type, size))
		return false;
	*is_single = value == size || !heap_types_flexible(types, type, &start, &element);
	if (*is_single)
		return size - value < value;
	return size > start && heap_types_size(types, element) > 1 &&
	       (size - start) % heap_types_size(types, element) == 0;
}

// The structs that the object may hold, or that grow to its size, that have pointers where it has some, the best
// first. Of two with the same pointers that comes first which leaves fewer bytes.
HEAP_MUST_CHECK
static struct heap_error *guess(struct search *search, heap_object_id object,
				struct guess guesses[TYPES], size_t *count)
{
	struct heap_snapshot *snapshot = search->session->snapshot;

	*count = 0;
	for (heap_type_id type = 1; type < snapshot->types.count; type++) {
		struct guess one = { type, 0, 0 };
		struct heap_error *error;
		int64_t misled;
		bool is_single;
		size_t place;

		if (!may_be(snapshot, type, snapshot->size[object], &is_single))
			continue;
		error = heap_declarations_weigh(snapshot, object, type, &search->repetitions,
						&one.score, &misled);
		if (error)
			return error;
		one.score -= 2 * misled;
		if (one.score < !is_single)
			continue;
		one.bytes = is_single ? snapshot->types.types[type].size : 0;
		for (place = *count; place > 0 && is_better(&one, &guesses[place - 1]); place--) {
			if (place < TYPES)
				guesses[place] = guesses[place - 1];
		}
		if (place < TYPES)
			guesses[place] = one;
		*count += *count < TYPES;
	}
	return NULL;
}

// --- the command -------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *print_guesses(struct search *search, heap_object_id object)
{
	struct session *session = search->session;
	struct guess guesses[TYPES];
	size_t count;
	struct heap_error *error = guess(search, object, guesses, &count);

	if (error)
		return error;
	output_open_array(session->output, "may_be");
	for (size_t i = 0; i < count; i++) {
		const char *name = describe_type(session, guesses[i].type);

		output_text(session->output, "%s%s",
			    i == 0 ? "                             may be " : ", ", name);
		output_string(session->output, NULL, name);
	}
	output_close(session->output);
	if (count > 0)
		output_text(session->output, "\n");
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *print(struct search *search)
{
	struct session *session = search->session;
	struct output *output = session->output;
	struct heap_error *error = NULL;

	output_open_array(output, NULL);
	if (search->count == 0)
		output_text(output,
			    "no object of unknown type holds or repeats enough to ask for it\n");
	else
		table_header(output, "012", "%12s\t%8s\t%8s\tobject", "bytes", "objects", "alike");
	for (size_t i = 0; !error && i < search->count; i++) {
		const struct suggestion *one = &search->list[i];

		table_row(output, "%12s\t%8" PRIu32 "\t%8" PRIu32 "\t%s%s",
			  describe_bytes(session, one->bytes), one->objects, one->alike,
			  describe_object(session, one->object),
			  describe_with_site(session, " from ",
					     session->snapshot->site[one->object]));
		output_open_object(output, NULL);
		describe_object_json(session, "object", one->object);
		output_number(output, "bytes", one->bytes);
		output_number(output, "objects", one->objects);
		output_number(output, "alike", one->alike);
		error = print_guesses(search, one->object);
		output_close(output);
		session_remember(session, one->object);
	}
	output_close(output);
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *prepare(struct search *search)
{
	struct session *session = search->session;
	size_t nodes;

	HEAP_TRY(session_dominator_tree(session));
	HEAP_TRY(describe_load(session));
	HEAP_TRY(heap_snapshot_load(session->snapshot, HEAP_COLUMN_EVIDENCE | HEAP_COLUMN_SITE));
	nodes = (size_t)session->tree.nodes + 1;
	HEAP_TRY(heap_column_create(nodes, sizeof(*search->bytes), &search->bytes));
	HEAP_TRY(heap_column_create(nodes, sizeof(*search->objects), &search->objects));
	HEAP_TRY(heap_column_create(nodes, sizeof(*search->order), &search->order));
	HEAP_TRY(heap_slot_table_init(&search->slots, &session->snapshot->types));
	return heap_repetitions_init(&search->repetitions, &search->slots);
}

static void release(struct search *search)
{
	heap_column_destroy(search->bytes);
	heap_column_destroy(search->objects);
	heap_column_destroy(search->order);
	heap_repetitions_deinit(&search->repetitions);
	heap_slot_table_deinit(&search->slots);
	free(search->list);
}

HEAP_MUST_CHECK
static struct heap_error *suggest(struct search *search, uint64_t limit)
{
	HEAP_TRY(prepare(search));
	order_nodes(search);
	add_up(search);
	HEAP_TRY(collect(search));
	keep_best(search, limit);
	count_alike(search);
	return print(search);
}

static enum command_status suggest_run(struct session *session, int argc, char **argv)
{
	struct search search = { .session = session };
	uint64_t limit = DEFAULT_LIMIT;
	struct heap_error *error;

	if (!command_limit(&argc, argv, &limit) || argc != 1)
		return COMMAND_USAGE;
	if (limit > MAX_LIMIT)
		limit = MAX_LIMIT;
	error = suggest(&search, limit);
	release(&search);
	if (error)
		return command_fail(session, error);
	return search.count > 0 ? COMMAND_OK : COMMAND_NOTHING;
}

const struct command suggest_command = {
	.name = "suggest",
	.synopsis = "[--all | --limit N]",
	.summary = "the objects whose type is worth knowing most",
	.details = "Untyped objects, each with the untyped bytes and objects that only it leads "
		   "to; how\n"
		   "many are alike, of the same site and size; and which structures it may hold, "
		   "with\n"
		   "pointers in the same places. Declare them with `istype`.\n"
		   "\n"
		   "  suggest\n"
		   "  suggest --limit 30",
	.run = suggest_run,
	.nothing = "No object lacks a type.",
};
