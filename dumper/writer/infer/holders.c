// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/holders.h"

#include <stdlib.h>

struct heap_error *holders_init(struct holders *holders, const struct inference *inference,
				const bool *are_types)
{
	const struct names *names = &inference->capture->names;

	*holders = (struct holders){
		.names = names,
		.are_held = calloc((size_t)names->count + 1, sizeof(*holders->are_held)),
		.objects = inference->capture->objects.count,
	};
	if (!holders->are_held)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < names->count; i++) {
		heap_type_id type = names_get(names, i)->type;

		holders->are_held[i] = type != HEAP_NO_TYPE && are_types[type];
	}
	return NULL;
}

void holders_deinit(struct holders *holders)
{
	free(holders->are_held);
}
