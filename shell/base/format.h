// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef FORMAT_H
#define FORMAT_H

/** Formats numbers and strings for people, terminals and JSON. */

#include <stddef.h>
#include <stdint.h>

enum {
	FORMAT_BYTES_MAX = 32,
};

/** "308 B", "14.4 KiB", "41.3 MiB". @return buffer */
const char *format_bytes(uint64_t bytes, char buffer[FORMAT_BYTES_MAX]);

/** A share of a whole in per cent; of nothing 0. */
double format_per_cent(uint64_t part, uint64_t whole);

/** "1 object", "308 objects" @return "s" or "" */
const char *format_plural(uint64_t count);

/**
 * Text of the program's memory, safe for a terminal: control characters, quotes and what
 * is not UTF-8 as C has them ("\n", "\x1b"). malloc'd; NULL if memory is short.
 */
char *format_escaped(const char *bytes, size_t size);

/** The same for names that come from files: only what would harm a terminal is escaped. */
char *format_name(const char *text);

/** The inside of a JSON string. malloc'd; NULL if memory is short. */
char *format_json(const char *text);

#endif
