// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/casts/cast_instructions.h"

#include "dumper/writer/casts/cast_calls.h"
#include "dumper/writer/casts/cast_frame.h"
#include "dumper/writer/casts/cast_values.h"

// A pointer is put into a member.
static void visit_store(struct cast_search *search, const struct code_move *move, uint64_t pc,
			const struct cast_member *member)
{
	struct cast_value value = cast_values_get(search, move->value, pc);
	const struct cast_place *place;
	bool has_type = false;
	uint32_t at = 0;

	while ((place = cast_places_next(&search->places, move->value, 0, pc, CAST_TARGET, &at))) {
		cast_search_visit(search, member, place->type);
		has_type = true;
	}
	if (has_type)
		return;
	if (value.roles & CAST_TARGET)
		cast_search_visit(search, member, value.type);
	else if (value.origin.source == FROM_PARAMETER)
		cast_values_add_path(search, CAST_STORES, search->entry, value.origin.reg, member);
	else if (value.origin.source == FROM_CALL && value.origin.function)
		cast_values_add_path(search, CAST_KEEPS, value.origin.function, MOVE_RESULT,
				     member);
}

// An instruction reads or writes a member of a struct. What it stores comes there.
static void visit_member(struct cast_search *search, const struct code_move *move, uint64_t pc,
			 uint64_t holder, struct cast_member *member)
{
	member->holder = holder;
	if (move->kind == MOVE_STORE)
		visit_store(search, move, pc, member);
}

// Likewise an element of the array that a member leads to.
static void visit_element(struct cast_search *search, const struct code_move *move, uint64_t pc,
			  const struct cast_origin *array, struct cast_member *member)
{
	if (array->source != FROM_MEMBER || array->member.is_element)
		return;
	*member = array->member;
	member->is_element = true;
	visit_member(search, move, pc, array->member.holder, member);
}

// The member at an offset of what a value leads into.
static bool find_inner(const struct cast_value *value, int32_t offset, struct cast_member *member)
{
	int64_t sum = (int64_t)value->inner + offset;

	*member = (struct cast_member){ .offset = (uint32_t)sum };
	return sum >= 0 && sum <= UINT32_MAX;
}

// Finds the member of a struct in static memory that is at an address. @return false: it is in no struct with void pointers
static bool find_static_member(struct cast_search *search, uint64_t address,
			       struct cast_member *member)
{
	const struct code_cast_visitor *visitor = search->visitor;

	*member = (struct cast_member){ 0 };
	member->holder = visitor->statics(visitor->context, address, &member->offset);
	return member->holder && (cast_search_roles(search, member->holder) & CAST_HOLDER);
}

// Finds the member that an instruction reads or writes by a register, of each struct that this may lead to, and has what is
// stored come there. @return false: it is none
static bool visit_members_of(struct cast_search *search, const struct code_move *move, uint8_t base,
			     uint64_t pc, struct cast_member *member)
{
	const struct cast_value *value = &search->values[base];
	const struct cast_place *place;
	uint32_t at = 0;

	*member = (struct cast_member){ .offset = (uint32_t)move->offset };
	while (move->offset >= 0 &&
	       (place = cast_places_next(&search->places, base, 0, pc, CAST_HOLDER, &at)))
		visit_member(search, move, pc, place->type, member);
	if (member->holder || !cast_values_are_fresh(search, value, pc) ||
	    !find_inner(value, move->offset, member))
		return member->holder != 0;
	if (value->roles & CAST_HOLDER)
		visit_member(search, move, pc, value->type, member);
	else if (value->inner == 0)
		visit_element(search, move, pc, &value->origin, member);
	return member->holder != 0;
}

// Likewise, where the register is an index, and the offset the address of an array in static memory.
static bool visit_fixed(struct cast_search *search, const struct code_move *move, uint64_t pc,
			struct cast_member *member)
{
	if (!search->visitor->is_fixed || move->offset <= 0 ||
	    !find_static_member(search, (uint64_t)move->offset, member))
		return false;
	visit_member(search, move, pc, member->holder, member);
	return true;
}

// Likewise, where an index that counts bytes may as well be the base.
static bool visit_members(struct cast_search *search, const struct code_move *move, uint64_t pc,
			  struct cast_member *member)
{
	return visit_members_of(search, move, move->base, pc, member) ||
	       (move->index != MOVE_NO_REGISTER &&
		visit_members_of(search, move, move->index, pc, member)) ||
	       visit_fixed(search, move, pc, member);
}

// The struct that a register leads to or into; its type is 0: to none.
static struct cast_value struct_at(const struct cast_search *search, uint8_t reg, uint64_t pc)
{
	const struct cast_value *known = &search->values[reg];
	const struct cast_place *place;
	uint32_t at = 0;

