// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_layout.h"

#include "lib/base/cleanup.h"
#include "lib/dwarf/dwarf_code.h"
#include "lib/dwarf/dwarf_constants.h"
#include "lib/dwarf/dwarf_location.h"

#include <string.h>

enum {
	MAX_VARIABLES = 4096,     // of a layout
	MAX_NOWHERE = 64,         // of these, those that are in no place that is known
	MAX_OPERATIONS = 1 << 16, // of a layout; more is damage
	LONGEST_CALL = 8,
};

struct search {
	const struct heap_dwarf_layout_place *place;
	struct heap_dwarf_code *code;
	struct heap_dwarf_locations *locations;
	const struct heap_dwarf_code_unit *unit;
	uint64_t function_place; // of the function that is not inlined
	const char *function;    // whose scope is being searched
	bool is_inlined;         // that is a copy, inside another
	struct heap_dwarf_layout_expression frame_base;
	uint32_t nowhere;
	struct heap_dwarf_layout *layout;
	struct heap_error *error; // no memory
};

// Damage of a DIE costs that DIE.
static bool worked(struct search *search, struct heap_error *error)
{
	if (error && heap_error_code(error) == HEAP_ERROR_MEMORY && !search->error)
		search->error = error;
	else
		heap_error_destroy(error);
	return !error;
}

// Its operands are the size of an expression and the address of its bytes.
static bool is_entry_value(const struct heap_dwarf_operation *operation)
{
	return operation->code == DW_OP_entry_value || operation->code == DW_OP_GNU_entry_value;
}

// --- values at entry -------------------------------------------------------------------------

// A parameter of a call, as the caller passed it.
struct passed {
	const uint8_t *location; // [location_size] where the called function finds it
	uint64_t location_size;
	const uint8_t *value; // [value_size] what it is, in the caller's frame
	uint64_t value_size;
};

static void note_passed(void *context, uint16_t name, const struct heap_dwarf_value *value)
{
	struct passed *passed = context;

	if (value->kind != HEAP_DWARF_BLOCK_VALUE)
		return;
	if (name == DW_AT_location) {
		passed->location = value->bytes;
		passed->location_size = value->number;
	} else if (name == DW_AT_call_value || name == DW_AT_GNU_call_site_value) {
		passed->value = value->bytes;
		passed->value_size = value->number;
	}
}

static void note_called(void *context, uint16_t name, const struct heap_dwarf_value *value)
{
	if ((name == DW_AT_call_origin || name == DW_AT_abstract_origin) &&
	    value->kind == HEAP_DWARF_REFERENCE_VALUE)
		*(uint64_t *)context = value->number;
}

static bool is_same_name(const struct heap_dwarf_description *a,
			 const struct heap_dwarf_description *b)
{
	if (*a->linkage_name || *b->linkage_name)
		return strcmp(a->linkage_name, b->linkage_name) == 0;
	return *a->name && strcmp(a->name, b->name) == 0;
}

// True if a call leads to the function: a tail call may have led on to another.
static bool calls_function(struct search *search, uint64_t called)
{
	struct heap_dwarf_description function, other;

	if (!called ||
	    !worked(search,
		    heap_dwarf_code_describe(search->code, search->function_place, &function)) ||
	    !worked(search, heap_dwarf_code_describe(search->code, called, &other)))
		return false;
	return function.root == other.root || is_same_name(&function, &other);
}

static bool is_passed(const struct passed *passed, uint16_t tag, const uint8_t *bytes,
		      uint64_t size)
{
	return (tag == DW_TAG_call_site_parameter || tag == DW_TAG_GNU_call_site_parameter) &&
	       passed->value && passed->location_size == size &&
	       memcmp(passed->location, bytes, size) == 0;
}

