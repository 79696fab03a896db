// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/cache_directory.h"

#include <stdio.h>
#include <stdlib.h>

char *heap_cache_directory(void)
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
