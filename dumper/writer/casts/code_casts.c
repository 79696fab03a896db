// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/casts/code_casts.h"

#include "dumper/writer/casts/cast_paths.h"
#include "dumper/writer/casts/cast_places.h"
#include "dumper/writer/casts/cast_results.h"
#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/base/hash_table.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_CODE = 1 << 20, // bytes of a function
	FRESH = 32, // bytes of code behind a load until which its value is known, wherever code comes from
	ROUNDS = 3,     // functions that a pointer may go through
	LATE = 2,       // instructions behind a value until which a variable begins to be it
	MAX_GIVEN = 64, // places in a frame that functions have stored members in
};

// Where a value is from.
enum source {
	FROM_NOWHERE,
	FROM_MEMBER,
	FROM_PARAMETER, // of the function itself
	FROM_CALL,      // what a function has returned
	FROM_GIVEN,     // or has stored where a parameter leads to
	FROM_FRAME,     // an address in the frame
};

struct origin {
	enum source source;
	struct cast_member member;       // FROM_MEMBER
	uint64_t function;               // FROM_CALL, FROM_GIVEN
	int64_t offset;                  // FROM_FRAME: as variables there have it
	uint8_t reg;                     // FROM_PARAMETER, FROM_GIVEN
	struct cast_container container; // FROM_CALL, FROM_GIVEN: that the function got
};

// The value that the last instruction has put into a register.
struct value {
	uint64_t since; // address behind that instruction; 0: nothing
	uint64_t type;  // of the variable or member that it is, if that has roles
	uint32_t inner; // how far behind the start of what it would lead to it does
	uint8_t roles;
	struct origin origin;
	struct cast_container
		container; // that static memory is, or a pointer there or in a struct leads to
	uint64_t copied;   // since when the register has its value that this is a copy of; 0: none
	uint8_t twin;      // that register
};

// A register whose value may become a variable some instructions later than it comes there.
struct late {
	uint64_t since; // of the value
	uint8_t reg;
	uint8_t left; // instructions
};

// What a function has stored in a place in the frame.
struct given {
	int64_t offset;
	struct origin origin; // FROM_GIVEN
};

struct known_role {
	uint64_t type;
	unsigned roles;
};

struct search {
	const struct code_cast_visitor *visitor;
	struct heap_dwarf_code *code;
	struct heap_dwarf_locations *locations;
	struct HEAP_ARRAY(struct known_role) roles;
	struct heap_hash_table by_type;
	struct cast_paths paths;
	struct cast_results results;
	// These belong to the function that is looked at.
	uint64_t entry;
	struct HEAP_ARRAY(struct cast_variable) variables;
	struct cast_places places;
	struct HEAP_ARRAY(struct origin) origins; // [variables] of what void pointers were set to
	bool sets_frame_pointer;                  // as far as it has been looked at
	struct value values[MOVE_REGISTERS];
	struct given given[MAX_GIVEN]; // [given_count]
	uint32_t given_count;
	struct late late[LATE]; // the values before the last ones
	uint32_t next_late;
	struct cast_container container; // that the call which is looked at hands to the function
	struct HEAP_ARRAY(uint8_t) bytes;
	struct HEAP_ARRAY(uint8_t) targets; // bits.h: bytes that code jumps to
	uint64_t block;                     // where the last code began that nothing jumps into
	struct heap_error *error;           // no memory, or the visitor's
};

static void release(struct search *search)
{
	heap_array_deinit(&search->roles);
	heap_hash_table_deinit(&search->by_type);
	cast_paths_deinit(&search->paths);
	cast_results_deinit(&search->results);
	heap_array_deinit(&search->variables);
	cast_places_deinit(&search->places);
	heap_array_deinit(&search->origins);
	heap_array_deinit(&search->bytes);
	heap_array_deinit(&search->targets);
}

// Damage costs the function that it is in.
static bool worked(struct search *search, struct heap_error *error)
{
	if (error && heap_error_code(error) != HEAP_ERROR_FORMAT && !search->error)
		search->error = error;
	else
		heap_error_destroy(error);
	return !error;
}

// --- variables -------------------------------------------------------------------------------

static unsigned find_roles(struct search *search, uint64_t type)
{
	uint64_t hash = heap_hash_u64(type);
	uint32_t found =
		heap_hash_find(&search->by_type, hash, i, search->roles.items[i].type == type);
	unsigned roles;

	if (found != HEAP_HASH_NONE)
		return search->roles.items[found].roles;
	roles = type ? search->visitor->role(search->visitor->context, type) : 0;
	if (!worked(search, heap_hash_add(&search->by_type, hash, (uint32_t)search->roles.count)) ||
	    !worked(search,
		    heap_array_append(&search->roles, ((struct known_role){ type, roles }))))
		return 0;
	return roles;
}

