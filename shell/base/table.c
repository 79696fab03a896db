// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/base/table.h"

#include "lib/base/cleanup.h"
#include "lib/base/escape.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_CELLS = 16,
	NAME_ROOM = 48, // columns that names should have: half a line, but no more than that
	LEAST_NAME_ROOM = 28,
	LEAST_ROOM = 16,    // columns for the continuation of a name, however deep it is
	MAX_TREE_LINE = 96, // bytes of a tree's lines that a continuation repeats
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

// Bytes of a colour's sequence, or 0.
static size_t sequence_length(const char *at)
{
	size_t length = 2;

	if (at[0] != '\x1b' || at[1] != '[')
		return 0;
	while (at[length] && (at[length] < '@' || at[length] > '~'))
		length++;
	return at[length] ? length + 1 : length;
}

// Bytes of the next character, with the accents that belong to it.
static size_t character_length(const char *at, size_t *columns)
{
	size_t length = heap_text_fit(at, 1);

	*columns = 1;
	if (length == 0) {
		length = heap_text_fit(at, 2);
		*columns = 2;
	}
	return length ? length : 1;
}

static size_t width_of(const char *text)
{
	size_t width = 0;

	while (*text) {
		size_t columns = 0, length = sequence_length(text);

		if (length == 0)
			length = character_length(text, &columns);
		width += columns;
		text += length;
	}
	return width;
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
			width += width_of(row->cells[i]) + 1;
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

// --- names -------------------------------------------------------------------

// True if a line may end behind the character before @p end: between words and path components.
static bool may_break(const char *name, size_t end)
{
	char last = name[end - 1], next = name[end];

	if (next && strchr(" ,>)", next))
		return false;
	return strchr(" ,/<>)", last) || (last == ':' && end > 1 && name[end - 2] == ':');
}

/*
 * How much of a name fits into a line: up to a place where it may be broken, if that leaves half
 * of the line at most empty.
 */
static size_t fit_line(const char *name, size_t columns)
{
	size_t width = 0, at = 0, before = 0, nice = 0;

	while (name[at]) {
		size_t wide = 0, length = sequence_length(name + at);

		if (length == 0)
			length = character_length(name + at, &wide);
		if (width + wide > columns && nice)
			return nice;
		if (width + wide > columns) // the next line does not begin with a space
			return at == 0 ? length : name[at] == ' ' && before ? before : at;
		before = at;
		width += wide;
		at += length;
		if (length == 1 && width * 2 >= columns && may_break(name, at))
			nice = at;
	}
	return at;
}

// What stands in front of a name's continuation, of a tree's lines: │ goes on, └ does not.
static void continue_tree(const char *name, char line[MAX_TREE_LINE])
{
	static const struct {
		const char *mark, *below;
	} marks[] = { { "│", "│" }, { "├", "│" }, { "└", " " }, { "─", " " }, { " ", " " } };
	size_t length = 0, i = 0;

	while (i < sizeof(marks) / sizeof(marks[0])) {
		size_t size = strlen(marks[i].mark);

		if (strncmp(name, marks[i].mark, size) != 0) {
			i++;
			continue;
		}
		if (length + strlen(marks[i].below) >= MAX_TREE_LINE)
			break;
		strcpy(line + length, marks[i].below);
		length += strlen(marks[i].below);
		name += size;
		i = 0;
	}
	line[length] = '\0';
}

static void put_spaces(struct output *output, size_t count)
{
	while (count-- > 0)
		output_bytes(output, " ", 1);
}

// Writes a name that begins in column @p indent, in as many lines as it needs.
static void put_name(struct output *output, const char *name, size_t indent)
{
	size_t columns = output_columns(output), room = columns > indent ? columns - indent : 1;
	char tree[MAX_TREE_LINE];

	if (columns == 0 || width_of(name) <= room) {
		output_bytes(output, name, strlen(name));
		return;
	}
	continue_tree(name, tree);
	if (indent + width_of(tree) + LEAST_ROOM > columns) {
		indent = columns > LEAST_ROOM + 4 ? 4 : 0;
		tree[0] = '\0';
	}
	for (;;) {
		size_t length = fit_line(name, room);

		output_bytes(output, name, length);
		name += length;
		if (!*name)
			return;
		output_bytes(output, "\n", 1);
		put_spaces(output, indent);
		output_bytes(output, tree, strlen(tree));
		room = columns - indent - width_of(tree);
	}
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
	put_name(output, row->cells[row->count - 1], width_before_name(row, dropped));
	output_bytes(output, "\n", 1);
}

void table_header(struct output *output, const char *ranks, const char *format, ...)
{
	struct row row;
	va_list arguments;

	va_start(arguments, format);

	CLEANUP_FREE char *line = output_format_text(output, format, arguments);

	va_end(arguments);
	if (!line)
		return;
	split(line, &row);
	*output_dropped_columns(output) = choose_columns(&row, ranks, output_columns(output));
	put_row(output, &row);
}

void table_row(struct output *output, const char *format, ...)
{
	struct row row;
	va_list arguments;

	va_start(arguments, format);

	CLEANUP_FREE char *line = output_format_text(output, format, arguments);

	va_end(arguments);
	if (!line)
		return;
	split(line, &row);
	put_row(output, &row);
}
