// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * show: an object or a variable, field by field.
 */
#include "lib/base/cleanup.h"
#include "lib/base/escape.h"
#include "lib/snapshot/unreadable.h"
#include "shell/print/backtrace.h"
#include "shell/command.h"
#include "shell/print/describe.h"
#include "shell/print/element.h"
#include "shell/print/field.h"
#include "shell/base/format.h"
#include "shell/words/operand.h"
#include "shell/print/part.h"
#include "shell/print/pool.h"
#include "shell/print/value_print.h"

#include <inttypes.h>

enum {
	SHORT_CONTENT = 16 << 20, // bytes read of an object, without --all
	MAX_ADDED = 15,           // bytes that an allocator rounds a request up by
	SHORT_EDGES = 16,         // pointers of an object without a type, likewise
	LEAST_LINES = 16,         // for values, on a small screen
	FILE_LINES = 100,         // the same where there is no screen
};

enum form {
	FORM_VALUE, // by its type
	FORM_HEX,
	FORM_RAW,
};

struct asked {
	enum form form;
	enum value_limit limit;
	bool all;
};

// Prints the evidence for an object's type, and the evidence against it.
static const char *describe_evidence(struct session *session, heap_object_id object)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_type_id conflict_type = snapshot->conflict_type[object];
	uint32_t conflicts = snapshot->conflicts[object];
	const struct heap_part *beginning = heap_snapshot_beginning(snapshot, object);
	const char *type = beginning ? session_format(session, "type of its beginning by %s",
						      heap_evidence_name(beginning->evidence))
			   : snapshot->evidence[object] == HEAP_EVIDENCE_POOL
				   ? "cut up by the program"
			   : snapshot->type[object] == HEAP_NO_TYPE
				   ? "type unknown"
				   : session_format(session, "type by %s",
						    heap_evidence_name(snapshot->evidence[object]));

	if (conflicts == 0)
		return type;
	return session_format(session, "%s, against %" PRIu32 " pointer%s%s%s", type, conflicts,
			      format_plural(conflicts), conflict_type ? " to " : "",
			      conflict_type ? describe_type(session, conflict_type) : "");
}

static void show_origin(struct session *session, heap_object_id object)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct output *output = session->output;
	heap_site_id site = snapshot->site[object];

	// Blocks of an allocator beside malloc have no site.
	bool is_noted = snapshot->info.origin == HEAP_ORIGIN_LIBRARY &&
			(!*snapshot->info.allocators || snapshot->sites[site].address != 0);

	if (is_noted) {
		output_text(output, "  allocated by %s, %s; %s\n", describe_site(session, site),
			    describe_birth(session, object), describe_evidence(session, object));
		output_string(output, "site", describe_site(session, site));
		output_number(output, "born_ns", snapshot->epochs[snapshot->birth[object]]);
	} else {
		output_text(output, "  where and when it was allocated is not known; %s\n",
			    describe_evidence(session, object));
	}
	if (snapshot->conflicts[object] > 0) {
		output_number(output, "rivals", snapshot->conflicts[object]);
		output_string(output, "rival",
			      describe_type(session, snapshot->conflict_type[object]));
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

// Names the targets of an untyped object's pointers, as its fields have no names. A table of a hash table may
// have millions.
static void show_edges(struct session *session, heap_object_id object, enum value_limit limit)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct output *output = session->output;
	uint32_t first = snapshot->edge_first[object], end = snapshot->edge_first[object + 1];
	bool is_short =
		limit == VALUE_SHORT && !output_is_json(output) && end - first > SHORT_EDGES;
	uint32_t shown = is_short ? first + SHORT_EDGES : end;

	output_open_array(output, "pointers");
	for (uint32_t i = first; i < shown && !session_must_stop(session); i++) {
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
	if (shown < end)
		output_text(output, "  … %" PRIu32 " more pointers (--all shows them)\n",
			    end - shown);
}

// The reference counts of std::make_shared(), then the value. libstdc++ has two words of 4 bytes, and all
// owners together are one weak one; libc++ has two of 8 bytes, which are one less.
static void show_shared(struct session *session, heap_type_id type, uint64_t offset,
			const struct value *value, enum value_limit limit)
{
	uint64_t uses, weak;
	bool is_gnu = offset < 24;

	if (value_load_number(value, 8, is_gnu ? 4 : 8, &uses) &&
	    value_load_number(value, is_gnu ? 12 : 16, is_gnu ? 4 : 8, &weak)) {
		uses += !is_gnu;
		weak -= is_gnu && uses > 0;
		output_text(session->output,
			    "  made with its counts (use count %" PRIu64 ", weak count %" PRIu64
			    ")\n",
			    uses, weak);
		output_number(session->output, "use_count", uses);
		output_number(session->output, "weak_count", weak);
	}
	value_print_members_at(session, value, type, offset, 2, limit);
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
	uint64_t before = 0;
	heap_type_id shared = heap_types_shared(types, type, &before);

	if (shared != HEAP_NO_TYPE && snapshot->elements[object] <= 1) {
		show_shared(session, shared, before, value, limit);
		return;
	}
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

// --- the value, in a screenful of lines -----------------------------------------

struct shown {
	struct session *session;
	heap_object_id object; // or HEAP_NO_OBJECT
	heap_root_id root;     // where there is no object
	const struct heap_part *part;
	const struct value *value;
	enum value_limit limit;
};

// False for a class without debug information: only its name is known.
static bool has_layout(const struct heap_snapshot *snapshot, heap_object_id object)
{
	return heap_types_size(&snapshot->types, snapshot->type[object]) > 0;
}

// The bytes behind the only value of an object, but for what an allocator may have added.
static uint64_t bytes_behind(const struct heap_snapshot *snapshot, heap_object_id object)
{
	heap_type_id type = snapshot->type[object];
	uint64_t size = snapshot->size[object], covered = heap_types_size(&snapshot->types, type);
	uint64_t most = snapshot->info.origin == HEAP_ORIGIN_LIBRARY ? 0 : MAX_ADDED;

	return covered == 0 || covered + most >= size || snapshot->elements[object] > 1 ||
			       heap_types_flexible(&snapshot->types, type, NULL, NULL) ||
			       heap_snapshot_part_count(snapshot, object) > 0
		       ? 0
		       : size - covered;
}

static bool are_zeros(const uint8_t *bytes, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		if (bytes[i] != 0)
			return false;
	}
	return true;
}

// Tells what is left of an object behind a struct of which alone the type is known, and shows it if there is anything.
static void show_behind(struct session *session, heap_object_id object, const struct value *value,
			enum value_limit limit)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	uint64_t bytes = bytes_behind(snapshot, object), start = snapshot->size[object] - bytes;
	bool is_uncovered =
		heap_types_uncovered(&snapshot->types, snapshot->type[object],
				     snapshot->elements[object], snapshot->size[object]) > 0;
	bool has_any = value->kept > start && !are_zeros(value->bytes + start, value->kept - start);

	if (bytes == 0 || (!is_uncovered && !has_any))
		return;
	output_text(session->output, "  the other %s are not known\n",
		    describe_bytes(session, bytes));
	output_number(session->output, "unknown_bytes", bytes);
	if (has_any)
		value_print_bytes_from(session, value, start, "bytes_behind", 2, limit);
}