// Gathers the variables of a function that have roles. @return all roles
static unsigned find_variables(struct search *search, const struct heap_dwarf_code_unit *unit,
			       const struct heap_dwarf_code_scope *scope)
{
	unsigned all = 0;

	search->variables.count = 0;
	for (uint32_t i = scope->first_variable; i < scope->end_variable && !search->error; i++) {
		const struct heap_dwarf_code_scope *own = &unit->scopes[unit->variables[i].scope];
		struct cast_variable variable = { .place = unit->variables[i].place };
		struct heap_dwarf_description entry;

		if (own != scope && own->range_count > 0) {
			variable.ranges = &unit->ranges[own->first_range];
			variable.range_count = own->range_count;
		}
		if (!worked(search, heap_dwarf_code_describe(search->code, variable.place, &entry)))
			continue;
		variable.type = entry.type;
		variable.roles = (uint8_t)find_roles(search, entry.type);
		all |= variable.roles;
		if (variable.roles)
			worked(search, heap_array_append(&search->variables, variable));
	}
	return all;
}

// --- what comes where ------------------------------------------------------------------------

static void visit(struct search *search, const struct cast_member *member, uint64_t target)
{
	if (!search->error)
		search->error = search->visitor->visit(
			search->visitor->context,
			&(struct code_cast){ member->holder, target, member->offset,
					     member->is_element, member->container });
}

static bool is_known(const struct cast_container *container)
{
	return container->holder != 0 || container->at != 0;
}

// A member on a path to or from a function that gets a container. The innermost container counts.
static struct cast_member within(const struct cast_member *member,
				 const struct cast_container *container)
{
	struct cast_member result = *member;

	if (!is_known(&result.container))
		result.container = *container;
	return result;
}

// The members that a path leads to or from are cast to the target.
static void visit_paths(struct search *search, enum cast_path_kind kind, uint64_t function,
			uint8_t reg, const struct cast_container *container, uint64_t target)
{
	const struct cast_end end = { function, (uint8_t)kind, reg };
	size_t count;
	const struct cast_path *paths = cast_paths_find(&search->paths, &end, &count);

	for (size_t i = 0; i < count; i++) {
		struct cast_member member = within(&paths[i].member, container);

		visit(search, &member, target);
	}
}

static void add_path(struct search *search, enum cast_path_kind kind, uint64_t function,
		     uint8_t reg, const struct cast_member *member)
{
	const struct cast_end end = { function, (uint8_t)kind, reg };

	worked(search, cast_paths_add(&search->paths, &end, member));
}

// The paths of a function go on as those with another end.
static void pass_paths(struct search *search, const struct cast_end *from,
		       const struct cast_end *end, const struct cast_container *container)
{
	size_t count;
	size_t first =
		(size_t)(cast_paths_find(&search->paths, from, &count) - search->paths.list.items);

	for (size_t i = first; i < first + count; i++) {
		struct cast_member member = within(&search->paths.list.items[i].member, container);

		worked(search, cast_paths_add(&search->paths, end, &member));
	}
}

// A value comes into a variable of a type.
static void arrive(struct search *search, const struct origin *origin, uint64_t target)
{
	if (origin->source == FROM_MEMBER)
		visit(search, &origin->member, target);
	else if (origin->source == FROM_PARAMETER)
		visit_paths(search, CAST_TAKES, search->entry, origin->reg, &origin->container,
			    target);
	else if (origin->source == FROM_CALL)
		visit_paths(search, CAST_RETURNS, origin->function, MOVE_RESULT, &origin->container,
			    target);
	else if (origin->source == FROM_GIVEN)
		visit_paths(search, CAST_GIVES, origin->function, origin->reg, &origin->container,
			    target);
}

// A value comes into the variables that a place is.
static void arrive_at(struct search *search, const struct origin *origin, uint8_t reg,
		      int64_t offset, uint64_t pc)
{
	const struct cast_place *place;
	uint32_t at = 0;

	while (origin->source != FROM_NOWHERE &&
	       (place = cast_places_next(&search->places, reg, offset, pc, CAST_TARGET | CAST_VOID,
					 &at))) {
		if (place->roles & CAST_TARGET)
			arrive(search, origin, place->type);
		else
			search->origins.items[place->variable] = *origin;
	}
}

// A value comes into a register, and into the variables that this is now, or soon.
static void arrive_in(struct search *search, uint8_t reg, const struct value *value)
{
	search->values[reg] = *value;
	arrive_at(search, &value->origin, reg, 0, value->since);
	if (value->origin.source == FROM_NOWHERE)
		return;
	search->late[search->next_late] = (struct late){ value->since, reg, LATE };
	search->next_late = (search->next_late + 1) % LATE;
}

