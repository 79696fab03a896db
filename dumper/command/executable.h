// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_EXECUTABLE_H
#define HEAPSNAP_EXECUTABLE_H

/**
 * The file that the kernel executes for a command, and what keeps the library out of it.
 *
 * A command is found as execvp(3) finds it. A script is replaced by its interpreter, which may be a
 * script itself, and env(1) in a script by the program that it names.
 */

#include "dumper/command/process.h"
#include "lib/base/error.h"

#include <stdbool.h>

/** Facts about a program before it runs. */
struct executable {
	char *path; /**< as found: absolute, or as the user wrote it */
	char *file; /**< the file that the kernel loads: the same, or a script's interpreter */
};

/** The machine that the program of a process is made for. */
enum executable_kind {
	EXECUTABLE_OWN,     /**< for this machine; also of which nothing may be read */
	EXECUTABLE_NARROW,  /**< of 32 bits */
	EXECUTABLE_FOREIGN, /**< for another machine */
};

/** @return what the program of a process is for, by its file's header */
enum executable_kind executable_kind_of(const struct process *process);

/** @return NULL, or HEAP_ERROR_ABSENT or HEAP_ERROR_SYSTEM with one line that says why not */
HEAP_MUST_CHECK
struct heap_error *executable_find(const char *name, struct executable *result);

void executable_deinit(struct executable *executable);

/**
 * Checks that the library can be preloaded.
 *
 * @param remark  a static text if little will be seen of the program; NULL if all is well
 * @return an error if the library would not be loaded, or the program not run with it
 */
HEAP_MUST_CHECK
struct heap_error *executable_check(const struct executable *executable, const char **remark);

#endif
