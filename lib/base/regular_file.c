// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/regular_file.h"

#include "lib/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

// O_NONBLOCK: without /proc the path is followed again, and may lead elsewhere by then.
static const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

struct heap_error *heap_regular_file_open(const char *path, int *descriptor)
{
	CLEANUP_CLOSE int place = open(path, O_PATH | O_CLOEXEC);
	struct stat status;
	char again[32];

	*descriptor = -1;
	if (place < 0 || fstat(place, &status) != 0)
		return heap_error_create_system("%s", path);
	if (!S_ISREG(status.st_mode))
		return heap_error_create(HEAP_ERROR_FORMAT, "%s: not a regular file", path);
	// The file that was looked at, whatever has taken its name since.
	snprintf(again, sizeof(again), "/proc/self/fd/%d", place);
	*descriptor = open(again, flags);
	if (*descriptor < 0 && errno == ENOENT)
		*descriptor = open(path, flags);
	return *descriptor < 0 ? heap_error_create_system("%s", path) : NULL;
}

int heap_regular_file_try(const char *path)
{
	int descriptor;

	heap_error_destroy(heap_regular_file_open(path, &descriptor));
	return descriptor;
}
