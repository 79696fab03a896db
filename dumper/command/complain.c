// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/complain.h"

#include "lib/base/escape.h"

#include <stdarg.h>
#include <string.h>

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
