// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * show: an object or a variable, field by field.
 */
#include "lib/snapshot/unreadable.h"
#include "shell/print/backtrace.h"
#include "shell/command.h"
#include "shell/print/describe.h"
#include "shell/print/field.h"
#include "shell/base/format.h"
#include "shell/words/operand.h"
#include "shell/print/part.h"
#include "shell/print/value.h"

#include <inttypes.h>

enum {
	SHORT_CONTENT = 16 << 20, // bytes read of an object, without --all
};

// Why it is what it is said to be, and what speaks against it.
static const char *describe_evidence(struct session *session, heap_object_id object)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_type_id rival = snapshot->rival[object];
	uint32_t rivals = snapshot->rivals[object];
	const char *type = snapshot->evidence[object] == HEAP_EVIDENCE_POOL
				   ? "cut up by the program"
			   : snapshot->type[object] == HEAP_NO_TYPE
				   ? "type unknown"
				   : session_format(session, "type by %s",
						    heap_evidence_name(snapshot->evidence[object]));

	if (rivals == 0)
		return type;
	return session_format(session, "%s, against %" PRIu32 " pointer%s%s%s", type, rivals,
			      format_plural(rivals), rival ? " to " : "",
			      rival ? describe_type(session, rival) : "");
}

static void show_origin(struct session *session, heap_object_id object)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct output *output = session->output;
	heap_site_id site = snapshot->site[object];

	output_text(output, "  allocated by %s, %s; %s\n", describe_site(session, site),
		    describe_birth(session, object), describe_evidence(session, object));
	output_string(output, "site", describe_site(session, site));
	output_number(output, "born_ns", snapshot->epochs[snapshot->birth[object]]);
	if (snapshot->rivals[object] > 0) {
		output_number(output, "rivals", snapshot->rivals[object]);
		output_string(output, "rival", describe_type(session, snapshot->rival[object]));
	}
	describe_sample(session, object);
	backtrace_print(session, object);
}

static void show_unreadable(struct session *session, heap_object_id object)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	uint64_t bytes =
		heap_unreadable_bytes(snapshot, snapshot->address[object], snapshot->size[object]);

	if (bytes == 0)
		return;
	output_text(session->output,
		    "  %s of it could not be read: protected, or left out of copies\n",
		    describe_bytes(session, bytes));
	output_number(session->output, "unreadable_bytes", bytes);
}

static void show_header(struct session *session, heap_object_id object,
			const struct heap_part *part)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct output *output = session->output;

	if (part) {
		output_text(
			output, "%s, %s, %s\n", part_describe(session, part),
			describe_bytes(session, heap_snapshot_part_size(snapshot, part)),
			session_format(session, "type by %s", heap_evidence_name(part->evidence)));
		output_text(output, "  part of %s, at +%#" PRIx64 "\n",
			    describe_object(session, object), part->offset);
		part_json(session, "part", part);
	} else {
		output_text(output, "%s, %s\n", describe_object(session, object),
			    describe_bytes(session, snapshot->size[object]));
	}
	describe_object_json(session, "object", object);
	show_unreadable(session, object);
	show_origin(session, object);
}

// Names what an untyped object points to: its fields have no names that would tell.
static void show_edges(struct session *session, heap_object_id object)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct output *output = session->output;

	output_open_array(output, "pointers");
	for (uint32_t i = snapshot->edge_first[object];
	     i < snapshot->edge_first[object + 1] && !session_must_stop(session); i++) {
		uint64_t offset = (uint64_t)snapshot->edge_slot[i] * 8;

		output_text(output, "  +%#" PRIx64 " = %s\n", offset,
			    field_describe_target(session, snapshot->edge_target[i],
						  snapshot->edge_interior[i], HEAP_NO_TYPE));
		session_remember(session, snapshot->edge_target[i]);
		output_open_object(output, NULL);
		output_number(output, "offset", offset);
		describe_object_json(session, "object", snapshot->edge_target[i]);
		output_close(output);
	}
	output_close(output);
}

static void show_typed(struct session *session, heap_object_id object, const struct value *value,
		       enum value_limit limit)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_types *types = &snapshot->types;
	heap_type_id type = snapshot->type[object];
	heap_type_id element = heap_types_counted(types, type);
	uint64_t start = 0;
	bool flexible = heap_types_flexible(types, type, &start, NULL);

	if (element != HEAP_NO_TYPE) {
		output_open_array(session->output, "elements");
		value_print_elements(session, value, element, start, snapshot->elements[object] - 1,
				     2, limit);
		output_close(session->output);
	} else if ((types->types[type].flags & HEAP_TYPE_CHARACTER) &&
		   types->types[type].size == 1) {
		value_print_characters(session, value, 2, limit);
	} else if (snapshot->elements[object] > 1 && !flexible) {
		output_open_array(session->output, "elements");
		value_print_elements(session, value, type, 0, snapshot->elements[object], 2, limit);
		output_close(session->output);
	} else {
		value_print_members(session, value, type, 2, limit);
	}
}

