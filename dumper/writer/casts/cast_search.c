// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/casts/cast_search.h"

void cast_search_deinit(struct cast_search *search)
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

bool cast_search_worked(struct cast_search *search, struct heap_error *error)
{
	if (error && heap_error_code(error) != HEAP_ERROR_FORMAT && !search->error)
		search->error = error;
	else
		heap_error_destroy(error);
	return !error;
}

unsigned cast_search_roles(struct cast_search *search, uint64_t type)
{
	uint64_t hash = heap_hash_u64(type);
	uint32_t found =
		heap_hash_find(&search->by_type, hash, i, search->roles.items[i].type == type);
	unsigned roles;

	if (found != HEAP_HASH_NONE)
		return search->roles.items[found].roles;
	roles = type ? search->visitor->role(search->visitor->context, type) : 0;
	if (!cast_search_worked(
		    search, heap_hash_add(&search->by_type, hash, (uint32_t)search->roles.count)) ||
	    !cast_search_worked(search, heap_array_append(&search->roles, ((struct cast_known_role){
										  type, roles }))))
		return 0;
	return roles;
}

void cast_search_visit(struct cast_search *search, const struct cast_member *member,
		       uint64_t target)
{
	if (!search->error)
		search->error = search->visitor->visit(
			search->visitor->context,
			&(struct code_cast){ member->holder, target, member->offset,
					     member->is_element, member->container });
}
