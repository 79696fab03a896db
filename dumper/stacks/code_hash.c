// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/stacks/code_hash.h"

#include "dumper/base/hash.h"
#include "dumper/stacks/frame_rules.h"

enum {
	AREAS = 256,
	AREA_SHIFT = 16,
	PAGE_SHIFT = 12,
	COUNT_BITS = 28, // of a module's pages; the number of its first page has 36
};

// A cache by address: where a module begins, and how many pages it has. 0: free.
static uint64_t areas[AREAS];

// @return the module's entry; 0 if there is no module
static uint64_t find_module(uint64_t address)
{
	struct heapsnap_code code;
	uint64_t first, end;

	if (!heapsnap_code_find(address, &code))
		return 0;
	first = code.start >> PAGE_SHIFT;
	end = (code.end + (1 << PAGE_SHIFT) - 1) >> PAGE_SHIFT;
	return first << COUNT_BITS | (end - first);
}

uint64_t heapsnap_code_hash(uint64_t address)
{
	uint64_t *area = &areas[(address >> AREA_SHIFT) % AREAS];
	uint64_t module = __atomic_load_n(area, __ATOMIC_RELAXED);
	uint64_t pages = module & ((1 << COUNT_BITS) - 1);
	uint64_t start = module >> COUNT_BITS << PAGE_SHIFT;

	if (address - start >= pages << PAGE_SHIFT) {
		module = find_module(address);
		if (module == 0)
			return heapsnap_scatter(address);
		__atomic_store_n(area, module, __ATOMIC_RELAXED);
		pages = module & ((1 << COUNT_BITS) - 1);
		start = module >> COUNT_BITS << PAGE_SHIFT;
	}
	// The size tells modules apart: two may have code at one offset.
	return heapsnap_scatter((address - start) ^ heapsnap_scatter(pages));
}

void heapsnap_code_hash_forget(void)
{
	for (int i = 0; i < AREAS; i++)
		__atomic_store_n(&areas[i], 0, __ATOMIC_RELAXED);
}
