// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef COMPILE_H
#define COMPILE_H

/**
 * Shared objects that a unit test compiles for itself, to read their debug information.
 *
 * A test gets its sources as strings and works in a directory of its own, which
 * compile_end() removes.
 */

#include "t/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char compile_directory[64];

/** A group or test setup. */
static inline int compile_begin(void **state)
{
	(void)state;
	strcpy(compile_directory, "/tmp/heapsh-unit-XXXXXX");
	return mkdtemp(compile_directory) ? 0 : -1;
}

static inline int compile_end(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", compile_directory);
	return system(command);
}

/** Runs a shell command in the directory. @return whether it succeeded */
__attribute__((format(printf, 1, 2))) static inline int compile_run(const char *format, ...)
{
	char command[4096];
	int length = snprintf(command, sizeof(command), "cd '%s' && ", compile_directory);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(command + length, sizeof(command) - length, format, arguments);
	va_end(arguments);
	return system(command) == 0;
}

/** True if a compiler or another program is here. @param command  its name, and options that do not matter */
static inline int compile_has(const char *command)
{
	return compile_run("command -v %.*s >/dev/null", (int)strcspn(command, " "), command);
}

/** Says why the rest of a test is left out. cmocka's skip() is a failure to prove: "not ok # SKIP". */
static inline void compile_lack(const char *what)
{
	printf("# left out: %s\n", what);
}

static inline void compile_write(const char *name, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", compile_directory, name);

	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

/** The path of a file in the directory; valid until the next call. */
static inline const char *compile_path(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", compile_directory, name);
	return path;
}

/** The hexadecimal address that a shell command prints first. */
static inline uint64_t compile_read_address(const char *command)
{
	char line[64] = "";
	FILE *out;

	assert_true(compile_run("%s >address", command));
	out = fopen(compile_path("address"), "r");
	assert_non_null(fgets(line, sizeof(line), out));
	fclose(out);
	return strtoull(line, NULL, 16);
}

/** The address of the symbol at_MARK in a file of the directory. Marks have no type. */
static inline uint64_t compile_address_of(const char *file, const char *mark)
{
	char command[256];

	snprintf(command, sizeof(command), "nm %s | sed -n 's/ . at_%s$//p'", file, mark);
	return compile_read_address(command);
}

#endif
