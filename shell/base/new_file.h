// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef NEW_FILE_H
#define NEW_FILE_H

/**
 * Writes a file that appears under its name only once it is whole.
 *
 * It is written under a temporary name in the same directory, and renamed at the end. An error, a
 * full disk or a signal that ends the program leaves nothing of it, and keeps an existing file of
 * that name, and its mode; a new one is for its owner alone, as snapshots are. Anything but a regular file, such as /dev/stdout, is written directly.
 *
 *	error = new_file_open(&file, path);
 *	if (error)
 *		return error;
 *	error = write(file.stream);
 *	return new_file_close(&file, error);
 */

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdio.h>

struct new_file {
	FILE *stream;
	char *path;    /**< where it will be */
	char *written; /**< where it is until then; the same if it is written in place */
};

/** Opens a file for writing. On failure, whose message names the path, nothing is left to close. */
HEAP_MUST_CHECK
struct heap_error *new_file_open(struct new_file *file, const char *path);

/** The same without a stream, for somebody who opens `written` by its name. */
HEAP_MUST_CHECK
struct heap_error *new_file_reserve(struct new_file *file, const char *path);

/**
 * Puts the file in its place, or removes it if there is an error, and frees what it has.
 *
 * @param error  taken over, and given back
 */
HEAP_MUST_CHECK
struct heap_error *new_file_close(struct new_file *file, struct heap_error *error);

/** Ends writing a file that is put in its place later, with others that belong to it. */
HEAP_MUST_CHECK
struct heap_error *new_file_finish(struct new_file *file);

/** A directory of such files. @param made  set if it was not there */
HEAP_MUST_CHECK
struct heap_error *new_file_begin_directory(char *path, bool *made);

/** Removes it again if there is an error and it was made; @p error is given back. */
HEAP_MUST_CHECK
struct heap_error *new_file_end_directory(char *path, bool made, struct heap_error *error);

#endif
