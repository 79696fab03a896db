// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/tables/suspects.h"

#include "lib/base/array.h"
#include "lib/query/absent.h"
#include "shell/base/format.h"
#include "shell/print/describe.h"
#include "shell/print/node.h"
#include "shell/print/part.h"
#include "shell/tables/leak_groups.h"
#include "shell/tables/root_sizes.h"

#include <inttypes.h>
#include <stdlib.h>

struct suspects HEAP_ARRAY(struct heap_suspect);

// --- what leaks ----------------------------------------------------------------------------

static uint64_t leaked_bytes(const struct session *session)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	uint64_t bytes = 0;

	for (heap_object_id i = 0; i < snapshot->object_count; i++)
		bytes += session_retained(session, i) == 0 ? snapshot->size[i] : 0;
	return bytes;
}

HEAP_MUST_CHECK
static struct heap_error *add_leak_groups(const struct leak_groups *groups, uint64_t least,
					  struct suspects *suspects)
{
	struct heap_suspect all = { .kind = HEAP_SUSPECT_LEAKED,
				    .place = HEAP_NO_NODE,
				    .is_mixed = true };

	for (size_t i = 0; i < groups->count; i++) {
		const struct leak_group *group = &groups->all[i];
		struct heap_suspect suspect = {
			.kind = HEAP_SUSPECT_LEAKED,
			.place = HEAP_NO_NODE,
			.example = group->example,
			.members = group->objects + group->indirect_objects,
			.bytes = group->bytes + group->indirect_bytes,
			.is_cyclic = group->cycles == group->objects,
		};

		if (suspect.bytes >= least)
			HEAP_TRY(heap_array_append(suspects, suspect));
		if (i == 0)
			all.example = group->example;
		all.members += suspect.members;
		all.bytes += suspect.bytes;
	}
	// Many small kinds.
	if (suspects->count == 0 && all.bytes >= least)
		HEAP_TRY(heap_array_append(suspects, all));
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_leaked(struct session *session, uint64_t least,
				     struct suspects *suspects)
{
	CLEANUP(leak_groups_deinit)
	struct leak_groups groups = { .session = session, .grouping = LEAKS_BY_KIND };

	if (leaked_bytes(session) < least)
		return NULL;
	HEAP_TRY(session_edges(session));
	HEAP_TRY(heap_snapshot_load(session->snapshot, HEAP_COLUMN_BACKTRACE));
	HEAP_TRY(heap_leaks_find(session->graph, NULL, NULL, &groups.leaks));
	HEAP_TRY(leak_groups_make(&groups));
	return add_leak_groups(&groups, least, suspects);
}

// --- what grew -----------------------------------------------------------------------------

// Reachable objects that the snapshot which is compared with does not have, by type.
HEAP_MUST_CHECK
static struct heap_error *add_new(struct session *session, uint64_t least,
				  struct suspects *suspects)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	size_t kinds = (size_t)snapshot->types.count + snapshot->site_count;
	size_t first = suspects->count;
	struct heap_suspect *sums;

	if (!session->is_new)
		return NULL;
	sums = session_allocate(session, (kinds + 1) * sizeof(*sums));
	if (!sums)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		heap_type_id type = snapshot->type[i];
		struct heap_suspect *sum =
			&sums[type != HEAP_NO_TYPE ? type
						   : snapshot->types.count + snapshot->site[i]];

		if (!session->is_new[i] || session_retained(session, i) == 0)
			continue;
		if (sum->members == 0 || snapshot->size[i] > snapshot->size[sum->example])
			sum->example = i;
		sum->members++;
		sum->bytes += snapshot->size[i];
	}
	for (size_t i = 0; i < kinds; i++) {
		sums[i].kind = HEAP_SUSPECT_NEW;
		sums[i].place = HEAP_NO_NODE;
		if (sums[i].members > 0 && sums[i].bytes >= least)
			HEAP_TRY(heap_array_append(suspects, sums[i]));
	}
	if (suspects->count > first)
		qsort(suspects->items + first, suspects->count - first, sizeof(*sums),
		      heap_suspects_compare);
	return NULL;
}

