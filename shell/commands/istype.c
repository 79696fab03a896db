// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * istype: types of objects that a person declares.
 */
#include "lib/base/cleanup.h"
#include "lib/base/escape.h"
#include "lib/snapshot/declarations.h"
#include "lib/types/repetitions.h"
#include "lib/query/absent.h"
#include "shell/command.h"
#include "shell/print/describe.h"
#include "shell/base/format.h"
#include "shell/words/operand.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	NAME_BYTES = 4096,
};

// --- the named type ----------------------------------------------------------

static bool has_name(const struct heap_snapshot *snapshot, heap_type_id type, const char *name)
{
	char text[NAME_BYTES];

	heap_types_format(&snapshot->types, type, text, sizeof(text));
	return strcmp(text, name) == 0;
}

HEAP_MAKES_ERROR
static struct heap_error *say_ambiguous(struct session *session, const char *name,
					heap_type_id first, heap_type_id second)
{
	return heap_error_create(HEAP_ERROR_ARGUMENT, "%s may be %s, or %s", name,
				 describe_type(session, first), describe_type(session, second));
}

// Finds the type with exactly that name, or else the only match that fits the object.
HEAP_MUST_CHECK
static struct heap_error *find_type(struct session *session, const char *name, uint64_t size,
				    heap_type_id *result)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_type_id unfit = HEAP_NO_TYPE, type = HEAP_NO_TYPE;

	*result = HEAP_NO_TYPE;
	while ((type = heap_types_find(&snapshot->types, name, type + 1)) != HEAP_NO_TYPE) {
		heap_type_id meant = heap_types_strip(&snapshot->types, type);

		if (has_name(snapshot, type, name)) {
			*result = meant;
			return NULL;
		}
		if (!heap_declarations_fit(&snapshot->types, meant, size))
			unfit = meant;
		else if (*result == HEAP_NO_TYPE)
			*result = meant;
		else if (*result != meant)
			return say_ambiguous(session, name, *result, meant);
	}
	if (*result == HEAP_NO_TYPE)
		*result = unfit; // heap_declarations_add() refuses it, with the sizes
	if (*result == HEAP_NO_TYPE)
		return heap_absent_type(&snapshot->types, name);
	return NULL;
}

// --- the command -------------------------------------------------------------

static enum command_status list(struct session *session)
{
	const struct heap_declarations *declarations = session->snapshot->declarations;
	struct output *output = session->output;
	struct heap_error *error = describe_load(session);

	if (error)
		return command_fail(session, error);
	output_open_array(output, NULL);
	for (size_t i = 0; declarations && i < declarations->count; i++) {
		output_text(output, "%s\n", describe_object(session, declarations->list[i].object));
		output_open_object(output, NULL);
		describe_object_json(session, "object", declarations->list[i].object);
		output_close(output);
		session_remember(session, declarations->list[i].object);
	}
	output_close(output);
	if (!declarations)
		output_text(output, "nothing has been declared\n");
	else
		output_text(output, "%" PRIu32 " other object%s a type because of that\n",
			    declarations->derived, declarations->derived == 1 ? " has" : "s have");
	return declarations ? COMMAND_OK : COMMAND_NOTHING;
}

HEAP_MUST_CHECK
static struct heap_error *remove_declaration(struct session *session, const char *word,
					     heap_object_id *object)
{
	HEAP_TRY(operand_parse_object(session, word, object));
	HEAP_TRY(heap_error_within(heap_declarations_remove(session->snapshot, *object), "%s",
				   word));
	return describe_load(session);
}

static enum command_status forget(struct session *session, const char *word)
{
	heap_object_id object;
	struct heap_error *error = remove_declaration(session, word, &object);

	if (error)
		return command_fail(session, error);
	output_text(session->output, "%s again\n", describe_object(session, object));
	output_open_object(session->output, NULL);
	describe_object_json(session, "object", object);
	return COMMAND_OK;
}

// Measures how well the object's pointers agree with the type.
HEAP_MUST_CHECK
static struct heap_error *weigh(struct session *session, const struct heap_declaration *declaration,
				int64_t *score)
{
	struct heap_snapshot *snapshot = session->snapshot;
	CLEANUP(heap_slot_table_deinit) struct heap_slot_table slots = { 0 };
	CLEANUP(heap_repetitions_deinit) struct heap_repetitions repetitions = { 0 };

	HEAP_TRY(heap_slot_table_init(&slots, &snapshot->types));
	HEAP_TRY(heap_repetitions_init(&repetitions, &slots));
	return heap_declarations_weigh(snapshot, declaration->object, declaration->type,
				       &repetitions, score, NULL);
}