	if ((place = cast_places_next(&search->places, reg, 0, pc, CAST_HOLDER | CAST_TARGET, &at)))
		return (struct cast_value){ .type = place->type, .roles = place->roles };
	if (cast_values_are_fresh(search, known, pc) && known->type && !(known->roles & CAST_VOID))
		return (struct cast_value){ .type = known->type,
					    .roles = known->roles,
					    .inner = known->inner };
	return (struct cast_value){ 0 };
}

// Describes the pointer that an instruction loads from a struct: it has its declared type, and may lead to a container.
static struct cast_value load_member(struct cast_search *search, const struct code_move *move,
				     uint64_t pc)
{
	struct cast_value holder = struct_at(search, move->base, pc), result = { 0 };
	struct cast_member member;

	if (!holder.type && move->index != MOVE_NO_REGISTER)
		holder = struct_at(search, move->index, pc);
	if (!holder.type || !find_inner(&holder, move->offset, &member))
		return result;
	result.type = search->visitor->member(search->visitor->context, holder.type, member.offset);
	if (!result.type)
		return result;
	result.roles = (uint8_t)cast_search_roles(search, result.type);
	if (!move->is_indexed)
		result.container = (struct cast_container){ holder.type, member.offset, true };
	return result;
}

static void visit_copy(struct cast_search *search, const struct code_move *move, uint64_t pc)
{
	struct cast_value value = cast_values_get(search, move->base, pc);
	int64_t offset;

	if (move->value == MOVE_FRAME_POINTER && move->base == MOVE_STACK_POINTER)
		search->sets_frame_pointer = true;
	else if (cast_frame_has(search, move, pc, &offset))
		value = (struct cast_value){ .origin = { .source = FROM_FRAME, .offset = offset } };
	value.since = pc + move->length;
	value.twin = move->base;
	value.copied = search->values[move->base].since;
	cast_values_arrive_in(search, move->value, &value);
}

// The value of a pointer into a struct, which is of no type by itself.
static struct cast_value inside(const struct cast_value *base, int32_t offset)
{
	struct cast_member member;

	if (!base->type || (base->roles & CAST_VOID) || !find_inner(base, offset, &member))
		return (struct cast_value){ 0 };
	return (struct cast_value){ .type = base->type,
				    .inner = member.offset,
				    .roles = base->roles & CAST_HOLDER };
}

static void visit_load(struct cast_search *search, const struct code_move *move, uint64_t pc)
{
	uint64_t behind = pc + move->length;
	struct cast_value loaded = { 0 };
	int64_t offset;

	if (cast_frame_has(search, move, pc, &offset)) {
		loaded = cast_frame_load(search, offset, pc);
	} else {
		loaded = load_member(search, move, pc);
		if (visit_members(search, move, pc, &loaded.origin.member))
			loaded.origin.source = FROM_MEMBER;
	}
	if (move->is_sum)
		loaded = inside(&loaded, 0);
	loaded.since = behind;
	cast_values_arrive_in(search, move->value, &loaded);
}

// A pointer in static memory is loaded.
static void load_variable(struct cast_search *search, const struct code_move *move, uint64_t pc)
{
	const struct code_cast_visitor *visitor = search->visitor;
	struct cast_value value = { .since = pc + move->length,
				    .container = { 0, move->target, true } };

	value.type = visitor->variable(visitor->context, move->target);
	value.roles = value.type ? (uint8_t)cast_search_roles(search, value.type) : 0;
	if (find_static_member(search, move->target, &value.origin.member))
		value.origin.source = FROM_MEMBER;
	cast_values_arrive_in(search, move->value, &value);
}

static void store_variable(struct cast_search *search, const struct code_move *move, uint64_t pc)
{
	struct cast_member member;

	if (find_static_member(search, move->target, &member))
		visit_store(search, move, pc, &member);
}

// The address of static memory: that of a struct, or in one.
static void take_variable(struct cast_search *search, const struct code_move *move, uint64_t pc)
{
	struct cast_value value = { .since = pc + move->length,
				    .container = { 0, move->target, false } };
	struct cast_member member;

	if (move->is_absolute && !search->visitor->is_fixed) {
		value = (struct cast_value){ 0 };
	} else if (find_static_member(search, move->target, &member)) {
		value.type = member.holder;
		value.inner = member.offset;
		value.roles = CAST_HOLDER;
	}
	search->values[move->value] = value;
}

// True if a register is a variable, whose type tells what it leads to, whatever the memory there is declared to be.
static bool is_variable(const struct cast_search *search, uint8_t reg, uint64_t pc)
{
	uint32_t at = 0;

	return cast_places_next(&search->places, reg, 0, pc, CAST_HOLDER | CAST_TARGET, &at);
}

