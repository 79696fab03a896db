// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/base/output.h"

#include "lib/base/escape.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	MAX_DEPTH = 1024, // of JSON; `identify` nests two levels for each of its own
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
		*output = (struct output){ .stream = stream, .mode = mode, .colours = colours };
	return output;
}

void output_destroy(struct output *output)
{
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

FILE *output_redirect(struct output *output, FILE *stream, bool colours)
{
	FILE *before = output->stream;

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
	if (output->mode == OUTPUT_JSON && output->has_members[0])
		fputc('\n', output->stream);
	output->has_members[0] = false;
	output->dropped_columns = 0;
	return fflush(output->stream) == 0 && !ferror(output->stream);
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
	fwrite(bytes, 1, size, output->stream);
}

// The width that the environment gives, or 0.
static unsigned told_size(const char *variable)
{
	const char *told = getenv(variable);
	unsigned long size = told ? strtoul(told, NULL, 10) : 0;

	return size <= USHRT_MAX ? (unsigned)size : 0;
}

unsigned output_terminal_columns(FILE *terminal)
{
	unsigned told = told_size("COLUMNS");
	struct winsize size = { 0 };

	if (told > 0)
		return told;
	return ioctl(fileno(terminal), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
										  : 80;
}

unsigned output_terminal_rows(FILE *terminal)
{
	unsigned told = told_size("LINES");
	struct winsize size = { 0 };

	if (told > 0)
		return told;
	return ioctl(fileno(terminal), TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row
										  : 24;
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

	if (output->mode != OUTPUT_TEXT)
		return;
	prepare_stream(output);
	va_start(arguments, format);
	heap_vprint(output->stream, output->colours ? sequences : NULL, format, arguments);
	va_end(arguments);
}

void output_lines(struct output *output, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, "\n\t");

		output_text(output, "%.*s", (int)length, text);
		text += length;
		if (*text && output->mode == OUTPUT_TEXT)
			putc(*text, output->stream);
		text += *text != '\0';
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
