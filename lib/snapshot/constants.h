// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_CONSTANTS_H
#define HEAP_CONSTANTS_H

/**
 * Constants of the program and its libraries: string literals, mostly.
 *
 * A snapshot has no read-only data, since that is in the files that the process had mapped. Where such a
 * file is still there, with the same build id, its constants are read from it:
 *
 *	address -> module -> address in the file (less the bias) -> section -> bytes
 *
 * Sections are used, not segments, because those of a separate debug file say that it has no such bytes.
 * Files may be hostile or gone: then nothing is known.
 */

#include "lib/snapshot/snapshot.h"

/** Forgets the files. NULL is fine. */
void heap_constants_destroy(struct heap_constants *constants);

/**
 * Reads constants of the file that was mapped at an address. Opens each file once, at the first question.
 *
 * @return how many bytes there are, up to @p size or the section's end; 0: none, or nothing is known
 */
size_t heap_constants_read(struct heap_snapshot *snapshot, uint64_t address, char *buffer,
			   size_t size);

/**
 * The same for a string.
 *
 * @param is_whole  gets false if it goes on behind the buffer
 * @param length    gets its length without the NUL
 * @return false if nothing is known, or no NUL ends it
 */
bool heap_constants_string(struct heap_snapshot *snapshot, uint64_t address, char *buffer,
			   size_t size, size_t *length, bool *is_whole);

#endif
