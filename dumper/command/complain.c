// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/complain.h"

#include "lib/base/escape.h"
#include "lib/base/standard_streams.h"

#include <stdarg.h>
#include <string.h>

struct heap_error *check_path_was_printed(const char *root, const char *path)
{
	struct heap_error *reason, *error;

	if (heap_stream_error(stdout) == 0)
		return NULL;
	reason = heap_standard_output_error();
	error = heap_error_create(HEAP_ERROR_SYSTEM, "%s; the snapshot is %s%s",
				  heap_error_message(reason), root, path);
	heap_error_destroy(reason);
	return error;
}

int fail(struct heap_error *error)
{
	heap_print(stderr, "heapsnap: %s\n", heap_error_message(error));
	heap_error_destroy(error);
	return STATUS_FAILED;
}

int misused(const char *format, ...)
{
	va_list arguments;

	fputs("heapsnap: ", stderr);
	va_start(arguments, format);
	heap_vprint(stderr, NULL, format, arguments);
	va_end(arguments);
	fputs(format[strlen(format) - 1] == '?' ? " See heapsnap --help\n"
						: "; see heapsnap --help\n",
	      stderr);
	return STATUS_MISUSED;
}
