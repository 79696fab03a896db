// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/print/path.h"

#include "lib/base/cleanup.h"
#include "shell/print/describe.h"
#include "shell/print/field.h"
#include "shell/print/part.h"

#include <inttypes.h>

const char *path_edge_remark(struct session *session, uint32_t interior, uint8_t flags)
{
	const char *into = interior ? session_format(session, " + %" PRIu32, interior) : "";

	return session_format(session, "%s%s", into,
			      flags & HEAP_EDGE_TYPED ? "" : " (untyped pointer)");
}

void path_edge_json(struct session *session, const char *field, uint32_t interior, uint8_t flags)
{
	output_string(session->output, "field", field);
	output_number(session->output, "interior", interior);
	output_boolean(session->output, "typed", flags & HEAP_EDGE_TYPED);
}

enum {
	MIN_ALIKE = 3,  // steps through a list that are worth leaving out
	MIN_MIXED = 6,  // the same through a tree, whose upper nodes may tell something
	MAX_FIELDS = 4, // by which nodes of a tree lead to each other, that are named
};

static heap_object_id path_object(const struct heap_snapshot *snapshot,
				  const struct heap_path *path, size_t step)
{
	return step == 0 ? snapshot->root_edges[path->root_edge].target
			 : snapshot->edge_target[path->edges[step - 1]];
}

struct heap_error *path_load(struct session *session, const struct heap_path *paths, size_t count)
{
	struct heap_snapshot *snapshot = session->snapshot;
	size_t all = 0, at = 0;

	for (size_t i = 0; i < count; i++)
		all += paths[i].count + 1;

	CLEANUP_FREE heap_object_id *objects = calloc(all + 1, sizeof(*objects));

	if (!objects)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < count; i++) {
		for (size_t step = 0; step <= paths[i].count; step++)
			objects[at++] = path_object(snapshot, &paths[i], step);
	}

	struct heap_error *error = describe_load_around(session, objects, all);

	return error ? error
		     : heap_snapshot_load_neighbours(
			       snapshot, HEAP_COLUMN_QUALITY | HEAP_COLUMN_SLOTS, objects, all);
}

// Counts the steps from this one on that lead from a type to itself. @param by_one  by one field alone
static size_t count_alike(const struct heap_snapshot *snapshot, const struct heap_path *path,
			  size_t step, bool by_one)
{
	heap_type_id type = snapshot->type[path_object(snapshot, path, step)];
	size_t alike = 0;

	while (type != HEAP_NO_TYPE && step + alike < path->count &&
	       (!by_one || snapshot->edge_slot[path->edges[step + alike]] ==
				   snapshot->edge_slot[path->edges[step]]) &&
	       snapshot->type[path_object(snapshot, path, step + alike + 1)] == type)
		alike++;
	return alike;
}

// The field of a step, in the part of a pool that it is in: of its type is the value that holds what follows.
static const char *path_field(struct session *session, const struct heap_path *path, size_t step)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_object_id object = path_object(snapshot, path, step);
	uint64_t offset = (uint64_t)snapshot->edge_slot[path->edges[step]] * 8;
	const struct heap_part *part = heap_snapshot_part_at(snapshot, object, offset);
	const char *field;

	if (!part)
		return field_brief(session, field_of_object(session, object, offset));
	field = field_brief(session, field_of_part(session, part, offset));
	return output_is_json(session->output)
		       ? field
		       : session_format(session, "%s of %s", field, part_describe(session, part));
}

static void print_step(struct session *session, const struct heap_path *path, size_t step,
		       const char *field, const char *indent)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_root_edge *root = &snapshot->root_edges[path->root_edge];
	uint32_t interior =
		step == 0 ? root->interior : snapshot->edge_interior[path->edges[step - 1]];
	uint8_t flags = step == 0 ? root->flags : snapshot->edge_flags[path->edges[step - 1]];
	heap_object_id object = path_object(snapshot, path, step);

	output_text(session->output, "%s  %s%s→ %s%s\n", indent, field, *field ? " " : "",
		    describe_object(session, object), path_edge_remark(session, interior, flags));
	session_remember(session, object);
	output_open_object(session->output, NULL);
	path_edge_json(session, field, interior, flags);
	describe_object_json(session, "object", object);
	output_close(session->output);
}

// The fields by which some steps lead on, each once: "._M_left, ._M_right".
static const char *path_fields(struct session *session, const struct heap_path *path, size_t step,
			       size_t count)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	uint32_t slots[MAX_FIELDS];
	const char *fields = "";
	size_t known = 0;

	for (size_t i = step; i < step + count; i++) {
		uint32_t slot = snapshot->edge_slot[path->edges[i]];
		size_t at = 0;

		while (at < known && slots[at] != slot)
			at++;
		if (at < known)
			continue;
		if (known == MAX_FIELDS)
			return session_format(session, "%s...", fields);
		slots[known++] = slot;
		fields = session_format(session, "%s%s%s", fields, *fields ? ", " : "",
					path_field(session, path, i));
	}
	return fields;
}

// Counts the steps from this one on that are worth leaving out, but for the last: nodes of a list or a tree.
static size_t count_left_out(const struct heap_snapshot *snapshot, const struct heap_path *path,
			     size_t step)
{
	size_t by_one = count_alike(snapshot, path, step, true);
	size_t mixed = count_alike(snapshot, path, step, false);

	if (mixed > MIN_MIXED)
		return mixed;
	return by_one > MIN_ALIKE ? by_one : 0;
}

void path_print(struct session *session, const char *key, const struct heap_path *path,
		const char *indent)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_root_edge *root = &snapshot->root_edges[path->root_edge];
	struct output *output = session->output;
	const char *field = field_brief(session, field_of_root(session, root->root, root->offset));

	output_open_array(output, key);
	output_text(output, "%s%s\n", indent, describe_root(session, root->root));
	output_open_object(output, NULL);
	describe_root_json(session, "root", root->root);
	output_close(output);
	for (size_t step = 0; step <= path->count; step++) {
		size_t alike = count_left_out(snapshot, path, step);

		print_step(session, path, step, field, indent);
		if (step < path->count)
			field = path_field(session, path, step);
		if (!output_is_json(output) && alike > 0) {
			output_text(output, "%s  … %zu more by %s\n", indent, alike - 1,
				    path_fields(session, path, step, alike - 1));
			step += alike - 1;
			field = path_field(session, path, step);
		}
	}
	output_close(output);
}
