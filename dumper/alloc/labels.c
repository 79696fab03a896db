// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * heapsnap_set_type(): what the program itself says of its blocks.
 *
 * An open-addressing table without locks; its entries are never removed. That an entry
 * is of the block that lies there now, the block's header says: its flag goes with it.
 */
#include "dumper/base/reserve.h"
#include "dumper/heapsnap.h"

#include "dumper/alloc/blocks.h"
#include "dumper/base/settings.h"
#include "dumper/alloc/tracked.h"

#include <stdbool.h>
#include <stdlib.h>

enum {
	SLOTS = 1 << 22,
};

static struct heapsnap_label *table(void)
{
	uint64_t present = __atomic_load_n(&heapsnap_process.labels, __ATOMIC_ACQUIRE);

	if (present)
		return (struct heapsnap_label *)present;

	void *memory = heapsnap_reserve(SLOTS * sizeof(struct heapsnap_label));

	if (!memory)
		return NULL;
	if (!__atomic_compare_exchange_n(&heapsnap_process.labels, &present, (uint64_t)memory,
					 false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		heapsnap_unreserve(memory, SLOTS * sizeof(struct heapsnap_label));
		return (struct heapsnap_label *)present;
	}
	heapsnap_process.label_slots = SLOTS;
	return memory;
}

// The block's entry, or a free one that it takes. NULL if the table is full.
static struct heapsnap_label *find_entry(struct heapsnap_label *labels, uint64_t block)
{
	// Neighbours in memory are neighbours here, so that few labels touch few pages.
	uint64_t at = block / 32;

	for (uint32_t i = 0; i < SLOTS; i++, at++) {
		struct heapsnap_label *label = &labels[at % SLOTS];
		uint64_t present = __atomic_load_n(&label->block, __ATOMIC_ACQUIRE);

		if (present == block)
			return label;
		if (present == 0 &&
		    (__atomic_compare_exchange_n(&label->block, &present, block, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
		     present == block))
			return label;
	}
	return NULL;
}

HEAPSNAP_API int heapsnap_set_type(void *block, const char *type)
{
	struct heapsnap_label *labels;
	struct heapsnap_label *label;

	if (!HEAPSNAP_TAKES_SNAPSHOTS)
		return -ENOTSUP;

	if (!block || !type)
		return -EINVAL;

	bool is_piece = heapsnap_tracked_set_labelled(block);
	struct heapsnap_header *header = is_piece ? NULL : heapsnap_find_header(block);

	if (!is_piece && !header)
		return -EINVAL;
	labels = table();
	label = labels ? find_entry(labels, (uint64_t)block) : NULL;
	if (!label)
		return -ENOMEM;
	__atomic_store_n(&label->type, (uint64_t)type, __ATOMIC_RELEASE);
	if (is_piece)
		return 0;

	uint64_t extent = header->extent | (uint64_t)HEAPSNAP_BLOCK_LABELLED << 61;
	uint64_t site = header->origin & HEAPSNAP_SITE_MASK;
	bool is_special = !(*heapsnap_signature(header) & heapsnap_hot.mark);

	// Between the two words the block would look damaged; wiped it is merely not there.
	heapsnap_wipe(header);
	heapsnap_sign(header, block, extent, site, is_special);
	return 0;
}
