// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/void_pointers/byte_lengths.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"

enum {
	NEAR = 32,        // bytes from the pointer to the number
	LEAST_BITS = 32,  // of the number
	MIN_POINTERS = 8, // that lead to such blocks
	AGREEING = 95,    // per cent of them
	SIZES = 3,        // of the blocks, at least
	EXACT_SIZES = 2,  // of so many that sizes are known exactly
	MANY = 16,
};

static bool has_edges(const struct inference *inference, heap_object_id object)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;

	return snapshot->edge_first[object] != snapshot->edge_first[object + 1];
}

bool byte_lengths_hold(const struct inference *inference, const struct header_member *number,
		       const struct byte_pointer *pointer)
{
	uint64_t size = inference_size(inference, pointer->target);
	struct header header;
	uint64_t length;

	pages_read(inference->pages, pointer->value, header.words, sizeof(header.words));
	length = headers_value(number, &header);
	return length > 0 && length <= size &&
	       size - length <= inference_slack(inference, pointer->target) &&
	       !has_edges(inference, pointer->target);
}

// True if so many targets are of several sizes, and none is known to be more than numbers or text.
static bool may_be_bytes(const struct inference *inference, const struct byte_pointer *pointers,
			 uint32_t count)
{
	uint64_t sizes[SIZES];
	uint32_t found = 0, wanted = count >= MANY ? EXACT_SIZES : SIZES;

	for (uint32_t i = 0; i < count; i++) {
		heap_object_id target = pointers[i].target;
		uint64_t size = inference_size(inference, target);
		uint32_t at = 0;

		if (claims_are_good(&inference->claims, target) &&
		    layouts_is_compound(&inference->layouts, inference_type(inference, target)))
			return false;
		if (inference_slack(inference, target) > 0)
			wanted = SIZES;
		while (at < found && sizes[at] != size)
			at++;
		if (at == found && found < SIZES)
			sizes[found++] = size;
	}
	return count >= MIN_POINTERS && found >= wanted;
}

bool byte_lengths_find(const struct inference *inference, heap_type_id type, uint64_t offset,
		       const struct byte_pointer *pointers, uint32_t count,
		       struct header_member *number)
{
	struct header_members members = { .count = 0 };

	if (!may_be_bytes(inference, pointers, count))
		return false;
	headers_gather(inference->layouts.types, type, &members);
	for (uint32_t i = 0; i < members.count; i++) {
		const struct header_member *member = &members.list[i];
		uint32_t agreeing = 0;

		if (member->bits < LEAST_BITS || member->offset + NEAR < offset ||
		    member->offset > offset + NEAR)
			continue;
		progress_steps(count);
		for (uint32_t j = 0; j < count; j++)
			agreeing += byte_lengths_hold(inference, member, &pointers[j]);
		if (agreeing * UINT64_C(100) < count * (uint64_t)AGREEING)
			continue;
		*number = *member;
		return true;
	}
	return false;
}
