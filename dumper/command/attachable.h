// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_ATTACHABLE_H
#define HEAPSNAP_ATTACHABLE_H

/**
 * Processes that heapsnap attach could take, for heapsnap list --all.
 */

#include "dumper/command/announcement.h"

/** Prints the names of the columns. */
void attachable_print_heading(void);

/**
 * Prints a row: pid, user, memory, allocator, program.
 *
 * @return false if the process cannot be attached to; nothing is printed then
 */
bool attachable_print(pid_t pid, const struct own_libraries *own);

#endif
