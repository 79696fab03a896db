// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_THREAD_POINTER_H
#define HEAPSNAP_THREAD_POINTER_H

/**
 * The register that holds libc's pointer to the thread's control block: fs on x86-64, tpidr_el0 on
 * aarch64.
 */

#include <stdint.h>

static inline uint64_t heapsnap_thread_pointer(void)
{
	uint64_t pointer;

#if defined(__x86_64__)
	__asm__("mov %%fs:0, %0" : "=r"(pointer));
#else
	__asm__("mrs %0, tpidr_el0" : "=r"(pointer));
#endif
	return pointer;
}

#endif
