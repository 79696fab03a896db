// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/void_pointers/self_lengths.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>

enum {
	MIN_BLOCKS = 8,  // of a type
	SAMPLES = 1024,  // blocks of a type that are read
	PER_CENT = 95,   // of these that must have their length
	LEAST_BITS = 16, // of a length
	ROUNDED = 7,     // bytes, up to a word
};

// A struct of any length, and the blocks of that type.
struct measured_type {
	heap_type_id type;
	struct header_members members;
	uint32_t agreeing[HEADER_MEMBERS]; // blocks, by member
	uint32_t blocks;
};

struct measured_types {
	struct HEAP_ARRAY(struct measured_type) list;
	uint32_t *number; // [types] in the list, from 1 on; 0: not there
};

static void release(struct measured_types *types)
{
	heap_array_deinit(&types->list);
	free(types->number);
}

static bool holds(const struct inference *inference, const struct header_member *member,
		  heap_object_id object, const struct header *header)
{
	uint64_t size = inference_size(inference, object);
	uint64_t slack = inference_slack(inference, object);
	uint64_t value = headers_value(member, header);

	if (slack < ROUNDED)
		slack = ROUNDED;
	return value <= size && size - value <= slack && value > member->offset + member->size;
}

HEAP_MUST_CHECK
static struct heap_error *find_type(const struct inference *inference, struct measured_types *types,
				    heap_type_id type, struct measured_type **result)
{
	struct measured_type measured = { .type = type };

	if (types->number[type] == 0) {
		headers_gather(inference->layouts.types, type, &measured.members);
		HEAP_TRY(heap_array_append(&types->list, measured));
		types->number[type] = (uint32_t)types->list.count;
	}
	*result = &types->list.items[types->number[type] - 1];
	return NULL;
}

static void count_block(const struct inference *inference, struct measured_type *type,
			heap_object_id object)
{
	struct header header;

	inference_read_header(inference, object, &header);
	for (uint32_t i = 0; i < type->members.count; i++) {
		const struct header_member *member = &type->members.list[i];

		type->agreeing[i] +=
			member->bits >= LEAST_BITS && holds(inference, member, object, &header);
	}
	type->blocks++;
}

// Takes the first of the members that have the length.
HEAP_MUST_CHECK
static struct heap_error *add_length(const struct measured_type *type, struct self_lengths *lengths)
{
	if (type->blocks < MIN_BLOCKS)
		return NULL;
	for (uint32_t i = 0; i < type->members.count; i++) {
		if (type->agreeing[i] * UINT64_C(100) >= type->blocks * (uint64_t)PER_CENT)
			return heap_array_append(
				lengths,
				((struct self_length){ type->type, type->members.list[i] }));
	}
	return NULL;
}

static int compare_types(const void *left, const void *right)
{
	const struct measured_type *a = left, *b = right;

	return a->type < b->type ? -1 : a->type > b->type;
}

struct heap_error *self_lengths_find(const struct inference *inference,
				     struct self_lengths *lengths)
{
	CLEANUP(release)
	struct measured_types types = {
		.number = calloc(inference->layouts.types->count, sizeof(*types.number)),
	};

	if (!types.number)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < inference->capture->objects.count && !progress_is_late();
	     i++) {
		heap_type_id type = inference_type(inference, i);
		struct measured_type *measured;

		progress_step();
		if (type == HEAP_NO_TYPE || !inference->layouts.facts[type].fits_any ||
		    !claims_are_good(&inference->claims, i))
			continue;
		HEAP_TRY(find_type(inference, &types, type, &measured));
		if (measured->blocks < SAMPLES)
			count_block(inference, measured, i);
	}
	if (types.list.count > 0)
		qsort(types.list.items, types.list.count, sizeof(*types.list.items), compare_types);
	for (size_t i = 0; i < types.list.count; i++)
		HEAP_TRY(add_length(&types.list.items[i], lengths));
	return NULL;
}

uint64_t self_lengths_read(const struct inference *inference, const struct self_length *length,
			   uint64_t address)
{
	struct header header;

	pages_read(inference->pages, address, header.words, sizeof(header.words));
	return headers_value(&length->member, &header);
}

bool self_lengths_hold(const struct inference *inference, const struct self_length *length,
		       heap_object_id object)
{
	struct header header;

	inference_read_header(inference, object, &header);
	return holds(inference, &length->member, object, &header);
}