// Prints the members of the struct with which an object begins, of which nothing else is known.
static void show_beginning(const struct shown *shown, const struct heap_part *part)
{
	struct session *session = shown->session;
	uint64_t rest = session->snapshot->size[part->object] -
			heap_snapshot_part_size(session->snapshot, part);

	pool_print_part(session, part, shown->value, shown->limit);
	output_text(session->output, "  the other %s are not known\n",
		    describe_bytes(session, rest));
	output_number(session->output, "unknown_bytes", rest);
}

static void print_value(const struct shown *shown)
{
	struct session *session = shown->session;
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_part *beginning;

	if (shown->object == HEAP_NO_OBJECT) {
		value_print_members(session, shown->value, snapshot->roots[shown->root].type, 2,
				    shown->limit);
		return;
	}
	if (shown->part) {
		pool_print_part(session, shown->part, shown->value, shown->limit);
		return;
	}
	beginning = heap_snapshot_beginning(snapshot, shown->object);
	if (beginning) {
		show_beginning(shown, beginning);
		return;
	}
	if (has_layout(snapshot, shown->object))
		show_typed(session, shown->object, shown->value, shown->limit);
	show_behind(session, shown->object, shown->value, shown->limit);
	pool_print_parts(session, shown->object, shown->limit);
	if (!has_layout(snapshot, shown->object) &&
	    heap_snapshot_part_count(session->snapshot, shown->object) == 0) {
		value_print_bytes(session, shown->value, 2, shown->limit);
		show_edges(session, shown->object, shown->limit);
	}
}

// A stream that counts lines, and breaks when there are too many.
struct line_counter {
	uint64_t lines, most;
};

static ssize_t count_lines(void *cookie, const char *bytes, size_t size)
{
	struct line_counter *counter = cookie;

	for (size_t i = 0; i < size; i++)
		counter->lines += bytes[i] == '\n';
	return counter->lines <= counter->most ? (ssize_t)size : 0;
}

