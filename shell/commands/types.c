// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * types: the types of objects, and one of them as C source.
 */
#include "lib/query/absent.h"
#include "lib/types/virtual_bases.h"
#include "shell/command.h"
#include "shell/print/describe.h"
#include "shell/base/table.h"
#include "shell/base/format.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_INDENT = 8, // of unnamed structures in each other
};

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

static const char *keyword_of(const struct heap_type *type)
{
	switch (type->kind) {
	case HEAP_TYPE_UNION:
		return "union";
	case HEAP_TYPE_CLASS:
		return "class";
	case HEAP_TYPE_ENUM:
		return "enum";
	default:
		return "struct";
	}
}

// The end of a function type's name.
static const char FUNCTION[] = "(...)";

// Where in a type's name that of a variable goes: int (*⌷)(...), char ⌷[12], else at the end.
static size_t place_of_name(const char *type)
{
	const char *inner = strstr(type, "(*");
	size_t at = strlen(type);

	if (inner) {
		at = (size_t)(inner - type) + 1;
		return at + strspn(type + at, "*");
	}
	if (at > strlen(FUNCTION) && strcmp(type + at - strlen(FUNCTION), FUNCTION) == 0)
		return at - strlen(FUNCTION);
	while (at > 0 && type[at - 1] == ']') {
		while (at > 0 && type[at - 1] != '[')
			at--;
		at -= at > 0;
	}
	return at;
}

// "char *name", "char name[12]", "int (*name)(...)".
static const char *declare(struct session *session, heap_type_id id, const char *name)
{
	const char *type = describe_type(session, id);
	size_t at = place_of_name(type);
	bool close = !*name || (at > 0 && strchr("*&", type[at - 1]));

	return session_format(session, "%.*s%s%s%s", (int)at, type, close ? "" : " ", name,
			      type + at);
}

// A structure being written as C.
struct definition {
	struct session *session;
	int indent;   // tabs
	uint64_t end; // of the member before
	bool is_union;
};

static void print_members(struct definition *outer, heap_type_id id, uint64_t base);

static void indent(const struct definition *definition)
{
	for (int i = 0; i < definition->indent; i++)
		output_text(definition->session->output, "\t");
}

static void print_gap(const struct definition *definition, const char *before, uint64_t bytes,
		      const char *after)
{
	indent(definition);
	output_text(definition->session->output, "/* %s%s%" PRIu64 " byte%s%s */\n", before,
		    *before ? " " : "", bytes, format_plural(bytes), after);
}

static void print_member_text(struct definition *definition, const struct heap_member *member,
			      const char *name, uint64_t offset, uint64_t size)
{
	struct session *session = definition->session;
	struct output *output = session->output;
	const struct heap_types *types = &session->snapshot->types;
	heap_type_id id = heap_types_strip(types, member->type);
	bool is_bits = member->flags & HEAP_MEMBER_BIT_FIELD;

	indent(definition);
	if (heap_types_has_members(&types->types[id]) && !types->types[id].name &&
	    !heap_types_alias(types, id) && types->types[member->type].kind != HEAP_TYPE_TYPEDEF &&
	    definition->indent < MAX_INDENT) {
		struct definition inner = { session, definition->indent + 1, offset,
					    types->types[id].kind == HEAP_TYPE_UNION };

		output_text(output, "%s {\n", keyword_of(&types->types[id]));
		print_members(&inner, id, offset);
		indent(definition);
		output_text(output, "}%s%s", *name ? " " : "", name);
	} else if (member->flags & HEAP_MEMBER_VIRTUAL_BASE) {
		output_text(output, "/* virtual base */ %s", describe_type(session, member->type));
	} else if (member->flags & HEAP_MEMBER_BASE) {
		output_text(output, "/* base */ %s", describe_type(session, member->type));
	} else {
		output_text(output, "%s", declare(session, member->type, name));
	}
	if (is_bits)
		output_text(output, " : %u; /* %" PRIu64 ":%u, %" PRIu64 " */\n", member->bit_size,
			    offset, member->bit_offset, size);
	else
		output_text(output, "; /* %" PRIu64 ", %" PRIu64 " */\n", offset, size);
}