// Finds the parameter of a call that was passed in the given place.
static bool find_passed(struct search *search, uint64_t call, const uint8_t *bytes, uint64_t size,
			const struct heap_dwarf_dies **dies, struct passed *result)
{
	uint64_t called = 0, place;
	uint16_t tag;
	bool children;

	if (!worked(search, heap_dwarf_code_visit(search->code, call, note_called, &called, dies,
						  &tag, &children, &place)) ||
	    !children || !calls_function(search, called))
		return false;
	for (bool more = true; more; more = tag != 0) {
		*result = (struct passed){ 0 };
		if (!worked(search, heap_dwarf_code_visit(search->code, place, note_passed, result,
							  dies, &tag, &children, &place)))
			return false;
		if (is_passed(result, tag, bytes, size))
			return true;
		// They have no children; who has is no parameter.
		if (children)
			return false;
	}
	return false;
}

// Appends the expression for what a place had when the function was entered. (DWARF 5, sections 2.5.1.7 and
// 3.4.) A value that is lost by now was passed by the caller, whose registers may still hold it.
static struct heap_dwarf_layout_expression add_passed(struct search *search, const uint8_t *bytes,
						      uint64_t size)
{
	struct heap_dwarf_operations *operations = &search->layout->operations;
	struct heap_dwarf_layout_expression result = { (uint32_t)operations->count, 0 };
	const struct heap_dwarf_dies *dies;
	const struct heap_dwarf_code_unit *unit;
	const struct heap_dwarf_code_call *call = NULL;
	const struct heap_dwarf_object *object;
	struct passed passed;
	uint64_t pc = search->place->return_pc;

	if (!bytes || !pc)
		return result;
	if (worked(search, heap_dwarf_code_find_unit(search->code, pc - 1, &unit)) && unit)
		call = heap_dwarf_code_unit_call(unit, pc);
	if (call && find_passed(search, call->place, bytes, size, &dies, &passed) &&
	    worked(search, heap_dwarf_code_object(search->code, dies->unit, &object)))
		worked(search, heap_dwarf_expression_decode(object, passed.value, passed.value_size,
							    dies, operations));
	result.count = (uint32_t)operations->count - result.first;
	// The caller's entry values are not looked for.
	for (uint32_t i = result.first; i < operations->count; i++)
		if (is_entry_value(&operations->items[i]))
			memset(operations->items[i].operands, 0,
			       sizeof(operations->items[i].operands));
	return result;
}

// --- locations -------------------------------------------------------------------------------

// Copies an expression into the layout.
static struct heap_dwarf_layout_expression add_expression(
	struct search *search, const struct heap_dwarf_location *location)
{
	struct heap_dwarf_expression from =
		heap_dwarf_locations_expression(search->locations, location);
	struct heap_dwarf_operations *operations = &search->layout->operations;
	struct heap_dwarf_layout_expression result = { (uint32_t)operations->count, 0 };

	if (operations->count + from.count > MAX_OPERATIONS ||
	    !worked(search, heap_array_reserve(operations, from.count)))
		return result;
	for (size_t i = 0; i < from.count; i++)
		operations->items[operations->count++] = from.operations[i];
	result.count = (uint32_t)from.count;
	// The expressions of passed values follow, as a part of the layout.
	for (uint32_t i = result.first; i < result.first + result.count; i++) {
		uint64_t *operands = operations->items[i].operands;

		if (operations->items[i].code == DW_OP_implicit_value)
			operands[1] = 0; // an address, and not evaluated
		if (!is_entry_value(&operations->items[i]))
			continue;

		struct heap_dwarf_layout_expression passed =
			add_passed(search, (const uint8_t *)(uintptr_t)operands[1], operands[0]);

		operands = operations->items[i].operands;
		operands[0] = passed.first;
		operands[1] = passed.count;
	}
	return result;
}

// Up to version 12 gcc gets the length of a range that begins inside a call wrong, by two
// bytes too few, in split units before DWARF 5: it writes "end - start - 1" for "start - 1".
static uint64_t true_end(const struct heap_dwarf_code_unit *unit,
			 const struct heap_dwarf_location *location)
{
	bool is_split = unit->unit->split && unit->unit->version < 5;

	return location->high +
	       (is_split && heap_dwarf_code_unit_call(unit, location->low + 1) ? 2 : 0);
}

