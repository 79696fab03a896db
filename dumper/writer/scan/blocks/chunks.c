// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/blocks/chunks.h"

#include "dumper/base/header.h"

enum {
	ALIGNMENT = 16,
	LEAST_CHUNK = 32, // bytes
	FLAGS = 7,
	PREVIOUS_IN_USE = 1,
	IS_MAPPED = 2,
	LARGEST_PAGE = 2 << 20,
	MAX_STEPS = 65536, // of a walk
};

uint64_t chunk_read(const struct image *image, uint64_t base)
{
	uint64_t word, size;

	if (!image_read(image, base - sizeof(word), &word, sizeof(word)))
		return 0;
	size = word & ~(uint64_t)FLAGS;
	return size % ALIGNMENT == 0 && size >= LEAST_CHUNK && size < HEAPSNAP_SIZE_MAX ? word : 0;
}

uint64_t chunk_end(uint64_t base, uint64_t chunk)
{
	return base + (chunk & ~(uint64_t)FLAGS);
}

bool chunk_is_mapped(uint64_t chunk)
{
	return (chunk & IS_MAPPED) != 0;
}

bool chunk_fits(uint64_t chunk, uint64_t bytes)
{
	uint64_t overhead = chunk_is_mapped(chunk) ? 16 : 8;
	uint64_t usable = (chunk & ~(uint64_t)FLAGS) - overhead;

	return usable >= bytes &&
	       usable - bytes < (chunk_is_mapped(chunk) ? LARGEST_PAGE : LEAST_CHUNK);
}

bool chunk_before_is_in_use(const struct image *image, uint64_t end)
{
	return (chunk_read(image, end) & PREVIOUS_IN_USE) != 0;
}

uint64_t chunks_walk(const struct image *image, uint64_t base, uint64_t end)
{
	for (int i = 0; i < MAX_STEPS && base < end; i++) {
		uint64_t chunk = chunk_read(image, base);

		if (chunk == 0 || chunk_end(base, chunk) > end)
			break;
		base = chunk_end(base, chunk);
	}
	return base;
}
