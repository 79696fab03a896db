// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * types, sites: of what the objects are, and where they come from.
 */
#include "shell/command.h"
#include "shell/describe.h"
#include "shell/format.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct tally {
	uint32_t id;
	uint64_t objects;
	uint64_t bytes;
};

static int compare_tallies(const void *left, const void *right)
{
	const struct tally *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

// Objects and bytes per type or site.
static struct tally *count_up(struct session *session, const uint32_t *ids, uint32_t count)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct tally *tallies = session_allocate(session, (count + 1) * sizeof(*tallies));

	for (uint32_t i = 0; tallies && i < count; i++)
		tallies[i].id = i;
	for (heap_object_id i = 0; tallies && i < snapshot->object_count; i++) {
		tallies[ids[i]].objects++;
		tallies[ids[i]].bytes += snapshot->size[i];
	}
	return tallies;
}

// --- types -------------------------------------------------------------------

static bool has_members(const struct heap_type *type)
{
	return type->kind == HEAP_TYPE_STRUCT || type->kind == HEAP_TYPE_CLASS ||
	       type->kind == HEAP_TYPE_UNION;
}

static void print_member(struct session *session, const struct heap_member *member, uint64_t *end,
			 bool is_union)
{
	const struct heap_types *types = &session->snapshot->types;
	struct output *output = session->output;
	uint64_t size = heap_types_size(types, member->type);
	bool is_bits = member->flags & HEAP_MEMBER_BIT_FIELD;
	const char *name =
		session_keep(session, format_name(heap_types_string(types, member->name)));

	if (!is_union && member->offset > *end)
		output_text(output, "\t/* a hole of %" PRIu64 " bytes */\n", member->offset - *end);
	output_text(output, "\t%s%s%s", member->flags & HEAP_MEMBER_BASE ? "/* base */ " : "",
		    describe_type(session, member->type),
		    *name && !(member->flags & HEAP_MEMBER_BASE) ? " " : "");
	if (!(member->flags & HEAP_MEMBER_BASE))
		output_text(output, "%s", name);
	if (is_bits)
		output_text(output, " : %u", member->bit_size);
	output_text(output, "; /* %" PRIu64 "%s%s, %" PRIu64 " */\n", member->offset,
		    is_bits ? ":" : "",
		    is_bits ? session_format(session, "%u", member->bit_offset) : "", size);
	output_open_object(output, NULL);
	output_string(output, "name", heap_types_string(types, member->name));
	output_string(output, "type", describe_type(session, member->type));
	output_number(output, "offset", member->offset);
	output_number(output, "size", size);
	if (is_bits) {
		output_number(output, "bit_offset", member->bit_offset);
		output_number(output, "bit_size", member->bit_size);
	}
	output_close(output);
	if (!is_bits)
		*end = member->offset + size;
	else if (member->offset + (member->bit_offset + member->bit_size + 7u) / 8 > *end)
		*end = member->offset + (member->bit_offset + member->bit_size + 7u) / 8;
}

static void print_definition(struct session *session, heap_type_id id)
{
	const struct heap_types *types = &session->snapshot->types;
	const struct heap_type *type = &types->types[id];
	struct output *output = session->output;
	uint64_t end = 0;

	output_open_array(output, "members");
	if (has_members(type)) {
		output_text(output, "%s {\n", describe_type(session, id));
		for (uint32_t i = 0; i < type->members; i++)
			print_member(session, &types->members[type->first_member + i], &end,
				     type->kind == HEAP_TYPE_UNION);
		if (type->kind != HEAP_TYPE_UNION && end < type->size)
			output_text(output, "\t/* %" PRIu64 " bytes of padding */\n",
				    type->size - end);
		output_text(output, "};");
	} else if (type->kind == HEAP_TYPE_ENUM) {
		output_text(output, "%s {\n", describe_type(session, id));
		for (uint32_t i = 0; i < type->members; i++) {
			const struct heap_enumerator *enumerator =
				&types->enumerators[type->first_member + i];

			output_text(output, "\t%s = %" PRId64 ",\n",
				    heap_types_string(types, enumerator->name), enumerator->value);
			output_open_object(output, NULL);
			output_string(output, "name", heap_types_string(types, enumerator->name));
			output_signed(output, "value", enumerator->value);
			output_close(output);
		}
		output_text(output, "};");
	} else {
		output_text(output, "%s;", describe_type(session, id));
		if (type->kind == HEAP_TYPE_TYPEDEF)
			output_text(output, " /* %s */", describe_type(session, type->target));
	}
	output_close(output);
}

