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

#endif
