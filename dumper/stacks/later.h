// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_LATER_H
#define HEAPSNAP_LATER_H

/**
 * Parts of the tables that small programs never need: reserved in malloc when the first part is full.
 */

#include "dumper/base/reserve.h"
#include "dumper/host/sandbox.h"

/** As heapsnap_reserve_once(). @return NULL also if the program's sandbox may not allow it */
static inline void *heapsnap_reserve_later(void **table, size_t bytes)
{
	void *present = __atomic_load_n(table, __ATOMIC_ACQUIRE);

	if (present || heapsnap_sandbox_forbids(HEAPSNAP_NEED_SNAPSHOT))
		return present;
	return heapsnap_reserve_once(table, bytes);
}

#endif
