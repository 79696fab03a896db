// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/casts/cast_values.h"

enum {
	FRESH = 32, // bytes of code behind a load until which its value is known, wherever code comes from
};

bool cast_container_is_known(const struct cast_container *container)
{
	return container->holder != 0 || container->at != 0;
}

// A member on a path to or from a function that gets a container. The innermost container counts.
static struct cast_member within(const struct cast_member *member,
				 const struct cast_container *container)
{
	struct cast_member result = *member;

	if (!cast_container_is_known(&result.container))
		result.container = *container;
	return result;
}

void cast_values_visit_paths(struct cast_search *search, enum cast_path_kind kind,
			     uint64_t function, uint8_t reg, const struct cast_container *container,
			     uint64_t target)
{
	const struct cast_end end = { function, (uint8_t)kind, reg };
	size_t count;
	const struct cast_path *paths = cast_paths_find(&search->paths, &end, &count);

	for (size_t i = 0; i < count; i++) {
		struct cast_member member = within(&paths[i].member, container);

		cast_search_visit(search, &member, target);
	}
}

void cast_values_add_path(struct cast_search *search, enum cast_path_kind kind, uint64_t function,
			  uint8_t reg, const struct cast_member *member)
{
	const struct cast_end end = { function, (uint8_t)kind, reg };

	cast_search_worked(search, cast_paths_add(&search->paths, &end, member));
}

void cast_values_pass_paths(struct cast_search *search, const struct cast_end *from,
			    const struct cast_end *end, const struct cast_container *container)
{
	size_t count;
	size_t first =
		(size_t)(cast_paths_find(&search->paths, from, &count) - search->paths.list.items);

	for (size_t i = first; i < first + count; i++) {
		struct cast_member member = within(&search->paths.list.items[i].member, container);

		cast_search_worked(search, cast_paths_add(&search->paths, end, &member));
	}
}

void cast_values_arrive(struct cast_search *search, const struct cast_origin *origin,
			uint64_t target)
{
	if (origin->source == FROM_MEMBER)
		cast_search_visit(search, &origin->member, target);
	else if (origin->source == FROM_PARAMETER)
		cast_values_visit_paths(search, CAST_TAKES, search->entry, origin->reg,
					&origin->container, target);
	else if (origin->source == FROM_CALL)
		cast_values_visit_paths(search, CAST_RETURNS, origin->function, MOVE_RESULT,
					&origin->container, target);
	else if (origin->source == FROM_GIVEN)
		cast_values_visit_paths(search, CAST_GIVES, origin->function, origin->reg,
					&origin->container, target);
}

void cast_values_arrive_at(struct cast_search *search, const struct cast_origin *origin,
			   uint8_t reg, int64_t offset, uint64_t pc)
{
	const struct cast_place *place;
	uint32_t at = 0;

	while (origin->source != FROM_NOWHERE &&
	       (place = cast_places_next(&search->places, reg, offset, pc, CAST_TARGET | CAST_VOID,
					 &at))) {
		if (place->roles & CAST_TARGET)
			cast_values_arrive(search, origin, place->type);
		else
			search->origins.items[place->variable] = *origin;
	}
}

void cast_values_arrive_in(struct cast_search *search, uint8_t reg, const struct cast_value *value)
{
	search->values[reg] = *value;
	cast_values_arrive_at(search, &value->origin, reg, 0, value->since);
	if (value->origin.source == FROM_NOWHERE)
		return;
	search->late[search->next_late] = (struct cast_late){ value->since, reg, CAST_LATE };
	search->next_late = (search->next_late + 1) % CAST_LATE;
}

void cast_values_arrive_late(struct cast_search *search, uint64_t pc)
{
	for (size_t i = 0; i < CAST_LATE; i++) {
		struct cast_late *late = &search->late[i];
		const struct cast_origin origin = search->values[late->reg].origin;

		if (late->left == 0 || pc <= late->since)
			continue;
		late->left--;
		if (search->values[late->reg].since == late->since)
			cast_values_arrive_at(search, &origin, late->reg, 0, pc);
	}
}

struct cast_origin cast_values_parameter(const struct cast_place *place)
{
	return (struct cast_origin){ .source = place->parameter ? FROM_PARAMETER : FROM_NOWHERE,
				     .reg = (uint8_t)(place->parameter - 1) };
}

struct cast_origin cast_values_origin(const struct cast_search *search,
				      const struct cast_place *place)
{
	const struct cast_origin *set = &search->origins.items[place->variable];

	return set->source != FROM_NOWHERE ? *set : cast_values_parameter(place);
}

bool cast_values_are_fresh(const struct cast_search *search, const struct cast_value *value,
			   uint64_t pc)
{
	return value->since && pc >= value->since &&
	       (pc - value->since <= FRESH || value->since >= search->block);
}

// A copy is the variable that the register begins to be which it was copied from.
static void note_twin(const struct cast_search *search, uint64_t pc, struct cast_value *value)
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

struct cast_value cast_values_get(const struct cast_search *search, uint8_t reg, uint64_t pc)
{
	const struct cast_value *known = &search->values[reg];
	struct cast_value result = cast_values_are_fresh(search, known, pc)
					   ? *known
					   : (struct cast_value){ .since = pc };
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
			result.origin = cast_values_origin(search, place);
		}
	}
	return result;
}