// Values that are still where they came become variables at an instruction.
static void arrive_late(struct search *search, uint64_t pc)
{
	for (size_t i = 0; i < LATE; i++) {
		struct late *late = &search->late[i];
		const struct origin origin = search->values[late->reg].origin;

		if (late->left == 0 || pc <= late->since)
			continue;
		late->left--;
		if (search->values[late->reg].since == late->since)
			arrive_at(search, &origin, late->reg, 0, pc);
	}
}

static struct origin parameter_of(const struct cast_place *place)
{
	return (struct origin){ .source = place->parameter ? FROM_PARAMETER : FROM_NOWHERE,
				.reg = (uint8_t)(place->parameter - 1) };
}

// What a void pointer was set to, or else the parameter that it is.
static struct origin origin_of(const struct search *search, const struct cast_place *place)
{
	const struct origin *set = &search->origins.items[place->variable];

	return set->source != FROM_NOWHERE ? *set : parameter_of(place);
}

// Nothing that changes a register is between: it is forgotten then. But code may come from elsewhere.
static bool is_fresh(const struct search *search, const struct value *value, uint64_t pc)
{
	return value->since && pc >= value->since &&
	       (pc - value->since <= FRESH || value->since >= search->block);
}

// A copy is the variable that the register begins to be which it was copied from.
static void note_twin(const struct search *search, uint64_t pc, struct value *value)
{
	const struct cast_place *place;
	uint32_t at = 0;

	if (value->copied == 0 || value->roles != 0 ||
	    search->values[value->twin].since != value->copied)
		return;
	place = cast_places_next(&search->places, value->twin, 0, pc, CAST_TARGET, &at);
	if (!place)
		return;
	value->type = place->type;
	value->roles = place->roles;
}

// The value of a register: the variable that it is, or what the instructions before have put there.
static struct value value_of(const struct search *search, uint8_t reg, uint64_t pc)
{
	const struct value *known = &search->values[reg];
	struct value result = is_fresh(search, known, pc) ? *known : (struct value){ .since = pc };
	const struct cast_place *place;
	uint32_t at = 0;

	note_twin(search, pc, &result);
	while ((place = cast_places_next(&search->places, reg, 0, pc, CAST_TARGET | CAST_VOID,
					 &at))) {
		if (place->roles & CAST_TARGET) {
			result.type = place->type;
			result.roles = place->roles;
			result.inner = 0;
		} else if (result.origin.source == FROM_NOWHERE ||
			   result.origin.source == FROM_PARAMETER) {
			result.origin = origin_of(search, place);
		}
	}
	return result;
}

// --- instructions ----------------------------------------------------------------------------

// A pointer is put into a member.
static void visit_store(struct search *search, const struct code_move *move, uint64_t pc,
			const struct cast_member *member)
{
	struct value value = value_of(search, move->value, pc);
	const struct cast_place *place;
	bool has_type = false;
	uint32_t at = 0;

	while ((place = cast_places_next(&search->places, move->value, 0, pc, CAST_TARGET, &at))) {
		visit(search, member, place->type);
		has_type = true;
	}
	if (has_type)
		return;
	if (value.roles & CAST_TARGET)
		visit(search, member, value.type);
	else if (value.origin.source == FROM_PARAMETER)
		add_path(search, CAST_STORES, search->entry, value.origin.reg, member);
	else if (value.origin.source == FROM_CALL && value.origin.function)
		add_path(search, CAST_KEEPS, value.origin.function, MOVE_RESULT, member);
}

// An instruction reads or writes a member of a struct. What it stores comes there.
static void visit_member(struct search *search, const struct code_move *move, uint64_t pc,
			 uint64_t holder, struct cast_member *member)
{
	member->holder = holder;
	if (move->kind == MOVE_STORE)
		visit_store(search, move, pc, member);
}

// Likewise an element of the array that a member leads to.
static void visit_element(struct search *search, const struct code_move *move, uint64_t pc,
			  const struct origin *array, struct cast_member *member)
{
	if (array->source != FROM_MEMBER || array->member.is_element)
		return;
	*member = array->member;
	member->is_element = true;
	visit_member(search, move, pc, array->member.holder, member);
}

// The member at an offset of what a value leads into.
static bool find_inner(const struct value *value, int32_t offset, struct cast_member *member)
{
	int64_t sum = (int64_t)value->inner + offset;

	*member = (struct cast_member){ .offset = (uint32_t)sum };
	return sum >= 0 && sum <= UINT32_MAX;
}

