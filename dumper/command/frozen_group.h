// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef FROZEN_GROUP_H
#define FROZEN_GROUP_H

/**
 * Tells whether the control group of a process is frozen, as that of a paused container: no thread of it
 * would return from a call that it is made to do.
 */

#include "dumper/command/process.h"

/** True if its group, of version 1 or 2, or one above it is frozen; false if that cannot be known. */
bool frozen_group_holds(const struct process *process);

#endif
