// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_code_unit.h"

#include "lib/base/cleanup.h"
#include "lib/base/search.h"
#include "lib/dwarf/dwarf_ranges.h"
#include "lib/dwarf/dwarf_constants.h"
#include "lib/types/types_index.h"

#include <stdlib.h>

enum {
	NESTING_MAX = 1024, // DIEs inside each other; more is damage
};

// Whose children are being read.
struct level {
	uint32_t scope;  // innermost
	uint32_t opened; // by the DIE itself, or HEAP_DWARF_CODE_NONE
};

struct reading {
	const struct heap_dwarf_dies *dies;
	struct heap_dwarf_code_unit *unit;
	struct level levels[NESTING_MAX];
	unsigned depth;
	struct heap_error *error;
};

// The attributes of one DIE.
struct entry {
	struct heap_dwarf_extent extent;
	struct heap_dwarf_value call_pc;
	uint32_t call_file, call_line;
};

static void note(void *context, uint16_t name, const struct heap_dwarf_value *value)
{
	struct entry *entry = context;

	heap_dwarf_extent_note(&entry->extent, name, value);
	if (name == DW_AT_call_return_pc)
		entry->call_pc = *value;
	if (name == DW_AT_call_file)
		entry->call_file = value->number;
	if (name == DW_AT_call_line)
		entry->call_line = value->number;
}

static bool add_range(void *context, const struct heap_dwarf_range *range)
{
	struct reading *reading = context;
	struct heap_dwarf_code_unit *unit = reading->unit;

	reading->error = heap_types_grow(&unit->ranges, unit->range_count, 1, &unit->range_capacity,
					 sizeof(*unit->ranges));
	if (reading->error)
		return false;
	unit->ranges[unit->range_count++] =
		(struct heap_dwarf_code_range){ range->low, range->high, unit->scope_count };
	return true;
}

// @return its index; HEAP_DWARF_CODE_NONE if it is a function without code
static uint32_t add_scope(struct reading *reading, uint64_t place, enum heap_dwarf_code_kind kind,
			  const struct entry *entry)
{
	struct heap_dwarf_code_unit *unit = reading->unit;
	struct heap_dwarf_code_scope scope = {
		.place = place,
		.parent = reading->levels[reading->depth - 1].scope,
		.first_range = unit->range_count,
		.first_variable = unit->variable_count,
		.call_file = entry->call_file,
		.call_line = entry->call_line,
		.kind = kind,
	};

	if (kind == HEAP_DWARF_CODE_FUNCTION)
		scope.parent = HEAP_DWARF_CODE_NONE;
	heap_dwarf_extent_visit(reading->dies, &entry->extent, unit->base, add_range, reading);
	scope.range_count = unit->range_count - scope.first_range;
	// Abstract instances and declarations have no code, and nothing inside them has.
	if (reading->error || (kind == HEAP_DWARF_CODE_FUNCTION && !scope.range_count) ||
	    (kind != HEAP_DWARF_CODE_FUNCTION && scope.parent == HEAP_DWARF_CODE_NONE)) {
		unit->range_count = scope.first_range;
		return HEAP_DWARF_CODE_NONE;
	}
	reading->error = heap_types_grow(&unit->scopes, unit->scope_count, 1, &unit->scope_capacity,
					 sizeof(*unit->scopes));
	if (reading->error)
		return HEAP_DWARF_CODE_NONE;
	unit->scopes[unit->scope_count] = scope;
	return unit->scope_count++;
}

static void add_variable(struct reading *reading, uint64_t place, bool is_parameter)
{
	struct heap_dwarf_code_unit *unit = reading->unit;
	uint32_t scope = reading->levels[reading->depth - 1].scope;

	if (scope == HEAP_DWARF_CODE_NONE)
		return;
	reading->error = heap_types_grow(&unit->variables, unit->variable_count, 1,
					 &unit->variable_capacity, sizeof(*unit->variables));
	if (!reading->error)
		unit->variables[unit->variable_count++] =
			(struct heap_dwarf_code_variable){ place, scope, is_parameter };
}

