// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/tables/root_sizes.h"

#include "lib/base/array.h"
#include "lib/base/hash_table.h"
#include "shell/base/format.h"
#include "shell/print/describe.h"
#include "shell/print/part.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	TYPES_TOLD = 2, // of what several groups hold together
};

struct heap_error *root_groups_by_root(struct session *session, struct root_groups *result)
{
	const struct session_holders *holders;

	HEAP_TRY(session_root_holders(session, &holders));
	*result = (struct root_groups){
		.count = holders->groups,
		.words = holders->words,
		.all = holders->all,
		.sizes = holders->sizes,
		.joint = &holders->joint,
	};
	return NULL;
}

// --- the types of joint rows ---------------------------------------------------------------

// Objects of a type, or untyped ones of a site, in a row.
struct part {
	size_t row;
	uint32_t kind; // a type, or the number of types + a site
	heap_node_id example;
	uint64_t objects;
	uint64_t bytes;
};

struct parts {
	struct part *items;
	size_t count, capacity;
	struct heap_hash_table by_kind;
};

HEAP_MUST_CHECK
static struct heap_error *count_object(const struct heap_snapshot *nodes, struct parts *parts,
				       size_t row, heap_node_id object)
{
	heap_type_id type = nodes->type[object];
	uint32_t kind = type != HEAP_NO_TYPE ? type : nodes->types.count + nodes->site[object];
	uint64_t hash = heap_hash_pair(row, kind);
	uint32_t found = heap_hash_find(&parts->by_kind, hash, i,
					parts->items[i].row == row && parts->items[i].kind == kind);

	if (found == HEAP_HASH_NONE) {
		found = (uint32_t)parts->count;
		HEAP_TRY(heap_array_append(parts, (struct part){ row, kind, object, 0, 0 }));
		HEAP_TRY(heap_hash_add(&parts->by_kind, hash, found));
	}
	parts->items[found].objects++;
	parts->items[found].bytes += nodes->size[object];
	return NULL;
}

static int compare_parts(const void *left, const void *right)
{
	const struct part *a = left, *b = right;

	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->kind < b->kind ? -1 : a->kind > b->kind;
}

static const char *describe_part(struct session *session, const struct part *part)
{
	uint32_t types = session->snapshot->types.count;
	heap_type_id inside;

	if (part->kind < types)
		return session_format(session, "%" PRIu64 " %s", part->objects,
				      describe_type(session, part->kind));
	inside = part_main_type(session, part->example);
	if (inside != HEAP_NO_TYPE)
		return session_format(session, "%" PRIu64 " pool%s of %s%s", part->objects,
				      format_plural(part->objects), describe_type(session, inside),
				      describe_with_site(session, " by ", part->kind - types));
	return session_format(session, "%" PRIu64 " untyped%s", part->objects,
			      describe_with_site(session, " of ", part->kind - types));
}

// The types that take most, of each row.
static void describe_parts(struct session *session, struct parts *parts, struct root_row *rows)
{
	size_t told = 0;

	if (parts->count > 0)
		qsort(parts->items, parts->count, sizeof(*parts->items), compare_parts);
	for (size_t i = 0; i < parts->count; i++) {
		const struct part *part = &parts->items[i];
		struct root_row *row = &rows[part->row];

		told = i > 0 && parts->items[i - 1].row == part->row ? told + 1 : 0;
		if (told == 0)
			row->types = describe_part(session, part);
		else if (told < TYPES_TOLD)
			row->types = session_format(session, "%s, %s", row->types,
						    describe_part(session, part));
		else if (told == TYPES_TOLD)
			row->types = session_format(session, "%s, ...", row->types);
	}
}

// One pass over all objects. @param row_of  [joint->count] row + 1, or 0
HEAP_MUST_CHECK
static struct heap_error *find_types(struct session *session, const struct root_groups *groups,
				     const size_t *row_of, struct root_row *rows)
{
	const struct heap_snapshot *nodes;
	uint32_t first = HEAP_CLASS_JOINT(groups->count);
	struct parts parts = { 0 };
	struct heap_error *error = session_node_kinds(session, &nodes);

	for (heap_node_id i = 0; !error && i < nodes->object_count; i++) {
		uint32_t class = heap_joint_class(groups->all, groups->joint, i);

		if (class != HEAP_CLASS_LEAKED && class >= first && row_of[class - first])
			error = count_object(nodes, &parts, row_of[class - first] - 1, i);
	}
	if (!error)
		describe_parts(session, &parts, rows);
	heap_array_deinit(&parts);
	heap_hash_table_deinit(&parts.by_kind);
	return error;
}

// --- rows ----------------------------------------------------------------------------------

