// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/base/format.h"

#include "lib/base/escape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *format_bytes(uint64_t bytes, char buffer[FORMAT_BYTES_MAX])
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
	double value = bytes;
	int unit = -1;

	// A number that would print as 1024.0 belongs to the next unit.
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

double format_per_cent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

const char *format_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

char *format_escaped(const char *bytes, size_t size)
{
	return heap_escape(HEAP_ESCAPE_QUOTED, bytes, size);
}

char *format_name(const char *text)
{
	return heap_escape(HEAP_ESCAPE_NAME, text, strlen(text));
}

char *format_json(const char *text)
{
	return heap_escape(HEAP_ESCAPE_JSON, text, strlen(text));
}
