// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_COMPLAIN_H
#define HEAPSNAP_COMPLAIN_H

/**
 * The one line on standard error with which a failed command ends. All texts are escaped, as they
 * may come from other processes.
 */

#include "lib/base/error.h"

enum {
	STATUS_DONE = 0,
	STATUS_FAILED = 1,
	STATUS_MISUSED = 2,
};

/**
 * To be called when the path of a snapshot has been printed.
 *
 * @param root  came before the path
 * @return why standard output did not take it, and what it was: the snapshot is there
 */
HEAP_MUST_CHECK
struct heap_error *check_path_was_printed(const char *root, const char *path);

/** Prints and takes over @p error. @return STATUS_FAILED */
int fail(struct heap_error *error);

/** Prints the line, and where help is. @return STATUS_MISUSED */
HEAP_PRINTF(1, 2)
int misused(const char *format, ...);

#endif
