// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/base/table.h"

#include "lib/base/cleanup.h"
#include "shell/base/wrap.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_CELLS = 16,
	NAME_ROOM = 48, // columns that names should have: half a line, but no more than that
	LEAST_NAME_ROOM = 28,
};

struct row {
	char *cells[MAX_CELLS];
	size_t count;
};

// Splits a line at its tabs.
static void split(char *line, struct row *row)
{
	row->count = 0;
	while (line && row->count < MAX_CELLS) {
		char *tab = row->count + 1 < MAX_CELLS ? strchr(line, '\t') : NULL;

		row->cells[row->count++] = line;
		if (tab)
			*tab++ = '\0';
		line = tab;
	}
}

// --- columns -----------------------------------------------------------------

static bool is_dropped(uint32_t dropped, size_t cell)
{
	return dropped >> cell & 1;
}

// Columns of the screen in front of the name.
static size_t width_before_name(const struct row *row, uint32_t dropped)
{
	size_t width = row->count > 1 ? 1 : 0;

	for (size_t i = 0; i + 1 < row->count; i++) {
		if (!is_dropped(dropped, i))
			width += wrap_width(row->cells[i]) + 1;
	}
	return width;
}

// The column to leave out next, or SIZE_MAX.
static size_t least_important(const char *ranks, uint32_t dropped)
{
	size_t found = SIZE_MAX;
	char highest = '0';

	for (size_t i = 0; ranks[i]; i++) {
		if (is_dropped(dropped, i) || ranks[i] == '0' || ranks[i] < highest)
			continue;
		highest = ranks[i];
		found = i;
	}
	return found;
}

static uint32_t choose_columns(const struct row *titles, const char *ranks, size_t columns)
{
	size_t half = columns / 2;
	size_t room = half > NAME_ROOM         ? NAME_ROOM
		      : half < LEAST_NAME_ROOM ? LEAST_NAME_ROOM
					       : half;
	uint32_t dropped = 0;

	while (columns > 0 && width_before_name(titles, dropped) + room > columns) {
		size_t next = least_important(ranks, dropped);

		if (next == SIZE_MAX)
			break;
		dropped |= UINT32_C(1) << next;
	}
	return dropped;
}

static void put(void *output, const char *bytes, size_t size)
{
	output_bytes(output, bytes, size);
}

static void put_row(struct output *output, const struct row *row)
{
	uint32_t dropped = *output_dropped_columns(output);
	bool is_first = true;

	for (size_t i = 0; i + 1 < row->count; i++) {
		if (is_dropped(dropped, i))
			continue;
		if (!is_first)
			output_bytes(output, " ", 1);
		output_bytes(output, row->cells[i], strlen(row->cells[i]));
		is_first = false;
	}
	if (row->count > 1)
		output_bytes(output, "  ", 2);
	wrap_cell(row->cells[row->count - 1], output_columns(output),
		  width_before_name(row, dropped), put, output);
	output_bytes(output, "\n", 1);
}

// Prints a row. @param ranks  of a heading, which decides on the columns that are left out; or NULL
static void show_row(struct output *output, const char *ranks, const char *format,
		     va_list arguments)
{
	struct row row;
	CLEANUP_FREE char *line = output_format_text(output, format, arguments);

	if (!line)
		return;
	split(line, &row);
	if (ranks)
		*output_dropped_columns(output) =
			choose_columns(&row, ranks, output_columns(output));
	put_row(output, &row);
}

void table_header(struct output *output, const char *ranks, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	show_row(output, ranks, format, arguments);
	va_end(arguments);
}

void table_row(struct output *output, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	show_row(output, NULL, format, arguments);
	va_end(arguments);
}
