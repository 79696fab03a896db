// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_PATH_H
#define HEAP_PATH_H

/** Names of files. */

#include <string.h>

/** The last component of a path: a part of @p path. */
static inline const char *heap_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/** A name of /proc/PID/maps as it is: there a newline is "\012" (proc_pid_maps(5)). In place. */
static inline void heap_path_of_maps(char *name)
{
	static const char newline[] = "\\012";
	size_t length = sizeof(newline) - 1;

	for (char *at = name; (at = strstr(at, newline)); at++) {
		*at = '\n';
		memmove(at + 1, at + length, strlen(at + length) + 1);
	}
}

#endif
