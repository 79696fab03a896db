// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_NEXT_FUNCTION_H
#define HEAPSNAP_NEXT_FUNCTION_H

/** Functions of libc, or of another library, that ours stand before. */

#include <dlfcn.h>

/** Finds the next function of a name. @param function  gets it, a pointer to a pointer; NULL: there is none */
static inline void heapsnap_find_next(void *function, const char *name)
{
	*(void **)function = dlsym(RTLD_NEXT, name);
}

#endif
