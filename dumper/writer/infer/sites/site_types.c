// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/sites/site_types.h"

#include "dumper/code/code_flow.h"
#include "dumper/writer/base/machine.h"
#include "dumper/writer/infer/sites/constructors.h"
#include "dumper/writer/infer/headers.h"
#include "dumper/writer/scan/modules/module_types.h"
#include "dumper/writer/scan/modules/standard.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

#define STACK_POINTER machine_dwarf_register(HEAPSNAP_VALUE_SP)

enum {
	CODE_AHEAD = 32,        // after the call, in which the variable's life may begin
	CODE_UNTIL_PASSED = 96, // in which it is passed to another function
	PASSED_PARAMETERS = 2,  // as one of which
	LONGEST_INSTRUCTION = 16,
	STACK_KEPT = 4 * HEAPSNAP_VALUE_SLOTS, // bytes above the stack pointer
	FAKE_STACK = 0x40000000,               // anywhere: only differences count
	MAX_BASES = 16,                        // of bases and first members of a class
	MAX_INLINED = 16,                      // functions inlined into each other at one address
	MAX_NAME = 4096,                       // of a class
};

// --- the variable that gets the block ----------------------------------------

/*
 * Debug information says at each address where variables are. Right after the call, the one
 * that is in the register of its result is the one that gets the block; in code that is not
 * optimised it is the one at the place on the stack to which the next instruction moves that
 * register (rax, x0). Optimised code may copy it to another register before the variable's life begins.
 */
static bool read_nothing(void *context, uint64_t address, void *buffer, size_t size)
{
	(void)context;
	(void)address;
	memset(buffer, 0, size);
	return false;
}

// Decodes where the code at @p address stores the result.
static bool find_store(const struct capture *capture, uint64_t address, struct machine_place *place)
{
	uint8_t code[MACHINE_STORE_BYTES] = { 0 };

	image_read_padded(&capture->image, address, code, sizeof(code));
	return machine_find_store(code, place);
}

// Registers that cannot be mistaken for each other.
static void make_registers(struct heap_dwarf_registers *registers)
{
	registers->known = UINT64_MAX;
	for (int i = 0; i < HEAP_DWARF_REGISTERS; i++)
		registers->value[i] = UINT64_C(0x100000000) * (uint64_t)(i + 1);
	registers->value[HEAP_DWARF_REGISTER_FRAME] = FAKE_STACK;
}

// The canonical frame address that follows from these registers.
//
// @param has_frame  false: code that is optimised keeps no frame pointer
static uint64_t find_cfa(struct module *module, uint64_t pc, struct heap_dwarf_registers registers,
			 bool has_frame)
{
	struct heap_dwarf_unwinder *unwinder;
	uint64_t cfa = 0;
	bool is_signal;

	if (MACHINE_FRAME_IN_CFA != 0 && has_frame)
		return FAKE_STACK + MACHINE_FRAME_IN_CFA;
	unwinder = module_unwinder(module);
	if (unwinder)
		heap_dwarf_unwinder_step(unwinder, pc - 1, read_nothing, NULL, &registers, &cfa,
					 &is_signal);
	return cfa;
}

static heap_type_id pointee_of(struct capture *capture, struct module *module, uint64_t place)
{
	struct heap_types *types = &capture->snapshot.types;
	heap_type_id type = heap_types_strip(types, module_type(module, place, types));

	if (types->types[type].kind != HEAP_TYPE_POINTER)
		return HEAP_NO_TYPE;
	return heap_types_strip(types, types->types[type].target);
}

// Containers have copies of some types.
static bool is_same(const struct heap_types *types, heap_type_id one, heap_type_id other)
{
	return one == other ||
	       (types->types[one].name != 0 && types->types[one].name == types->types[other].name &&
		types->types[one].size == types->types[other].size);
}

