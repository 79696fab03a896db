// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Where caches are. By itself, so that who only needs this links nothing of debug information.
 */
#include "lib/cleanup.h"
#include "lib/debug.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

struct heap_error *heap_debug_make_directory(const char *directory)
{
	CLEANUP_FREE char *path = strdup(directory);

	if (!path)
		return heap_error_out_of_memory();
	for (char *slash = path + 1; *slash; slash++) {
		if (*slash != '/')
			continue;
		*slash = '\0';
		mkdir(path, 0700); // if that fails, so does the last one
		*slash = '/';
	}
	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return heap_error_create_system("%s", path);
	return NULL;
}
