// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_locals.h"

#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/dwarf/dwarf_code.h"
#include "lib/dwarf/dwarf_constants.h"
#include "lib/dwarf/dwarf_location.h"

#include <string.h>

enum {
	MAX_LOCALS = 4096, // of a frame
};

struct search {
	struct heap_dwarf_code *code;
	struct heap_dwarf_locations *locations;
	const struct heap_dwarf_locals_frame *frame;
	struct heap_dwarf_expression_frame expression;
	const struct heap_dwarf_code_unit *unit;
	uint64_t function_place;        // of the function that is not inlined
	const char *function;           // whose scope is being searched
	struct heap_dwarf_locals found; // outermost scope first
	size_t capacity;
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

// --- locations -------------------------------------------------------------------------------

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
	uint64_t pc = search->frame->pc;

	for (size_t i = 0; i < list->count; i++) {
		const struct heap_dwarf_location *location = &list->locations[i];

		if (location->is_default)
			otherwise = otherwise ? otherwise : location;
		else if (pc >= location->low && pc < true_end(search->unit, location))
			return location;
	}
	return otherwise;
}

enum {
	LONGEST_CALL = 8,
};

// The length of the call instruction that begins with these bytes; 0: it is none. (Intel 64 and
// IA-32 Architectures Software Developer's Manual, volume 2, CALL.)
static uint64_t call_length(const uint8_t *code)
{
	size_t prefix = (code[0] & 0xf0) == 0x40; // REX
	uint8_t operand = code[prefix + 1];
	uint64_t length = prefix + 2;

	if (code[0] == 0xe8)
		return 5;
	if (code[prefix] != 0xff || (operand >> 3 & 7) != 2)
		return 0;
	if (operand >> 6 == 3)
		return length;
	if ((operand & 7) == 4)
		length++;
	return length + (operand >> 6 == 1                            ? 1
			 : operand >> 6 == 2 || (operand & 0xc7) == 5 ? 4
								      : 0);
}

// True if the frame stands in the call whose instruction begins there.
static bool is_call_of_frame(const struct search *search, uint64_t place)
{
	const struct heap_dwarf_locals_frame *frame = search->frame;
	uint64_t end = frame->pc + 1, code;

	return frame->is_caller && place < end && end - place < LONGEST_CALL &&
	       frame->read(frame->context, place + frame->bias, &code, sizeof(code)) &&
	       call_length((const uint8_t *)&code) == end - place;
}

// The location that held until the call in which the frame stands. gcc often says no more of a
// variable that is used after the call; but what lies in memory of the frame is still there.
static const struct heap_dwarf_location *choose_before_call(
	const struct search *search, const struct heap_dwarf_location_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct heap_dwarf_location *location = &list->locations[i];

		if (!location->is_default && location->low < location->high &&
		    is_call_of_frame(search, location->high))
			return location;
	}
	return NULL;
}

static bool evaluate_at(struct search *search, const struct heap_dwarf_location *location,
			struct heap_dwarf_expression_result *result)
{
	return heap_dwarf_expression_evaluate(
		heap_dwarf_locations_expression(search->locations, location), &search->expression,
		NULL, result);
}

// Evaluates an attribute that is a location.
static bool evaluate(struct search *search, uint64_t place, uint16_t attribute,
		     struct heap_dwarf_expression_result *result)
{
	struct heap_dwarf_location_list list;
	const struct heap_dwarf_location *location;

	if (!worked(search, heap_dwarf_locations_find(search->locations, place, attribute, &list)))
		return false;
	location = choose(search, &list);
	if (location)
		return evaluate_at(search, location, result);
	location = choose_before_call(search, &list);
	return location && evaluate_at(search, location, result) &&
	       result->kind == HEAP_DWARF_EXPRESSION_ADDRESS;
}