// True if a class is another one and nothing more: std::vector and its base have one size.
static bool is_all_of(const struct heap_types *types, heap_type_id whole, heap_type_id part,
		      int depth)
{
	const struct heap_type *type = &types->types[whole];

	if (is_same(types, whole, part) || depth == MAX_BASES ||
	    type->size != types->types[part].size)
		return false;
	for (uint32_t i = 0; heap_types_has_members(type) && i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];
		heap_type_id inner = heap_types_strip(types, member->type);

		// Only the members of a union can be several such, which would multiply at each depth.
		if (member->offset == 0 && types->types[inner].size == type->size)
			return is_same(types, inner, part) ||
			       is_all_of(types, inner, part, depth + 1);
	}
	return false;
}

// The evidence of a variable for the result of a call.
struct holder {
	heap_type_id pointee; // HEAP_NO_TYPE: there is none
	bool is_receiver;     // "this" of an inlined constructor, which may be that of a base
};

// True if a class begins with another one, as a base or a first member. The constructors of both get the same address.
static bool begins_with(const struct heap_types *types, heap_type_id whole, heap_type_id part,
			int depth)
{
	const struct heap_type *type = &types->types[whole];

	if (depth == MAX_BASES || type->kind == HEAP_TYPE_UNION)
		return false;
	for (uint32_t i = 0; heap_types_has_members(type) && i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];
		heap_type_id inner = heap_types_strip(types, member->type);

		// Only empty ones may be several, which are not asked for.
		if (member->offset == 0 && types->types[inner].size >= types->types[part].size)
			return is_same(types, inner, part) ||
			       begins_with(types, inner, part, depth + 1);
	}
	return false;
}

// Replaces a holder by a better one.
static void improve(const struct heap_types *types, struct holder *holder,
		    const struct holder *other)
{
	if (other->pointee != HEAP_NO_TYPE &&
	    (holder->pointee == HEAP_NO_TYPE ||
	     (holder->is_receiver && is_all_of(types, other->pointee, holder->pointee, 0))))
		*holder = *other;
}

// The same where both have the block's very address: of the constructors that are inlined into each other, the outermost
// one is that of the whole.
static void improve_at(const struct heap_types *types, struct holder *holder,
		       const struct holder *other)
{
	if (holder->is_receiver && other->is_receiver &&
	    begins_with(types, other->pointee, holder->pointee, 0))
		*holder = *other;
	else
		improve(types, holder, other);
}

// The parameters of functions that compilers have for vector registers are inlined into code that fills, copies or searches
// memory of any kind. Vectors are arrays in debug information, and such names are reserved.
static bool is_of_vectors(const struct heap_types *types, const char *name, heap_type_id pointee)
{
	return name[0] == '_' && name[1] == '_' && pointee != HEAP_NO_TYPE &&
	       types->types[pointee].kind == HEAP_TYPE_ARRAY;
}

// Reads what the type of a variable says of the block that it has.
static struct holder read_holder(struct capture *capture, struct module *module,
				 const struct heap_dwarf_local *local)
{
	heap_type_id pointee = pointee_of(capture, module, local->type);

	if (is_of_vectors(&capture->snapshot.types, local->name, pointee))
		pointee = HEAP_NO_TYPE;
	return (struct holder){ pointee, strcmp(local->name, "this") == 0 };
}

// True if a variable is one of those.
static bool has_local(const struct heap_dwarf_locals *locals, const struct heap_dwarf_local *local)
{
	for (size_t i = 0; i < locals->count; i++) {
		const struct heap_dwarf_local *other = &locals->locals[i];

		if (other->type == local->type && other->line == local->line &&
		    strcmp(other->name, local->name) == 0 &&
		    strcmp(other->function, local->function) == 0)
			return true;
	}
	return false;
}

// The variables where a call is.
static void find_locals_at_call(struct module *module, uint64_t address,
				struct heap_dwarf_locals *result)
{
	struct heap_dwarf_registers registers = { 0 };
	struct heap_dwarf_locals_frame frame = {
		.pc = address - module->bias - 1,
		.bias = module->bias,
		.registers = &registers,
		.read = read_nothing,
	};