// Finds the member that an instruction reads or writes by a register, of each struct that this may lead to, and has what is
// stored come there. @return false: it is none
static bool visit_members_of(struct search *search, const struct code_move *move, uint8_t base,
			     uint64_t pc, struct cast_member *member)
{
	const struct value *value = &search->values[base];
	const struct cast_place *place;
	uint32_t at = 0;

	*member = (struct cast_member){ .offset = (uint32_t)move->offset };
	while (move->offset >= 0 &&
	       (place = cast_places_next(&search->places, base, 0, pc, CAST_HOLDER, &at)))
		visit_member(search, move, pc, place->type, member);
	if (member->holder || !is_fresh(search, value, pc) ||
	    !find_inner(value, move->offset, member))
		return member->holder != 0;
	if (value->roles & CAST_HOLDER)
		visit_member(search, move, pc, value->type, member);
	else if (value->inner == 0)
		visit_element(search, move, pc, &value->origin, member);
	return member->holder != 0;
}

// Likewise, where an index that counts bytes may as well be the base.
static bool visit_members(struct search *search, const struct code_move *move, uint64_t pc,
			  struct cast_member *member)
{
	return visit_members_of(search, move, move->base, pc, member) ||
	       (move->index != MOVE_NO_REGISTER &&
		visit_members_of(search, move, move->index, pc, member));
}

// The struct that a register leads to or into; its type is 0: to none.
static struct value struct_at(const struct search *search, uint8_t reg, uint64_t pc)
{
	const struct value *known = &search->values[reg];
	const struct cast_place *place;
	uint32_t at = 0;

	if ((place = cast_places_next(&search->places, reg, 0, pc, CAST_HOLDER | CAST_TARGET, &at)))
		return (struct value){ .type = place->type, .roles = place->roles };
	if (is_fresh(search, known, pc) && known->type && !(known->roles & CAST_VOID))
		return (struct value){ .type = known->type,
				       .roles = known->roles,
				       .inner = known->inner };
	return (struct value){ 0 };
}

// What an instruction loads from a struct: a pointer has the type that it is declared with, and may lead to a container.
static struct value load_member(struct search *search, const struct code_move *move, uint64_t pc)
{
	struct value holder = struct_at(search, move->base, pc), result = { 0 };
	struct cast_member member;

	if (!holder.type && move->index != MOVE_NO_REGISTER)
		holder = struct_at(search, move->index, pc);
	if (!holder.type || !find_inner(&holder, move->offset, &member))
		return result;
	result.type = search->visitor->member(search->visitor->context, holder.type, member.offset);
	if (!result.type)
		return result;
	result.roles = (uint8_t)find_roles(search, result.type);
	if (!move->is_indexed)
		result.container = (struct cast_container){ holder.type, member.offset, true };
	return result;
}

static struct cast_place *find_in_frame(const struct search *search, int64_t offset, uint64_t pc)
{
	uint32_t at = 0;

	return cast_places_next(&search->places, CAST_IN_FRAME, offset, pc, ~0U, &at);
}

// Where in the frame an address is, as an offset that variables there have.
//
// Code that is optimized has any pointer in the frame pointer's register, and the stack pointer leads to the frame.
//
// @return false: it is not there
static bool is_in_frame(const struct search *search, const struct code_move *move, uint64_t pc,
			int64_t *offset)
{
	const struct cast_places *places = &search->places;
	const struct code_cast_visitor *visitor = search->visitor;
	int64_t distance;

	*offset = move->offset;
	if (!places->has_frame || move->is_indexed)
		return false;
	if (move->base == MOVE_FRAME_POINTER)
		return !places->is_on_stack &&
		       (search->sets_frame_pointer || !places->is_framed_by_code);
	if (move->base != MOVE_STACK_POINTER || places->is_on_stack)
		return move->base == MOVE_STACK_POINTER;
	if (!places->is_framed_by_code ||
	    !visitor->frame(visitor->context, pc, move->base, &distance))
		return false;
	*offset += distance + places->frame_base;
	return true;
}

// Notes that a function has stored members at an offset in the frame. There they come into the variables.
static void give(struct search *search, int64_t offset, const struct origin *origin, uint64_t pc)
{
	uint32_t at = 0;

	arrive_at(search, origin, CAST_IN_FRAME, offset, pc);
	while (at < search->given_count && search->given[at].offset != offset)
		at++;
	if (at == MAX_GIVEN)
		return;
	search->given[at] = (struct given){ offset, *origin };
	search->given_count += at == search->given_count;
}

// What a function has stored at an offset in the frame.
static struct origin given_at(const struct search *search, int64_t offset)
{
	for (uint32_t i = 0; i < search->given_count; i++) {
		if (search->given[i].offset == offset)
			return search->given[i].origin;
	}
	return (struct origin){ 0 };
}

static struct value load_from_frame(const struct search *search, int64_t offset, uint64_t pc)
{
	const struct cast_place *place = find_in_frame(search, offset, pc);
	struct value result = { .origin = given_at(search, offset) };

	if (!place)
		return result;
	result.type = place->type;
	result.roles = place->roles;
	if (result.origin.source == FROM_NOWHERE)
		result.origin = origin_of(search, place);
	return result;
}

