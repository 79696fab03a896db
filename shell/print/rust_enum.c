// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/print/rust_enum.h"

#include <string.h>

static bool pick_variant(const struct heap_types *types, const struct place *place,
			 const struct heap_type *all, const struct heap_type *kinds, uint64_t value,
			 struct place *variant, const char **name)
{
	uint64_t mask = kinds->size < 8 ? (UINT64_C(1) << kinds->size * 8) - 1 : UINT64_MAX;
	const char *wanted = NULL;

	for (uint32_t i = 0; i < kinds->members; i++) {
		const struct heap_enumerator *kind = &types->enumerators[kinds->first_member + i];

		if (((uint64_t)kind->value & mask) == value)
			wanted = heap_types_string(types, kind->name);
	}
	for (uint32_t i = 0; i < all->members; i++) {
		const struct heap_member *member = &types->members[all->first_member + i];
		bool has_value;

		*name = heap_types_string(types, member->name);
		has_value = strcmp(*name, "discriminant") == 0;
		for (uint32_t j = 0; !has_value && j < kinds->members; j++)
			has_value =
				types->enumerators[kinds->first_member + j].name == member->name;
		if (wanted ? strcmp(*name, wanted) == 0 : !has_value) {
			*variant = (struct place){ place->value, place->offset + member->offset,
						   member->type };
			return true;
		}
	}
	return false;
}

bool rust_enum_find(const struct session *session, const struct place *place, struct place *variant,
		    const char **name)
{
	const struct heap_types *types = &session->snapshot->types;
	const struct heap_type *type = &types->types[heap_types_strip(types, place->type)];
	const struct heap_type *all, *kinds;
	struct place discriminant;
	uint64_t value;

	if (type->members != 1 || types->members[type->first_member].name != 0)
		return false;
	all = &types->types[heap_types_strip(types, types->members[type->first_member].type)];
	if (all->kind != HEAP_TYPE_UNION ||
	    !place_find(session, place, "discriminant", &discriminant))
		return false;
	kinds = &types->types[heap_types_strip(types, discriminant.type)];
	if (kinds->kind != HEAP_TYPE_ENUM ||
	    (!place_number(session, &discriminant, &value) &&
	     !value_load_pointer(session, place->value, discriminant.offset, &value)))
		return false;
	return pick_variant(types, place, all, kinds, value, variant, name);
}