	make_registers(&registers);
	module_locals(module, &frame, result);
}

// True if a function has been inlined behind the call that makes the block, and has not set that variable yet: compilers
// say that it is in the register with the block even before.
static bool is_unset(struct module *module, uint64_t call, const struct heap_dwarf_local *local)
{
	struct heap_dwarf_locals before = { 0 };
	bool result;

	if (!local->may_be_unset || local->kind != HEAP_DWARF_LOCATION_REGISTER)
		return false;
	find_locals_at_call(module, call, &before);
	result = !has_local(&before, local);
	heap_dwarf_locals_deinit(&before);
	return result;
}

// The variable that has the result of a call at an address.
//
// @param call    where that returns to
// @param in      registers that have it there: a bit for each, by DWARF number
// @param stored  NULL, or where on the stack it is kept
static struct holder find_holder(struct capture *capture, struct module *module, uint64_t call,
				 uint64_t address, uint32_t in, const struct machine_place *stored)
{
	struct heap_dwarf_registers registers = { 0 };
	struct heap_dwarf_locals locals = { 0 };
	struct holder result = { HEAP_NO_TYPE, false };
	struct heap_dwarf_locals_frame frame = {
		.pc = address - module->bias,
		.bias = module->bias,
		.registers = &registers,
		.read = read_nothing,
	};

	make_registers(&registers);
	frame.cfa = find_cfa(module, frame.pc, registers, !stored || stored->base != STACK_POINTER);
	module_locals(module, &frame, &locals);
	for (size_t i = 0;
	     i < locals.count && (result.pointee == HEAP_NO_TYPE || result.is_receiver); i++) {
		const struct heap_dwarf_local *local = &locals.locals[i];

		if ((local->kind == HEAP_DWARF_LOCATION_REGISTER && local->reg < 32 &&
		     (in >> local->reg & 1) && !is_unset(module, call, local)) ||
		    (stored && local->kind == HEAP_DWARF_LOCATION_MEMORY &&
		     local->address == registers.value[stored->base] + (uint64_t)stored->offset)) {
			const struct holder other = read_holder(capture, module, local);

			improve_at(&capture->snapshot.types, &result, &other);
		}
	}
	heap_dwarf_locals_deinit(&locals);
	return result;
}

// The places of the result in the code after a call, up to where it calls another function or goes on elsewhere.
struct straight_code {
	uint64_t reach; // bytes
	uint32_t in
		[CODE_AHEAD +
		 1]; // registers with the result, by offset, as find_holder() wants them; 0 within instructions
	bool is_stored;             // on the stack,
	struct machine_place place; // there,
	uint64_t stored_at;         // by the instruction before that offset
};

static bool is_block(const struct heapsnap_value *value)
{
	return value->kind == HEAPSNAP_VALUE_BLOCK && value->number == 0;
}

static uint32_t registers_with_block(const struct heapsnap_values *values)
{
	uint32_t in = 0;

	for (unsigned i = 0; i < HEAPSNAP_VALUE_REGISTERS; i++) {
		if (is_block(&values->registers[i]))
			in |= UINT32_C(1) << machine_dwarf_register(i);
	}
	return in;
}

// Notes where on the stack the result is first stored.
static void find_stored(const struct heapsnap_values *values, uint64_t offset,
			struct straight_code *result)
{
	for (int i = 0; !result->is_stored && i < HEAPSNAP_VALUE_SLOTS; i++) {
		if (!is_block(&values->slots[i]))
			continue;
		result->is_stored = true;
		result->place = (struct machine_place){ STACK_POINTER, STACK_KEPT - (i + 1) * 4 };
		result->stored_at = offset;
	}
}

