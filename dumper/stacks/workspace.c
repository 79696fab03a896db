// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/stacks/workspace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	COUNT = 64, // bits of `taken`
};

static char workspaces[COUNT][HEAPSNAP_WORKSPACE_BYTES] __attribute__((aligned(64)));
static uint64_t
	taken; // a bit for each. Those of threads that a child of fork() lacks stay so in it

void *heapsnap_workspace_take(void)
{
	uint64_t before = __atomic_load_n(&taken, __ATOMIC_RELAXED), free;

	do {
		if (before == UINT64_MAX)
			return NULL;
		free = ~before & (before + 1); // the lowest one: few pages are ever touched
	} while (!__atomic_compare_exchange_n(&taken, &before, before | free, false,
					      __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
	return workspaces[__builtin_ctzll(free)];
}

void heapsnap_workspace_give(void *workspace)
{
	uint64_t at = (uint64_t)((char *)workspace - workspaces[0]) / HEAPSNAP_WORKSPACE_BYTES;

	__atomic_and_fetch(&taken, ~(UINT64_C(1) << at), __ATOMIC_RELEASE);
}