// The location that holds at the pc, or NULL.
static const struct heap_dwarf_location *choose(const struct search *search,
						const struct heap_dwarf_location_list *list)
{
	const struct heap_dwarf_location *otherwise = NULL;
	uint64_t pc = search->place->pc;

	for (size_t i = 0; i < list->count; i++) {
		const struct heap_dwarf_location *location = &list->locations[i];

		if (location->is_default)
			otherwise = otherwise ? otherwise : location;
		else if (pc >= location->low && pc < true_end(search->unit, location))
			return location;
	}
	return otherwise;
}

// True if a location may have held until the call in which the frame stands. gcc often says no more of a
// variable that is used after the call; but what lies in memory of the frame is still there.
static bool may_end_at_call(const struct search *search, const struct heap_dwarf_location *location)
{
	uint64_t end = search->place->pc + 1;

	return search->place->is_caller && !location->is_default &&
	       location->low < location->high && location->high < end &&
	       end - location->high < LONGEST_CALL;
}

static bool find_locations(struct search *search, uint64_t place, uint16_t attribute,
			   struct heap_dwarf_location_list *result)
{
	if (!worked(search, heap_dwarf_locations_find(search->locations, place, attribute, result)))
		return false;
	search->layout->is_complete &= result->is_complete;
	return true;
}

// DW_AT_frame_base of a function.
static void find_frame_base(struct search *search, uint64_t function)
{
	struct heap_dwarf_location_list list;
	const struct heap_dwarf_location *location;

	search->frame_base = (struct heap_dwarf_layout_expression){ 0 };
	if (!find_locations(search, function, DW_AT_frame_base, &list))
		return;
	location = choose(search, &list);
	if (location)
		search->frame_base = add_expression(search, location);
}

// --- variables -------------------------------------------------------------------------------

static struct heap_dwarf_layout_variable begin_variable(const struct search *search,
							const struct heap_dwarf_description *entry)
{
	return (struct heap_dwarf_layout_variable){
		.name = entry->name,
		.function = search->function,
		.file = entry->file,
		.line = entry->line,
		.type = entry->type,
	};
}

static void add_variable(struct search *search, const struct heap_dwarf_description *entry,
			 const struct heap_dwarf_location *location, bool is_parameter,
			 uint64_t call, bool is_alternative)
{
	struct heap_dwarf_layout *layout = search->layout;
	struct heap_dwarf_layout_variable variable = begin_variable(search, entry);

	if (layout->variables.count == MAX_VARIABLES)
		return;
	variable.call = call;
	variable.is_alternative = is_alternative;
	variable.may_be_unset = search->is_inlined && !is_parameter && location->is_default;
	variable.frame_base = search->frame_base;
	variable.location = add_expression(search, location);
	worked(search, heap_array_append(&layout->variables, variable));
}

// A variable that is used again may be said to be nowhere meanwhile, or always.
static void add_nowhere(struct search *search, const struct heap_dwarf_description *entry)
{
	struct heap_dwarf_layout_variable variable = begin_variable(search, entry);

	variable.is_nowhere = true;
	if (search->nowhere++ < MAX_NOWHERE && search->layout->variables.count < MAX_VARIABLES)
		worked(search, heap_array_append(&search->layout->variables, variable));
}

static void add_variables(struct search *search, uint64_t place, bool is_parameter)
{
	struct heap_dwarf_location_list list;
	struct heap_dwarf_description entry;
	const struct heap_dwarf_location *location;

	if (!find_locations(search, place, DW_AT_location, &list) ||
	    !worked(search, heap_dwarf_code_describe(search->code, place, &entry)) || !*entry.name)
		return;
	location = choose(search, &list);
	if (location)
		add_variable(search, &entry, location, is_parameter, 0, false);

	bool has_one = false;

	for (size_t i = 0; !location && i < list.count; i++) {
		if (!may_end_at_call(search, &list.locations[i]))
			continue;
		add_variable(search, &entry, &list.locations[i], is_parameter,
			     list.locations[i].high, has_one);
		has_one = true;
	}
	if (!location && !has_one)
		add_nowhere(search, &entry);
}

// --- scopes ----------------------------------------------------------------------------------