// The values where a call returns that has made a block.
static void begin_with_block(struct heapsnap_values *values)
{
	heapsnap_values_init(values);
	heapsnap_values_call(values, 0);
	values->registers[HEAPSNAP_VALUE_RESULT] = heapsnap_value_make(HEAPSNAP_VALUE_BLOCK, 0, 0);
	values->registers[HEAPSNAP_VALUE_SP] =
		heapsnap_value_make(HEAPSNAP_VALUE_STACK, 0, -STACK_KEPT);
}

// A core file may lack the code, and then it reads as zeros.
static bool is_missing(const uint8_t *code)
{
	return code[0] == 0 && memcmp(code, code + 1, CODE_AHEAD) == 0;
}

static void find_straight_code(const struct capture *capture, uint64_t address,
			       struct straight_code *result)
{
	uint8_t code[CODE_AHEAD + LONGEST_INSTRUCTION];
	const uint8_t *at = code, *end = code + sizeof(code);
	struct heapsnap_values values;
	struct heapsnap_flow flow;

	begin_with_block(&values);
	image_read_padded(&capture->image, address, code, sizeof(code));
	for (; is_missing(code) && result->reach < CODE_AHEAD; result->reach++)
		result->in[result->reach] = registers_with_block(&values);
	while (!is_missing(code) && at <= code + CODE_AHEAD) {
		result->reach = (uint64_t)(at - code);
		result->in[result->reach] = registers_with_block(&values);
		find_stored(&values, result->reach, result);
		// An instruction whose effect is not known is taken to have none on these.
		if ((!heapsnap_flow_step(at, end, &values, &flow) && !flow.next) ||
		    (flow.kind != HEAPSNAP_FLOW_ON && flow.kind != HEAPSNAP_FLOW_JUMP_IF))
			break;
		at = flow.next;
	}
}

// The same by debug information too, which does not tell of all calls; where only that is left, there is no code.
static void find_reach(const struct capture *capture, struct module *module, uint64_t address,
		       struct straight_code *code)
{
	uint64_t pc = address - module->bias, next = module_next_call(module, pc);

	find_straight_code(capture, address, code);
	if (next && next - pc <= code->reach + MACHINE_SHORTEST_CALL)
		code->reach =
			next - pc > MACHINE_SHORTEST_CALL ? next - pc - MACHINE_SHORTEST_CALL : 0;
}

// The variable that gets the block. Compilers may let its life
// begin only when it is first copied from the register.
static struct holder find_result(struct capture *capture, struct module *module, uint64_t address)
{
	const uint32_t result_register = UINT32_C(1)
					 << machine_dwarf_register(HEAPSNAP_VALUE_RESULT);
	struct machine_place place = { 0 };
	bool stored = find_store(capture, address, &place);
	struct holder result = find_holder(capture, module, address, address, result_register,
					   stored ? &place : NULL);
	struct straight_code code = { 0 };

	if (result.pointee == HEAP_NO_TYPE || result.is_receiver)
		find_reach(capture, module, address, &code);
	for (uint64_t i = 1; i <= code.reach; i++) {
		bool is_stored = code.is_stored && i == code.stored_at;
		struct holder next;

		if (result.pointee != HEAP_NO_TYPE && !result.is_receiver)
			break;
		if (code.in[i] == 0 && !is_stored)
			continue;
		next = find_holder(capture, module, address, address + i, code.in[i],
				   is_stored ? &code.place : NULL);
		improve_at(&capture->snapshot.types, &result, &next);
	}
	return result;
}

// --- the variable that gets what a function makes of the block ----------------

/*
 *	bytes = check(malloc(size));
 *
 * Nothing has the result of malloc(), but check() may return it. Compilers leave it in the registers of further
 * parameters where they only store it.
 */
static bool is_passed(const struct heapsnap_values *values)
{
	for (unsigned i = 0; i < PASSED_PARAMETERS; i++) {
		if (is_block(&values->registers[heapsnap_parameters[i]]))
			return true;
	}
	return false;
}

