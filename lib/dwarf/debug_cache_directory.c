// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Where caches are. By itself, so that who only needs this links nothing of debug information.
 */
#include "lib/dwarf/debug.h"

#include <stdio.h>
#include <stdlib.h>

char *heap_debug_cache_directory(void)
{
	const char *base = secure_getenv("XDG_CACHE_HOME"), *between = "";
	char *result;

	if (!base || *base != '/') {
		base = secure_getenv("HOME");
		between = "/.cache";
	}
	if (!base || *base != '/' || asprintf(&result, "%s%s/heapsh", base, between) < 0)
		return NULL;
	return result;
}
