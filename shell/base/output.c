// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/base/output.h"

#include "lib/base/array.h"
#include "lib/base/escape.h"
#include "lib/base/standard_streams.h"
#include "shell/base/wrap.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	MAX_DEPTH = 1024, // of JSON; `identify` nests two levels for each of its own
	UNKNOWN = -1,
	PROSE_COLUMNS = 96, // longer lines are hard to read
};

struct output {
	FILE *stream;
	enum output_mode mode;
	bool colours;
	unsigned depth;
	char closers[MAX_DEPTH];
	bool has_members[MAX_DEPTH + 1];
	void (*prepare)(void *context);
	void *context;
	unsigned columns, rows; // that it was told; 0: none
	int width;              // columns of the terminal, 0: it is none; UNKNOWN: not asked yet
	struct HEAP_ARRAY(char) line; // an incomplete line, with a NUL that does not count
	uint32_t dropped_columns;
};

static const char *const sequences[] = {
	[COLOUR_TYPE] = "\x1b[36m", [COLOUR_ADDRESS] = "\x1b[33m", [COLOUR_FIELD] = "\x1b[32m",
	[COLOUR_ROOT] = "\x1b[1m",  [COLOUR_PLAIN] = "\x1b[0m",    NULL,
};

struct output *output_create(FILE *stream, enum output_mode mode, bool colours)
{
	struct output *output = calloc(1, sizeof(*output));

	if (output)
		*output = (struct output){
			.stream = stream, .mode = mode, .colours = colours, .width = UNKNOWN
		};
	return output;
}

void output_destroy(struct output *output)
{
	if (output)
		heap_array_deinit(&output->line);
	free(output);
}

void output_set_prepare(struct output *output, void (*prepare)(void *context), void *context)
{
	output->prepare = prepare;
	output->context = context;
}

static void prepare_stream(const struct output *output)
{
	if (output->prepare)
		output->prepare(output->context);
}

// --- lines for a terminal ------------------------------------------------------

static void put(void *stream, const char *bytes, size_t size)
{
	fwrite(bytes, 1, size, stream);
}

// Writes the incomplete line.
static void end_line(struct output *output)
{
	if (output->line.count == 0)
		return;
	wrap_line(output->line.items, output_columns(output), put, output->stream);
	output->line.count = 0;
}

// Adds to the line. @return false: there is no memory
static bool extend_line(struct output *output, const char *text, size_t length)
{
	struct heap_error *error = heap_array_reserve(&output->line, length + 1);

	heap_error_destroy(error);
	if (error)
		return false;
	memcpy(output->line.items + output->line.count, text, length);
	output->line.count += length;
	output->line.items[output->line.count] = '\0';
	return true;
}

// Writes the lines that a text ends.
static void put_text(struct output *output, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, "\n");

		if (!extend_line(output, text, length)) {
			end_line(output);
			fwrite(text, 1, length, output->stream);
		}
		text += length;
		if (*text) {
			end_line(output);
			putc('\n', output->stream);
			text++;
		}
	}
}

// ---------------------------------------------------------------------------------

FILE *output_redirect(struct output *output, FILE *stream, bool colours)
{
	FILE *before = output->stream;

	end_line(output);
	output->width = UNKNOWN;
	output->stream = stream;
	output->colours = colours;
	output->columns = output->rows = 0;
	return before;
}

FILE *output_stream(const struct output *output)
{
	return output->stream;
}

bool output_is_json(const struct output *output)
{
	return output->mode == OUTPUT_JSON;
}

void output_set_json(struct output *output, bool json)
{
	end_line(output);
	output->mode = json ? OUTPUT_JSON : OUTPUT_TEXT;
}

bool output_is_broken(const struct output *output)
{
	return ferror(output->stream);
}

bool output_finish(struct output *output)
{
	while (output->depth > 0)
		output_close(output);
	end_line(output);
	output->width = UNKNOWN;
	if (output->mode == OUTPUT_JSON && output->has_members[0])
		fputc('\n', output->stream);
	output->has_members[0] = false;
	output->dropped_columns = 0;
	errno = heap_stream_error(output->stream);
	return errno == 0;
}