static void print_member_json(struct session *session, const struct heap_member *member,
			      uint64_t size)
{
	struct output *output = session->output;

	output_open_object(output, NULL);
	output_string(output, "name", heap_types_string(&session->snapshot->types, member->name));
	output_string(output, "type", describe_type(session, member->type));
	output_number(output, "offset", member->offset);
	output_number(output, "size", size);
	if (member->flags & HEAP_MEMBER_BASE)
		output_boolean(output, "base", true);
	if (member->flags & HEAP_MEMBER_BIT_FIELD) {
		output_number(output, "bit_offset", member->bit_offset);
		output_number(output, "bit_size", member->bit_size);
	}
	output_close(output);
}

// The end of a member; a bit field may share its last byte with the next.
static uint64_t end_of(const struct heap_member *member, uint64_t offset, uint64_t size)
{
	if (member->flags & HEAP_MEMBER_BIT_FIELD)
		return offset + (member->bit_offset + member->bit_size + 7u) / 8;
	return offset + size;
}

// Bytes of a member. A base that has virtual bases is smaller than an object of its class, for they lie elsewhere.
static uint64_t size_of(const struct heap_types *types, const struct heap_type *type,
			uint32_t number)
{
	const struct heap_member *members = &types->members[type->first_member];
	uint64_t size = heap_types_size(types, members[number].type);
	uint64_t start = members[number].offset;

	for (uint32_t i = number + 1; members[number].flags & HEAP_MEMBER_BASE && i < type->members;
	     i++) {
		if (members[i].offset > start && members[i].offset - start < size)
			return members[i].offset - start;
	}
	return size;
}

static bool has_virtual_base(const struct heap_types *types, const struct heap_type *type)
{
	for (uint32_t i = 0; i < type->members; i++) {
		if (types->members[type->first_member + i].flags & HEAP_MEMBER_VIRTUAL_BASE)
			return true;
	}
	return false;
}

// The virtual bases of an object of the class alone, with their places in it. @return false: they are not known
static bool print_virtual_bases(struct definition *definition, heap_type_id id, uint64_t base)
{
	const struct heap_types *types = &definition->session->snapshot->types;
	struct heap_virtual_base bases[HEAP_VIRTUAL_BASES];
	size_t count = heap_virtual_bases_find(types, id, bases);

	for (size_t i = 0; i < count; i++) {
		const struct heap_member member = {
			.type = bases[i].type,
			.offset = bases[i].offset,
			.flags = HEAP_MEMBER_BASE | HEAP_MEMBER_VIRTUAL_BASE,
		};
		uint64_t offset = base + member.offset;
		uint64_t size = heap_types_size(types, member.type);

		print_member_text(definition, &member, "", offset, size);
		if (definition->indent == 1)
			print_member_json(definition->session, &member, size);
		if (offset + size > definition->end)
			definition->end = offset + size;
	}
	return count > 0;
}

// @param base  of the structure, in the outermost one
static void print_members(struct definition *definition, heap_type_id id, uint64_t base)
{
	const struct heap_types *types = &definition->session->snapshot->types;
	const struct heap_type *type = &types->types[id];

	definition->end = base;
	for (uint32_t i = 0; i < type->members && session_take_line(definition->session); i++) {
		const struct heap_member *member = &types->members[type->first_member + i];
		uint64_t size = size_of(types, type, i);
		uint64_t offset = base + member->offset;
		const char *name =
			describe_name(definition->session, heap_types_string(types, member->name));

		// They follow, or are somewhere.
		if (member->flags & HEAP_MEMBER_VIRTUAL_BASE)
			continue;
		if (!definition->is_union && offset > definition->end)
			print_gap(definition, "a hole of", offset - definition->end, "");
		print_member_text(definition, member, name, offset, size);
		if (definition->indent == 1)
			print_member_json(definition->session, member, size);
		if (end_of(member, offset, size) > definition->end)
			definition->end = end_of(member, offset, size);
	}
	if (!print_virtual_bases(definition, id, base) && has_virtual_base(types, type))
		print_gap(definition, "virtual bases, in", type->size - (definition->end - base),
			  "");
	else if (!definition->is_union && definition->end - base < type->size)
		print_gap(definition, "", type->size - (definition->end - base), " of padding");
}

