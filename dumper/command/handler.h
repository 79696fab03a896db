// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_HANDLER_H
#define HEAPSNAP_HANDLER_H

/**
 * The owner of the handler for the signal that triggers a process's snapshots, and how to report
 * it.
 */

#include "dumper/command/announcement.h"
#include "dumper/command/process.h"

enum {
	SIGNAL_NAME_MAX = 16,
};

/** The name of the threads that read a snapshot's frozen copy, and that await it. */
#define FROZEN_COMM "heapsnap-frozen"
#define WAITING_COMM "heapsnap-wait"

/**
 * The state that the library announces, unless the kernel says that nothing handles the signal.
 */
enum heapsnap_handler handler_now(const struct process *process,
				  const struct announcement *announcement);

/** A verb for a process, to be followed by the signal: "ignores". */
const char *handler_text(enum heapsnap_handler handler);

/** A signal that the process neither handles nor ignores, as far as the kernel tells; or NULL. */
const char *signal_left_alone(const struct process *process);

/** QUIT, or a number. @param buffer  [SIGNAL_NAME_MAX] */
void signal_name(int number, char *buffer);

#endif