char *output_format_text(const struct output *output, const char *format, va_list arguments)
{
	char *text = NULL;
	size_t size;
	FILE *stream = output->mode == OUTPUT_TEXT ? open_memstream(&text, &size) : NULL;

	if (!stream)
		return NULL;
	heap_vprint(stream, output->colours ? sequences : NULL, format, arguments);
	if (fclose(stream) == 0)
		return text;
	free(text);
	return NULL;
}

void output_bytes(struct output *output, const char *bytes, size_t size)
{
	if (output->mode != OUTPUT_TEXT)
		return;
	prepare_stream(output);
	end_line(output);
	fwrite(bytes, 1, size, output->stream);
}

// The width that the environment gives, or 0.
static unsigned told_size(const char *variable)
{
	const char *told = getenv(variable);
	unsigned long size = told ? strtoul(told, NULL, 10) : 0;

	return size <= USHRT_MAX ? (unsigned)size : 0;
}

// Zeros if it is no terminal.
static struct winsize terminal_size(FILE *terminal)
{
	struct winsize size = { 0 };

	if (ioctl(fileno(terminal), TIOCGWINSZ, &size) != 0)
		return (struct winsize){ 0 };
	return size;
}

unsigned output_terminal_columns(FILE *terminal)
{
	unsigned told = told_size("COLUMNS"), columns = terminal_size(terminal).ws_col;

	return told > 0 ? told : columns > 0 ? columns : 80;
}

unsigned output_terminal_rows(FILE *terminal)
{
	unsigned told = told_size("LINES"), rows = terminal_size(terminal).ws_row;

	return told > 0 ? told : rows > 0 ? rows : 24;
}

static bool is_terminal(const struct output *output)
{
	int descriptor = fileno(output->stream);

	return descriptor >= 0 && isatty(descriptor);
}

unsigned output_columns(const struct output *output)
{
	if (output->columns > 0)
		return output->columns;
	if (output->width != UNKNOWN)
		return (unsigned)output->width;
	return is_terminal(output) ? output_terminal_columns(output->stream) : 0;
}

unsigned output_rows(const struct output *output)
{
	if (output->rows > 0)
		return output->rows;
	return is_terminal(output) ? output_terminal_rows(output->stream) : 0;
}

void output_set_size(struct output *output, unsigned columns, unsigned rows)
{
	end_line(output);
	output->columns = columns;
	output->rows = rows;
}

uint32_t *output_dropped_columns(struct output *output)
{
	return &output->dropped_columns;
}

void output_text(struct output *output, const char *format, ...)
{
	va_list arguments;
	char *text = NULL;

	if (output->mode != OUTPUT_TEXT)
		return;
	prepare_stream(output);
	if (output->width == UNKNOWN)
		output->width = (int)output_columns(output);
	va_start(arguments, format);
	if (output_columns(output) > 0)
		text = output_format_text(output, format, arguments);
	va_end(arguments);
	if (text) {
		put_text(output, text);
		free(text);
		return;
	}
	va_start(arguments, format);
	heap_vprint(output->stream, output->colours ? sequences : NULL, format, arguments);
	va_end(arguments);
}

// A line of prose, which may be joined with the next one, and no example or row of a table.
static bool is_prose(const char *line)
{
	return *line && *line != ' ' && *line != '\n' && *line != '\t';
}

// Writes the lines of a paragraph as one. @return behind them
static const char *put_paragraph(struct output *output, const char *text)
{
	unsigned columns = output_columns(output);
	bool is_first = true;

	end_line(output);
	while (is_prose(text)) {
		size_t length = strcspn(text, "\n");

		if ((!is_first && !extend_line(output, " ", 1)) ||
		    !extend_line(output, text, length))
			break;
		is_first = false;
		text += length + (text[length] == '\n');
	}
	if (output->line.count > 0)
		wrap_cell(output->line.items, columns < PROSE_COLUMNS ? columns : PROSE_COLUMNS, 0,
			  put, output->stream);
	output->line.count = 0;
	if (text[-1] == '\n')
		putc('\n', output->stream);
	return text;
}