// True if a value takes no more lines than that. Prints it to a discarding stream to find out.
static bool fits(const struct shown *shown, uint64_t most)
{
	struct session *session = shown->session;
	struct line_counter counter = { 0, most };
	FILE *stream = fopencookie(&counter, "w", (cookie_io_functions_t){ .write = count_lines });
	uint64_t lines_left = session->lines_left;

	if (!stream)
		return false;

	unsigned columns = output_columns(session->output), rows = output_rows(session->output);
	FILE *before = output_redirect(session->output, stream, false);

	session->forgets = true;
	print_value(shown);
	fflush(stream);
	session->forgets = false;
	session->lines_left = lines_left;
	output_redirect(session->output, before, session->colours);
	output_set_size(session->output, columns, rows);
	fclose(stream);
	return counter.lines <= most;
}

// Lines for the value: those of the screen, less the lines that precede it.
static uint64_t room_for_value(const struct session *session)
{
	unsigned rows = output_rows(session->output);

	return rows == 0                ? FILE_LINES
	       : rows > 2 * LEAST_LINES ? rows - LEAST_LINES / 2
					: LEAST_LINES;
}

// Prints a value whole if it fits a screen, else its members as far as there is room.
static void print_to_fit(const struct shown *shown)
{
	struct session *session = shown->session;
	uint64_t room = room_for_value(session);

	if (shown->limit == VALUE_SHORT && !fits(shown, room))
		session->room = room;
	print_value(shown);
	session->room = 0;
}

// --- the bytes -------------------------------------------------------------------

// Writes raw bytes, for a file or a program: a terminal could take them for commands.
HEAP_MUST_CHECK
static struct heap_error *print_raw(struct session *session, const struct value *value)
{
	struct output *output = session->output;

	if (output_is_json(output)) {
		output_open_object(output, NULL);
		value_print_bytes(session, value, 0, VALUE_ALL);
		return NULL;
	}
	if (output_columns(output) > 0)
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "--raw writes no bytes to a terminal: `show --raw OBJ > "
					 "FILE` keeps them, `show --hex OBJ` shows them");
	output_bytes(output, (const char *)value->bytes, value->kept);
	if (value->kept < value->size)
		heap_print(session->errors,
			   "heapsh: %" PRIu64 " of %" PRIu64 " bytes were not kept (heapsnap run "
			   "--content all keeps them)\n",
			   value->size - value->kept, value->size);
	return NULL;
}

// Cuts a value to the selected part of a pool.
static void cut_to_part(const struct heap_snapshot *snapshot, const struct heap_part *part,
			struct value *value)
{
	uint64_t size = heap_snapshot_part_size(snapshot, part);
	uint64_t kept = value->kept > part->offset ? value->kept - part->offset : 0;

	value->bytes += value->kept > part->offset ? part->offset : value->kept;
	value->kept = kept < size ? kept : size;
	value->size = size;
}

// A text is one value, which is shown whole.
static bool is_text(const struct heap_snapshot *snapshot, heap_object_id object)
{
	const struct heap_types *types = &snapshot->types;
	const struct heap_type *type =
		&types->types[heap_types_strip(types, snapshot->type[object])];

	return (type->flags & HEAP_TYPE_CHARACTER) && type->size == 1;
}

