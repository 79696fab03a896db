// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/stacks/hops.h"

#include "dumper/stacks/effort.h"

struct heapsnap_hop heapsnap_hops[HEAPSNAP_HOPS]
	__attribute__((aligned(HEAPSNAP_HOP_SLOTS * sizeof(struct heapsnap_hop))));

static void write_slot(struct heapsnap_hop *slot, struct heapsnap_hop hop)
{
	__atomic_store_n(&slot->way, hop.way, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->key, hop.key, __ATOMIC_RELAXED);
}

// Where a hop is written: its own slot, or a free one, or the last one, whose hop is lost.
static struct heapsnap_hop *choose_slot(uint64_t site)
{
	for (uint32_t i = 0; i < HEAPSNAP_HOP_SLOTS; i++) {
		struct heapsnap_hop *slot = heapsnap_hop_slot(site, i);
		uint64_t way = __atomic_load_n(&slot->way, __ATOMIC_RELAXED);

		if (way == 0 || heapsnap_hop_read(slot, site) != 0)
			return slot;
	}
	return heapsnap_hop_slot(site, HEAPSNAP_HOP_SLOTS - 1);
}

bool heapsnap_hops_learn(uint64_t site, bool is_displaced)
{
	int32_t left = heapsnap_effort_left;
	uint64_t way = heapsnap_hop_at(site);

	heapsnap_effort_left = left;
	if (way == 0)
		return false;
	way |= is_displaced ? HEAPSNAP_HOP_DISPLACED | HEAPSNAP_HOP_COMPLEX : 0;
	write_slot(choose_slot(site), (struct heapsnap_hop){ .key = site ^ way, .way = way });
	return true;
}

void heapsnap_hops_forget_site(uint64_t site)
{
	for (uint32_t i = 0; i < HEAPSNAP_HOP_SLOTS; i++) {
		struct heapsnap_hop *slot = heapsnap_hop_slot(site, i);
		uint64_t way = heapsnap_hop_read(slot, site);

		if (way != 0 && !(way & HEAPSNAP_HOP_DISPLACED))
			write_slot(slot, (struct heapsnap_hop){ 0 });
	}
}

void heapsnap_hops_forget(void)
{
	for (int i = 0; i < HEAPSNAP_HOPS; i++)
		write_slot(&heapsnap_hops[i], (struct heapsnap_hop){ 0 });
}
