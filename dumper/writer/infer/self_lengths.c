// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/self_lengths.h"

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
	MAX_TYPES = 64,
};

// A struct of any length, and the blocks of that type.
struct measured_type {
	heap_type_id type;
	struct header_members members;
	uint32_t agreeing[HEADER_MEMBERS]; // blocks, by member
	uint32_t blocks;
};

struct measured_types HEAP_ARRAY(struct measured_type);

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

// @return NULL: there is no room for one more
static struct measured_type *find_type(const struct inference *inference,
				       struct measured_types *types, heap_type_id type,
				       struct heap_error **error)
{
	struct measured_type measured = { .type = type };

	for (size_t i = 0; i < types->count; i++) {
		if (types->items[i].type == type)
			return &types->items[i];
	}
	if (types->count == MAX_TYPES)
		return NULL;
	headers_gather(inference->layouts.types, type, &measured.members);
	*error = heap_array_append(types, measured);
	return *error ? NULL : &types->items[types->count - 1];
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

struct heap_error *self_lengths_find(const struct inference *inference,
				     struct self_lengths *lengths)
{
	CLEANUP_ARRAY struct measured_types types = { 0 };

	for (heap_object_id i = 0; i < inference->capture->objects.count && !progress_is_late();
	     i++) {
		heap_type_id type = inference->capture->snapshot.type[i];
		struct heap_error *error = NULL;
		struct measured_type *measured;

		progress_step();
		if (type == HEAP_NO_TYPE || !inference->layouts.facts[type].fits_any ||
		    !claims_are_good(&inference->claims, i))
			continue;
		measured = find_type(inference, &types, type, &error);
		if (error)
			return error;
		if (measured && measured->blocks < SAMPLES)
			count_block(inference, measured, i);
	}
	for (size_t i = 0; i < types.count; i++)
		HEAP_TRY(add_length(&types.items[i], lengths));
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
