// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/base/command_lines.h"

#include <errno.h>

enum {
	MAX_LINE = 1 << 20,
};

HEAP_MUST_CHECK
static struct heap_error *add(struct command_lines *lines, int byte)
{
	if (lines->text.count == MAX_LINE)
		return heap_error_create(HEAP_ERROR_FORMAT,
					 "line %u is longer than %d bytes: these are no commands",
					 lines->number, MAX_LINE);
	HEAP_TRY(heap_array_reserve(&lines->text, 1));
	lines->text.items[lines->text.count++] = (char)byte;
	return NULL;
}

struct heap_error *command_lines_next(struct command_lines *lines, bool *is_there)
{
	int byte;

	*is_there = false;
	lines->text.count = 0;
	lines->number++;
	errno = 0;
	while ((byte = getc(lines->file)) != EOF && byte != '\n') {
		if (byte == '\0')
			return heap_error_create(
				HEAP_ERROR_FORMAT,
				"line %u has a byte of zero in it: these are no commands",
				lines->number);
		HEAP_TRY(add(lines, byte));
	}
	if (byte == EOF && ferror(lines->file)) {
		// ^C ends what it waits for.
		if (errno == EINTR)
			return heap_error_create(HEAP_ERROR_INTERRUPTED, "interrupted");
		return heap_error_create_system("cannot be read");
	}
	*is_there = byte != EOF || lines->text.count > 0;
	return add(lines, '\0');
}

void command_lines_deinit(struct command_lines *lines)
{
	heap_array_deinit(&lines->text);
}