// DW_AT_frame_base: an address, or the register that holds it.
static void find_frame_base(struct search *search, uint64_t function)
{
	const struct heap_dwarf_registers *registers = search->frame->registers;
	struct heap_dwarf_expression_result base;

	search->expression.has_frame_base = false;
	if (!evaluate(search, function, DW_AT_frame_base, &base))
		return;
	if (base.kind == HEAP_DWARF_EXPRESSION_REGISTER) {
		if (base.value >= HEAP_DWARF_REGISTERS || !(registers->known >> base.value & 1))
			return;
		base.value = registers->value[base.value];
	}
	search->expression.frame_base = base.value;
	search->expression.has_frame_base = true;
}

// --- values at DIE ---------------------------------------------------------------------------

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

// Evaluates what was passed, in the caller's frame.
static bool evaluate_passed(struct search *search, const struct heap_dwarf_dies *dies,
			    const struct passed *passed, uint64_t *result)
{
	const struct heap_dwarf_locals_frame *frame = search->frame;
	struct heap_dwarf_expression_frame caller = {
		.registers = frame->caller,
		.bias = frame->bias,
		.read = frame->read,
		.context = frame->context,
	};
	CLEANUP_ARRAY struct heap_dwarf_operations operations = { 0 };
	struct heap_dwarf_expression_result value;
	const struct heap_dwarf_object *object;

	if (!worked(search, heap_dwarf_code_object(search->code, dies->unit, &object)) ||
	    !worked(search, heap_dwarf_expression_decode(object, passed->value, passed->value_size,
							 dies, &operations)) ||
	    !heap_dwarf_expression_evaluate(
		    (struct heap_dwarf_expression){ operations.items, operations.count }, &caller,
		    NULL, &value) ||
	    value.kind == HEAP_DWARF_EXPRESSION_REGISTER)
		return false;
	*result = value.value;
	return true;
}

// (DWARF 5, sections 2.5.1.7 and 3.4.) A value that is lost by now was passed by the caller,
// whose registers are known and may still hold it.
static bool find_entry_value(void *context, const uint8_t *bytes, uint64_t size, uint64_t *result)
{
	struct search *search = context;
	const struct heap_dwarf_locals_frame *frame = search->frame;
	const struct heap_dwarf_dies *dies;
	const struct heap_dwarf_code_unit *unit;
	const struct heap_dwarf_code_call *call = NULL;
	struct passed passed;

	if (!frame->caller)
		return false;

	uint64_t pc = frame->caller->value[HEAP_DWARF_REGISTER_PC] - frame->bias;

	if (worked(search, heap_dwarf_code_find_unit(search->code, pc - 1, &unit)) && unit)
		call = heap_dwarf_code_unit_call(unit, pc);
	return call && find_passed(search, call->place, bytes, size, &dies, &passed) &&
	       evaluate_passed(search, dies, &passed, result);
}

// --- variables -------------------------------------------------------------------------------

static struct heap_dwarf_local *add_local(struct search *search)
{
	struct heap_error *error =
		heap_reserve(search->found.locals, search->capacity, search->found.count + 1);

	if (error) {
		search->error = error;
		return NULL;
	}
	return &search->found.locals[search->found.count++];
}

static void place_local(const struct search *search,
			const struct heap_dwarf_expression_result *location,
			struct heap_dwarf_local *local)
{
	const struct heap_dwarf_registers *registers = search->frame->registers;

	switch (location->kind) {
	case HEAP_DWARF_EXPRESSION_ADDRESS:
		local->kind = HEAP_DWARF_LOCATION_MEMORY;
		local->address = location->value;
		break;
	case HEAP_DWARF_EXPRESSION_VALUE:
		local->kind = HEAP_DWARF_LOCATION_VALUE;
		local->value = location->value;
		break;
	case HEAP_DWARF_EXPRESSION_REGISTER:
		local->reg = (uint8_t)location->value;
		local->kind = HEAP_DWARF_LOCATION_REGISTER;
		if (registers->saved_at[local->reg]) {
			local->kind = HEAP_DWARF_LOCATION_MEMORY;
			local->address = registers->saved_at[local->reg];
		}
		break;
	}
}

