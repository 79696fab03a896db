// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/holders.h"

#include <stdlib.h>

bool holders_have_name(const struct holders *holders, uint32_t number)
{
	heap_type_id type = names_get(holders->names, number)->type;

	return type != HEAP_NO_TYPE && type < holders->type_count && holders->are_types[type];
}

struct heap_error *holders_init(struct holders *holders, const struct inference *inference)
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
	return holders->are_held && holders->are_types ? NULL : heap_error_out_of_memory();
}

void holders_begin(struct holders *holders)
{
	for (uint32_t i = 0; i < holders->name_count; i++)
		holders->are_held[i] = holders_have_name(holders, i);
}

void holders_deinit(struct holders *holders)
{
	free(holders->are_held);
	free(holders->are_types);
}