// --- all -----------------------------------------------------------------------------------

// True if so much is held by several roots that it matters who they are.
static bool is_shared(const struct session *session, uint64_t least)
{
	const struct heap_dominator_tree *tree = &session->tree;
	uint64_t bytes = 0;

	for (uint32_t i = tree->first[tree->nodes]; i < tree->first[tree->nodes + 1]; i++) {
		if (heap_divided_is_object(session->divided, tree->child[i]))
			bytes += session->dominators->retained[tree->child[i]];
	}
	return bytes >= least;
}

HEAP_MUST_CHECK
static struct heap_error *add_places(struct session *session, uint64_t least,
				     struct suspects *suspects)
{
	CLEANUP_FREE struct heap_suspect *found = NULL;
	const struct session_holders *all = NULL;
	const struct heap_snapshot *nodes;
	struct heap_holders holders;
	size_t count;

	if (is_shared(session, least)) {
		HEAP_TRY(session_holders(session, &all));
		holders = session_heap_holders(all);
	}
	HEAP_TRY(session_node_kinds(session, &nodes));
	HEAP_TRY(heap_suspects_find(nodes, &session->tree, least, all ? &holders : NULL, &found,
				    &count));
	for (size_t i = 0; i < count; i++)
		HEAP_TRY(heap_array_append(suspects, found[i]));
	return NULL;
}

struct heap_error *suspects_find(struct session *session, uint64_t least, uint64_t least_leaked,
				 struct heap_suspect **result, size_t *count)
{
	CLEANUP_ARRAY struct suspects suspects = { 0 };

	least = least ? least : 1;
	least_leaked = least_leaked ? least_leaked : 1;
	HEAP_TRY(heap_snapshot_load(session->snapshot,
				    HEAP_COLUMN_SITE | HEAP_COLUMN_TYPE | HEAP_COLUMN_SIZE));
	HEAP_TRY(session_dominator_tree(session));
	HEAP_TRY(add_leaked(session, least_leaked, &suspects));
	HEAP_TRY(add_new(session, least, &suspects));
	HEAP_TRY(add_places(session, least, &suspects));
	*result = keep(suspects.items);
	*count = suspects.count;
	return NULL;
}

// --- in words ------------------------------------------------------------------------------

const char *suspects_kind(enum heap_suspect_kind kind)
{
	static const char *const names[] = {
		[HEAP_SUSPECT_ONE] = "one",       [HEAP_SUSPECT_GROUP] = "group",
		[HEAP_SUSPECT_CHAIN] = "chain",   [HEAP_SUSPECT_MIXED] = "mixed",
		[HEAP_SUSPECT_LEAKED] = "leaked", [HEAP_SUSPECT_NEW] = "new",
	};

	return names[kind];
}

const char *suspects_type(struct session *session, heap_node_id node)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_part *part = heap_divided_part(session->divided, node);
	heap_object_id object = heap_divided_block(session->divided, node);
	heap_type_id type = part ? part->type : snapshot->type[object];

	if (type != HEAP_NO_TYPE)
		return describe_type(session, type);
	type = part_main_type(session, object);
	if (heap_unprepared(snapshot))
		return type == HEAP_NO_TYPE ? "untyped blocks"
					    : session_format(session, "pool of %s",
							     describe_type(session, type));
	if (type != HEAP_NO_TYPE)
		return session_format(session, "pool of %s by %s", describe_type(session, type),
				      describe_site(session, snapshot->site[object]));
	return session_format(session, "untyped blocks of %s",
			      describe_site(session, snapshot->site[object]));
}

