// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef DESTINATION_H
#define DESTINATION_H

/**
 * The snapshot's file, which exists under its name only once it is whole.
 *
 * It is written as a hidden temporary file in the same directory (created exclusively, mode 0600,
 * never through a symbolic link), synced, and renamed to the first serial number that is free. No
 * existing file is ever replaced.
 */

#include "dumper/base/protocol.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct destination {
	char temporary[HEAPSNAP_PATH_MAX + 64];
	char path[HEAPSNAP_PATH_MAX + 64]; /**< the final one, once it is known */
	unsigned number;                   /**< that the file got */
	int descriptor;
};

/** Creates the temporary file. */
HEAP_MUST_CHECK
struct heap_error *destination_open(struct destination *destination,
				    const struct heapsnap_process *process);

/** Makes the file empty again. */
HEAP_MUST_CHECK
struct heap_error *destination_rewind(const struct destination *destination);

/** Syncs the file, and gives it its name (then in destination->path). */
HEAP_MUST_CHECK
struct heap_error *destination_commit(struct destination *destination,
				      const struct heapsnap_process *process);

/** Closes and, unless it was committed, removes the file. */
void destination_deinit(struct destination *destination);

/**
 * Makes a file name of @p pattern: %e program, %p pid, %h host, %t seconds since 1970,
 * %N serial (two digits at least), %% a per cent sign. @return false if it is too long
 */
bool destination_expand(const struct heapsnap_process *process, const char *pattern,
			unsigned serial, char *buffer, size_t size);

#endif
