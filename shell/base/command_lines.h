// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef COMMAND_LINES_H
#define COMMAND_LINES_H

/**
 * Lines of commands from a file or pipe. What is no text is refused: /dev/zero has a line that never ends.
 *
 *	CLEANUP(command_lines_deinit) struct command_lines lines = { .file = file };
 *	bool is_there;
 *
 *	for (;;) {
 *		HEAP_TRY(command_lines_next(&lines, &is_there));
 *		if (!is_there)
 *			return NULL;
 *		run(lines.text);
 *	}
 */

#include "lib/base/array.h"

#include <stdbool.h>
#include <stdio.h>

struct command_lines {
	FILE *file;
	struct HEAP_ARRAY(char) text; /**< the line, without its end, and a NUL */
	unsigned number;              /**< of the line, from 1 */
};

/**
 * Reads the next line. @param is_there  false at the end
 * @return NULL, HEAP_ERROR_SYSTEM, HEAP_ERROR_FORMAT or HEAP_ERROR_MEMORY
 */
HEAP_MUST_CHECK
struct heap_error *command_lines_next(struct command_lines *lines, bool *is_there);

/** The file is its owner's to close. */
void command_lines_deinit(struct command_lines *lines);

#endif
