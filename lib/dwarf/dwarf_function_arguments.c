// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_function_arguments.h"

#include "lib/dwarf/dwarf_units.h"

enum {
	MAX_TYPES = 32, // of one function
	MAX_UNITS = 4,  // that a class is described in; a loop of them is damage
};

void heap_dwarf_function_arguments_deinit(struct heap_dwarf_function_arguments *arguments)
{
	heap_dwarf_templates_deinit(&arguments->templates);
	heap_array_deinit(&arguments->types);
}

HEAP_MUST_CHECK
static struct heap_error *add_type(struct heap_dwarf_function_arguments *arguments, uint64_t type)
{
	for (size_t i = 0; i < arguments->types.count; i++) {
		if (arguments->types.items[i] == type)
			return NULL;
	}
	return arguments->types.count == MAX_TYPES ? NULL
						   : heap_array_append(&arguments->types, type);
}

// Turns to the unit that a DIE is in.
HEAP_MUST_CHECK
static struct heap_error *turn_to(struct heap_dwarf_function_arguments *arguments,
				  struct heap_dwarf_code *code, uint64_t place)
{
	const struct heap_dwarf_dies *dies;

	HEAP_TRY(heap_dwarf_code_dies(code, place, &dies));
	if (arguments->unit == dies->unit)
		return NULL;
	arguments->unit = dies->unit;
	arguments->templates.list.count = 0;
	return heap_dwarf_templates_read(&arguments->templates, dies);
}

// Adds those of the instances that a DIE is, or is in, as far as one unit knows them.
// @param elsewhere  gets the place where it goes on in another unit, or HEAP_DWARF_NOWHERE
HEAP_MUST_CHECK
static struct heap_error *add_in_unit(struct heap_dwarf_function_arguments *arguments,
				      struct heap_dwarf_code *code, uint64_t place,
				      uint64_t *elsewhere)
{
	const struct heap_dwarf_templates *templates = &arguments->templates;
	uint32_t outer;

	*elsewhere = HEAP_DWARF_NOWHERE;
	HEAP_TRY(turn_to(arguments, code, place));
	for (uint32_t i = heap_dwarf_templates_find(templates, place); i < templates->list.count;
	     i = outer) {
		uint64_t start = templates->list.items[i].start;

		outer = templates->list.items[i].outer;
		for (; i < templates->list.count && templates->list.items[i].start == start; i++) {
			const struct heap_dwarf_template_argument *argument =
				&templates->list.items[i];

			if (argument->is_elsewhere) {
				*elsewhere = argument->type;
				return NULL;
			}
			HEAP_TRY(add_type(arguments, argument->type));
		}
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_around(struct heap_dwarf_function_arguments *arguments,
				     struct heap_dwarf_code *code, uint64_t place)
{
	for (int i = 0; i < MAX_UNITS && place != HEAP_DWARF_NOWHERE; i++) {
		uint64_t elsewhere;

		HEAP_TRY(add_in_unit(arguments, code, place, &elsewhere));
		place = elsewhere;
	}
	return NULL;
}

// The place of the function that begins at an address, or HEAP_DWARF_NOWHERE.
static uint64_t find_function(const struct heap_dwarf_code_unit *unit, uint64_t pc)
{
	uint32_t scopes[HEAP_DWARF_CODE_DEPTH];
	const struct heap_dwarf_code_scope *scope;

	if (!unit || heap_dwarf_code_unit_find(unit, pc, scopes) == 0)
		return HEAP_DWARF_NOWHERE;
	scope = &unit->scopes[scopes[0]];
	for (uint32_t i = 0; i < scope->range_count; i++) {
		if (unit->ranges[scope->first_range + i].low == pc)
			return scope->place;
	}
	return HEAP_DWARF_NOWHERE;
}

struct heap_error *heap_dwarf_function_arguments_find(
	struct heap_dwarf_function_arguments *arguments, struct heap_dwarf_code *code, uint64_t pc)
{
	const struct heap_dwarf_code_unit *unit;
	struct heap_dwarf_description entry;
	uint64_t place;

	arguments->types.count = 0;
	arguments->is_complete = heap_dwarf_code_is_complete(code);
	HEAP_TRY(heap_dwarf_code_find_unit(code, pc, &unit));
	place = find_function(unit, pc);
	if (place == HEAP_DWARF_NOWHERE)
		return NULL;
	HEAP_TRY(heap_dwarf_code_describe(code, place, &entry));
	HEAP_TRY(add_around(arguments, code, place));
	if (entry.original != HEAP_DWARF_NOWHERE)
		HEAP_TRY(add_around(arguments, code, entry.original));
	return entry.root == place || entry.root == HEAP_DWARF_NOWHERE
		       ? NULL
		       : add_around(arguments, code, entry.root);
}

// --- the cache -------------------------------------------------------------------------------

static struct heap_dwarf_question ask(uint64_t pc)
{
	return (struct heap_dwarf_question){ HEAP_DWARF_QUESTION_ARGUMENTS, pc, 0 };
}

void heap_dwarf_function_arguments_note(const struct heap_dwarf_function_arguments *arguments,
					struct heap_dwarf_answers *cache, uint64_t pc)
{
	struct heap_dwarf_answer_writer writer = { .answers = cache };
	const struct heap_dwarf_question question = ask(pc);

	if (!arguments->is_complete)
		return;
	for (size_t i = 0; i < arguments->types.count; i++)
		heap_dwarf_answer_put(&writer, arguments->types.items[i]);
	heap_dwarf_answer_add(&writer, &question);
}

bool heap_dwarf_function_arguments_recall(struct heap_dwarf_function_arguments *arguments,
					  struct heap_dwarf_answers *cache, uint64_t pc)
{
	const struct heap_dwarf_question question = ask(pc);
	struct heap_dwarf_answer answer;

	if (!heap_dwarf_answers_find(cache, &question, &answer))
		return false;
	arguments->types.count = 0;
	while (answer.at < answer.count && arguments->types.count < MAX_TYPES) {
		struct heap_error *error =
			heap_array_append(&arguments->types, heap_dwarf_answer_next(&answer));

		heap_error_destroy(error);
		if (error)
			return false;
	}
	return heap_dwarf_answer_is_good(&answer);
}
