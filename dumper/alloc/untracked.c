// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/alloc/blocks.h"

#include "dumper/trace/trace.h"

#include <string.h>

uint8_t heapsnap_watches[HEAPSNAP_WATCHES];

static void change_watch(const void *block, int difference)
{
	uint8_t *watch = heapsnap_watch_of(block);
	uint8_t present = __atomic_load_n(watch, __ATOMIC_RELAXED);

	while (present != UINT8_MAX &&
	       !__atomic_compare_exchange_n(watch, &present, (uint8_t)(present + difference), true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

void heapsnap_watch(const void *block, size_t size, uint64_t site, bool moved)
{
	struct heapsnap_frame unknown = { 0 };
	uint32_t backtrace = heapsnap_observe(size, site, unknown, true).backtrace;

	if (heapsnap_sample_begin(block, size, backtrace, moved))
		change_watch(block, 1);
}

struct heapsnap_sampled heapsnap_unwatch(const void *block)
{
	struct heapsnap_sampled sampled = { 0 };

	if (heapsnap_is_watched(block))
		sampled = heapsnap_sample_remove(block);
	if (sampled.backtrace != 0)
		change_watch(block, -1);
	return sampled;
}

// The next allocator must not free blocks of the arena.
void heapsnap_blocks_begin(void)
{
	size_t size;
	const char *arena = heapsnap_arena(&size);

	for (size_t at = 0; at < size; at += HEAPSNAP_HEADER_SIZE)
		change_watch(arena + at, 1);
}

// --- allocating --------------------------------------------------------------------

// When the bytes left have run out, of a block that has just been made; NULL is fine.
static void *look_at(void *block, size_t size, uint64_t site, bool moved)
{
	struct heapsnap_stretch ended;
	bool is_sampled = heapsnap_sampling_refill(&ended);

	if (ended.bytes != 0)
		heapsnap_backtraces_earn(ended.bytes);
	if (is_sampled && block && heapsnap_trace_is_on())
		heapsnap_watch(block, size, site, moved);
	return block;
}

void *heapsnap_allocate_slowly(size_t size, uint64_t site)
{
	return look_at(heapsnap_hot.malloc(size), size, site, false);
}

void *heapsnap_allocate_zeros(size_t size, uint64_t site)
{
	void *block;

	if (HEAPSNAP_LIKELY(heapsnap_take_bytes(size)))
		return heapsnap_next.calloc(1, size);
	block = heapsnap_next.calloc(1, size);
	return look_at(block, size, site, false);
}

void *heapsnap_allocate_aligned(size_t alignment, size_t size, uint64_t site, unsigned flags)
{
	bool is_enough = heapsnap_take_bytes(size);
	void *block;

	(void)flags;
	heapsnap_next_init();
	if (alignment <= HEAPSNAP_HEADER_SIZE)
		block = heapsnap_hot.malloc(size);
	else
		block = heapsnap_next.memalign(alignment, size);
	return is_enough ? block : look_at(block, size, site, false);
}

// --- freeing and reallocating ----------------------------------------------------------

void heapsnap_release_watched(void *block)
{
	if (!block || heapsnap_is_in_arena(block))
		return;
	// Before another thread may get a block at this address.
	heapsnap_trace_freed(heapsnap_unwatch(block).number, false);
	heapsnap_hot.free(block);
}

// For a block of the arena only the arena's end is known, not the block's size.
static void *move_out(const char *block, size_t size, uint64_t site)
{
	size_t used, most;
	const char *arena = heapsnap_arena(&used);
	void *moved = heapsnap_allocate_aligned(1, size, site, 0);

	most = (size_t)(arena + used - block);
	if (moved)
		memcpy(moved, block, size < most ? size : most);
	return moved;
}

void *heapsnap_reallocate(void *block, size_t size, uint64_t site)
{
	struct heapsnap_sampled sampled;
	bool is_enough;
	void *moved;

	if (heapsnap_is_in_arena(block))
		return move_out(block, size, site);
	is_enough = heapsnap_take_bytes(size);
	sampled = heapsnap_unwatch(block);
	moved = heapsnap_next.realloc(block, size);
	if (moved)
		heapsnap_trace_freed(sampled.number, true);
	else if (heapsnap_sample_add(block, sampled))
		change_watch(block, 1);
	return is_enough ? moved : look_at(moved, size, site, true);
}

// No block has one.
struct heapsnap_header *heapsnap_find_header(const void *block)
{
	(void)block;
	return NULL;
}

size_t heapsnap_usable_size(void *block)
{
	if (!block || heapsnap_is_in_arena(block) || !heapsnap_next.usable_size)
		return 0;
	return heapsnap_next.usable_size(block);
}
