// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/report/text.h"

#include <string.h>

enum {
	MAX_NAME = 240, // by weight
};

static size_t weight_of(char character)
{
	if (character == '<' || (unsigned char)character < 0x20)
		return strchr("\n\t\r\b\f", character) && character ? 2 : 6;
	return character == '"' || character == '\\' ? 2 : 1;
}

size_t report_weight(const char *text)
{
	size_t weight = 0;

	for (; *text; text++)
		weight += weight_of(*text);
	return weight;
}

static bool is_inside_character(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

const char *report_name(struct session *session, const char *name)
{
	size_t length = strlen(name), head = 0, tail = length;
	size_t weight = 0;

	if (report_weight(name) <= MAX_NAME)
		return name;
	while (weight < MAX_NAME / 2)
		weight += weight_of(name[head++]);
	while (weight < MAX_NAME)
		weight += weight_of(name[--tail]);
	while (head > 0 && is_inside_character(name[head]))
		head--;
	while (tail < length && is_inside_character(name[tail]))
		tail++;
	return session_format(session, "%.*s…%s", (int)head, name, name + tail);
}