// Does what an instruction does with static memory if it is at a constant from an address that a register has, as all of it is
// where instructions have no room for whole addresses. @return false: it is not
static bool visit_static(struct cast_search *search, const struct code_move *move, uint64_t pc)
{
	const struct cast_value *base = &search->values[move->base];
	const struct cast_container *at = &base->container;
	struct code_move result = *move;

	if (move->is_indexed || move->is_sum || !cast_values_are_fresh(search, base, pc) ||
	    at->holder || !at->at || at->is_pointer || is_variable(search, move->base, pc))
		return false;
	result.target = at->at + (uint64_t)(int64_t)move->offset;
	if (move->kind == MOVE_LOAD)
		load_variable(search, &result, pc);
	else if (move->kind == MOVE_STORE)
		store_variable(search, &result, pc);
	else
		take_variable(search, &result, pc);
	return true;
}

static void visit_address(struct cast_search *search, const struct code_move *move, uint64_t pc)
{
	struct cast_value value = { 0 }, base;
	int64_t offset;

	if (move->offset == 0 && !move->is_indexed) {
		visit_copy(search, move, pc);
		return;
	}
	if (visit_static(search, move, pc))
		return;
	if (cast_frame_has(search, move, pc, &offset)) {
		value.origin = (struct cast_origin){ .source = FROM_FRAME, .offset = offset };
	} else {
		base = struct_at(search, move->base, pc);
		if (!base.type && move->index != MOVE_NO_REGISTER)
			base = struct_at(search, move->index, pc);
		value = inside(&base, move->offset);
	}
	value.since = pc + move->length;
	search->values[move->value] = value;
}

// An index of structs, which is multiplied by their size, is added to what leads to the first one, or the other way.
static void visit_sum(struct cast_search *search, const struct code_move *move, uint64_t pc)
{
	struct cast_value base = struct_at(search, move->base, pc);
	struct cast_value value;

	if (!base.type)
		base = struct_at(search, move->value, pc);
	value = inside(&base, 0);
	value.since = pc + move->length;
	search->values[move->value] = value;
}

static void forget(struct cast_search *search, uint64_t changed)
{
	for (uint8_t reg = 0; changed && reg < MOVE_REGISTERS; reg++) {
		if (changed >> reg & 1)
			search->values[reg].since = 0;
	}
}

// A member is stored where a parameter leads to.
static void give_to_parameter(struct cast_search *search, const struct code_move *move, uint64_t pc)
{
	const struct cast_value *base = &search->values[move->base];
	struct cast_value value = cast_values_get(search, move->value, pc);
	struct cast_origin origin =
		cast_values_are_fresh(search, base, pc) ? base->origin : (struct cast_origin){ 0 };
	const struct cast_place *place;
	uint32_t at = 0;

	if (move->offset != 0 || move->is_indexed || value.origin.source != FROM_MEMBER)
		return;
	place = cast_places_next(&search->places, move->base, 0, pc, CAST_HOLDER, &at);
	if (place)
		origin = cast_values_parameter(place);
	if (origin.source == FROM_PARAMETER)
		cast_values_add_path(search, CAST_GIVES, search->entry, origin.reg,
				     &value.origin.member);
}

static void visit_memory(struct cast_search *search, const struct code_move *move, uint64_t pc)
{
	struct cast_member member;
	int64_t offset;

	if (visit_static(search, move, pc))
		return;
	if (move->kind == MOVE_LOAD) {
		visit_load(search, move, pc);
	} else if (cast_frame_has(search, move, pc, &offset)) {
		cast_frame_store(search, move, offset, pc);
	} else {
		give_to_parameter(search, move, pc);
		visit_members(search, move, pc, &member);
	}
}

void cast_instructions_visit(struct cast_search *search, const struct code_move *move, uint64_t pc,
			     const struct heap_dwarf_code_range *range)
{
	struct code_move second = *move;

	switch (move->kind) {
	case MOVE_OTHER:
		forget(search, move->changed);
		break;
	case MOVE_LOAD:
	case MOVE_STORE:
		visit_memory(search, move, pc);
		second.value = move->second;
		second.offset += 8;
		if (move->second != MOVE_NO_REGISTER)
			visit_memory(search, &second, pc);
		break;
	case MOVE_COPY:
		visit_copy(search, move, pc);
		break;
	case MOVE_VARIABLE:
		take_variable(search, move, pc);
		break;
	case MOVE_LOAD_VARIABLE:
		load_variable(search, move, pc);
		break;
	case MOVE_STORE_VARIABLE:
		store_variable(search, move, pc);
		break;
	case MOVE_ADDRESS:
		visit_address(search, move, pc);
		break;
	case MOVE_ADD:
		visit_sum(search, move, pc);
		break;
	case MOVE_BRANCH:
		break;
	case MOVE_JUMP:
		if (move->target >= range->low && move->target < range->high)
			break;
		cast_calls_visit(search, move, pc);
		cast_calls_return(search, pc + move->length);
		break;
	case MOVE_CALL:
		cast_calls_visit(search, move, pc);
		break;
	case MOVE_RETURN:
		cast_calls_return(search, pc);
		break;
	}
}
