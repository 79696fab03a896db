// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef OUTPUT_H
#define OUTPUT_H

/**
 * Where a command's answer goes: text for people, or JSON for programs.
 *
 * A command tells both: output_text() writes in text mode alone, the others (which name
 * their value) in JSON mode alone. So an answer is built in one place, in one order.
 *
 *	output_text(out, "%s\n", name);            struct node at 0x5f0010
 *	output_string(out, "name", name);          {"name": "struct node at 0x5f0010", ...
 *
 * In an array, and at the top, keys are NULL.
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct output;

enum output_mode {
	OUTPUT_TEXT,
	OUTPUT_JSON,
};

enum output_colour {
	COLOUR_TYPE,
	COLOUR_ADDRESS,
	COLOUR_FIELD,
	COLOUR_ROOT,
	COLOUR_PLAIN,
};

/** @return NULL if memory is short */
struct output *output_create(FILE *stream, enum output_mode mode, bool colours);

void output_destroy(struct output *output);

/** Has @p prepare called before anything is written: to clear the place where it goes. */
void output_set_prepare(struct output *output, void (*prepare)(void *context), void *context);

/** Sends what follows elsewhere; the former stream is given back. */
FILE *output_redirect(struct output *output, FILE *stream, bool colours);

/** Where it is sent, for what is no answer to be written: exports. */
FILE *output_stream(const struct output *output);

/** True if answers are written as JSON. */
bool output_is_json(const struct output *output);

/** Goes on in JSON, or in text: between two answers. */
void output_set_json(struct output *output, bool json);

/** True if writing has failed, for instance because the reader of a pipe is gone. */
bool output_is_broken(const struct output *output);

/** Ends a command's answer: closes what is open, flushes. @return false and errno if it could not be written */
bool output_finish(struct output *output);

/** As heap_print() (lib/base/escape.h): texts are escaped, but for the sequences of output_colour(). */
__attribute__((format(printf, 2, 3))) void output_text(struct output *output, const char *format,
						       ...);

/**
 * The text that output_text() would write, for tables (shell/base/table.h). malloc'd; NULL in JSON
 * mode, or if memory is short.
 */
__attribute__((format(printf, 2, 0))) char *output_format_text(const struct output *output,
							       const char *format,
							       va_list arguments);

/** Writes text that is escaped already, in text mode. */
void output_bytes(struct output *output, const char *bytes, size_t size);

/** Columns of the terminal that it goes to; 0: it goes to none, and lines may have any length. */
unsigned output_columns(const struct output *output);

/** Rows of that terminal; 0: it goes to none. */
unsigned output_rows(const struct output *output);

/** Sets both for a stream that is no terminal itself, up to the next output_redirect(). */
void output_set_size(struct output *output, unsigned columns, unsigned rows);

/** Columns of a terminal: what COLUMNS says, else the terminal; 80 if neither knows. */
unsigned output_terminal_columns(FILE *terminal);

/** Rows of a terminal: what LINES says, else the terminal; 24 if neither knows. */
unsigned output_terminal_rows(FILE *terminal);

/** The columns that the present table leaves out, a bit for each; for shell/base/table.c. */
uint32_t *output_dropped_columns(struct output *output);

/**
 * Text of our own. For a terminal, lines that do not begin with a space are joined to paragraphs that
 * fit its width.
 */
void output_lines(struct output *output, const char *text);

/** The escape sequence of a colour, or "" where there are none. */
const char *output_colour(const struct output *output, enum output_colour colour);

/** Opens an object or an array of JSON. @param key  of the member; ignored in arrays, and NULL at the top */
void output_open_object(struct output *output, const char *key);
void output_open_array(struct output *output, const char *key);

/** Closes the innermost object or array. */
void output_close(struct output *output);

/** @param text  any bytes (HEAP_ESCAPE_JSON) */
void output_string(struct output *output, const char *key, const char *text);
__attribute__((format(printf, 3, 4))) void output_format(struct output *output, const char *key,
							 const char *format, ...);
/** Members that are numbers, null and booleans; text has none of them. */
void output_number(struct output *output, const char *key, uint64_t number);
void output_signed(struct output *output, const char *key, int64_t number);
void output_real(struct output *output, const char *key, double number);
void output_null(struct output *output, const char *key);
void output_boolean(struct output *output, const char *key, bool value);
/** As a string in hex: no number of JavaScript's holds 64 bits. */
void output_address(struct output *output, const char *key, uint64_t address);

#endif
