// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_COMMAND_PROGRESS_H
#define HEAPSNAP_COMMAND_PROGRESS_H

/**
 * The progress of another process's snapshots, read from its memory or from that of its frozen
 * copy.
 */

#include "dumper/host/announce.h"
#include "dumper/command/announcement.h"
#include "dumper/command/process.h"
#include "dumper/base/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PROGRESS_TEXT_MAX = 80,
};

/**
 * True if the library in the process speaks of its snapshots as this program understands: its
 * memory may be read, and it is of the same version.
 */
bool progress_is_understood(struct process *process, const struct announcement *announcement);

/** @return false if that cannot be known: memory may not be read, or a child not yet its own */
bool progress_of_process(struct process *process, const struct announcement *announcement,
			 struct heapsnap_announcement *details);

/** @param shared  address of struct heapsnap_shared @return false if it cannot be read */
bool progress_read(struct process *process, uint64_t shared, struct heapsnap_progress *result);

/** @return true while a writer is at work */
bool progress_is_writing(const struct heapsnap_progress *progress);

/** Says the phase, its share that is done and the whole time: "finding types, 34 %, 12 s". */
void progress_format(const struct heapsnap_progress *progress, char *buffer, size_t size);

#endif
