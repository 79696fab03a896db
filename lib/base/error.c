// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct heap_error {
	enum heap_error_code code;
	char *message; // ours to free, except that of out_of_memory
};

static struct heap_error out_of_memory = { HEAP_ERROR_MEMORY, (char[]){ "out of memory" } };

struct heap_error *heap_error_out_of_memory(void)
{
	return &out_of_memory;
}

// Takes over message, which is NULL if it could not be made.
HEAP_MAKES_ERROR
static struct heap_error *create(enum heap_error_code code, char *message)
{
	struct heap_error *error = message ? malloc(sizeof(*error)) : NULL;

	if (!error) {
		free(message);
		return &out_of_memory;
	}
	*error = (struct heap_error){ code, message };
	return error;
}

static char *format_message(const char *format, va_list arguments)
{
	char *message;

	return vasprintf(&message, format, arguments) < 0 ? NULL : message;
}

struct heap_error *heap_error_create(enum heap_error_code code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	char *message = format_message(format, arguments);
	va_end(arguments);
	return create(code, message);
}

struct heap_error *heap_error_create_system(const char *format, ...)
{
	int number = errno;
	va_list arguments;

	va_start(arguments, format);
	char *what = format_message(format, arguments);
	va_end(arguments);
	if (!what)
		return &out_of_memory;

	struct heap_error *error =
		heap_error_create(HEAP_ERROR_SYSTEM, "%s: %s", what, strerror(number));
	free(what);
	return error;
}

struct heap_error *heap_error_within(struct heap_error *error, const char *format, ...)
{
	if (!error || error == &out_of_memory)
		return error;

	va_list arguments;

	va_start(arguments, format);
	char *where = format_message(format, arguments);
	va_end(arguments);
	if (!where)
		return error;

	char *message;

	if (asprintf(&message, "%s: %s", where, error->message) >= 0) {
		free(error->message);
		error->message = message;
	}
	free(where);
	return error;
}

enum heap_error_code heap_error_code(const struct heap_error *error)
{
	return error->code;
}

const char *heap_error_message(const struct heap_error *error)
{
	return error->message;
}

void heap_error_destroy(struct heap_error *error)
{
	if (!error || error == &out_of_memory)
		return;
	free(error->message);
	free(error);
}
