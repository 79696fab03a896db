// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/snapshot/block_sizes.h"

#include <string.h>

enum heap_block_sizes heap_block_sizes_by(const char *allocators)
{
	if (strstr(allocators, "jemalloc") || strstr(allocators, "mimalloc") ||
	    strstr(allocators, "tcmalloc"))
		return HEAP_BLOCK_SIZES_GEOMETRIC;
	return strstr(allocators, "glibc") ? HEAP_BLOCK_SIZES_GLIBC : HEAP_BLOCK_SIZES_EXACT;
}
