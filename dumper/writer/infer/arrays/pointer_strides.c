// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/arrays/pointer_strides.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/sampler.h"
#include "lib/base/divisor.h"

enum {
	CHECKED = 256,     // pointers of a table
	MAX_BLOCKS = 16,   // that the first ones lead into
	MIN_DISTANCES = 8, // by chance, so many are multiples of 24 once in 6,000 times
};

// The first place in each block that pointers lead into.
struct places {
	heap_object_id blocks[MAX_BLOCKS]; // [count]
	uint64_t interiors[MAX_BLOCKS];
	uint32_t count;
};

// The distance of a place from the first one in its block; 0 if it is the first one.
static uint64_t measure(struct places *places, heap_object_id block, uint64_t interior)
{
	for (uint32_t i = 0; i < places->count; i++) {
		uint64_t first = places->interiors[i];

		if (places->blocks[i] == block)
			return interior > first ? interior - first : first - interior;
	}
	if (places->count < MAX_BLOCKS) {
		places->blocks[places->count] = block;
		places->interiors[places->count++] = interior;
	}
	return 0;
}

uint64_t pointer_strides_find(const struct heap_snapshot *snapshot, heap_object_id table)
{
	uint32_t first = snapshot->edge_first[table], end = snapshot->edge_first[table + 1];
	struct sampler sampler = sampler_of((end - first) / CHECKED + 1);
	struct places places = { .count = 0 };
	uint64_t stride = 0;
	uint32_t distances = 0;

	for (uint64_t i = sampler_next(&sampler); i < end - first; i = sampler_next(&sampler)) {
		uint32_t edge = first + (uint32_t)i;
		uint64_t distance;

		if (snapshot->edge_interior[edge] == UINT32_MAX)
			continue;
		progress_step();
		distance = measure(&places, snapshot->edge_target[edge],
				   snapshot->edge_interior[edge]);
		distances += distance > 0;
		stride = heap_greatest_divisor(stride, distance);
	}
	return distances >= MIN_DISTANCES ? stride : 0;
}