// Into a variable in the frame: also of the parameters, at first.
static void store_in_frame(struct search *search, const struct code_move *move, int64_t offset,
			   uint64_t pc)
{
	struct value value = value_of(search, move->value, pc);
	struct cast_place *place = find_in_frame(search, offset, pc);

	if (!place)
		return;
	if (value.origin.source == FROM_PARAMETER && (place->roles & (CAST_VOID | CAST_HOLDER)))
		place->parameter = (uint8_t)(value.origin.reg + 1);
	else
		arrive_at(search, &value.origin, CAST_IN_FRAME, offset, pc);
}

static void visit_copy(struct search *search, const struct code_move *move, uint64_t pc)
{
	struct value value = value_of(search, move->base, pc);
	int64_t offset;

	if (move->value == MOVE_FRAME_POINTER && move->base == MOVE_STACK_POINTER)
		search->sets_frame_pointer = true;
	else if (is_in_frame(search, move, pc, &offset))
		value = (struct value){ .origin = { .source = FROM_FRAME, .offset = offset } };
	value.since = pc + move->length;
	value.twin = move->base;
	value.copied = search->values[move->base].since;
	arrive_in(search, move->value, &value);
}

// What leads into a struct: it is of no type by itself.
static struct value inside(const struct value *base, int32_t offset)
{
	struct cast_member member;

	if (!base->type || (base->roles & CAST_VOID) || !find_inner(base, offset, &member))
		return (struct value){ 0 };
	return (struct value){ .type = base->type,
			       .inner = member.offset,
			       .roles = base->roles & CAST_HOLDER };
}

static void visit_load(struct search *search, const struct code_move *move, uint64_t pc)
{
	uint64_t behind = pc + move->length;
	struct value loaded = { 0 };
	int64_t offset;

	if (is_in_frame(search, move, pc, &offset)) {
		loaded = load_from_frame(search, offset, pc);
	} else {
		loaded = load_member(search, move, pc);
		if (visit_members(search, move, pc, &loaded.origin.member))
			loaded.origin.source = FROM_MEMBER;
	}
	if (move->is_sum)
		loaded = inside(&loaded, 0);
	loaded.since = behind;
	arrive_in(search, move->value, &loaded);
}

// Static memory, or a pointer that is there.
static void visit_variable(struct search *search, const struct code_move *move, uint64_t pc)
{
	const struct code_cast_visitor *visitor = search->visitor;
	bool is_pointer = move->kind == MOVE_LOAD_VARIABLE;
	struct value value = { .since = pc + move->length,
			       .container = { 0, move->target, is_pointer } };

	if (is_pointer)
		value.type = visitor->variable(visitor->context, move->target);
	value.roles = value.type ? (uint8_t)find_roles(search, value.type) : 0;
	search->values[move->value] = value;
}