static void search_variables(struct search *search, uint32_t index)
{
	const struct heap_dwarf_code_unit *unit = search->unit;
	const struct heap_dwarf_code_scope *scope = &unit->scopes[index];

	for (uint32_t i = scope->first_variable; i < scope->end_variable; i++)
		if (unit->variables[i].scope == index)
			add_variables(search, unit->variables[i].place,
				      unit->variables[i].is_parameter);
}

static void enter_function(struct search *search, uint64_t place)
{
	struct heap_dwarf_description entry;
	char *name = worked(search, heap_dwarf_code_describe(search->code, place, &entry))
			     ? heap_dwarf_description_name(&entry)
			     : NULL;

	search->function = "";
	if (!name)
		return;
	if (worked(search, heap_array_append(&search->layout->names, name)))
		search->function = name;
	else
		free(name);
}

// The function's own, and what is inlined into it at the pc, from the outside in.
static void search_scopes(struct search *search)
{
	uint32_t scopes[HEAP_DWARF_CODE_DEPTH];
	size_t count = heap_dwarf_code_unit_find(search->unit, search->place->pc, scopes);

	for (size_t i = 0; i < count && !search->error; i++) {
		const struct heap_dwarf_code_scope *scope = &search->unit->scopes[scopes[i]];

		if (scope->kind == HEAP_DWARF_CODE_FUNCTION) {
			search->function_place = scope->place;
			find_frame_base(search, scope->place);
		}
		if (scope->kind != HEAP_DWARF_CODE_BLOCK) {
			enter_function(search, scope->place);
			search->is_inlined = scope->kind == HEAP_DWARF_CODE_INLINED;
		}
		if (*search->function)
			search_variables(search, scopes[i]);
	}
}

struct heap_error *heap_dwarf_layout_find(struct heap_dwarf_file *file,
					  const struct heap_dwarf_layout_place *place,
					  struct heap_dwarf_layout *result)
{
	CLEANUP(heap_dwarf_layout_deinit) struct heap_dwarf_layout layout = { 0 };
	struct search search = { .place = place, .function = "", .layout = &layout };

	*result = (struct heap_dwarf_layout){ 0 };
	HEAP_TRY(heap_dwarf_file_code(file, &search.code));
	HEAP_TRY(heap_dwarf_file_locations(file, &search.locations));
	HEAP_TRY(heap_dwarf_code_find_unit(search.code, place->pc, &search.unit));
	layout.is_complete = true;
	if (search.unit)
		search_scopes(&search);
	layout.is_complete &= heap_dwarf_code_is_complete(search.code);
	if (search.error)
		return search.error;
	*result = keep(layout);
	return NULL;
}

void heap_dwarf_layout_deinit(struct heap_dwarf_layout *layout)
{
	for (size_t i = 0; i < layout->names.count; i++)
		free(layout->names.items[i]);
	heap_array_deinit(&layout->names);
	heap_array_deinit(&layout->variables);
	heap_array_deinit(&layout->operations);
}

// --- the cache -------------------------------------------------------------------------------

static struct heap_dwarf_question ask(const struct heap_dwarf_layout_place *place)
{
	return (struct heap_dwarf_question){ HEAP_DWARF_QUESTION_LAYOUT, place->pc,
					     place->return_pc << 1 | place->is_caller };
}

static void put_expression(struct heap_dwarf_answer_writer *writer,
			   struct heap_dwarf_layout_expression expression)
{
	heap_dwarf_answer_put(writer, expression.first);
	heap_dwarf_answer_put(writer, expression.count);
}

