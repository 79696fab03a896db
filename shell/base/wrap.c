// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/base/wrap.h"

#include "lib/base/escape.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum {
	LEAST_ROOM = 16,  // columns for a continuation, however deep it is
	HANG = 2,         // columns that a continuation is indented by
	MAX_PREFIX = 512, // bytes in front of a continuation
	MAX_TREE_LINE = 96,
};

// --- widths ----------------------------------------------------------------------

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

size_t wrap_width(const char *text)
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

// --- where to break ----------------------------------------------------------------

// True if a line may end behind the character before @p end: between words and path components.
static bool may_break(const char *name, size_t end)
{
	char last = name[end - 1], next = name[end];

	if (next && strchr(" ,>)", next))
		return false;
	return strchr(" ,/<>)", last) || (last == ':' && end > 1 && name[end - 2] == ':');
}

/*
 * How much of a text fits into a line: up to a place where it may be broken, if that leaves half of
 * the line at most empty. A space is better than the parts of a name, if it leaves no third empty.
 */
static size_t fit_line(const char *name, size_t columns)
{
	size_t width = 0, at = 0, before = 0, nice = 0, space = 0;

	while (name[at]) {
		size_t wide = 0, length = sequence_length(name + at);

		if (length == 0)
			length = character_length(name + at, &wide);
		if (width + wide > columns && (space || nice))
			return space ? space : nice;
		if (width + wide > columns) // the next line does not begin with a space
			return at == 0 ? length : name[at] == ' ' && before ? before : at;
		before = at;
		width += wide;
		at += length;
		if (length != 1 || width * 2 < columns || !may_break(name, at))
			continue;
		nice = at;
		if (name[at - 1] == ' ' && width * 3 >= columns * 2)
			space = at;
	}
	return at;
}

// --- continuations -------------------------------------------------------------------

// Makes the indentation of a continuation line from the lines of a tree: │ goes on, └ does not.
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

static void add_spaces(char prefix[MAX_PREFIX], size_t count)
{
	size_t length = strlen(prefix);

	while (count-- > 0 && length + 1 < MAX_PREFIX)
		prefix[length++] = ' ';
	prefix[length] = '\0';
}

// Writes a text whose first line has so much room, and the others begin with a prefix.
static void put_lines(const char *text, size_t columns, size_t room, const char *prefix,
		      wrap_put *put, void *context)
{
	for (;;) {
		size_t length = fit_line(text, room);

		// With the space at its end: a name that is joined again is whole.
		put(context, text, length);
		text += length;
		if (!*text)
			return;
		put(context, "\n", 1);
		put(context, prefix, strlen(prefix));
		room = columns - wrap_width(prefix);
	}
}

void wrap_cell(const char *text, size_t columns, size_t indent, wrap_put *put, void *context)
{
	size_t room = columns > indent ? columns - indent : 1;
	char tree[MAX_TREE_LINE], prefix[MAX_PREFIX] = "";

	if (columns == 0 || wrap_width(text) <= room) {
		put(context, text, strlen(text));
		return;
	}
	continue_tree(text, tree);
	if (indent + wrap_width(tree) + LEAST_ROOM > columns) {
		add_spaces(prefix, columns > LEAST_ROOM + 4 ? 4 : 0);
	} else {
		add_spaces(prefix, indent < MAX_PREFIX - MAX_TREE_LINE ? indent : 0);
		strcat(prefix, tree);
	}
	put_lines(text, columns, room, prefix, put, context);
}

// How far the continuation of a line is indented behind its leading spaces: up to its second column
// if it has one, "find         the objects"; behind a number, "1. 44 %".
static size_t hang_of(const char *text, size_t columns)
{
	size_t digits = strspn(text, "0123456789");
	const char *gap = strstr(text, "  ");

	if (digits > 0 && strncmp(text + digits, ". ", 2) == 0)
		return digits + 2;
	if (gap && gap[strspn(gap, " ")]) {
		size_t at = (size_t)(gap - text) + strspn(gap, " ");

		if (at < columns / 3 && !memchr(text, '\x1b', at))
			return at;
	}
	return HANG;
}

void wrap_line(const char *line, size_t columns, wrap_put *put, void *context)
{
	char tree[MAX_TREE_LINE], prefix[MAX_PREFIX] = "";

	if (columns == 0 || wrap_width(line) <= columns) {
		put(context, line, strlen(line));
		return;
	}
	continue_tree(line, tree);
	strcat(prefix, tree);
	if (strspn(tree, " ") == strlen(tree))
		add_spaces(prefix, hang_of(line + strlen(tree), columns));
	if (wrap_width(prefix) + LEAST_ROOM > columns) {
		prefix[0] = '\0';
		add_spaces(prefix, columns > LEAST_ROOM + 4 ? 4 : 0);
	}
	put_lines(line, columns, columns, prefix, put, context);
}
