// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_ATTACH_H
#define HEAPSNAP_ATTACH_H

#include "dumper/command/foreign.h"

#include <sys/types.h>

/**
 * heapsnap attach: a snapshot of a process that was not started by heapsnap run.
 *
 * @param words  the arguments behind "attach", to a NULL
 * @return the exit status
 */
int attach(char **words);

/** Reads "[OPTION]... PID". @return an exit status; what is wrong has been said */
int attach_read_arguments(const char *command, char **words, struct foreign_options *options,
			  pid_t *pid);

/** @return why the process cannot be attached to; NULL if it can */
HEAP_MUST_CHECK
struct heap_error *attach_check(pid_t pid);

/**
 * Takes the snapshot, and prints its name.
 *
 * @param hold_ns  for how long the process may be stopped until the snapshot is written; 0: it goes
 *                 on at once
 */
HEAP_MUST_CHECK
struct heap_error *attach_take(pid_t pid, const struct foreign_options *options, uint64_t hold_ns);

#endif