// Before DWARF 5 a call's DW_AT_low_pc was what is DW_AT_call_return_pc now.
static void add_call(struct reading *reading, uint64_t place, const struct heap_dwarf_value *pc)
{
	struct heap_dwarf_code_unit *unit = reading->unit;
	struct heap_dwarf_extent extent = { .low = *pc };
	uint64_t address = heap_dwarf_extent_low(reading->dies, &extent);

	if (!address)
		return;
	reading->error = heap_types_grow(&unit->calls, unit->call_count, 1, &unit->call_capacity,
					 sizeof(*unit->calls));
	if (!reading->error)
		unit->calls[unit->call_count++] = (struct heap_dwarf_code_call){ address, place };
}

// @return the scope of the DIE's children
static struct level read_entry(struct reading *reading, uint64_t place, uint16_t tag,
			       const struct entry *entry)
{
	struct level level = { .scope = reading->levels[reading->depth - 1].scope,
			       .opened = HEAP_DWARF_CODE_NONE };

	switch (tag) {
	case DW_TAG_subprogram:
		level.opened = add_scope(reading, place, HEAP_DWARF_CODE_FUNCTION, entry);
		level.scope = level.opened;
		break;
	case DW_TAG_inlined_subroutine:
		level.opened = add_scope(reading, place, HEAP_DWARF_CODE_INLINED, entry);
		level.scope = level.opened;
		break;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		level.opened = add_scope(reading, place, HEAP_DWARF_CODE_BLOCK, entry);
		level.scope = level.opened;
		break;
	case DW_TAG_variable:
	case DW_TAG_formal_parameter:
		add_variable(reading, place, tag == DW_TAG_formal_parameter);
		break;
	case DW_TAG_call_site:
		add_call(reading, place, &entry->call_pc);
		break;
	case DW_TAG_GNU_call_site:
		add_call(reading, place, &entry->extent.low);
		break;
	case DW_TAG_subroutine_type:
		// Its parameters are nobody's variables.
		level.scope = HEAP_DWARF_CODE_NONE;
		break;
	}
	return level;
}

static void close_level(struct reading *reading)
{
	const struct level *level = &reading->levels[--reading->depth];
	struct heap_dwarf_code_unit *unit = reading->unit;

	if (level->opened == HEAP_DWARF_CODE_NONE)
		return;
	unit->scopes[level->opened].end = unit->scope_count;
	unit->scopes[level->opened].end_variable = unit->variable_count;
}

HEAP_MUST_CHECK
static struct heap_error *read_dies(struct reading *reading)
{
	const struct heap_dwarf_unit *unit = reading->dies->unit;
	struct heap_error *error = NULL;
	uint64_t place = unit->die, next;

	reading->levels[reading->depth++] =
		(struct level){ HEAP_DWARF_CODE_NONE, HEAP_DWARF_CODE_NONE };
	for (; !error && place < unit->end; place = next) {
		struct entry entry = { 0 };
		uint16_t tag;
		bool children;

		error = heap_dwarf_dies_visit(reading->dies, place, note, &entry, &tag, &children,
					      &next);
		if (error)
			break;
		if (!tag) {
			if (reading->depth > 1)
				close_level(reading);
			continue;
		}

		struct level level = read_entry(reading, place, tag, &entry);

		if (level.opened != HEAP_DWARF_CODE_NONE && !children) {
			reading->levels[reading->depth++] = level;
			close_level(reading);
		} else if (children && reading->depth == NESTING_MAX) {
			break;
		} else if (children) {
			reading->levels[reading->depth++] = level;
		}
		error = reading->error;
	}
	while (reading->depth > 1)
		close_level(reading);
	// Damage costs the functions behind it.
	if (error && heap_error_code(error) == HEAP_ERROR_FORMAT) {
		heap_error_destroy(error);
		error = NULL;
	}
	return error;
}