HEAP_MUST_CHECK
static struct heap_error *load_value(struct session *session, heap_object_id object,
				     const struct asked *asked, struct value *value)
{
	struct heap_snapshot *snapshot = session->snapshot;
	uint64_t wanted = snapshot->size[object] < snapshot->info.content_limit
				  ? snapshot->size[object]
				  : snapshot->info.content_limit;
	uint64_t stored;
	struct heap_error *error;
	size_t kept;

	stored = wanted;
	if (asked->form != FORM_RAW && asked->limit == VALUE_SHORT && wanted > SHORT_CONTENT &&
	    !is_text(snapshot, object))
		wanted = SHORT_CONTENT;

	uint8_t *bytes = session_allocate(session, wanted);

	if (!bytes)
		return heap_error_out_of_memory();
	error = heap_snapshot_read_content(snapshot, object, bytes, wanted, &kept);
	*value = (struct value){ .size = snapshot->size[object],
				 .object = object,
				 .address = snapshot->address[object],
				 .bytes = bytes,
				 .kept = kept,
				 .stored = kept < wanted ? kept : stored };
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *show_bytes(struct session *session, heap_object_id object,
				     const struct heap_part *part, const struct asked *asked)
{
	struct value value;
	struct heap_error *error = load_value(session, object, asked, &value);

	if (error)
		return error;
	if (part)
		cut_to_part(session->snapshot, part, &value);
	if (asked->form == FORM_RAW)
		return print_raw(session, &value);
	output_open_object(session->output, NULL);
	show_header(session, object, part);
	value_print_bytes(session, &value, 2, asked->limit);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *show_object(struct session *session, heap_object_id object,
				      const struct heap_part *part, const struct asked *asked)
{
	struct heap_snapshot *snapshot = session->snapshot;
	enum value_limit limit = asked->limit;
	struct value value;
	struct heap_error *error = load_value(session, object, asked, &value);

	if (error)
		return error;
	// The edges are the largest columns: load them only where the bytes are not enough.
	if (value.kept < value.size || !(part || has_layout(snapshot, object)))
		error = heap_snapshot_load(snapshot, HEAP_COLUMN_SLOTS);
	if (error)
		return error;
	session_allow_lines(session, asked->all ? value.size : value.kept);
	if (!heap_types_flexible(&snapshot->types, snapshot->type[object], &value.flexible, NULL) ||
	    snapshot->elements[object] <= 1)
		value.flexible = 0;
	output_open_object(session->output, NULL);
	show_header(session, object, part);
	print_to_fit(&(struct shown){ session, object, UINT32_MAX, part, &value, limit });
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *show_root(struct session *session, heap_root_id number,
				    const struct asked *asked)
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

	if (asked->form == FORM_RAW)
		return print_raw(session, &value);
	output_open_object(session->output, NULL);
	output_text(session->output, "%s, %s at %#" PRIx64 ", %s\n", describe_root(session, number),
		    describe_type(session, root->type), root->address,
		    describe_bytes(session, root->size));
	describe_root_json(session, "root", number);
	if (root->type == HEAP_NO_TYPE || asked->form == FORM_HEX)
		value_print_bytes(session, &value, 2, asked->limit);
	else
		print_to_fit(&(struct shown){ session, HEAP_NO_OBJECT, number, NULL, &value,
					      asked->limit });
	return NULL;
}

// A member or elements, by a path that ends at no pointer.
HEAP_MUST_CHECK
static struct heap_error *show_place(struct session *session, const char *path,
				     const struct operand *operand, enum value_limit limit)
{
	const struct element element = {
		.path = path,
		.object = operand->object,
		.root = operand->root,
		.offset = operand->interior,
		.type = operand->type,
		.first = operand->first,
		.count = operand->count,
	};

	return element_print(session, &element, limit);
}

HEAP_MUST_CHECK
static struct heap_error *show(struct session *session, const char *word, const struct asked *asked)
{
	const struct heap_part *part;
	struct heap_part place;
	struct operand operand;

	HEAP_TRY(describe_load(session));
	HEAP_TRY(heap_snapshot_load(session->snapshot,
				    HEAP_COLUMN_SITE | HEAP_COLUMN_BIRTH | HEAP_COLUMN_BACKTRACE |
					    HEAP_COLUMN_CONFLICT_TYPE | HEAP_COLUMN_CONFLICTS));
	HEAP_TRY(asked->form == FORM_VALUE ? operand_parse_range(session, word, &operand)
					   : operand_parse(session, word, &operand));
	if (asked->form == FORM_VALUE && operand.type != HEAP_NO_TYPE)
		return show_place(session, word, &operand, asked->limit);
	if (operand.object == HEAP_NO_OBJECT)
		return show_root(session, operand.root, asked);
	if (operand.interior == 0)
		session_remember(session, operand.object);
	part = operand_part(session, &operand, &place) ? &place : NULL;
	return asked->form == FORM_VALUE ? show_object(session, operand.object, part, asked)
					 : show_bytes(session, operand.object, part, asked);
}

static enum command_status show_run(struct session *session, int argc, char **argv)
{
	struct asked asked = { .all = command_option(&argc, argv, "--all", NULL) };

	// Values are shortened for people's eyes only.
	asked.limit = asked.all || output_is_json(session->output) ? VALUE_ALL : VALUE_SHORT;
	if (command_option(&argc, argv, "--hex", NULL))
		asked.form = FORM_HEX;
	if (command_option(&argc, argv, "--raw", NULL))
		asked.form = FORM_RAW;
	if (argc != 2)
		return COMMAND_USAGE;

	struct heap_error *error = show(session, argv[1], &asked);

	return error ? command_fail(session, error) : COMMAND_OK;
}

const struct command show_command = {
	.name = "show",
	.synopsis = "[--all] [--hex] [--raw] OBJ",
	.summary = "an object's fields, or a variable's value",
	.details =
		"  show 0x55d0c0ffee40   the object at that address, or around it\n"
		"  show g_table          the object that the variable g_table points to\n"
		"  show &g_table         the variable itself\n"
		"  show g_table->slots[3].value    as C would write it\n"
		"  show g_table->slots[3..5]       several elements\n"
		"  show --all $1         all members, elements and pointers, not only a screenful\n"
		"  show --hex $1         the bytes; with --all also more than the first 256\n"
		"  show --raw $1         the raw bytes, for a file or a pipe\n\n"
		"A pool shows its parts; an address inside it stands for the part there.\n"
		"What lies behind a struct that is smaller than its object is shown as bytes.\n"
		"The backtrace is the object's own, or that of the first of its site and size.",
	.run = show_run,
	.words = WORDS_OBJECT,
	.keeps_answer = true,
};
