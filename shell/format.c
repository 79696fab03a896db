// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/format.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *format_bytes(uint64_t bytes, char buffer[FORMAT_BYTES_MAX])
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
	double value = bytes;
	int unit = -1;

	// What would print as 1024.0 belongs to the next unit.
	while (value >= 1023.95 && unit < 3) {
		value /= 1024;
		unit++;
	}
	if (bytes < 1024 || unit < 0)
		snprintf(buffer, FORMAT_BYTES_MAX, "%" PRIu64 " B", bytes);
	else
		snprintf(buffer, FORMAT_BYTES_MAX, "%.1f %s", value, units[unit]);
	return buffer;
}

const char *format_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

// The length of the UTF-8 character at `text`, 0 if it is none (RFC 3629, section 4).
static size_t utf8_length(const uint8_t *text, size_t size)
{
	size_t length = text[0] < 0x80                      ? 1
			: text[0] >= 0xc2 && text[0] < 0xe0 ? 2
			: text[0] >= 0xe0 && text[0] < 0xf0 ? 3
			: text[0] >= 0xf0 && text[0] < 0xf5 ? 4
							    : 0;

	if (length == 0 || length > size)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] >= 0xa0) ||
	    (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] >= 0x90))
		return 0;
	// C1 controls act on terminals as escape sequences do.
	if (length == 2 && text[0] == 0xc2 && text[1] < 0xa0)
		return 0;
	return length;
}

enum style {
	STYLE_C,
	STYLE_NAME,
	STYLE_JSON,
};

static size_t escape_byte(char *at, uint8_t byte, enum style style)
{
	static const char letters[] = "\"\\\n\t\r\b\f", names[] = "\"\\ntrbf";
	const char *letter = byte ? strchr(letters, byte) : NULL;

	if (letter && (style != STYLE_NAME || byte < 0x20))
		return (size_t)sprintf(at, "\\%c", names[letter - letters]);
	return (size_t)sprintf(at, style == STYLE_JSON ? "\\u%04x" : "\\x%02x", byte);
}

static char *escape(const char *bytes, size_t size, enum style style)
{
	char *result = malloc(size * 6 + 1);
	size_t length = 0;

	if (!result)
		return NULL;
	for (size_t i = 0; i < size;) {
		const uint8_t *at = (const uint8_t *)bytes + i;
		size_t character = utf8_length(at, size - i);
		bool special = *at < 0x20 || *at == 0x7f ||
			       ((*at == '"' || *at == '\\') && style != STYLE_NAME);

		if (character == 0 || special) {
			length += escape_byte(result + length, *at, style);
			i++;
			continue;
		}
		memcpy(result + length, at, character);
		length += character;
		i += character;
	}
	result[length] = '\0';
	return result;
}

char *format_escaped(const char *bytes, size_t size)
{
	return escape(bytes, size, STYLE_C);
}

char *format_name(const char *text)
{
	return escape(text, strlen(text), STYLE_NAME);
}

char *format_json(const char *text)
{
	return escape(text, strlen(text), STYLE_JSON);
}
