// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef UNFREED_H
#define UNFREED_H

/** The report of unfreed blocks: runs heapsh-unfreed on a snapshot. */

#include "dumper/base/protocol.h"
#include "lib/base/error.h"

/**
 * @param snapshot  descriptor of a whole snapshot
 * @param text      where the report goes
 * @return NULL, or HEAP_ERROR_SYSTEM or ARGUMENT: the program is not beside heapsnap-writer, or
 *         has failed
 */
HEAP_MUST_CHECK
struct heap_error *unfreed_print(const struct heapsnap_process *process, int snapshot, int text);

#endif