HEAP_MUST_CHECK
static struct heap_error *show_object(struct session *session, heap_object_id object,
				      const struct heap_part *part, enum value_limit limit,
				      bool asked_for_all)
{
	struct heap_snapshot *snapshot = session->snapshot;
	struct value value = { .size = snapshot->size[object],
			       .object = object,
			       .address = snapshot->address[object] };
	uint64_t wanted = value.size < snapshot->info.content_limit ? value.size
								    : snapshot->info.content_limit;

	if (limit == VALUE_SHORT && wanted > SHORT_CONTENT)
		wanted = SHORT_CONTENT;

	uint8_t *bytes = session_allocate(session, wanted);
	size_t kept;

	if (!bytes)
		return heap_error_out_of_memory();

	struct heap_error *error =
		heap_snapshot_read_content(snapshot, object, bytes, wanted, &kept);

	// Of a class without debug information only the name is known.
	bool has_layout = heap_types_size(&snapshot->types, snapshot->type[object]) > 0;

	if (part)
		has_layout = true;
	// The edges are the largest columns: only for what the bytes alone do not say.
	if (!error && (kept < value.size || !has_layout))
		error = heap_snapshot_load(snapshot, HEAP_COLUMN_SLOTS);
	if (error)
		return error;
	session_allow_lines(session, asked_for_all ? value.size : value.kept);
	value.bytes = bytes;
	value.kept = kept;
	if (!heap_types_flexible(&snapshot->types, snapshot->type[object], &value.flexible, NULL) ||
	    snapshot->elements[object] <= 1)
		value.flexible = 0;
	output_open_object(session->output, NULL);
	show_header(session, object, part);
	if (part) {
		part_print(session, part, &value, limit);
		return NULL;
	}
	if (has_layout)
		show_typed(session, object, &value, limit);
	part_list(session, object, limit);
	if (!has_layout && part_count(session, object) == 0) {
		value_print_bytes(session, &value, 2, limit);
		show_edges(session, object);
	}
	return NULL;
}

static void show_root(struct session *session, heap_root_id number, enum value_limit limit)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_root *root = &snapshot->roots[number];
	struct value value = {
		.bytes = snapshot->root_content + root->content,
		.kept = root->content_size,
		.size = root->size,
		.object = HEAP_NO_OBJECT,
		.address = root->address,
	};

	output_open_object(session->output, NULL);
	output_text(session->output, "%s, %s at %#" PRIx64 ", %s\n", describe_root(session, number),
		    describe_type(session, root->type), root->address,
		    describe_bytes(session, root->size));
	describe_root_json(session, "root", number);
	if (root->type == HEAP_NO_TYPE)
		value_print_bytes(session, &value, 2, limit);
	else
		value_print_members(session, &value, root->type, 2, limit);
}

// An address inside a pool means the part that is there; the pool's own means the pool.
static const struct heap_part *find_part(const struct session *session,
					 const struct operand *operand)
{
	return operand->interior > 0 ? part_at(session, operand->object, operand->interior) : NULL;
}

static enum command_status show_run(struct session *session, int argc, char **argv)
{
	struct operand operand;
	bool all = command_option(&argc, argv, "--all", NULL);
	// What is cut short is cut for people's eyes.
	enum value_limit limit = all || output_is_json(session->output) ? VALUE_ALL : VALUE_SHORT;

	if (argc != 2)
		return COMMAND_USAGE;

	struct heap_error *error = describe_load(session);

	if (!error)
		error = heap_snapshot_load(session->snapshot, HEAP_COLUMN_SITE | HEAP_COLUMN_BIRTH |
								      HEAP_COLUMN_BACKTRACE |
								      HEAP_COLUMN_RIVAL |
								      HEAP_COLUMN_RIVALS);
	if (!error)
		error = operand_parse(session, argv[1], &operand);
	if (!error && operand.object != HEAP_NO_OBJECT && operand.interior == 0)
		session_remember(session, operand.object);
	if (!error && operand.object != HEAP_NO_OBJECT)
		error = show_object(session, operand.object, find_part(session, &operand), limit,
				    all);
	if (error)
		return command_fail(session, error);
	if (operand.object == HEAP_NO_OBJECT)
		show_root(session, operand.root, limit);
	return COMMAND_OK;
}

const struct command show_command = {
	.name = "show",
	.synopsis = "[--all] OBJ",
	.summary = "an object's fields, or a variable's value",
	.details =
		"  show 0x55d0c0ffee40   the object at that address, or around it\n"
		"  show g_table          the object that the variable g_table points to\n"
		"  show &g_table         the variable itself\n"
		"  show g_table->slots[3].value    as C would write it\n"
		"  show --all $1         all elements of the first object of the last answer\n\n"
		"Of a pool its parts are shown; an address inside it is the part that is there.\n"
		"The backtrace is the object's own, or of the first of its site and size.",
	.run = show_run,
	.words = WORDS_OBJECT,
	.keeps_answer = true,
};
