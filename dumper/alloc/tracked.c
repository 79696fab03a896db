// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/alloc/tracked.h"

#include "dumper/base/hash.h"
#include "dumper/stacks/backtraces.h"
#include "dumper/alloc/blocks.h"
#include "dumper/heapsnap.h"
#include "dumper/base/process.h"
#include "dumper/base/reserve.h"

#include <errno.h>

enum {
	PIECES = 1 << 21,
	SLOTS = 1 << 22,
	PAGE = 4096,
	ALIGNMENT = 8,
};

// One mapping: what of it is not used is never touched.
struct tables {
	struct heapsnap_piece pieces[PIECES];
	uint32_t slots[SLOTS]; // by address: a piece's number + 1
};

static struct tables *tables;

static struct tables *make_tables(void)
{
	struct tables *present = __atomic_load_n(&tables, __ATOMIC_ACQUIRE), *memory;

	if (present)
		return present;
	memory = heapsnap_reserve(sizeof(*memory));
	if (!memory)
		return NULL;
	if (!__atomic_compare_exchange_n(&tables, &present, memory, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE)) {
		heapsnap_unreserve(memory, sizeof(*memory));
		return present;
	}
	heapsnap_process.pieces = (uint64_t)memory->pieces;
	return memory;
}

// @return the number of a new piece at an address; PIECES if there is no room
static uint32_t new_piece(struct tables *all, uint64_t address)
{
	uint32_t *count = &heapsnap_process.piece_count;
	uint32_t number = __atomic_load_n(count, __ATOMIC_RELAXED);

	while (number < PIECES && !__atomic_compare_exchange_n(count, &number, number + 1, true,
							       __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	if (number < PIECES)
		__atomic_store_n(&all->pieces[number].address, address, __ATOMIC_RELEASE);
	return number;
}

// The piece at an address, made if there is none and @p makes. NULL if there is none, or no room.
static struct heapsnap_piece *find(struct tables *all, uint64_t address, bool makes)
{
	// Pieces of one page of memory lie together here, too, so that few pieces touch few pages.
	uint64_t page = heapsnap_scatter(address / PAGE) >> 32;
	uint64_t at = page * (PAGE / 16) + address % PAGE / 16;
	uint32_t number = PIECES;

	for (uint32_t i = 0; all && i < SLOTS; i++, at++) {
		uint32_t *slot = &all->slots[at % SLOTS];
		uint32_t present = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

		if (present == 0) {
			if (makes && number == PIECES)
				number = new_piece(all, address);
			if (number == PIECES)
				return NULL;
			// If another thread has taken the slot, it may be for the same address.
			__atomic_compare_exchange_n(slot, &present, number + 1, false,
						    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
			if (present == 0)
				return &all->pieces[number];
		}
		if (__atomic_load_n(&all->pieces[present - 1].address, __ATOMIC_ACQUIRE) == address)
			return &all->pieces[present - 1];
	}
	return NULL;
}

static struct heapsnap_piece *find_live(const void *piece)
{
	struct heapsnap_piece *found =
		find(__atomic_load_n(&tables, __ATOMIC_ACQUIRE), (uint64_t)piece, false);

	return found && __atomic_load_n(&found->extent, __ATOMIC_ACQUIRE) ? found : NULL;
}

bool heapsnap_tracked_set_labelled(const void *piece)
{
	struct heapsnap_piece *found = piece ? find_live(piece) : NULL;

	if (found)
		__atomic_or_fetch(&found->extent, (uint64_t)HEAPSNAP_BLOCK_LABELLED << 61,
				  __ATOMIC_RELEASE);
	return found != NULL;
}

HEAPSNAP_API int heapsnap_track(void *piece, size_t size)
{
	struct heapsnap_piece *entry;
	uint64_t site;

	if (!piece || (uint64_t)piece % ALIGNMENT || size == 0 || size > HEAPSNAP_SIZE_MAX)
		return -EINVAL;
	entry = find(make_tables(), (uint64_t)piece, true);
	if (!entry)
		return -ENOMEM;
	site = heapsnap_observe(size, HEAPSNAP_SITE, (struct heapsnap_frame){ 0 }, false).site;
	__atomic_store_n(&entry->site, site & HEAPSNAP_SITE_MASK, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->extent, heapsnap_extent(size, 0, 0, 0) | heapsnap_hot.birth,
			 __ATOMIC_RELEASE);
	return 0;
}

HEAPSNAP_API int heapsnap_untrack(void *piece)
{
	struct heapsnap_piece *entry = piece ? find_live(piece) : NULL;

	if (!entry)
		return -EINVAL;
	__atomic_store_n(&entry->extent, 0, __ATOMIC_RELEASE);
	return 0;
}