static void print_enumerators(struct session *session, const struct heap_type *type)
{
	const struct heap_types *types = &session->snapshot->types;
	struct output *output = session->output;

	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_enumerator *enumerator =
			&types->enumerators[type->first_member + i];
		const char *name = heap_types_string(types, enumerator->name);

		output_text(output, "\t%s = %" PRId64 ",\n", describe_name(session, name),
			    enumerator->value);
		output_open_object(output, NULL);
		output_string(output, "name", name);
		output_signed(output, "value", enumerator->value);
		output_close(output);
	}
}

static bool is_unnamed(const struct heap_type *type)
{
	return !type->name && (heap_types_has_members(type) || type->kind == HEAP_TYPE_ENUM);
}

// Finds the type that only a typedef names; else HEAP_NO_TYPE.
static heap_type_id named_by(const struct heap_types *types, heap_type_id id)
{
	heap_type_id target = types->types[id].target;

	return types->types[id].kind == HEAP_TYPE_TYPEDEF && is_unnamed(&types->types[target])
		       ? target
		       : HEAP_NO_TYPE;
}

// Prints a definition: "struct node {...};", or "typedef struct {...} node_t;".
static void print_body(struct session *session, heap_type_id id, heap_type_id alias)
{
	const struct heap_type *type = &session->snapshot->types.types[id];
	struct output *output = session->output;
	struct definition definition = { session, 1, 0, type->kind == HEAP_TYPE_UNION };

	output_text(output, "%s%s {\n", alias ? "typedef " : "",
		    alias ? keyword_of(type) : describe_type(session, id));
	if (heap_types_has_members(type))
		print_members(&definition, id, 0);
	else
		print_enumerators(session, type);
	output_text(output, "}%s%s;", alias ? " " : "", alias ? describe_type(session, alias) : "");
}

static void print_definition(struct session *session, heap_type_id id)
{
	const struct heap_types *types = &session->snapshot->types;
	const struct heap_type *type = &types->types[id];
	struct output *output = session->output;

	output_open_array(output, "members");
	if (heap_types_has_members(type) || type->kind == HEAP_TYPE_ENUM)
		print_body(session, id, heap_types_alias(types, id));
	else if (named_by(types, id))
		print_body(session, named_by(types, id), id);
	else if (type->kind == HEAP_TYPE_TYPEDEF)
		output_text(output, "typedef %s;",
			    declare(session, type->target, describe_type(session, id)));
	else
		output_text(output, "%s;", describe_type(session, id));
	output_close(output);
}

// @param tally  of its objects
static void print_type(struct session *session, heap_type_id id, const struct tally *tally)
{
	const struct heap_types *types = &session->snapshot->types;
	const struct heap_type *type =
		&types->types[named_by(types, id) ? named_by(types, id) : id];
	struct output *output = session->output;
	const char *file = describe_name(session, heap_types_string(types, type->file));

	output_open_object(output, NULL);
	output_string(output, "type", describe_type(session, id));
	output_number(output, "size", heap_types_size(types, id));
	output_number(output, "objects", tally->objects);
	output_number(output, "bytes", tally->bytes);
	print_definition(session, id);
	output_text(output, " /* %" PRIu64 " byte%s", heap_types_size(types, id),
		    format_plural(heap_types_size(types, id)));
	if (*file)
		output_text(output, ", %s:%" PRIu32, file, type->line);
	output_text(output, "; %" PRIu64 " object%s, %s */\n", tally->objects,
		    format_plural(tally->objects), describe_bytes(session, tally->bytes));
	output_close(output);
}

// typedef struct node node, after struct node.
static bool says_nothing(const struct heap_types *types, heap_type_id id, const bool *printed)
{
	const struct heap_type *type = &types->types[id];

	return type->kind == HEAP_TYPE_TYPEDEF && printed[type->target] &&
	       types->types[type->target].name == type->name;
}

