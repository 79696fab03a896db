// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef BOUNDS_H
#define BOUNDS_H

/**
 * Limits on the writer's use of the machine, so that the program does not feel it.
 *
 * Memory: the user's limit (HEAPSNAP_WRITER_MEMORY), and never more than is free when the writer
 * starts, on the machine and in its cgroups. Otherwise the kernel would swap out the program's
 * pages, or kill a process of the cgroup. Beyond the limit malloc fails, which costs a snapshot at
 * most.
 */

#include "dumper/base/protocol.h"

#include <stdint.h>
#include <sys/types.h>

/** Bytes that the writer may use. */
uint64_t bounds_memory(const struct heapsnap_process *process);

/** Holds this process, and those that it starts, to the bounds. */
void bounds_apply(const struct heapsnap_process *process);

/**
 * Bytes of the frozen copy that it shares with nobody any more: the program has written to
 * these pages since, so there are two of them. 0 if the program has ended: then there are not.
 */
uint64_t bounds_copied(pid_t frozen, pid_t program);

#endif
