// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/casts/cast_places.h"

#include "dumper/writer/base/progress.h"
#include "lib/dwarf/dwarf_constants.h"

#include <stdlib.h>

enum {
	GENERAL_REGISTERS = 32, // pointers that live longer are in no others
	MAX_PLACES = 1 << 14,   // of a function; that of a generated one has more
};

void cast_places_deinit(struct cast_places *places)
{
	heap_array_deinit(&places->list);
}

// Damage costs the variable.
HEAP_MUST_CHECK
static struct heap_error *find_locations(struct heap_dwarf_locations *locations, uint64_t place,
					 uint16_t attribute,
					 struct heap_dwarf_location_list *result)
{
	struct heap_error *error = heap_dwarf_locations_find(locations, place, attribute, result);

	if (!error || heap_error_code(error) == HEAP_ERROR_MEMORY)
		return error;
	heap_error_destroy(error);
	result->count = 0;
	return NULL;
}

// The register that an expression names, if it does nothing else; or CAST_IN_FRAME.
static uint8_t find_register(struct heap_dwarf_expression expression)
{
	const struct heap_dwarf_operation *operation = expression.operations;
	uint64_t reg = CAST_IN_FRAME;

	if (expression.count == 1 && operation->code == DW_OP_regx)
		reg = operation->operands[0];
	else if (expression.count == 1 && operation->code >= DW_OP_reg0)
		reg = (uint64_t)operation->code - DW_OP_reg0;
	return reg < GENERAL_REGISTERS ? (uint8_t)reg : CAST_IN_FRAME;
}

// Finds where the frame base is: at the frame pointer, or at the CFA.
HEAP_MUST_CHECK
static struct heap_error *find_frame_base(struct cast_places *places,
					  struct heap_dwarf_locations *locations, uint64_t function)
{
	struct heap_dwarf_location_list list;
	struct heap_dwarf_expression base;

	places->has_frame = false;
	places->is_framed_by_code = false;
	places->is_on_stack = false;
	HEAP_TRY(find_locations(locations, function, DW_AT_frame_base, &list));
	if (list.count != 1)
		return NULL;
	base = heap_dwarf_locations_expression(locations, &list.locations[0]);
	if (MOVE_CFA > 0 && base.count == 1 && base.operations->code == DW_OP_call_frame_cfa) {
		places->has_frame = true;
		places->is_framed_by_code = true;
		places->frame_base = MOVE_CFA;
	} else if (find_register(base) == MOVE_FRAME_POINTER ||
		   find_register(base) == MOVE_STACK_POINTER) {
		places->has_frame = true;
		places->is_on_stack = find_register(base) == MOVE_STACK_POINTER;
		places->frame_base = 0;
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *append(struct cast_places *places, struct cast_place place, uint64_t low,
				 uint64_t high)
{
	place.low = low;
	place.high = high;
	return places->list.count < MAX_PLACES ? heap_array_append(&places->list, place) : NULL;
}

// Adds a place for all of a variable's code: a register has something else outside of it.
HEAP_MUST_CHECK
static struct heap_error *append_default(struct cast_places *places, const struct cast_place *place,
					 const struct cast_variable *variable)
{
	if (!variable->ranges)
		return append(places, *place, 0, UINT64_MAX);
	for (uint32_t i = 0; i < variable->range_count; i++)
		HEAP_TRY(append(places, *place, variable->ranges[i].low, variable->ranges[i].high));
	return NULL;
}

// True for places that are given as an offset from the frame base. Some compilers name the stack pointer instead, where it is that.
static bool is_in_frame(const struct cast_places *places, uint8_t code)
{
	return code == DW_OP_fbreg ||
	       (places->is_on_stack && code == DW_OP_breg0 + MOVE_STACK_POINTER);
}

HEAP_MUST_CHECK
static struct heap_error *add(struct cast_places *places,
			      const struct heap_dwarf_locations *locations,
			      const struct cast_variable *variable,
			      const struct heap_dwarf_location *location)
{
	struct heap_dwarf_expression expression =
		heap_dwarf_locations_expression(locations, location);
	struct cast_place place = {
		.type = variable->type,
		.reg = find_register(expression),
		.roles = variable->roles,
	};

	if (place.reg == CAST_IN_FRAME) {
		if (!places->has_frame || expression.count != 1 ||
		    !is_in_frame(places, expression.operations->code))
			return NULL;
		place.offset = places->frame_base + (int64_t)expression.operations->operands[0];
	}
	return location->is_default ? append_default(places, &place, variable)
				    : append(places, place, location->low, location->high);
}

static int compare(const void *left, const void *right)
{
	const struct cast_place *a = left, *b = right;

	if (a->reg != b->reg)
		return a->reg < b->reg ? -1 : 1;
	return (a->low > b->low) - (a->low < b->low);
}

static void sort(struct cast_places *places)
{
	uint32_t at = 0;

	if (places->list.count)
		qsort(places->list.items, places->list.count, sizeof(*places->list.items), compare);
	for (unsigned reg = 0; reg <= CAST_IN_FRAME; reg++) {
		places->first[reg] = at;
		while (at < places->list.count && places->list.items[at].reg == reg)
			at++;
	}
	places->first[CAST_IN_FRAME + 1] = at;
}

// Notes for the places of a variable, from a number on, in which register it is passed.
static void note_parameter(struct cast_places *places, size_t first, uint64_t entry)
{
	uint8_t parameter = 0;

	for (size_t i = first; i < places->list.count; i++) {
		const struct cast_place *place = &places->list.items[i];

		if (place->reg != CAST_IN_FRAME && place->low <= entry && entry < place->high &&
		    move_is_parameter(place->reg))
			parameter = (uint8_t)(place->reg + 1);
	}
	for (size_t i = first; i < places->list.count; i++)
		places->list.items[i].parameter = parameter;
}

struct heap_error *cast_places_read(struct cast_places *places,
				    struct heap_dwarf_locations *locations, uint64_t function,
				    uint64_t entry, const struct cast_variable *variables,
				    size_t count)
{
	places->list.count = 0;
	HEAP_TRY(find_frame_base(places, locations, function));
	for (size_t i = 0; i < count; i++) {
		struct heap_dwarf_location_list list;
		size_t first = places->list.count;

		HEAP_TRY(find_locations(locations, variables[i].place, DW_AT_location, &list));
		for (size_t j = 0; j < list.count; j++)
			HEAP_TRY(add(places, locations, &variables[i], &list.locations[j]));
		for (size_t j = first; j < places->list.count; j++)
			places->list.items[j].variable = (uint32_t)i;
		note_parameter(places, first, entry);
	}
	sort(places);
	return NULL;
}

struct cast_place *cast_places_next(const struct cast_places *places, uint8_t reg, int64_t offset,
				    uint64_t pc, unsigned roles, uint32_t *at)
{
	if (*at < places->first[reg])
		*at = places->first[reg];
	while (*at < places->first[reg + 1] && places->list.items[*at].low <= pc) {
		struct cast_place *place = &places->list.items[(*at)++];

		progress_step();
		if (pc < place->high && (place->roles & roles) && place->offset == offset)
			return place;
	}
	return NULL;
}