static int compare_ranges(const void *left, const void *right)
{
	const struct heap_dwarf_code_range *a = left, *b = right;

	return (a->low > b->low) - (a->low < b->low);
}

static int compare_calls(const void *left, const void *right)
{
	const struct heap_dwarf_code_call *a = left, *b = right;

	return (a->pc > b->pc) - (a->pc < b->pc);
}

const struct heap_dwarf_code_call *heap_dwarf_code_unit_call(
	const struct heap_dwarf_code_unit *unit, uint64_t pc)
{
	const struct heap_dwarf_code_call key = { .pc = pc };

	if (!unit->call_count)
		return NULL;
	return bsearch(&key, unit->calls, unit->call_count, sizeof(key), compare_calls);
}

HEAP_MUST_CHECK
static struct heap_error *sort_functions(struct heap_dwarf_code_unit *unit)
{
	unit->functions = calloc((size_t)unit->range_count + 1, sizeof(*unit->functions));
	if (!unit->functions)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < unit->range_count; i++)
		if (unit->scopes[unit->ranges[i].scope].kind == HEAP_DWARF_CODE_FUNCTION)
			unit->functions[unit->function_count++] = unit->ranges[i];
	qsort(unit->functions, unit->function_count, sizeof(*unit->functions), compare_ranges);
	if (unit->call_count)
		qsort(unit->calls, unit->call_count, sizeof(*unit->calls), compare_calls);
	return NULL;
}

static void destroy(struct heap_dwarf_code_unit **unit)
{
	heap_dwarf_code_unit_destroy(*unit);
}

struct heap_error *heap_dwarf_code_unit_read(const struct heap_dwarf_dies *dies,
					     const struct heap_dwarf_unit *skeleton,
					     struct heap_dwarf_code_unit **result)
{
	CLEANUP(destroy) struct heap_dwarf_code_unit *unit = calloc(1, sizeof(*unit));
	CLEANUP_FREE struct reading *reading = calloc(1, sizeof(*reading));

	if (!unit || !reading)
		return heap_error_out_of_memory();
	unit->unit = dies->unit;
	unit->skeleton = skeleton;
	unit->base = dies->bases.address;
	reading->dies = dies;
	reading->unit = unit;
	HEAP_TRY(read_dies(reading));
	HEAP_TRY(sort_functions(unit));
	*result = keep(unit);
	return NULL;
}

void heap_dwarf_code_unit_destroy(struct heap_dwarf_code_unit *unit)
{
	if (!unit)
		return;
	free(unit->scopes);
	free(unit->ranges);
	free(unit->functions);
	free(unit->variables);
	free(unit->calls);
	free(unit);
}

static bool holds(const struct heap_dwarf_code_unit *unit,
		  const struct heap_dwarf_code_scope *scope, uint64_t pc)
{
	for (uint32_t i = 0; i < scope->range_count; i++) {
		const struct heap_dwarf_code_range *range = &unit->ranges[scope->first_range + i];

		if (pc >= range->low && pc < range->high)
			return true;
	}
	return false;
}

size_t heap_dwarf_code_unit_find(const struct heap_dwarf_code_unit *unit, uint64_t pc,
				 uint32_t *result)
{
	size_t count = 0;
	size_t after =
		heap_partition_point(i, 0, unit->function_count, unit->functions[i].low <= pc);

	if (!after || pc >= unit->functions[after - 1].high)
		return 0;

	uint32_t function = unit->functions[after - 1].scope;

	result[count++] = function;
	for (uint32_t i = function + 1;
	     i < unit->scopes[function].end && count < HEAP_DWARF_CODE_DEPTH;) {
		const struct heap_dwarf_code_scope *scope = &unit->scopes[i];

		if (scope->kind != HEAP_DWARF_CODE_FUNCTION && holds(unit, scope, pc))
			result[count++] = i++;
		else if (scope->kind == HEAP_DWARF_CODE_BLOCK && !scope->range_count)
			i++; // it is only there for what is inside it
		else
			i = scope->end;
	}
	return count;
}
