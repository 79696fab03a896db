// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CAST_VALUES_H
#define CAST_VALUES_H

/**
 * Where the values of registers are from, and what comes into variables: of a type that may be cast to, and void pointers,
 * which are what they were set to.
 */

#include "dumper/writer/casts/cast_search.h"

/** True for a container that is known. */
bool cast_container_is_known(const struct cast_container *container);

/** The members that a path leads to or from are cast to the target. */
void cast_values_visit_paths(struct cast_search *search, enum cast_path_kind kind,
			     uint64_t function, uint8_t reg, const struct cast_container *container,
			     uint64_t target);

/** Notes a path between a member and a register of a function. */
void cast_values_add_path(struct cast_search *search, enum cast_path_kind kind, uint64_t function,
			  uint8_t reg, const struct cast_member *member);

/** The paths of a function go on as those with another end. */
void cast_values_pass_paths(struct cast_search *search, const struct cast_end *from,
			    const struct cast_end *end, const struct cast_container *container);

/** A value comes into a variable of a type. */
void cast_values_arrive(struct cast_search *search, const struct cast_origin *origin,
			uint64_t target);

/** A value comes into the variables that a place is. */
void cast_values_arrive_at(struct cast_search *search, const struct cast_origin *origin,
			   uint8_t reg, int64_t offset, uint64_t pc);

/** A value comes into a register, and into the variables that this is now, or soon. */
void cast_values_arrive_in(struct cast_search *search, uint8_t reg, const struct cast_value *value);

/** Values that are still where they came become variables at an instruction. */
void cast_values_arrive_late(struct cast_search *search, uint64_t pc);

/** The parameter that a variable is, or FROM_NOWHERE. */
struct cast_origin cast_values_parameter(const struct cast_place *place);

/** Where the value of a void pointer is from: what it was set to, or else the parameter that it is. */
struct cast_origin cast_values_origin(const struct cast_search *search,
				      const struct cast_place *place);

/** True if nothing that changes a register is between: it is forgotten then. But code may come from elsewhere. */
bool cast_values_are_fresh(const struct cast_search *search, const struct cast_value *value,
			   uint64_t pc);

/** The value of a register: the variable that it is, or what the instructions before have put there. */
struct cast_value cast_values_get(const struct cast_search *search, uint8_t reg, uint64_t pc);

#endif