void output_lines(struct output *output, const char *text)
{
	bool is_for_terminal = output->mode == OUTPUT_TEXT && output_columns(output) > 0;

	while (*text) {
		size_t length = strcspn(text, "\n");

		if (is_for_terminal && is_prose(text)) {
			prepare_stream(output);
			text = put_paragraph(output, text);
			continue;
		}
		output_text(output, "%.*s", (int)length, text);
		if (text[length])
			output_text(output, "\n");
		text += length + (text[length] == '\n');
	}
}

const char *output_colour(const struct output *output, enum output_colour colour)
{
	return output->colours && output->mode == OUTPUT_TEXT ? sequences[colour] : "";
}

// --- JSON --------------------------------------------------------------------

static void write_string(struct output *output, const char *text)
{
	putc('"', output->stream);
	heap_escape_put(output->stream, HEAP_ESCAPE_JSON, text);
	putc('"', output->stream);
}

// Writes a comma and the key before a value.
static void begin_value(struct output *output, const char *key)
{
	prepare_stream(output);
	if (output->has_members[output->depth])
		fputs(output->depth == 0 ? "\n" : ",", output->stream);
	output->has_members[output->depth] = true;
	if (key) {
		write_string(output, key);
		fputs(":", output->stream);
	}
}

static void open_level(struct output *output, const char *key, char opener, char closer)
{
	if (output->mode != OUTPUT_JSON || output->depth == MAX_DEPTH)
		return;
	begin_value(output, key);
	fputc(opener, output->stream);
	output->closers[output->depth++] = closer;
	output->has_members[output->depth] = false;
}

void output_open_object(struct output *output, const char *key)
{
	open_level(output, key, '{', '}');
}

void output_open_array(struct output *output, const char *key)
{
	open_level(output, key, '[', ']');
}

void output_close(struct output *output)
{
	if (output->mode == OUTPUT_JSON && output->depth > 0)
		fputc(output->closers[--output->depth], output->stream);
}

void output_string(struct output *output, const char *key, const char *text)
{
	if (output->mode != OUTPUT_JSON)
		return;
	begin_value(output, key);
	write_string(output, text);
}

void output_format(struct output *output, const char *key, const char *format, ...)
{
	va_list arguments;
	char *text;

	if (output->mode != OUTPUT_JSON)
		return;
	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	output_string(output, key, text ? text : "");
	free(text);
}

void output_number(struct output *output, const char *key, uint64_t number)
{
	if (output->mode != OUTPUT_JSON)
		return;
	begin_value(output, key);
	fprintf(output->stream, "%" PRIu64, number);
}

void output_signed(struct output *output, const char *key, int64_t number)
{
	if (output->mode != OUTPUT_JSON)
		return;
	begin_value(output, key);
	fprintf(output->stream, "%" PRId64, number);
}

void output_real(struct output *output, const char *key, double number)
{
	if (output->mode != OUTPUT_JSON)
		return;
	begin_value(output, key);
	if (isfinite(number))
		fprintf(output->stream, "%.17g", number);
	else
		fputs("null", output->stream);
}

void output_null(struct output *output, const char *key)
{
	if (output->mode != OUTPUT_JSON)
		return;
	begin_value(output, key);
	fputs("null", output->stream);
}

void output_boolean(struct output *output, const char *key, bool value)
{
	if (output->mode != OUTPUT_JSON)
		return;
	begin_value(output, key);
	fputs(value ? "true" : "false", output->stream);
}

void output_address(struct output *output, const char *key, uint64_t address)
{
	if (output->mode != OUTPUT_JSON)
		return;
	begin_value(output, key);
	fprintf(output->stream, "\"0x%" PRIx64 "\"", address);
}
