// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/holders.h"

#include <stdlib.h>
#include <string.h>

bool holders_have_name(const struct holders *holders, uint32_t number)
{
	heap_type_id type = names_get(holders->names, number)->type;

	return type != HEAP_NO_TYPE && type < holders->type_count && holders->are_types[type];
}

struct heap_error *holders_init(struct holders *holders, const struct inference *inference,
				const bool *are_types)
{
	const struct names *names = &inference->capture->names;
	const size_t types = inference->layouts.types->count;

	*holders = (struct holders){
		.names = names,
		.are_held = calloc((size_t)names->count + 1, sizeof(*holders->are_held)),
		.name_count = names->count,
		.are_types = calloc(types + 1, sizeof(*holders->are_types)),
		.type_count = types,
		.objects = inference->capture->objects.count,
	};
	if (!holders->are_held || !holders->are_types)
		return heap_error_out_of_memory();
	memcpy(holders->are_types, are_types, types * sizeof(*are_types));
	for (uint32_t i = 0; i < names->count; i++)
		holders->are_held[i] = holders_have_name(holders, i);
	return NULL;
}

void holders_deinit(struct holders *holders)
{
	free(holders->are_held);
	free(holders->are_types);
}
