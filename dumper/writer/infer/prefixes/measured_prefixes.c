// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/prefixes/measured_prefixes.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"

enum {
	LEAST_ELEMENTS = 2,
};

struct room {
	uint64_t bytes, slack; // behind the prefix; how many of these the allocator may have added
	uint64_t stride;
};

static bool is_filled(const struct room *room, uint64_t count, uint64_t stride)
{
	return count >= LEAST_ELEMENTS && count <= room->bytes / stride &&
	       room->bytes - count * stride <= room->slack;
}

static bool measures(const struct room *room, uint64_t number)
{
	return is_filled(room, number, room->stride) ||
	       (number >= LEAST_ELEMENTS * room->stride && is_filled(room, number, 1));
}

bool measured_prefixes_have(const struct inference *inference, heap_object_id object,
			    uint64_t offset, uint64_t stride)
{
	uint64_t address = inference_address(inference, object);
	uint64_t size = inference_size(inference, object);
	uint64_t words[BLOCK_PREFIX_MAX / sizeof(uint64_t)] = { 0 };
	struct room room = { size - offset, inference_slack(inference, object), stride };
	bool is_measured = false;

	if (offset > sizeof(words) || offset >= size || stride == 0)
		return false;
	pages_read(inference->pages, address, words, offset);
	for (uint64_t i = 0; i < (offset + 7) / sizeof(words[0]); i++) {
		progress_step();
		// A struct with a pointer to what it has behind it is more than a prefix.
		if (words[i] >= address && words[i] - address < size)
			return false;
		is_measured |= measures(&room, words[i]) ||
			       measures(&room, words[i] & UINT32_MAX) ||
			       measures(&room, words[i] >> 32);
	}
	return is_measured;
}
