// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/casts/cast_frame.h"

#include "dumper/writer/casts/cast_values.h"

static struct cast_place *find_in_frame(const struct cast_search *search, int64_t offset,
					uint64_t pc)
{
	uint32_t at = 0;

	return cast_places_next(&search->places, CAST_IN_FRAME, offset, pc, ~0U, &at);
}

bool cast_frame_has(const struct cast_search *search, const struct code_move *move, uint64_t pc,
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

void cast_frame_give(struct cast_search *search, int64_t offset, const struct cast_origin *origin,
		     uint64_t pc)
{
	uint32_t at = 0;

	cast_values_arrive_at(search, origin, CAST_IN_FRAME, offset, pc);
	while (at < search->given_count && search->given[at].offset != offset)
		at++;
	if (at == CAST_MAX_GIVEN)
		return;
	search->given[at] = (struct cast_given){ offset, *origin };
	search->given_count += at == search->given_count;
}

// Finds where the value is from that a function has stored at an offset in the frame.
static struct cast_origin given_at(const struct cast_search *search, int64_t offset)
{
	for (uint32_t i = 0; i < search->given_count; i++) {
		if (search->given[i].offset == offset)
			return search->given[i].origin;
	}
	return (struct cast_origin){ 0 };
}

struct cast_value cast_frame_load(const struct cast_search *search, int64_t offset, uint64_t pc)
{
	const struct cast_place *place = find_in_frame(search, offset, pc);
	struct cast_value result = { .origin = given_at(search, offset) };

	if (!place)
		return result;
	result.type = place->type;
	result.roles = place->roles;
	if (result.origin.source == FROM_NOWHERE)
		result.origin = cast_values_origin(search, place);
	return result;
}

void cast_frame_store(struct cast_search *search, const struct code_move *move, int64_t offset,
		      uint64_t pc)
{
	struct cast_value value = cast_values_get(search, move->value, pc);
	struct cast_place *place = find_in_frame(search, offset, pc);

	if (!place)
		return;
	if (value.origin.source == FROM_PARAMETER && (place->roles & (CAST_VOID | CAST_HOLDER)))
		place->parameter = (uint8_t)(value.origin.reg + 1);
	else
		cast_values_arrive_at(search, &value.origin, CAST_IN_FRAME, offset, pc);
}
