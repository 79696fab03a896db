// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_PERMISSION_H
#define HEAPSNAP_PERMISSION_H

/**
 * Users, and why this one may not trace a process: "Ptrace access mode checking" of ptrace(2).
 */

#include "dumper/command/process.h"

/** The name of a user, or the number of one that has none. */
void permission_user_name(uid_t user, char *buffer, size_t size);

/**
 * To be called when the kernel has said EPERM or EACCES.
 *
 * @param name    of the program
 * @param action  that is not allowed: "examined"
 */
HEAP_MAKES_ERROR
struct heap_error *permission_explain(const struct process *process, const char *name,
				      const char *action);

#endif