static void visit_address(struct search *search, const struct code_move *move, uint64_t pc)
{
	struct value value = { 0 }, base;
	int64_t offset;

	if (move->offset == 0 && !move->is_indexed) {
		visit_copy(search, move, pc);
		return;
	}
	if (is_in_frame(search, move, pc, &offset)) {
		value.origin = (struct origin){ .source = FROM_FRAME, .offset = offset };
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
static void visit_sum(struct search *search, const struct code_move *move, uint64_t pc)
{
	struct value base = struct_at(search, move->base, pc);
	struct value value;

	if (!base.type)
		base = struct_at(search, move->value, pc);
	value = inside(&base, 0);
	value.since = pc + move->length;
	search->values[move->value] = value;
}

// What a value leads to as a container: what static memory, or a member, leads to, or what is in a struct.
static struct cast_container container_of(const struct value *value)
{
	const struct cast_member *member = &value->origin.member;

	if (is_known(&value->container))
		return value->container;
	if (value->origin.source == FROM_MEMBER && !member->is_element)
		return (struct cast_container){ member->holder, member->offset, true };
	if (value->type && value->inner > 0)
		return (struct cast_container){ value->type, value->inner, false };
	return (struct cast_container){ 0 };
}

// The first parameter that leads to a container: functions of these get it before what goes in.
static struct cast_container find_container(const struct search *search, uint64_t pc)
{
	for (size_t i = 0; i < MOVE_PARAMETERS; i++) {
		const struct value *value = &search->values[move_parameter(i)];
		struct cast_container result = container_of(value);

		if (is_fresh(search, value, pc) && is_known(&result))
			return result;
	}
	return (struct cast_container){ 0 };
}

// A parameter of this function is handed on.
static void pass_parameter(struct search *search, uint64_t function, uint8_t reg, uint8_t own)
{
	const enum cast_path_kind kinds[] = { CAST_STORES, CAST_GIVES };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const struct cast_end from = { function, (uint8_t)kinds[i], reg };
		const struct cast_end end = { search->entry, (uint8_t)kinds[i], own };

		pass_paths(search, &from, &end, &search->container);
	}
}

// What a function has returned, or given, is handed to one that keeps it, or takes it.
static void pass_result(struct search *search, const struct origin *origin, uint64_t function,
			uint8_t reg)
{
	bool is_given = origin->source == FROM_GIVEN;
	const struct cast_end from = { origin->function, is_given ? CAST_GIVES : CAST_RETURNS,
				       is_given ? origin->reg : MOVE_RESULT };
	const struct cast_end taker = { function, CAST_TAKES, reg };
	const struct cast_end keeper = { function, CAST_STORES, reg };
	const struct cast_end kept = { origin->function, CAST_KEEPS, MOVE_RESULT };

	if (!origin->function)
		return;
	pass_paths(search, &from, &taker, &origin->container);
	if (!is_given)
		pass_paths(search, &keeper, &kept, &search->container);
}

static void visit_parameter(struct search *search, uint64_t function, uint8_t reg, uint64_t pc)
{
	struct value value = value_of(search, reg, pc);

	if (value.roles & CAST_TARGET)
		visit_paths(search, CAST_STORES, function, reg, &search->container, value.type);
	else if (value.origin.source == FROM_MEMBER)
		add_path(search, CAST_TAKES, function, reg, &value.origin.member);
	else if (value.origin.source == FROM_PARAMETER)
		pass_parameter(search, function, reg, value.origin.reg);
	else if (value.origin.source == FROM_CALL || value.origin.source == FROM_GIVEN)
		pass_result(search, &value.origin, function, reg);
}

// A function may have stored members where a parameter has led to.
static void take_given(struct search *search, const struct value *parameter, uint64_t function,
		       uint8_t reg, uint64_t pc)
{
	const struct cast_end end = { function, CAST_GIVES, reg };
	const struct origin origin = { .source = FROM_GIVEN,
				       .function = function,
				       .reg = reg,
				       .container = search->container };
	size_t count;

	if (parameter->origin.source != FROM_FRAME)
		return;
	cast_paths_find(&search->paths, &end, &count);
	if (count > 0)
		give(search, parameter->origin.offset, &origin, pc);
}

static void visit_call(struct search *search, const struct code_move *move, uint64_t pc)
{
	uint64_t behind = pc + move->length;
	struct value result;

	search->container = find_container(search, pc);
	for (size_t i = 0; i < MOVE_PARAMETERS; i++) {
		uint8_t reg = move_parameter(i);

		if (move->target) {
			visit_parameter(search, move->target, reg, pc);
			if (is_fresh(search, &search->values[reg], pc))
				take_given(search, &search->values[reg], move->target, reg, behind);
		}
	}
	for (uint8_t reg = 0; reg < MOVE_REGISTERS; reg++) {
		if (move_is_lost(reg))
			search->values[reg].since = 0;
	}
	result = (struct value){ .since = behind,
				 .origin = { .source = FROM_CALL,
					     .function = move->target,
					     .container = search->container } };
	arrive_in(search, MOVE_RESULT, &result);
}

static void visit_return(struct search *search, uint64_t pc)
{
	const struct cast_end end = { search->entry, CAST_RETURNS, MOVE_RESULT };
	struct value result = value_of(search, MOVE_RESULT, pc);
	const struct origin *origin = &result.origin;

	if (result.roles & CAST_TARGET) {
		worked(search,
		       cast_results_add(&search->results,
					&(struct cast_result){ search->entry, result.type, 0 }));
	} else if (origin->source == FROM_MEMBER) {
		add_path(search, CAST_RETURNS, search->entry, MOVE_RESULT, &origin->member);
	} else if (origin->source == FROM_CALL && origin->function) {
		pass_paths(search,
			   &(struct cast_end){ origin->function, CAST_RETURNS, MOVE_RESULT }, &end,
			   &origin->container);
		worked(search, cast_results_add(&search->results,
						&(struct cast_result){ search->entry, 0,
								       origin->function }));
	}
}

static void forget(struct search *search, uint64_t changed)
{
	for (uint8_t reg = 0; changed && reg < MOVE_REGISTERS; reg++) {
		if (changed >> reg & 1)
			search->values[reg].since = 0;
	}
}

// A member is stored where a parameter leads to.
static void give_to_parameter(struct search *search, const struct code_move *move, uint64_t pc)
{
	const struct value *base = &search->values[move->base];
	struct value value = value_of(search, move->value, pc);
	struct origin origin = is_fresh(search, base, pc) ? base->origin : (struct origin){ 0 };
	const struct cast_place *place;
	uint32_t at = 0;

	if (move->offset != 0 || move->is_indexed || value.origin.source != FROM_MEMBER)
		return;
	place = cast_places_next(&search->places, move->base, 0, pc, CAST_HOLDER, &at);
	if (place)
		origin = parameter_of(place);
	if (origin.source == FROM_PARAMETER)
		add_path(search, CAST_GIVES, search->entry, origin.reg, &value.origin.member);
}

static void visit_memory(struct search *search, const struct code_move *move, uint64_t pc)
{
	struct cast_member member;
	int64_t offset;

	if (move->kind == MOVE_LOAD) {
		visit_load(search, move, pc);
	} else if (is_in_frame(search, move, pc, &offset)) {
		store_in_frame(search, move, offset, pc);
	} else {
		give_to_parameter(search, move, pc);
		visit_members(search, move, pc, &member);
	}
}

// @param range  of code that the instruction is in
static void visit_instruction(struct search *search, const struct code_move *move, uint64_t pc,
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
	case MOVE_LOAD_VARIABLE:
		visit_variable(search, move, pc);
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
		visit_call(search, move, pc);
		visit_return(search, pc + move->length);
		break;
	case MOVE_CALL:
		visit_call(search, move, pc);
		break;
	case MOVE_RETURN:
		visit_return(search, pc);
		break;
	}
}