// Where the first call returns to that the block is passed to; 0: none is known.
static uint64_t find_passed_until(const struct capture *capture, uint64_t address)
{
	uint8_t code[CODE_UNTIL_PASSED + LONGEST_INSTRUCTION];
	const uint8_t *at = code;
	struct heapsnap_values values;
	struct heapsnap_flow flow;

	begin_with_block(&values);
	image_read_padded(&capture->image, address, code, sizeof(code));
	while (at <= code + CODE_UNTIL_PASSED) {
		if ((!heapsnap_flow_step(at, code + sizeof(code), &values, &flow) && !flow.next) ||
		    (flow.kind != HEAPSNAP_FLOW_ON && flow.kind != HEAPSNAP_FLOW_CALL))
			return 0;
		at = flow.next;
		if (flow.kind != HEAPSNAP_FLOW_CALL)
			continue;
		if (is_passed(&values))
			return address + (uint64_t)(at - code);
		// Another argument is computed.
		heapsnap_values_call(&values, 0);
	}
	return 0;
}

// The type that the variable with the result of that call points to; HEAP_NO_TYPE: there is none.
static heap_type_id find_passed(struct capture *capture, struct module *module, uint64_t address)
{
	uint64_t until = find_passed_until(capture, address);

	return until ? find_result(capture, module, until).pointee : HEAP_NO_TYPE;
}

// --- the constructor that gets the block --------------------------------------

// The type of a function's receiver; HEAP_NO_TYPE: not known.
static heap_type_id receiver_type(struct capture *capture, uint64_t function)
{
	struct heap_types *all = &capture->snapshot.types;
	struct module *module = modules_find(&capture->modules, function);
	CLEANUP_FREE struct module_site_type *types = NULL;
	const struct module_site_type *receiver = NULL;
	size_t count = 0;
	struct heap_error *error = NULL;

	if (module)
		error = module_site_types(module, function, all, &types, &count);
	// Damage costs the types only.
	heap_error_destroy(error);
	if (!error)
		receiver = module_site_receiver(types, count);
	return receiver ? heap_types_strip(all, receiver->pointee) : HEAP_NO_TYPE;
}

static void cleanup_constructors(struct constructors **constructors)
{
	constructors_destroy(*constructors);
}

// The class that the code calls a constructor of on the block, as a whole; HEAP_NO_TYPE: there is none.
HEAP_MUST_CHECK
static struct heap_error *find_constructed(struct capture *capture, uint64_t address,
					   heap_type_id *result)
{
	CLEANUP(cleanup_constructors) struct constructors *constructors = NULL;
	char name[MAX_NAME];
	uint64_t size, function;

	*result = HEAP_NO_TYPE;
	HEAP_TRY(constructors_create(capture, &constructors));
	if (!constructors_are_called(constructors, address) ||
	    constructors_follow(constructors, address, 0, name, sizeof(name), &function) !=
		    CONSTRUCTOR_CALLED)
		return NULL;
	*result = receiver_type(capture, function);
	size = capture->snapshot.types.types[*result].size;
	// A part of the block only, if the code goes on behind it.
	if (*result != HEAP_NO_TYPE &&
	    constructors_follow(constructors, address, size, name, sizeof(name), NULL) !=
		    CONSTRUCTOR_CALLED)
		*result = HEAP_NO_TYPE;
	return NULL;
}

// --- all that the code handles -----------------------------------------------

static void add(struct site_types *site_types, const struct site_type *site_type)
{
	for (uint32_t i = 0; i < site_types->count; i++) {
		if (site_types->list[i].type == site_type->type)
			return;
	}
	site_types->list[site_types->count++] = *site_type;
}

// A function that does not return a pointer keeps the block to itself: the functions that it
// is inlined into do not get it.
static uint32_t last_depth(const struct module_site_type *types, size_t count)
{
	uint32_t depth = 0;

	for (size_t i = 0; i < count && depth + 1 < SITE_TYPE_DEPTHS; i++)
		depth += types[i].kind == HEAP_DWARF_SITE_RETURN && types[i].depth == depth;
	return depth;
}

