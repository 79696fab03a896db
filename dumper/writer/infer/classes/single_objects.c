// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/classes/single_objects.h"

#include "dumper/base/header.h"
#include "dumper/code/code_flow.h"
#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/sites/constructors.h"
#include "dumper/writer/infer/sites/site_types.h"
#include "lib/base/bits.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>

enum {
	CODE_BEFORE = 32, // bytes that lead to a call
};

static heap_site_id maker_of(const struct capture *capture, heap_object_id object)
{
	return capture->maker_of_kind[objects_kind(&capture->objects, object)];
}

static void cleanup_constructors(struct constructors **constructors)
{
	constructors_destroy(*constructors);
}

// True if the code from an address on gives a constant to a call that returns to another one.
static bool gives_constant(const uint8_t *at, const uint8_t *site)
{
	struct heapsnap_values values;
	struct heapsnap_flow flow;

	heapsnap_values_init(&values);
	while (at < site) {
		struct heapsnap_value first = values.registers[heapsnap_parameters[0]];

		if (!heapsnap_flow_step(at, site, &values, &flow) && !flow.next)
			return false;
		if (flow.kind == HEAPSNAP_FLOW_CALL)
			return flow.next == site && first.kind == HEAPSNAP_VALUE_CONSTANT;
		if (flow.kind != HEAPSNAP_FLOW_ON)
			return false;
		at = flow.next;
	}
	return false;
}

// True if the size that a call gets is a constant. Nothing tells where instructions begin before the call: from
// where they are read up to it exactly, they do.
static bool is_of_constant_size(const struct capture *capture, uint64_t address)
{
	uint8_t code[CODE_BEFORE];

	image_read_padded(&capture->image, address - CODE_BEFORE, code, sizeof(code));
	for (int i = 1; i <= CODE_BEFORE; i++) {
		if (gives_constant(code + CODE_BEFORE - i, code + CODE_BEFORE))
			return true;
	}
	return false;
}

// True if the program itself calls operator new there, with a constant size.
static bool is_of_one_object(struct capture *capture, struct constructors *constructors,
			     uint64_t address)
{
	return is_of_constant_size(capture, address) &&
	       constructors_are_called(constructors, address) &&
	       !site_types_is_standard(capture, address);
}

// Notes the sites with blocks of operator new.
static void find_sites(const struct capture *capture, uint8_t *sites)
{
	const struct objects *objects = &capture->objects;

	for (heap_object_id i = 0; i < objects->count; i++) {
		heap_site_id maker;

		progress_step();
		if (!(objects->flags[i] & HEAPSNAP_BLOCK_NEW))
			continue;
		maker = maker_of(capture, i);
		if (maker < capture->snapshot.site_count)
			heap_bit_set(sites, maker);
	}
}

struct heap_error *single_objects_find(struct capture *capture, struct single_objects *result)
{
	CLEANUP(cleanup_constructors) struct constructors *constructors = NULL;
	const struct heap_snapshot *snapshot = &capture->snapshot;
	CLEANUP_FREE uint8_t *are_new = NULL;

	*result = (struct single_objects){ NULL };
	if (!(capture->objects.all_flags & HEAPSNAP_BLOCK_NEW))
		return NULL;
	HEAP_TRY(constructors_create(capture, &constructors));
	are_new = calloc((size_t)snapshot->site_count / 8 + 1, 1);
	result->sites = calloc((size_t)snapshot->site_count / 8 + 1, 1);
	if (!are_new || !result->sites)
		return heap_error_out_of_memory();
	find_sites(capture, are_new);
	for (heap_site_id i = 0; i < snapshot->site_count && !progress_is_late(); i++) {
		progress_step();
		if (heap_bit_get(are_new, i) &&
		    is_of_one_object(capture, constructors, snapshot->sites[i].address))
			heap_bit_set(result->sites, i);
	}
	return NULL;
}

void single_objects_deinit(struct single_objects *singles)
{
	free(singles->sites);
}

bool single_objects_have(const struct single_objects *singles, const struct capture *capture,
			 heap_object_id object)
{
	heap_site_id maker;

	if (!singles->sites || !(capture->objects.flags[object] & HEAPSNAP_BLOCK_NEW))
		return false;
	maker = maker_of(capture, object);
	return maker < capture->snapshot.site_count && heap_bit_get(singles->sites, maker);
}
