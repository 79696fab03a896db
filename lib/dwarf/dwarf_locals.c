// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_locals.h"

#include "lib/base/cleanup.h"

#include <string.h>

enum {
	LONGEST_CALL = 8,
};

struct evaluation {
	const struct heap_dwarf_layout *layout;
	const struct heap_dwarf_locals_frame *frame;
	struct heap_dwarf_expression_frame expression;
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
static bool is_call_of_frame(const struct heap_dwarf_locals_frame *frame, uint64_t place)
{
	uint64_t end = frame->pc + 1, code;

	return frame->is_caller && place < end && end - place < LONGEST_CALL &&
	       frame->read(frame->context, place + frame->bias, &code, sizeof(code)) &&
	       call_length((const uint8_t *)&code) == end - place;
}

// --- expressions -----------------------------------------------------------------------------

static struct heap_dwarf_expression expression_of(const struct heap_dwarf_layout *layout,
						  struct heap_dwarf_layout_expression expression)
{
	return (struct heap_dwarf_expression){ layout->operations.items + expression.first,
					       expression.count };
}

// Evaluates in the caller's frame what it has passed.
static bool find_entry_value(void *context, const struct heap_dwarf_operation *operation,
			     uint64_t *result)
{
	const struct evaluation *evaluation = context;
	const struct heap_dwarf_locals_frame *frame = evaluation->frame;
	const struct heap_dwarf_expression_frame caller = {
		.registers = frame->caller,
		.bias = frame->bias,
		.read = frame->read,
		.context = frame->context,
	};
	struct heap_dwarf_layout_expression passed = { (uint32_t)operation->operands[0],
						       (uint32_t)operation->operands[1] };
	size_t count = evaluation->layout->operations.count;
	struct heap_dwarf_expression_result value;

	if (!frame->caller || passed.first > count || passed.count > count - passed.first ||
	    !heap_dwarf_expression_evaluate(expression_of(evaluation->layout, passed), &caller,
					    NULL, &value) ||
	    value.kind == HEAP_DWARF_EXPRESSION_REGISTER)
		return false;
	*result = value.value;
	return true;
}

// DW_AT_frame_base: an address, or the register that holds it.
static void set_frame_base(struct evaluation *evaluation,
			   struct heap_dwarf_layout_expression expression)
{
	const struct heap_dwarf_registers *registers = evaluation->frame->registers;
	struct heap_dwarf_expression_result base;

	evaluation->expression.has_frame_base = false;
	if (!heap_dwarf_expression_evaluate(expression_of(evaluation->layout, expression),
					    &evaluation->expression, NULL, &base))
		return;
	if (base.kind == HEAP_DWARF_EXPRESSION_REGISTER) {
		if (base.value >= HEAP_DWARF_REGISTERS || !(registers->known >> base.value & 1))
			return;
		base.value = registers->value[base.value];
	}
	evaluation->expression.frame_base = base.value;
	evaluation->expression.has_frame_base = true;
}

// --- variables -------------------------------------------------------------------------------

static void place_local(const struct evaluation *evaluation,
			const struct heap_dwarf_expression_result *location,
			struct heap_dwarf_local *local)
{
	const struct heap_dwarf_registers *registers = evaluation->frame->registers;

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

// True if a variable is there. Those with an address of their own are globals, found elsewhere.
static bool locate(struct evaluation *evaluation, const struct heap_dwarf_layout_variable *variable,
		   struct heap_dwarf_expression_result *location)
{
	const struct heap_dwarf_registers *registers = evaluation->frame->registers;

