// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef LOST_MEMORY_H
#define LOST_MEMORY_H

/** The memory that a core file lacks, since disk space or a limit cut it off: core_file.h tells which is lost. */

#include "dumper/writer/scan/image/core_file.h"

/**
 * Says which parts of the process are lost: "the stacks of 2 of 3 threads, the variables of libc.so.6,
 * 12 MiB of other memory".
 *
 * @param text  [size] gets ""; if nothing is
 */
void lost_memory_describe(const struct core *core, char *text, size_t size);

#endif
