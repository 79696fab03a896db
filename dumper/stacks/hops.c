// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/stacks/hops.h"

#include "dumper/stacks/effort.h"

uint64_t heapsnap_hops[HEAPSNAP_HOPS];

bool heapsnap_hops_learn(uint64_t site)
{
	int32_t left = heapsnap_effort_left;
	uint64_t way = heapsnap_hop_at(site);

	heapsnap_effort_left = left;

	if (way == 0 || site > HEAPSNAP_SITE_MASK)
		return false;
	__atomic_store_n(heapsnap_hop_of(site), site | way << HEAPSNAP_SITE_BITS, __ATOMIC_RELAXED);
	return true;
}

void heapsnap_hops_forget(void)
{
	for (int i = 0; i < HEAPSNAP_HOPS; i++)
		__atomic_store_n(&heapsnap_hops[i], 0, __ATOMIC_RELAXED);
}
