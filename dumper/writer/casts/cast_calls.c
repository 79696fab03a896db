// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/casts/cast_calls.h"

#include "dumper/writer/casts/cast_frame.h"
#include "dumper/writer/casts/cast_values.h"

// Finds the container that a value leads to: by static memory or a member, or in a struct.
static struct cast_container container_of(const struct cast_value *value)
{
	const struct cast_member *member = &value->origin.member;

	if (cast_container_is_known(&value->container))
		return value->container;
	if (value->origin.source == FROM_MEMBER && !member->is_element)
		return (struct cast_container){ member->holder, member->offset, true };
	if (value->type && value->inner > 0)
		return (struct cast_container){ value->type, value->inner, false };
	return (struct cast_container){ 0 };
}

// The first parameter that leads to a container: functions of these get it before what goes in.
static struct cast_container find_container(const struct cast_search *search, uint64_t pc)
{
	for (size_t i = 0; i < MOVE_PARAMETERS; i++) {
		const struct cast_value *value = &search->values[move_parameter(i)];
		struct cast_container result = container_of(value);

		if (cast_values_are_fresh(search, value, pc) && cast_container_is_known(&result))
			return result;
	}
	return (struct cast_container){ 0 };
}

// A parameter of this function is handed on.
static void pass_parameter(struct cast_search *search, uint64_t function, uint8_t reg, uint8_t own)
{
	const enum cast_path_kind kinds[] = { CAST_STORES, CAST_GIVES };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const struct cast_end from = { function, (uint8_t)kinds[i], reg };
		const struct cast_end end = { search->entry, (uint8_t)kinds[i], own };

		cast_values_pass_paths(search, &from, &end, &search->container);
	}
}

// A function has returned, or given, something that is handed to one that keeps it, or takes it.
static void pass_result(struct cast_search *search, const struct cast_origin *origin,
			uint64_t function, uint8_t reg)
{
	bool is_given = origin->source == FROM_GIVEN;
	const struct cast_end from = { origin->function, is_given ? CAST_GIVES : CAST_RETURNS,
				       is_given ? origin->reg : MOVE_RESULT };
	const struct cast_end taker = { function, CAST_TAKES, reg };
	const struct cast_end keeper = { function, CAST_STORES, reg };
	const struct cast_end kept = { origin->function, CAST_KEEPS, MOVE_RESULT };

	if (!origin->function)
		return;
	cast_values_pass_paths(search, &from, &taker, &origin->container);
	if (!is_given)
		cast_values_pass_paths(search, &keeper, &kept, &search->container);
}

static void visit_parameter(struct cast_search *search, uint64_t function, uint8_t reg, uint64_t pc)
{
	struct cast_value value = cast_values_get(search, reg, pc);

	if (value.roles & CAST_TARGET)
		cast_values_visit_paths(search, CAST_STORES, function, reg, &search->container,
					value.type);
	else if (value.origin.source == FROM_MEMBER)
		cast_values_add_path(search, CAST_TAKES, function, reg, &value.origin.member);
	else if (value.origin.source == FROM_PARAMETER)
		pass_parameter(search, function, reg, value.origin.reg);
	else if (value.origin.source == FROM_CALL || value.origin.source == FROM_GIVEN)
		pass_result(search, &value.origin, function, reg);
}

// A function may have stored members where a parameter has led to.
static void take_given(struct cast_search *search, const struct cast_value *parameter,
		       uint64_t function, uint8_t reg, uint64_t pc)
{
	const struct cast_end end = { function, CAST_GIVES, reg };
	const struct cast_origin origin = { .source = FROM_GIVEN,
					    .function = function,
					    .reg = reg,
					    .container = search->container };
	size_t count;

	if (parameter->origin.source != FROM_FRAME)
		return;
	cast_paths_find(&search->paths, &end, &count);
	if (count > 0)
		cast_frame_give(search, parameter->origin.offset, &origin, pc);
}

void cast_calls_visit(struct cast_search *search, const struct code_move *move, uint64_t pc)
{
	uint64_t behind = pc + move->length;
	struct cast_value result;

	search->container = find_container(search, pc);
	for (size_t i = 0; i < MOVE_PARAMETERS; i++) {
		uint8_t reg = move_parameter(i);

		if (move->target) {
			visit_parameter(search, move->target, reg, pc);
			if (cast_values_are_fresh(search, &search->values[reg], pc))
				take_given(search, &search->values[reg], move->target, reg, behind);
		}
	}
	for (uint8_t reg = 0; reg < MOVE_REGISTERS; reg++) {
		if (move_is_lost(reg))
			search->values[reg].since = 0;
	}
	result = (struct cast_value){ .since = behind,
				      .origin = { .source = FROM_CALL,
						  .function = move->target,
						  .container = search->container } };
	cast_values_arrive_in(search, MOVE_RESULT, &result);
}

void cast_calls_return(struct cast_search *search, uint64_t pc)
{
	const struct cast_end end = { search->entry, CAST_RETURNS, MOVE_RESULT };
	struct cast_value result = cast_values_get(search, MOVE_RESULT, pc);
	const struct cast_origin *origin = &result.origin;

	if (result.roles & CAST_TARGET) {
		cast_search_worked(
			search,
			cast_results_add(&search->results,
					 &(struct cast_result){ search->entry, result.type, 0 }));
	} else if (origin->source == FROM_MEMBER) {
		cast_values_add_path(search, CAST_RETURNS, search->entry, MOVE_RESULT,
				     &origin->member);
	} else if (origin->source == FROM_CALL && origin->function) {
		cast_values_pass_paths(
			search, &(struct cast_end){ origin->function, CAST_RETURNS, MOVE_RESULT },
			&end, &origin->container);
		cast_search_worked(search,
				   cast_results_add(&search->results,
						    &(struct cast_result){ search->entry, 0,
									   origin->function }));
	}
}