// --- functions -------------------------------------------------------------------------------

// The parameters, as they are passed. Void pointers may be cast without an instruction.
static void visit_entry(struct search *search)
{
	const struct cast_place *list = search->places.list.items;

	memset(search->values, 0, sizeof(search->values));
	search->sets_frame_pointer = false;
	search->given_count = 0;
	memset(search->late, 0, sizeof(search->late));
	for (size_t i = 0; i < MOVE_PARAMETERS; i++) {
		const uint8_t reg = move_parameter(i);
		const struct origin origin = { .source = FROM_PARAMETER, .reg = reg };

		search->values[reg] = (struct value){ .since = search->entry, .origin = origin };
		arrive_at(search, &origin, reg, 0, search->entry);
	}
	for (size_t i = 0; i < search->places.list.count && !search->error; i++) {
		const struct origin origin = parameter_of(&list[i]);
		uint8_t reg = list[i].reg;

		if (origin.source == FROM_NOWHERE || !(list[i].roles & CAST_VOID))
			continue;
		for (uint32_t j = search->places.first[reg]; j < search->places.first[reg + 1];
		     j++) {
			if ((list[j].roles & CAST_TARGET) && list[j].low < list[i].high &&
			    list[i].low < list[j].high && list[j].offset == list[i].offset)
				arrive(search, &origin, list[j].type);
		}
	}
}

static bool read_code(struct search *search, const struct heap_dwarf_code_range *range)
{
	uint64_t size = range->high - range->low;

	search->bytes.count = 0;
	if (size > MAX_CODE || !worked(search, heap_array_reserve(&search->bytes, size)) ||
	    !search->visitor->read(search->visitor->context, range->low, search->bytes.items, size))
		return false;
	search->bytes.count = size;
	return true;
}

// Finds out where code of a range jumps to in it. @return false without memory
static bool find_targets(struct search *search, const struct heap_dwarf_code_range *range)
{
	size_t size = search->bytes.count;

	if (!worked(search, heap_array_reserve(&search->targets, size / 8 + 1)))
		return false;
	memset(search->targets.items, 0, size / 8 + 1);
	for (size_t at = 0; at < size;) {
		struct code_move move =
			move_decode(search->bytes.items + at, size - at, range->low + at);

		if ((move.kind == MOVE_JUMP || move.kind == MOVE_BRANCH) &&
		    move.target >= range->low && move.target - range->low < size)
			heap_bit_set(search->targets.items, move.target - range->low);
		at += move.length;
	}
	return true;
}

static void visit_code(struct search *search, const struct heap_dwarf_code_range *range)
{
	const uint8_t *code = search->bytes.items;

	if (!find_targets(search, range))
		return;
	search->block = range->low;

	for (size_t at = 0; at < search->bytes.count && !search->error &&
			    !search->visitor->is_late(search->visitor->context);) {
		uint64_t pc = range->low + at;
		struct code_move move = move_decode(code + at, search->bytes.count - at, pc);

		if (heap_bit_get(search->targets.items, at))
			search->block = pc;
		visit_instruction(search, &move, pc, range);
		at += move.length;
		arrive_late(search, range->low + at);
		if (move.is_end)
			search->block = range->low + at;
	}
}

// True if code calls a function of whose paths the last round has found some.
static bool calls_paths(const struct search *search, const struct heap_dwarf_code_range *range)
{
	const unsigned kinds = 1 << CAST_STORES | 1 << CAST_RETURNS | 1 << CAST_GIVES;

	for (size_t at = 0; at < search->bytes.count;) {
		struct code_move move = move_decode(search->bytes.items + at,
						    search->bytes.count - at, range->low + at);

		if (move.target && (move.kind == MOVE_CALL || move.kind == MOVE_JUMP) &&
		    cast_paths_have(&search->paths, move.target, kinds))
			return true;
		at += move.length;
	}
	return false;
}