HEAP_MUST_CHECK
static struct heap_error *describe_holder(struct session *session,
					  const struct heap_suspect *suspect, const char **result)
{
	if (suspect->place != HEAP_NO_NODE)
		*result = node_describe(session, suspect->place);
	else if (suspect->is_mixed)
		*result = "several roots";
	else
		return root_holders_of(session, suspect->example, result);
	return NULL;
}

struct heap_error *suspects_describe(struct session *session, const struct heap_suspect *suspect,
				     const char **result)
{
	const char *kind = suspects_type(session, suspect->example), *place;

	switch (suspect->kind) {
	case HEAP_SUSPECT_LEAKED:
		*result = suspect->is_mixed
				  ? session_format(session,
						   "leaked: %" PRIu64 " objects of many kinds",
						   suspect->members)
				  : session_format(session,
						   "leaked: %" PRIu64 " object%s, %s and what is "
						   "lost with them",
						   suspect->members,
						   format_plural(suspect->members), kind);
		return NULL;
	case HEAP_SUSPECT_NEW:
		*result = session_format(session, "new: %" PRIu64 " × %s", suspect->members, kind);
		return NULL;
	case HEAP_SUSPECT_MIXED:
		*result = session_format(session, "%s, which holds much of many kinds",
					 node_describe(session, suspect->place));
		return NULL;
	case HEAP_SUSPECT_ONE:
		*result = session_format(session, "%s%s", node_describe(session, suspect->example),
					 node_size(session, suspect->example) >= suspect->bytes / 2
						 ? ", which is as large itself"
						 : ", which holds much of many kinds");
		return NULL;
	default:
		HEAP_TRY(describe_holder(session, suspect, &place));
		*result = session_format(session, "%s%" PRIu64 " × %s, held by %s",
					 suspect->kind == HEAP_SUSPECT_CHAIN ? "a chain of " : "",
					 suspect->members, kind, place);
		return NULL;
	}
}

// A question about what a root holds. Mappings, stacks and data without symbols have no name that dominators
// would take.
static const char *question_of_root(struct session *session, heap_node_id node)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_root_id root = node - session->divided->objects;
	const char *name = heap_snapshot_string(snapshot, snapshot->roots[root].name);

	if (*name && *name != '.')
		return session_format(session, "dominators %s", name);
	return session_format(session,
			      "sql select type, site, count(*), sum(retained) from root_edges "
			      "join objects on target = address where root = %" PRIu32
			      " group by 1, 2 order by 4 desc limit 10",
			      root);
}

const char *suspects_advice(struct session *session, const struct heap_suspect *suspect)
{
	uint64_t address = node_address(session, suspect->example);

	switch (suspect->kind) {
	case HEAP_SUSPECT_LEAKED:
		if (suspect->is_cyclic)
			return session_format(session,
					      "No root leads to them, and they hold each other: "
					      "`identify %#" PRIx64 "` shows the cycle.",
					      address);
		return heap_unprepared(session->snapshot)
			       ? "No root leads to them: `leaks` lists them."
			       : "No root leads to them: `leaks` says where they were allocated.";
	case HEAP_SUSPECT_NEW:
		return session_format(session,
				      "The snapshot that is compared with does not have them: "
				      "`find new` lists them, `identify %#" PRIx64
				      "` says who holds one.",
				      address);
	case HEAP_SUSPECT_CHAIN:
		return "If the list should be short, look for who takes nodes off it, and when.";
	case HEAP_SUSPECT_MIXED:
		return session_format(session, "If it should be smaller, `%s` says what it holds.",
				      question_of_root(session, suspect->place));
	case HEAP_SUSPECT_ONE:
		return session_format(session,
				      "If it should be smaller, `dominators --depth 3 %#" PRIx64
				      "` says what is in it.",
				      address);
	default:
		break;
	}
	if (suspect->place == HEAP_NO_NODE)
		return session_format(session,
				      "No single object holds them all: `identify %#" PRIx64
				      "` says who holds one of them.",
				      address);
	return "If they should be fewer, look for who takes them out again, and when.";
}