static void print_type(struct session *session, const struct tally *tally)
{
	const struct heap_types *types = &session->snapshot->types;
	const struct heap_type *type = &types->types[tally->id];
	struct output *output = session->output;
	const char *file = session_keep(session, format_name(heap_types_string(types, type->file)));

	output_open_object(output, NULL);
	output_string(output, "type", describe_type(session, tally->id));
	output_number(output, "size", heap_types_size(types, tally->id));
	output_number(output, "objects", tally->objects);
	output_number(output, "bytes", tally->bytes);
	print_definition(session, tally->id);
	output_text(output, " /* %" PRIu64 " bytes", heap_types_size(types, tally->id));
	if (*file)
		output_text(output, ", %s:%" PRIu32, file, type->line);
	output_text(output, "; %" PRIu64 " object%s, %s */\n", tally->objects,
		    format_plural(tally->objects), describe_bytes(session, tally->bytes));
	output_close(output);
}

static enum command_status print_types_named(struct session *session, struct tally *tallies,
					     const char *name)
{
	const struct heap_types *types = &session->snapshot->types;
	heap_type_id type = HEAP_NO_TYPE;
	bool found = false;

	output_open_array(session->output, NULL);
	while ((type = heap_types_find(types, name, type ? type + 1 : 0)) != HEAP_NO_TYPE) {
		found = true;
		print_type(session, &tallies[type]);
	}
	output_close(session->output);
	if (!found)
		return command_fail(session,
				    heap_error_create(HEAP_ERROR_ABSENT,
						      "%s: no such type in the snapshot", name));
	return COMMAND_OK;
}

static void print_tallies(struct session *session, const struct tally *tallies, uint32_t count,
			  const char *key,
			  const char *(*describe)(struct session *session, uint32_t id))
{
	struct output *output = session->output;

	output_text(output, "%10s %12s  %s\n", "objects", "bytes", key);
	output_open_array(output, NULL);
	for (uint32_t i = 0; i < count && tallies[i].objects && !session_interrupted; i++) {
		output_text(output, "%10" PRIu64 " %12s  %s\n", tallies[i].objects,
			    describe_bytes(session, tallies[i].bytes),
			    describe(session, tallies[i].id));
		output_open_object(output, NULL);
		output_string(output, key, describe(session, tallies[i].id));
		output_number(output, "objects", tallies[i].objects);
		output_number(output, "bytes", tallies[i].bytes);
		output_close(output);
	}
	output_close(output);
}

static const char *describe_type_or_none(struct session *session, uint32_t id)
{
	return id == HEAP_NO_TYPE ? "(untyped)" : describe_type(session, id);
}

static enum command_status types_run(struct session *session, int argc, char **argv)
{
	const struct heap_snapshot *snapshot = session->snapshot;

	if (argc > 2)
		return COMMAND_USAGE;

	struct heap_error *error =
		heap_snapshot_load(session->snapshot, HEAP_COLUMN_SIZE | HEAP_COLUMN_TYPE);
	struct tally *tallies =
		error ? NULL : count_up(session, snapshot->type, snapshot->types.count);

	if (!error && !tallies)
		error = heap_error_out_of_memory();
	if (error)
		return command_fail(session, error);
	if (argc == 2)
		return print_types_named(session, tallies, argv[1]);
	qsort(tallies, snapshot->types.count, sizeof(*tallies), compare_tallies);
	print_tallies(session, tallies, snapshot->types.count, "type", describe_type_or_none);
	return COMMAND_OK;
}

const struct command types_command = {
	.name = "types",
	.synopsis = "[NAME]",
	.summary = "a type as C source with offsets, or all types that objects have",
	.details = "After each member stand its offset and size; holes and padding are said.\n\n"
		   "  types 'struct session'\n"
		   "  types 'struct *'",
	.run = types_run,
	.words = WORDS_TYPE,
};

// --- sites -------------------------------------------------------------------

static enum command_status sites_run(struct session *session, int argc, char **argv)
{
	const struct heap_snapshot *snapshot = session->snapshot;

	(void)argv;
	if (argc != 1)
		return COMMAND_USAGE;

	struct heap_error *error =
		heap_snapshot_load(session->snapshot, HEAP_COLUMN_SIZE | HEAP_COLUMN_SITE);
	struct tally *tallies =
		error ? NULL : count_up(session, snapshot->site, snapshot->site_count);

	if (!error && !tallies)
		error = heap_error_out_of_memory();
	if (error)
		return command_fail(session, error);
	qsort(tallies, snapshot->site_count, sizeof(*tallies), compare_tallies);
	print_tallies(session, tallies, snapshot->site_count, "site", describe_site);
	return snapshot->site_count ? COMMAND_OK : COMMAND_NOTHING;
}

const struct command sites_command = {
	.name = "sites",
	.synopsis = "",
	.summary = "objects and bytes per allocation site",
	.run = sites_run,
};