static int compare_rows(const void *left, const void *right)
{
	const struct root_row *a = left, *b = right;

	if (a->size.retained != b->size.retained)
		return a->size.retained > b->size.retained ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->size.reachable != b->size.reachable)
		return a->size.reachable > b->size.reachable ? -1 : 1;
	if (a->kind == ROOT_ROW_JOINT)
		return a->joint < b->joint ? -1 : a->joint > b->joint;
	return a->group < b->group ? -1 : a->group > b->group;
}

static void add_to_rest(struct root_row *rest, uint64_t bytes, uint64_t objects)
{
	rest->count++;
	rest->size.retained += bytes;
	rest->size.retained_objects += objects;
}

// Rows of groups and of several together, those that are large enough. @return how many
static size_t add_rows(const struct root_groups *groups, uint64_t minimum, struct root_row *rows,
		       struct root_row *more)
{
	const struct heap_joint_sizes *joint = groups->joint;
	size_t count = 0;

	for (uint32_t i = 0; i < groups->count; i++) {
		const struct heap_root_size *size = &groups->sizes[i];

		if (i == groups->words || size->reachable_objects == 0)
			continue;
		if (size->reachable >= minimum)
			rows[count++] = (struct root_row){ .kind = ROOT_ROW_GROUP,
							   .group = i,
							   .size = *size };
		else
			add_to_rest(more, size->retained, size->retained_objects);
	}
	for (size_t i = 0; i < joint->count; i++) {
		const struct heap_joint_size *together = &joint->joints[i];

		if (together->retained >= minimum)
			rows[count++] = (struct root_row){
				.kind = ROOT_ROW_JOINT,
				.joint = together,
				.size = { .retained = together->retained,
					  .retained_objects = together->retained_objects },
			};
		else
			add_to_rest(more, together->retained, together->retained_objects);
	}
	qsort(rows, count, sizeof(*rows), compare_rows);
	return count;
}

static uint64_t count_words(const struct session *session)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	uint64_t count = 0;

	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];

		if ((i == 0 || edge[-1].root != edge->root) &&
		    heap_root_level(session->graph, &snapshot->roots[edge->root]) ==
			    HEAP_LEVEL_WORD)
			count++;
	}
	return count;
}

// All that no group and no few groups hold.
static size_t add_rest(const struct session *session, const struct heap_snapshot *nodes,
		       const struct root_groups *groups, const struct root_row *more,
		       struct root_row *rows)
{
	const struct heap_joint_sizes *joint = groups->joint;
	struct root_row many = { .kind = ROOT_ROW_MANY }, outside = { .kind = ROOT_ROW_OUTSIDE };
	struct root_row words = { .kind = ROOT_ROW_WORDS }, leaked = { .kind = ROOT_ROW_LEAKED };
	const struct root_row *all[] = { more, &many, &outside, &words, &leaked };
	size_t count = 0;

	add_to_rest(&many, joint->many.retained, joint->many.retained_objects);
	add_to_rest(&outside, joint->outside.retained, joint->outside.retained_objects);
	if (groups->words != HEAP_NO_GROUP) {
		words.size = groups->sizes[groups->words];
		words.count = count_words(session);
	}
	for (heap_node_id i = 0; i < nodes->object_count; i++) {
		if (heap_joint_class(groups->all, joint, i) == HEAP_CLASS_LEAKED)
			add_to_rest(&leaked, nodes->size[i], 1);
	}
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (all[i]->size.retained_objects > 0)
			rows[count++] = *all[i];
	}
	return count;
}

struct heap_error *root_rows_make(struct session *session, const struct root_groups *groups,
				  uint64_t minimum, uint64_t limit, struct root_row **result,
				  size_t *count)
{
	size_t joints = groups->joint->count, shown;
	struct root_row more = { .kind = ROOT_ROW_MORE };
	const struct heap_snapshot *nodes;
	struct root_row *rows =
		session_allocate(session, (groups->count + joints + 6) * sizeof(*rows));
	size_t *row_of = session_allocate(session, (joints + 1) * sizeof(*row_of));

	if (!rows || !row_of)
		return heap_error_out_of_memory();
	HEAP_TRY(session_node_columns(session, HEAP_COLUMN_SIZE, &nodes));
	*count = add_rows(groups, minimum, rows, &more);
	shown = *count < limit ? *count : (size_t)limit;
	for (size_t i = shown; i < *count; i++)
		add_to_rest(&more, rows[i].size.retained, rows[i].size.retained_objects);
	for (size_t i = 0; i < shown; i++) {
		if (rows[i].kind == ROOT_ROW_JOINT)
			row_of[rows[i].joint - groups->joint->joints] = i + 1;
	}
	if (joints > 0)
		HEAP_TRY(find_types(session, groups, row_of, rows));
	*count = shown + add_rest(session, nodes, groups, &more, rows + shown);
	*result = rows;
	return NULL;
}

