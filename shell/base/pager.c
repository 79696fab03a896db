// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/base/pager.h"

#include "lib/base/array.h"
#include "shell/base/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct bytes {
	char *bytes; // [size]
	size_t size, capacity;
};

struct pager {
	FILE *terminal;
	FILE *program; // NULL until it is started
	const char *command;
	struct bytes kept; // until then
	struct bytes line; // the one that is being written
	unsigned rows, columns;
	unsigned row; // on the screen
};

static bool is_on_path(const char *program)
{
	const char *path = getenv("PATH");

	while (path && *path) {
		size_t length = strcspn(path, ":");
		char *file;
		bool found;

		if (asprintf(&file, "%.*s/%s", (int)length, path, program) < 0)
			return false;
		found = access(file, X_OK) == 0;
		free(file);
		if (found)
			return true;
		path += length + (path[length] == ':');
	}
	return false;
}

// The command, or NULL if none is wanted, or there is none.
static const char *choose_command(void)
{
	const char *command = getenv("HEAPSH_PAGER");

	if (!command)
		command = getenv("PAGER");
	if (command)
		return *command && strcmp(command, "cat") != 0 ? command : NULL;
	return is_on_path("less") ? "less" : NULL;
}

static void flush_to(struct pager *pager, FILE *file)
{
	if (pager->kept.size > 0)
		fwrite(pager->kept.bytes, 1, pager->kept.size, file);
	pager->kept.size = 0;
}

static bool start(struct pager *pager)
{
	fflush(pager->terminal);
	// As git does: colours, and nothing that stays behind on the screen is wiped out.
	setenv("LESS", "FRX", 0);
	pager->program = popen(pager->command, "w");
	if (!pager->program)
		return false;
	flush_to(pager, pager->program);
	return true;
}

static bool keep_byte(struct bytes *kept, char byte)
{
	struct heap_error *error = heap_reserve(kept->bytes, kept->capacity, kept->size + 1);

	if (error) {
		heap_error_destroy(error);
		return false;
	}
	kept->bytes[kept->size++] = byte;
	return true;
}

static bool pass(struct pager *pager, char byte)
{
	if (pager->program)
		return fputc(byte, pager->program) != EOF;
	if (!pager->command)
		return fputc(byte, pager->terminal) != EOF;
	return keep_byte(&pager->kept, byte) && (pager->row < pager->rows || start(pager));
}

// A byte that begins no character on the screen: of an escape sequence, or the rest of one.
static bool takes_none(bool *in_escape, char byte)
{
	if (byte == '\x1b')
		*in_escape = true;
	if (!*in_escape)
		return ((unsigned char)byte & 0xc0) == 0x80;
	*in_escape = byte < '@' || byte > '~' || byte == '[';
	return true;
}

static unsigned width_of(const struct bytes *line)
{
	unsigned width = 0;
	bool in_escape = false;

	for (size_t i = 0; i < line->size; i++)
		width += !takes_none(&in_escape, line->bytes[i]);
	return width;
}

static bool pass_line(struct pager *pager)
{
	struct bytes *line = &pager->line;
	unsigned width = width_of(line);
	bool passed = true;

	for (size_t i = 0; passed && i < line->size; i++)
		passed = pass(pager, line->bytes[i]);
	pager->row += width > 0 ? (width - 1) / pager->columns : 0;
	line->size = 0;
	return passed;
}

static bool put(struct pager *pager, char byte)
{
	if (byte != '\n')
		return keep_byte(&pager->line, byte);
	if (!pass_line(pager))
		return false;
	pager->row++;
	return pass(pager, byte);
}

static ssize_t write_to(void *cookie, const char *bytes, size_t size)
{
	struct pager *pager = cookie;

	for (size_t i = 0; i < size; i++) {
		if (!put(pager, bytes[i])) {
			errno = EPIPE;
			return 0;
		}
	}
	return (ssize_t)size;
}

FILE *pager_open(FILE *terminal, struct pager **result)
{
	struct winsize size = { 0 };
	struct pager *pager = calloc(1, sizeof(*pager));
	FILE *stream;

	if (!pager)
		return NULL;
	ioctl(fileno(terminal), TIOCGWINSZ, &size);
	pager->terminal = terminal;
	pager->command = choose_command();
	pager->rows = size.ws_row > 2 ? size.ws_row - 1u : 23;
	pager->columns = output_terminal_columns(terminal);
	stream = fopencookie(pager, "w", (cookie_io_functions_t){ .write = write_to });
	if (!stream) {
		free(pager);
		return NULL;
	}
	*result = pager;
	return stream;
}

unsigned pager_columns(const struct pager *pager)
{
	return pager->columns;
}

unsigned pager_rows(const struct pager *pager)
{
	return pager->rows + 1;
}

void pager_close(FILE *stream, struct pager *pager)
{
	fclose(stream);
	pass_line(pager);
	if (pager->program) {
		pclose(pager->program);
	} else {
		flush_to(pager, pager->terminal);
		fflush(pager->terminal);
	}
	free(pager->kept.bytes);
	free(pager->line.bytes);
	free(pager);
}
