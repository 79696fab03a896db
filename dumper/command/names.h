// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_NAMES_H
#define HEAPSNAP_NAMES_H

/**
 * The files that snapshots of a process are written to, by the pattern of their names
 * (HEAPSNAP_FILE in heapsnap(1)).
 *
 * This is for users who may not read the process's memory, which has the name.
 */

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The values that the letters of a pattern stand for in one process. */
struct name_words {
	const char *program; /**< %e */
	const char *host;    /**< %h */
	int pid;             /**< %p */
};

/** The files of one pattern in a directory. */
struct names {
	int directory;    /**< descriptor, as the process sees it; -1: there is none such */
	char *folder;     /**< its path, with a slash at the end */
	const char *last; /**< of the pattern: what follows the last slash */
	char *pattern;
	struct name_words words;
	char **before; /**< [before_count] sorted: the names that were there */
	size_t before_count;
	int64_t until_ms;
};

/**
 * True if a file may have got that name by the pattern. Takes time in proportion to the sum of
 * their lengths. A name is at most NAME_MAX bytes long.
 */
bool name_fits(const char *pattern, const struct name_words *words, const char *name);

/**
 * Notes what is there.
 *
 * @param root   descriptor of the process's /proc/PID
 * @param words  are borrowed
 * @param names  to be given to names_deinit() in any case
 * @param until_ms  as of heap_monotonic_ms(), when to give up here and in names_find_new(); 0: never
 * @return NULL, or HEAP_ERROR_INTERRUPTED: the directory could not be read in that time
 */
HEAP_MUST_CHECK
struct heap_error *names_init(struct names *names, int root, const char *pattern,
			      const struct name_words *words, int64_t until_ms);

void names_deinit(struct names *names);

/**
 * Looks for a file that has come since.
 *
 * @param path  malloc'd; NULL if there is none, or none was found in time
 */
HEAP_MUST_CHECK
struct heap_error *names_find_new(const struct names *names, char **path);

#endif
