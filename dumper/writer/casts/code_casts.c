// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/casts/code_casts.h"

#include "dumper/writer/casts/cast_instructions.h"
#include "dumper/writer/casts/cast_values.h"
#include "lib/base/bits.h"
#include "lib/base/cleanup.h"

#include <string.h>

enum {
	MAX_CODE = 1 << 20, // bytes of a function
	ROUNDS = 3,         // functions that a pointer may go through
};

// --- variables -------------------------------------------------------------------------------

// Gathers the variables of a function that have roles. @return all roles
static unsigned find_variables(struct cast_search *search, const struct heap_dwarf_code_unit *unit,
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
		if (!cast_search_worked(
			    search, heap_dwarf_code_describe(search->code, variable.place, &entry)))
			continue;
		variable.type = entry.type;
		variable.roles = (uint8_t)cast_search_roles(search, entry.type);
		all |= variable.roles;
		if (variable.roles)
			cast_search_worked(search, heap_array_append(&search->variables, variable));
	}
	return all;
}

// --- functions -------------------------------------------------------------------------------

// The parameters, as they are passed. Void pointers may be cast without an instruction.
static void visit_entry(struct cast_search *search)
{
	const struct cast_place *list = search->places.list.items;

	memset(search->values, 0, sizeof(search->values));
	search->sets_frame_pointer = false;
	search->given_count = 0;
	memset(search->late, 0, sizeof(search->late));
	for (size_t i = 0; i < MOVE_PARAMETERS; i++) {
		const uint8_t reg = move_parameter(i);
		const struct cast_origin origin = { .source = FROM_PARAMETER, .reg = reg };

		search->values[reg] =
			(struct cast_value){ .since = search->entry, .origin = origin };
		cast_values_arrive_at(search, &origin, reg, 0, search->entry);
	}
	for (size_t i = 0; i < search->places.list.count && !search->error; i++) {
		const struct cast_origin origin = cast_values_parameter(&list[i]);
		uint8_t reg = list[i].reg;

		if (origin.source == FROM_NOWHERE || !(list[i].roles & CAST_VOID))
			continue;
		for (uint32_t j = search->places.first[reg]; j < search->places.first[reg + 1];
		     j++) {
			if ((list[j].roles & CAST_TARGET) && list[j].low < list[i].high &&
			    list[i].low < list[j].high && list[j].offset == list[i].offset)
				cast_values_arrive(search, &origin, list[j].type);
		}
	}
}

static bool read_code(struct cast_search *search, const struct heap_dwarf_code_range *range)
{
	uint64_t size = range->high - range->low;

	search->bytes.count = 0;
	if (size > MAX_CODE ||
	    !cast_search_worked(search, heap_array_reserve(&search->bytes, size)) ||
	    !search->visitor->read(search->visitor->context, range->low, search->bytes.items, size))
		return false;
	search->bytes.count = size;
	return true;
}

// Finds out where code of a range jumps to in it. @return false without memory
static bool find_targets(struct cast_search *search, const struct heap_dwarf_code_range *range)
{
	size_t size = search->bytes.count;

	if (!cast_search_worked(search, heap_array_reserve(&search->targets, size / 8 + 1)))
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

static void visit_code(struct cast_search *search, const struct heap_dwarf_code_range *range)
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
		cast_instructions_visit(search, &move, pc, range);
		at += move.length;
		cast_values_arrive_late(search, range->low + at);
		if (move.is_end)
			search->block = range->low + at;
	}
}

// True if code calls a function of whose paths the last round has found some.
static bool calls_paths(const struct cast_search *search, const struct heap_dwarf_code_range *range)
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
static bool is_wanted(struct cast_search *search, const struct heap_dwarf_code_unit *unit,
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
static uint64_t declared_result(struct cast_search *search, uint64_t place)
{
	struct heap_dwarf_description entry;

	if (!place ||
	    !cast_search_worked(search, heap_dwarf_code_describe(search->code, place, &entry)))
		return 0;
	return entry.type;
}

// @return false without memory
static bool clear_origins(struct cast_search *search)
{
	size_t size = search->variables.count * sizeof(*search->origins.items);

	if (!cast_search_worked(search,
				heap_array_reserve(&search->origins, search->variables.count + 1)))
		return false;
	if (size > 0)
		memset(search->origins.items, 0, size);
	return true;
}

static void visit_function(struct cast_search *search, const struct heap_dwarf_code_unit *unit,
			   const struct heap_dwarf_code_scope *scope)
{
	const struct heap_dwarf_code_range *ranges = &unit->ranges[scope->first_range];
	unsigned roles;

	search->entry = scope->range_count ? ranges[0].low : 0;
	if (!search->entry || !is_wanted(search, unit, scope))
		return;
	roles = find_variables(search, unit, scope);
	if (search->paths.round == 0) {
		cast_search_worked(search, cast_results_add_function(&search->results,
								     search->entry, scope->place));
		if (!(roles & CAST_TARGET))
			return;
	}
	if (!clear_origins(search) ||
	    !cast_search_worked(search,
				cast_places_read(&search->places, search->locations, scope->place,
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
	struct cast_search *search = context;

	for (uint32_t i = 0; i < unit->scope_count && !search->error; i++) {
		if (unit->scopes[i].kind == HEAP_DWARF_CODE_FUNCTION)
			visit_function(search, unit, &unit->scopes[i]);
	}
	return !search->error && !search->visitor->is_late(search->visitor->context);
}

// --- results ---------------------------------------------------------------------------------

// The member keeps what a function returns: by its declaration, or else by what it was seen to return.
static void visit_result(struct cast_search *search, const struct cast_member *member,
			 uint64_t function, int depth)
{
	uint64_t declared = declared_result(search, cast_results_place(&search->results, function));
	const struct cast_result *results;
	size_t count;

	if (cast_search_roles(search, declared) & CAST_TARGET) {
		cast_search_visit(search, member, declared);
		return;
	}
	results = cast_results_find(&search->results, function, &count);
	for (size_t i = 0; i < count; i++) {
		if (results[i].type)
			cast_search_visit(search, member, results[i].type);
		else if (depth > 0)
			visit_result(search, member, results[i].callee, depth - 1);
	}
}

static void visit_results(struct cast_search *search)
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
	CLEANUP(cast_search_deinit) struct cast_search search = { .visitor = visitor };
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