// True if a round may find something in a function that the rounds before have not.
static bool is_wanted(struct search *search, const struct heap_dwarf_code_unit *unit,
		      const struct heap_dwarf_code_scope *scope)
{
	const struct heap_dwarf_code_range *ranges = &unit->ranges[scope->first_range];

	if (search->paths.round == 0)
		return true;
	if (cast_paths_have(&search->paths, search->entry, 1 << CAST_TAKES))
		return true;
	for (uint32_t i = 0; i < scope->range_count; i++) {
		if (read_code(search, &ranges[i]) && calls_paths(search, &ranges[i]))
			return true;
	}
	return false;
}

// The type that a function is declared to return; 0: none, or it is not known.
static uint64_t declared_result(struct search *search, uint64_t place)
{
	struct heap_dwarf_description entry;

	if (!place || !worked(search, heap_dwarf_code_describe(search->code, place, &entry)))
		return 0;
	return entry.type;
}

// @return false without memory
static bool clear_origins(struct search *search)
{
	size_t size = search->variables.count * sizeof(*search->origins.items);

	if (!worked(search, heap_array_reserve(&search->origins, search->variables.count + 1)))
		return false;
	if (size > 0)
		memset(search->origins.items, 0, size);
	return true;
}

static void visit_function(struct search *search, const struct heap_dwarf_code_unit *unit,
			   const struct heap_dwarf_code_scope *scope)
{
	const struct heap_dwarf_code_range *ranges = &unit->ranges[scope->first_range];
	unsigned roles;

	search->entry = scope->range_count ? ranges[0].low : 0;
	if (!search->entry || !is_wanted(search, unit, scope))
		return;
	roles = find_variables(search, unit, scope);
	if (search->paths.round == 0) {
		worked(search,
		       cast_results_add_function(&search->results, search->entry, scope->place));
		if (!(roles & CAST_TARGET))
			return;
	}
	if (!clear_origins(search) ||
	    !worked(search, cast_places_read(&search->places, search->locations, scope->place,
					     search->entry, search->variables.items,
					     search->variables.count)))
		return;
	visit_entry(search);
	for (uint32_t i = 0; i < scope->range_count && !search->error; i++) {
		if (read_code(search, &ranges[i]))
			visit_code(search, &ranges[i]);
	}
}

static bool visit_unit(void *context, const struct heap_dwarf_code_unit *unit)
{
	struct search *search = context;

	for (uint32_t i = 0; i < unit->scope_count && !search->error; i++) {
		if (unit->scopes[i].kind == HEAP_DWARF_CODE_FUNCTION)
			visit_function(search, unit, &unit->scopes[i]);
	}
	return !search->error && !search->visitor->is_late(search->visitor->context);
}

// --- results ---------------------------------------------------------------------------------

// The member keeps what a function returns: by its declaration, or else by what it was seen to return.
static void visit_result(struct search *search, const struct cast_member *member, uint64_t function,
			 int depth)
{
	uint64_t declared = declared_result(search, cast_results_place(&search->results, function));
	const struct cast_result *results;
	size_t count;

	if (find_roles(search, declared) & CAST_TARGET) {
		visit(search, member, declared);
		return;
	}
	results = cast_results_find(&search->results, function, &count);
	for (size_t i = 0; i < count; i++) {
		if (results[i].type)
			visit(search, member, results[i].type);
		else if (depth > 0)
			visit_result(search, member, results[i].callee, depth - 1);
	}
}

static void visit_results(struct search *search)
{
	cast_results_sort(&search->results);
	for (size_t i = 0; i < search->paths.known && !search->error &&
			   !search->visitor->is_late(search->visitor->context);
	     i++) {
		const struct cast_path *path = &search->paths.list.items[i];

		if (path->end.kind == CAST_KEEPS)
			visit_result(search, &path->member, path->end.function, ROUNDS - 1);
	}
}

struct heap_error *code_casts_visit(struct heap_dwarf_file *file,
				    const struct code_cast_visitor *visitor)
{
	CLEANUP(release) struct search search = { .visitor = visitor };
	bool goes_on = true;

	HEAP_TRY(heap_dwarf_file_code(file, &search.code));
	HEAP_TRY(heap_dwarf_file_locations(file, &search.locations));
	for (int i = 0; i < ROUNDS && goes_on && !search.error; i++) {
		HEAP_TRY(heap_dwarf_code_visit_units(search.code, visit_unit, &search));
		goes_on = cast_paths_end_round(&search.paths);
	}
	visit_results(&search);
	return search.error;
}