// --- names ---------------------------------------------------------------------------------

static heap_root_id first_root(const struct root_groups *groups, uint32_t group)
{
	return groups->roots ? groups->roots[group] : group;
}

static const char *group_name(struct session *session, const struct root_groups *groups,
			      uint32_t group)
{
	const char *label = groups->labels ? groups->labels[group] : NULL;

	return label ? label : describe_root(session, first_root(groups, group));
}

// A group's name among others: a variable's name alone says enough.
static const char *short_name(struct session *session, const struct root_groups *groups,
			      uint32_t group)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_root *root = &snapshot->roots[first_root(groups, group)];

	if ((groups->labels && groups->labels[group]) || root->kind > HEAP_ROOT_LOCAL)
		return group_name(session, groups, group);
	return describe_name(session, heap_snapshot_string(snapshot, root->name));
}

// @param names  [HEAP_JOINT_MOST] gets short names, but for variables of one name
static void name_joint(struct session *session, const struct root_groups *groups,
		       const struct heap_joint_size *joint, const char **names)
{
	const char *brief[HEAP_JOINT_MOST];

	for (uint32_t i = 0; i < joint->count; i++)
		brief[i] = short_name(session, groups, joint->groups[i]);
	for (uint32_t i = 0; i < joint->count; i++) {
		names[i] = brief[i];
		for (uint32_t j = 0; j < joint->count; j++) {
			if (i != j && strcmp(brief[i], brief[j]) == 0)
				names[i] = group_name(session, groups, joint->groups[i]);
		}
	}
}

static const char *joint_name(struct session *session, const struct root_groups *groups,
			      const struct heap_joint_size *joint)
{
	const char *names[HEAP_JOINT_MOST];
	const char *text;

	name_joint(session, groups, joint, names);
	text = names[0];
	for (uint32_t i = 1; i < joint->count; i++)
		text = session_format(session, "%s%s%s", text,
				      i + 1 == joint->count ? " and " : ", ", names[i]);
	return session_format(session, "%s, together", text);
}

void root_row_json_names(struct session *session, const struct root_groups *groups,
			 const struct heap_joint_size *joint)
{
	const char *names[HEAP_JOINT_MOST];

	name_joint(session, groups, joint, names);
	for (uint32_t i = 0; i < joint->count; i++)
		output_string(session->output, NULL, names[i]);
}

const char *root_row_name(struct session *session, const struct root_groups *groups,
			  const struct root_row *row)
{
	switch (row->kind) {
	case ROOT_ROW_GROUP:
		return group_name(session, groups, row->group);
	case ROOT_ROW_JOINT:
		return session_format(session, "%s: %s", joint_name(session, groups, row->joint),
				      row->types);
	case ROOT_ROW_MORE:
		return session_format(session, "%" PRIu64 " more", row->count);
	case ROOT_ROW_MANY:
		return session_format(session, "shared by more than %d", HEAP_JOINT_MOST);
	case ROOT_ROW_OUTSIDE:
		return "other roots, alone or with these";
	case ROOT_ROW_WORDS:
		return session_format(session,
				      "words of stacks, registers and mappings alone "
				      "(%" PRIu64 "; see roots --stack)",
				      row->count);
	default:
		return "leaked: no root leads to it";
	}
}

const char *root_row_word(enum root_row_kind kind)
{
	static const char *const words[] = {
		[ROOT_ROW_GROUP] = NULL,       [ROOT_ROW_JOINT] = NULL,
		[ROOT_ROW_MORE] = "more",      [ROOT_ROW_MANY] = "many",
		[ROOT_ROW_OUTSIDE] = "others", [ROOT_ROW_WORDS] = "words",
		[ROOT_ROW_LEAKED] = "leaked",
	};

	return words[kind];
}

const char *root_class_name(struct session *session, const struct root_groups *groups,
			    uint32_t class)
{
	struct root_row row = { .kind = ROOT_ROW_GROUP, .group = class };

	if (class == HEAP_CLASS_LEAKED) // of an object that a forged side file has at the top
		return "several roots";
	if (class >= HEAP_CLASS_JOINT(groups->count))
		return joint_name(session, groups,
				  &groups->joint->joints[class - HEAP_CLASS_JOINT(groups->count)]);
	if (class == HEAP_CLASS_MANY(groups->count))
		return session_format(session, "more than %d roots, together", HEAP_JOINT_MOST);
	if (class == groups->words)
		return "words of stacks, registers and mappings alone";
	return root_row_name(session, groups, &row);
}

struct heap_error *root_holders_of(struct session *session, heap_node_id node, const char **result)
{
	struct root_groups groups;

	HEAP_TRY(root_groups_by_root(session, &groups));
	*result =
		root_class_name(session, &groups, heap_joint_class(groups.all, groups.joint, node));
	return NULL;
}