// True if a struct begins with another one, or with a member of the same name: code casts pointers to one of them to
// pointers to the other.
static bool begins_like(const struct heap_types *types, heap_type_id whole, heap_type_id part)
{
	const struct heap_type *type = &types->types[whole], *other = &types->types[part];

	if (is_same(types, whole, part))
		return true;
	if (!heap_types_has_members(type) || type->members == 0 || other->members == 0)
		return false;

	const struct heap_member *member = &types->members[type->first_member];
	const struct heap_member *same = &types->members[other->first_member];

	return member->offset == 0 &&
	       (is_same(types, heap_types_strip(types, member->type), part) ||
		(same->offset == 0 && member->name == same->name));
}

// The structs that functions return pointers to, by their depth; HEAP_NO_TYPE: another type, or none.
struct returned {
	heap_type_id of[SITE_TYPE_DEPTHS];
};

static void find_returned(const struct heap_types *types, const struct module_site_type *list,
			  size_t count, struct returned *returned)
{
	*returned = (struct returned){ { HEAP_NO_TYPE } };
	for (size_t i = 0; i < count; i++) {
		heap_type_id type = heap_types_strip(types, list[i].pointee);

		if (list[i].kind == HEAP_DWARF_SITE_RETURN && list[i].depth < SITE_TYPE_DEPTHS &&
		    heap_types_has_members(&types->types[type]) &&
		    types->types[type].kind != HEAP_TYPE_UNION && types->types[type].size > 0)
			returned->of[list[i].depth] = type;
	}
}

// True if a function that is inlined into the one with a variable returns a pointer to a struct of another kind: the
// variable has that, and the block is something that the struct leads to.
static bool is_behind_returned(const struct heap_types *types, const struct returned *returned,
			       uint32_t depth, heap_type_id type)
{
	for (uint32_t i = 0; i < depth && i < SITE_TYPE_DEPTHS; i++) {
		if (returned->of[i] != HEAP_NO_TYPE && !begins_like(types, type, returned->of[i]))
			return true;
	}
	return false;
}

// True if a type has nothing but bases and members without any data, like the allocators of C++. It has one byte, or none.
static bool is_empty(const struct heap_types *types, heap_type_id id, unsigned depth)
{
	const struct heap_type *type = &types->types[heap_types_strip(types, id)];
	bool empty = heap_types_has_members(type) && type->size <= 1 && depth < MAX_BASES;

	for (uint32_t i = 0; empty && i < type->members; i++)
		empty = is_empty(types, types->members[type->first_member + i].type, depth + 1);
	return empty;
}

// True if a constructor of the standard library's own has the block, such as that of std::_Vector_base, or one of a
// class without data, such as an allocator. No program makes such objects.
static bool is_internal(const struct heap_types *types, const struct holder *holder)
{
	const char *name = heap_types_string(types, types->types[holder->pointee].name);

	return holder->is_receiver && (strncmp(name, "std::_", strlen("std::_")) == 0 ||
				       is_empty(types, holder->pointee, 0));
}

// Finds the class whose base a holder is, among those that the code handles.
static void find_whole(const struct heap_types *types, const struct module_site_type *list,
		       size_t count, struct holder *holder)
{
	for (size_t i = 0; i < count; i++)
		improve(types, holder,
			&(struct holder){ heap_types_strip(types, list[i].pointee), true });
}

// The depth of the innermost function that is in no standard library.
static size_t find_own_depth(struct capture *capture, struct module *module, uint64_t address)
{
	struct code_place places[MAX_INLINED];
	size_t count = module_describe(module, address, address - 1, &capture->strings, places,
				       MAX_INLINED);

	return standard_skip(module, &capture->strings, address - 1, places, count);
}

// True if a type is bytes, which the functions of standard libraries allocate for whatever their callers make.
static bool is_bytes(const struct heap_types *types, heap_type_id type)
{
	return types->types[type].kind == HEAP_TYPE_BASE && types->types[type].size == 1;
}