static void look_at_variable(struct search *search, uint64_t place)
{
	struct heap_dwarf_expression_result location;
	struct heap_dwarf_description entry;

	// Variables with an address of their own are globals, found elsewhere.
	if (search->found.count == MAX_LOCALS ||
	    !evaluate(search, place, DW_AT_location, &location) || location.is_fixed)
		return;
	if (location.kind == HEAP_DWARF_EXPRESSION_REGISTER &&
	    (location.value >= HEAP_DWARF_REGISTERS ||
	     !(search->frame->registers->known >> location.value & 1)))
		return;
	if (!worked(search, heap_dwarf_code_describe(search->code, place, &entry)) || !*entry.name)
		return;

	struct heap_dwarf_local *local = add_local(search);

	if (!local)
		return;
	*local = (struct heap_dwarf_local){
		.name = strdup(entry.name),
		.function = strdup(search->function),
		.file = strdup(entry.file),
		.line = entry.line,
		.type = entry.type,
	};
	place_local(search, &location, local);
	if ((!local->name || !local->function || !local->file) && !search->error)
		search->error = heap_error_out_of_memory();
}

// --- scopes ----------------------------------------------------------------------------------

static void search_variables(struct search *search, uint32_t index)
{
	const struct heap_dwarf_code_unit *unit = search->unit;
	const struct heap_dwarf_code_scope *scope = &unit->scopes[index];

	for (uint32_t i = scope->first_variable; i < scope->end_variable; i++)
		if (unit->variables[i].scope == index)
			look_at_variable(search, unit->variables[i].place);
}

// The function's own, and what is inlined into it at the pc, from the outside in.
static void search_scopes(struct search *search)
{
	uint32_t scopes[HEAP_DWARF_CODE_DEPTH];
	size_t count = heap_dwarf_code_unit_find(search->unit, search->frame->pc, scopes);
	CLEANUP_FREE char *name = NULL;

	for (size_t i = 0; i < count && !search->error; i++) {
		const struct heap_dwarf_code_scope *scope = &search->unit->scopes[scopes[i]];
		struct heap_dwarf_description entry;

		if (scope->kind == HEAP_DWARF_CODE_FUNCTION) {
			search->function_place = scope->place;
			find_frame_base(search, scope->place);
		}
		if (scope->kind != HEAP_DWARF_CODE_BLOCK) {
			bool described =
				worked(search, heap_dwarf_code_describe(search->code, scope->place,
									&entry));

			free(name);
			name = described ? heap_dwarf_description_name(&entry) : NULL;
			search->function = name ? name : "";
		}
		if (*search->function)
			search_variables(search, scopes[i]);
	}
}

static void reverse(struct heap_dwarf_locals *locals)
{
	for (size_t i = 0; i < locals->count / 2; i++) {
		struct heap_dwarf_local other = locals->locals[i];

		locals->locals[i] = locals->locals[locals->count - 1 - i];
		locals->locals[locals->count - 1 - i] = other;
	}
}

struct heap_error *heap_dwarf_locals_find(struct heap_dwarf_file *file,
					  const struct heap_dwarf_locals_frame *frame,
					  struct heap_dwarf_locals *result)
{
	struct search search = {
		.frame = frame,
		.expression = {
			.registers = frame->registers,
			.cfa = frame->cfa,
			.bias = frame->bias,
			.read = frame->read,
			.context = frame->context,
			.entry_value = find_entry_value,
		},
		.function = "",
	};

	*result = (struct heap_dwarf_locals){ 0 };
	HEAP_TRY(heap_dwarf_file_code(file, &search.code));
	HEAP_TRY(heap_dwarf_file_locations(file, &search.locations));
	HEAP_TRY(heap_dwarf_code_find_unit(search.code, frame->pc, &search.unit));
	if (!search.unit)
		return NULL;
	search.expression.entry_context = &search;
	search_scopes(&search);
	if (search.error) {
		heap_dwarf_locals_deinit(&search.found);
		return search.error;
	}
	reverse(&search.found);
	*result = search.found;
	return NULL;
}

void heap_dwarf_locals_deinit(struct heap_dwarf_locals *locals)
{
	for (size_t i = 0; i < locals->count; i++) {
		free(locals->locals[i].name);
		free(locals->locals[i].function);
		free(locals->locals[i].file);
	}
	free(locals->locals);
}
