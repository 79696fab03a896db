// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CALL_NAMES_H
#define CALL_NAMES_H

/**
 * Converts the library's backtraces for the snapshot: names the code at each return address, and
 * notes which backtrace each object has.
 */

#include "dumper/writer/scan/threads/backtraces.h"

/**
 * Names all calls on the path to each block.
 *
 * @param backtraces  its own and of_kind are filled
 * @param snapshot    gets the calls and steps
 */
HEAP_MUST_CHECK
struct heap_error *call_names_find(struct backtraces *backtraces, const struct image *image,
				   const struct heapsnap_process *process,
				   const struct objects *objects, const struct modules *modules,
				   struct strings *strings, struct heap_snapshot *snapshot);

#endif
