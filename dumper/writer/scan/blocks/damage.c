// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/blocks/damage.h"

#include "dumper/writer/scan/blocks/chunks.h"
#include "lib/base/array.h"

#include <stdlib.h>

enum {
	MAX_DAMAGES = 1000,
	MAX_SUSPECTS = 1 << 16,
};

struct heap_error *suspects_add(struct suspects *suspects, struct suspect suspect)
{
	if (suspects->count == MAX_SUSPECTS) {
		suspects->is_cut = true;
		return NULL;
	}
	HEAP_TRY(heap_reserve(suspects->list, suspects->capacity, (size_t)suspects->count + 1));
	suspects->list[suspects->count++] = suspect;
	return NULL;
}

void suspects_forget_from(struct suspects *suspects, uint64_t address)
{
	while (suspects->count > 0 && suspects->list[suspects->count - 1].header >= address)
		suspects->count--;
}

void suspects_deinit(struct suspects *suspects)
{
	free(suspects->list);
}

/*
 * In glibc's chunks, a header belongs just behind the chunk of a live block, or in a chunk just
 * before one. A block that was overrun from below has lost the size of its own chunk, too; else
 * the chunk is in use.
 */
static bool is_damaged_chunk(const struct scanned_memory *memory, const struct suspect *suspect,
			     uint64_t before, uint64_t after)
{
	const struct image *image = memory->image;
	uint64_t own = chunk_read(image, suspect->header);
	uint64_t end = chunk_end(suspect->header, own);
	bool is_behind =
		before != 0 && chunk_end(before, chunk_read(image, before)) == suspect->header;

	if (own == 0 || end > memory->end + HEAPSNAP_HEADER_SIZE)
		return is_behind;
	return (is_behind || end == after) && chunk_before_is_in_use(image, end);
}

/*
 * True if a chunk that is in use ends where a footer does. The chunks from a live block on lead
 * there, or those from there on lead to a live block.
 *
 * @param walked  the last chunk that was reached so far, at or behind the live block before
 */
static bool is_damaged_footer(const struct scanned_memory *memory, const struct suspect *suspect,
			      uint64_t *walked, uint64_t after)
{
	const uint64_t end = suspect->header + HEAPSNAP_HEADER_SIZE + sizeof(uint64_t);

	if (!chunk_before_is_in_use(memory->image, end))
		return false;
	*walked = chunks_walk(memory->image, *walked, end);
	return *walked == end || chunks_walk(memory->image, end, after) == after;
}

// Where glibc's chunk of a block begins. The word before the block is glibc's own if the block has
// a footer; else it is signed, and no size.
static uint64_t find_base(const struct scanned_memory *memory, uint64_t block)
{
	uint64_t extent;

	if (memory->process->has_chunks && chunk_read(memory->image, block) != 0)
		return block;
	if (!image_read(memory->image, block - HEAPSNAP_HEADER_SIZE, &extent, sizeof(extent)))
		extent = 0;
	return block -
	       (memory->process->has_chunks ? heapsnap_extent_lead(extent) : HEAPSNAP_HEADER_SIZE);
}

// Other allocators round up to size classes, the coarsest by a quarter.
static bool is_followed_by(uint64_t base, uint64_t size, uint64_t next)
{
	return base != 0 && next - base >= size &&
	       next - base - size <= size / 4 + HEAPSNAP_HEADER_SIZE;
}

// True if the header belongs to a block: its neighbours tell.
// @param walked  the last chunk that was reached for the suspects before this one
static bool is_damage(const struct objects *objects, const struct scanned_memory *memory,
		      const struct object_range *range, const struct suspect *suspect,
		      uint64_t *walked)
{
	const struct heapsnap_process *process = memory->process;
	uint32_t at = objects_first_after(objects, range, suspect->header);
	uint64_t before = 0, after = memory->end, size = 0;

	if (at > range->first) {
		before = find_base(memory, objects_address(objects, at - 1));
		size = objects_size(objects, at - 1) + HEAPSNAP_HEADER_SIZE;
	}
	if (at < range->first + range->count)
		after = find_base(memory, objects_address(objects, at));
	if (process->has_chunks && suspect->header % GRANULE == 8) {
		if (*walked < before)
			*walked = before;
		return is_damaged_footer(memory, suspect, walked, after);
	}
	if (process->has_chunks)
		return is_damaged_chunk(memory, suspect, before, after);
	if (heapsnap_extent_birth(suspect->extent) > process->epoch)
		return false;
	return is_followed_by(before, size, suspect->header) ||
	       is_followed_by(suspect->header,
			      heapsnap_extent_size(suspect->extent) + HEAPSNAP_HEADER_SIZE, after);
}

struct heap_error *damage_find(struct objects *objects, const struct scanned_memory *memory,
			       const struct object_range *range, const struct suspects *suspects)
{
	uint64_t walked = memory->start + GRANULE; // where the first chunk of a heap begins

	if (suspects->count > 0 && !objects->damages) {
		objects->damages = calloc(MAX_DAMAGES, sizeof(*objects->damages));
		if (!objects->damages)
			return heap_error_out_of_memory();
	}
	for (size_t i = 0; i < suspects->count; i++) {
		const struct suspect *suspect = &suspects->list[i];

		if (!is_damage(objects, memory, range, suspect, &walked))
			continue;
		if (objects->damage_count < MAX_DAMAGES)
			objects->damages[objects->damage_count++] = suspect->header;
		else
			objects->damages_left_out++;
	}
	objects->damages_are_cut = objects->damages_are_cut || suspects->is_cut;
	return NULL;
}