	set_frame_base(evaluation, variable->frame_base);
	if (!heap_dwarf_expression_evaluate(expression_of(evaluation->layout, variable->location),
					    &evaluation->expression, NULL, location) ||
	    location->is_fixed)
		return false;
	if (variable->call && location->kind != HEAP_DWARF_EXPRESSION_ADDRESS)
		return false;
	return location->kind != HEAP_DWARF_EXPRESSION_REGISTER ||
	       (location->value < HEAP_DWARF_REGISTERS && registers->known >> location->value & 1);
}

HEAP_MUST_CHECK
static struct heap_error *add_local(struct evaluation *evaluation,
				    const struct heap_dwarf_layout_variable *variable,
				    struct heap_dwarf_locals *locals)
{
	struct heap_dwarf_expression_result location = { 0 };
	bool is_placed = !variable->is_nowhere && locate(evaluation, variable, &location);

	if (!is_placed && (!evaluation->frame->with_nowhere || location.is_fixed))
		return NULL;

	struct heap_dwarf_local *local = &locals->locals[locals->count++];

	*local = (struct heap_dwarf_local){
		.name = strdup(variable->name),
		.function = strdup(variable->function),
		.file = strdup(variable->file),
		.line = variable->line,
		.type = variable->type,
		.may_be_unset = variable->may_be_unset,
	};
	local->kind = HEAP_DWARF_LOCATION_NOWHERE;
	if (is_placed)
		place_local(evaluation, &location, local);
	return local->name && local->function && local->file ? NULL : heap_error_out_of_memory();
}

static void reverse(struct heap_dwarf_locals *locals)
{
	for (size_t i = 0; i < locals->count / 2; i++) {
		struct heap_dwarf_local other = locals->locals[i];

		locals->locals[i] = locals->locals[locals->count - 1 - i];
		locals->locals[locals->count - 1 - i] = other;
	}
}

struct heap_error *heap_dwarf_locals_evaluate(const struct heap_dwarf_layout *layout,
					      const struct heap_dwarf_locals_frame *frame,
					      struct heap_dwarf_locals *result)
{
	CLEANUP(heap_dwarf_locals_deinit) struct heap_dwarf_locals locals = { 0 };
	struct evaluation evaluation = {
		.layout = layout,
		.frame = frame,
		.expression = {
			.registers = frame->registers,
			.cfa = frame->cfa,
			.bias = frame->bias,
			.read = frame->read,
			.context = frame->context,
			.entry_value = find_entry_value,
			.entry_context = &evaluation,
		},
	};
	bool was_call = false;

	*result = (struct heap_dwarf_locals){ 0 };
	locals.locals = calloc(layout->variables.count + 1, sizeof(*locals.locals));
	if (!locals.locals)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < layout->variables.count; i++) {
		const struct heap_dwarf_layout_variable *variable = &layout->variables.items[i];

		if (variable->is_alternative && was_call)
			continue;
		was_call = variable->call && is_call_of_frame(frame, variable->call);
		if (variable->call && !was_call)
			continue;
		HEAP_TRY(add_local(&evaluation, variable, &locals));
	}
	reverse(&locals);
	*result = keep(locals);
	return NULL;
}

struct heap_dwarf_layout_place heap_dwarf_locals_place(const struct heap_dwarf_locals_frame *frame)
{
	const struct heap_dwarf_registers *caller = frame->caller;

	return (struct heap_dwarf_layout_place){
		.pc = frame->pc,
		.is_caller = frame->is_caller,
		.return_pc = caller ? caller->value[HEAP_DWARF_REGISTER_PC] - frame->bias : 0,
	};
}

struct heap_error *heap_dwarf_locals_find(struct heap_dwarf_file *file,
					  const struct heap_dwarf_locals_frame *frame,
					  struct heap_dwarf_locals *result)
{
	CLEANUP(heap_dwarf_layout_deinit) struct heap_dwarf_layout layout = { 0 };
	const struct heap_dwarf_layout_place place = heap_dwarf_locals_place(frame);

	*result = (struct heap_dwarf_locals){ 0 };
	HEAP_TRY(heap_dwarf_layout_find(file, &place, &layout));
	return heap_dwarf_locals_evaluate(&layout, frame, result);
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
