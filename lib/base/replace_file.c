// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/replace_file.h"

#include "lib/base/cleanup.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct heap_error *heap_replace_file(const char *path, heap_file_filler *fill, void *context)
{
	CLEANUP_FREE char *temporary = NULL;
	CLEANUP_CLOSE int descriptor = -1;
	struct heap_error *error;

	if (asprintf(&temporary, "%s.XXXXXX", path) < 0) {
		temporary = NULL;
		return heap_error_out_of_memory();
	}
	descriptor = mkostemp(temporary, O_CLOEXEC);
	if (descriptor < 0)
		return heap_error_create_system("%s", temporary);
	error = fill(context, descriptor);
	if (!error && rename(temporary, path) != 0)
		error = heap_error_create_system("it cannot be put in its place");
	if (error)
		unlink(temporary);
	return heap_error_within(error, "%s", path);
}