// Only warns: a person may know better than remaining bytes or pointers elsewhere suggest.
HEAP_MUST_CHECK
static struct heap_error *warn_of_misfit(struct session *session,
					 const struct heap_declaration *declaration)
{
	const struct heap_types *types = &session->snapshot->types;
	uint64_t size = session->snapshot->size[declaration->object];
	uint64_t value = heap_types_size(types, declaration->type);
	const char *name = describe_type(session, declaration->type);
	int64_t score = 0;

	if (value > 0 && !heap_declarations_fill(session->snapshot, declaration->type, size))
		heap_print(session->errors,
			   "heapsh: %s has %" PRIu64 " bytes, the object %" PRIu64 ": %" PRIu64
			   " are left over; istype --forget takes it back\n",
			   name, value, size, size % value);
	HEAP_TRY(weigh(session, declaration, &score));
	if (score < 0)
		heap_print(session->errors,
			   "heapsh: most pointers of the object are not where %s has any; istype "
			   "--forget takes it back\n",
			   name);
	return NULL;
}

// @param declaration  gets the object and its type
// @param named        gets how many other objects have a type because of it
HEAP_MUST_CHECK
static struct heap_error *add_declaration(struct session *session, const char *word,
					  const char *name, struct heap_declaration *declaration,
					  uint32_t *named)
{
	HEAP_TRY(operand_parse_object(session, word, &declaration->object));
	HEAP_TRY(heap_snapshot_load(session->snapshot, HEAP_COLUMN_SIZE));
	HEAP_TRY(find_type(session, name, session->snapshot->size[declaration->object],
			   &declaration->type));
	HEAP_TRY(heap_error_within(heap_declarations_add(session->snapshot, *declaration, named),
				   "%s", name));
	HEAP_TRY(warn_of_misfit(session, declaration));
	return describe_load(session);
}

static enum command_status declare(struct session *session, const char *word, const char *name,
				   bool is_for_alike)
{
	struct output *output = session->output;
	struct heap_declaration declaration = { .is_for_alike = is_for_alike };
	uint32_t named;
	struct heap_error *error = add_declaration(session, word, name, &declaration, &named);

	if (error)
		return command_fail(session, error);
	output_text(output, "%s\n", describe_object(session, declaration.object));
	if (named > 0)
		output_text(output, "%" PRIu32 " other object%s a type now\n", named,
			    named == 1 ? " has" : "s have");
	output_open_object(output, NULL);
	describe_object_json(session, "object", declaration.object);
	output_number(output, "named", named);
	session_remember(session, declaration.object);
	return COMMAND_OK;
}

static enum command_status istype_run(struct session *session, int argc, char **argv)
{
	int forgets = command_option(&argc, argv, "--forget", NULL);
	int is_for_alike = command_option(&argc, argv, "--alike", NULL);

	if (argc == 1 && !forgets && !is_for_alike)
		return list(session);
	if (forgets)
		return argc == 2 && !is_for_alike ? forget(session, argv[1]) : COMMAND_USAGE;
	if (argc < 3)
		return COMMAND_USAGE;
	return declare(session, argv[1], command_join(session, argc - 2, argv + 2), is_for_alike);
}

const struct command istype_command = {
	.name = "istype",
	.synopsis = "[[--alike] OBJ TYPE | --forget OBJ]",
	.summary = "declare the type of an object",
	.details =
		"The type also names what the object's pointers lead to, where nothing was known. "
		"It\n"
		"is kept beside the snapshot in FILE.types, and holds in this shell and in all "
		"other\n"
		"tools. With --alike it holds for all untyped objects of the same site and size.\n"
		"Without arguments: the declarations so far. `suggest` lists the objects where it\n"
		"helps most.\n"
		"\n"
		"  istype 0x5ed26d8 struct session\n"
		"  istype $1 'struct slot (cache.c:12)'     where there are two of that name\n"
		"  istype --forget 0x5ed26d8",
	.run = istype_run,
	.words = WORDS_OBJECT | WORDS_TYPE,
	.keeps_answer = true,
};