// Constructors that are inlined before one that is called are those of the empty bases of its class.
HEAP_MUST_CHECK
static struct heap_error *improve_by_constructor(struct capture *capture, uint64_t address,
						 struct holder *holder)
{
	const struct heap_types *types = &capture->snapshot.types;
	heap_type_id constructed;

	if (holder->pointee != HEAP_NO_TYPE && types->types[holder->pointee].size > 1)
		return NULL;
	HEAP_TRY(find_constructed(capture, address, &constructed));
	if (constructed != HEAP_NO_TYPE)
		*holder = (struct holder){ constructed, false };
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *fill(struct capture *capture, struct module *module, uint64_t address,
			       struct site_types *site_types)
{
	const size_t own_depth = find_own_depth(capture, module, address);
	CLEANUP_FREE struct module_site_type *types = NULL;
	size_t count = 0;
	struct heap_error *error =
		module_site_types(module, address - 1, &capture->snapshot.types, &types, &count);

	// As above: damage costs the types only.
	if (error) {
		heap_error_destroy(error);
		return NULL;
	}
	site_types->list = calloc(count + 1, sizeof(*site_types->list));
	if (!site_types->list)
		return heap_error_out_of_memory();

	struct holder result = find_result(capture, module, address);
	heap_type_id passed = HEAP_NO_TYPE;
	uint32_t last = last_depth(types, count);
	struct returned returned;

	find_returned(&capture->snapshot.types, types, count, &returned);
	if (result.pointee == HEAP_NO_TYPE || result.is_receiver)
		HEAP_TRY(improve_by_constructor(capture, address, &result));
	if (is_internal(&capture->snapshot.types, &result)) {
		find_whole(&capture->snapshot.types, types, count, &result);
		// The register has something else since, such as a std::_Sp_counted_base that is shared.
		if (is_internal(&capture->snapshot.types, &result))
			result.pointee = HEAP_NO_TYPE;
	}
	if (result.pointee != HEAP_NO_TYPE)
		add(site_types, &(struct site_type){ result.pointee, 0, true, false });
	else
		passed = find_passed(capture, module, address);
	for (size_t i = 0; i < count; i++) {
		heap_type_id type = heap_types_strip(&capture->snapshot.types, types[i].pointee);

		// The text in a struct may be a copy of what a caller has.
		if (type != HEAP_NO_TYPE && types[i].depth <= last &&
		    (is_bytes(&capture->snapshot.types, type)
			     ? types[i].depth >= own_depth
			     : !is_behind_returned(&capture->snapshot.types, &returned,
						   types[i].depth, type)))
			add(site_types,
			    &(struct site_type){ type, types[i].depth, false, type == passed });
	}
	return NULL;
}

struct heap_error *site_types_find(struct capture *capture, heap_site_id site,
				   struct site_types *result)
{
	uint64_t address = capture->snapshot.sites[site].address;
	struct module *module = modules_find(&capture->modules, address - 1);

	*result = (struct site_types){ 0 };
	return module && module->dwarf ? fill(capture, module, address, result) : NULL;
}

bool site_types_know(struct capture *capture, uint64_t address, uint64_t size)
{
	struct module *module = modules_find(&capture->modules, address - 1);
	heap_type_id id = module && module->dwarf ? find_result(capture, module, address).pointee
						  : HEAP_NO_TYPE;
	const struct heap_type *type = &capture->snapshot.types.types[id];

	if (id == HEAP_NO_TYPE || type->size == 0 || type->flags & HEAP_TYPE_CHARACTER)
		return false;
	// The block may be a part of a larger struct: smaller_structs.h.
	if (type->size > size)
		return heap_types_has_members(type);
	return type->size == size ||
	       (type->size < size && !headers_is_prefix(&capture->snapshot.types, id));
}

bool site_types_is_standard(struct capture *capture, uint64_t address)
{
	struct module *module = modules_find(&capture->modules, address - 1);

	return module && find_own_depth(capture, module, address) > 0;
}
