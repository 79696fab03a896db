// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_CODE_HASH_H
#define HEAPSNAP_CODE_HASH_H

/**
 * A hash of addresses of code that is the same in each run of a program, wherever its modules lie.
 *
 * Tables of a fixed size drop entries that collide. If address space layout randomization decided
 * which ones, two runs of one program would learn different wrappers and sites.
 *
 * async-signal-safe.
 */

#include <stdint.h>

/** Hashes an address relative to its module. The high bits are the good ones, as of heapsnap_scatter(). */
uint64_t heapsnap_code_hash(uint64_t address);

/** Forgets where modules lie. After one has been unmapped. */
void heapsnap_code_hash_forget(void);

#endif