void heap_dwarf_layout_note(struct heap_dwarf_answers *cache,
			    const struct heap_dwarf_layout_place *place,
			    const struct heap_dwarf_layout *layout)
{
	struct heap_dwarf_answer_writer writer = { .answers = cache };
	const struct heap_dwarf_question question = ask(place);

	if (!layout->is_complete)
		return;
	heap_dwarf_answer_put(&writer, layout->operations.count);
	for (size_t i = 0; i < layout->operations.count; i++) {
		const struct heap_dwarf_operation *operation = &layout->operations.items[i];

		heap_dwarf_answer_put(&writer, operation->code);
		heap_dwarf_answer_put(&writer, operation->offset);
		heap_dwarf_answer_put(&writer, operation->operands[0]);
		heap_dwarf_answer_put(&writer, operation->operands[1]);
	}
	heap_dwarf_answer_put(&writer, layout->variables.count);
	for (size_t i = 0; i < layout->variables.count; i++) {
		const struct heap_dwarf_layout_variable *variable = &layout->variables.items[i];

		heap_dwarf_answer_put_string(&writer, variable->name);
		heap_dwarf_answer_put_string(&writer, variable->function);
		heap_dwarf_answer_put_string(&writer, variable->file);
		heap_dwarf_answer_put(&writer, variable->line);
		heap_dwarf_answer_put(&writer, variable->type);
		heap_dwarf_answer_put(&writer, variable->call);
		heap_dwarf_answer_put(&writer, variable->is_alternative);
		heap_dwarf_answer_put(&writer, variable->may_be_unset);
		heap_dwarf_answer_put(&writer, variable->is_nowhere);
		put_expression(&writer, variable->location);
		put_expression(&writer, variable->frame_base);
	}
	heap_dwarf_answer_add(&writer, &question);
}

static struct heap_dwarf_layout_expression read_expression(struct heap_dwarf_answer *answer,
							   const struct heap_dwarf_layout *layout)
{
	uint64_t first = heap_dwarf_answer_next(answer), count = heap_dwarf_answer_next(answer);

	if (first <= layout->operations.count && count <= layout->operations.count - first)
		return (struct heap_dwarf_layout_expression){ (uint32_t)first, (uint32_t)count };
	answer->is_bad = true;
	return (struct heap_dwarf_layout_expression){ 0 };
}

HEAP_MUST_CHECK
static struct heap_error *read_layout(struct heap_dwarf_answer *answer,
				      struct heap_dwarf_layout *layout)
{
	uint64_t count = heap_dwarf_answer_next_count(answer, MAX_OPERATIONS);

	HEAP_TRY(heap_array_reserve(&layout->operations, count));
	while (layout->operations.count < count) {
		struct heap_dwarf_operation *operation =
			&layout->operations.items[layout->operations.count++];

		operation->code = (uint8_t)heap_dwarf_answer_next(answer);
		operation->offset = (uint32_t)heap_dwarf_answer_next(answer);
		operation->operands[0] = heap_dwarf_answer_next(answer);
		operation->operands[1] = heap_dwarf_answer_next(answer);
	}
	count = heap_dwarf_answer_next_count(answer, MAX_VARIABLES);
	HEAP_TRY(heap_array_reserve(&layout->variables, count));
	while (layout->variables.count < count) {
		struct heap_dwarf_layout_variable *variable =
			&layout->variables.items[layout->variables.count++];

		variable->name = heap_dwarf_answer_next_string(answer);
		variable->function = heap_dwarf_answer_next_string(answer);
		variable->file = heap_dwarf_answer_next_string(answer);
		variable->line = (uint32_t)heap_dwarf_answer_next(answer);
		variable->type = heap_dwarf_answer_next(answer);
		variable->call = heap_dwarf_answer_next(answer);
		variable->is_alternative = heap_dwarf_answer_next(answer);
		variable->may_be_unset = heap_dwarf_answer_next(answer);
		variable->is_nowhere = heap_dwarf_answer_next(answer);
		variable->location = read_expression(answer, layout);
		variable->frame_base = read_expression(answer, layout);
	}
	layout->is_complete = true;
	return NULL;
}

bool heap_dwarf_layout_recall(struct heap_dwarf_answers *cache,
			      const struct heap_dwarf_layout_place *place,
			      struct heap_dwarf_layout *result)
{
	CLEANUP(heap_dwarf_layout_deinit) struct heap_dwarf_layout layout = { 0 };
	const struct heap_dwarf_question question = ask(place);
	struct heap_dwarf_answer answer;
	struct heap_error *error;

	if (!heap_dwarf_answers_find(cache, &question, &answer))
		return false;
	error = read_layout(&answer, &layout);
	heap_error_destroy(error);
	if (error || !heap_dwarf_answer_is_good(&answer))
		return false;
	*result = keep(layout);
	return true;
}