static enum command_status print_types_named(struct session *session, struct tally *tallies,
					     const char *name)
{
	const struct heap_types *types = &session->snapshot->types;
	bool *printed = session_allocate(session, types->count * sizeof(*printed));
	heap_type_id type = HEAP_NO_TYPE;
	bool found = false;

	if (!printed)
		return command_fail(session, heap_error_out_of_memory());
	output_open_array(session->output, NULL);
	while ((type = heap_types_find(types, name, type ? type + 1 : 0)) != HEAP_NO_TYPE) {
		heap_type_id target = named_by(types, type);

		found = true;
		if (says_nothing(types, type, printed))
			continue;
		if (!printed[type] && !printed[target])
			print_type(session, type, &tallies[target ? target : type]);
		printed[type] = true;
		// Any of several names of one type stands for all of them.
		printed[target] = target != HEAP_NO_TYPE;
	}
	output_close(session->output);
	if (!found)
		return command_fail(session, heap_absent_type(types, name));
	return COMMAND_OK;
}

static void print_tallies(struct session *session, const struct tally *tallies, uint32_t count,
			  uint64_t limit, const char *key,
			  const char *(*describe)(struct session *session, uint32_t id))
{
	struct output *output = session->output;

	table_header(output, "10", "%10s\t%12s\t%s", "objects", "bytes", key);
	output_open_array(output, NULL);
	for (uint32_t i = 0;
	     i < count && i < limit && tallies[i].objects && !session_must_stop(session); i++) {
		table_row(output, "%10" PRIu64 "\t%12s\t%s", tallies[i].objects,
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

// Objects and bytes per type; behind the last type, those of pools.
static struct tally *count_types(struct session *session)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct tally *tallies = count_up(session, snapshot->type, snapshot->types.count);
	struct tally *pools = tallies ? &tallies[snapshot->types.count] : NULL;

	if (!tallies)
		return NULL;
	pools->id = snapshot->types.count;
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		if (snapshot->type[i] == HEAP_NO_TYPE &&
		    snapshot->evidence[i] == HEAP_EVIDENCE_POOL) {
			pools->objects++;
			pools->bytes += snapshot->size[i];
		}
	}
	tallies[HEAP_NO_TYPE].objects -= pools->objects;
	tallies[HEAP_NO_TYPE].bytes -= pools->bytes;
	return tallies;
}

static const char *describe_type_or_none(struct session *session, uint32_t id)
{
	if (id == session->snapshot->types.count)
		return "(pools)";
	return id == HEAP_NO_TYPE ? "(untyped)" : describe_type(session, id);
}

static enum command_status types_run(struct session *session, int argc, char **argv)
{
	const struct heap_snapshot *snapshot = session->snapshot;

	uint64_t limit = UINT64_MAX;

	if (!command_limit(&argc, argv, &limit))
		return COMMAND_USAGE;

	struct heap_error *error = heap_snapshot_load(
		session->snapshot, HEAP_COLUMN_SIZE | HEAP_COLUMN_TYPE | HEAP_COLUMN_EVIDENCE);
	struct tally *tallies;

	if (error)
		return command_fail(session, error);
	tallies = count_types(session);
	if (!tallies)
		return command_fail(session, heap_error_out_of_memory());
	if (argc > 1)
		return print_types_named(session, tallies,
					 command_join(session, argc - 1, argv + 1));
	qsort(tallies, snapshot->types.count + 1u, sizeof(*tallies), compare_tallies);
	print_tallies(session, tallies, snapshot->types.count + 1, limit, "type",
		      describe_type_or_none);
	return COMMAND_OK;
}

const struct command types_command = {
	.name = "types",
	.synopsis = "[--all | --limit N] [NAME...]",
	.summary = "a type as C source with offsets, or all types that objects have",
	.details = "Each member is followed by its offset and size; holes and padding are shown.\n"
		   "(pools) are blocks that the program divides itself, as wholes; `count` shows\n"
		   "their parts by type.\n"
		   "\n"
		   "  types struct session\n"
		   "  types 'struct *'",
	.run = types_run,
	.words = WORDS_TYPE,
	.keeps_answer = true,
};
