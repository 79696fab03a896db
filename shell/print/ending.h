// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef ENDING_H
#define ENDING_H

/**
 * How a process ended whose core file the snapshot is of.
 *
 *	ended     by signal 6, Aborted, in thread 4242 (app): check (app.c:7), in abort (libc.so.6)
 *	ended     by signal 11, Segmentation fault, in thread 4242 (app): main (app.c:9)
 *	fault     at 0x10, where nothing is mapped
 *
 * The place is the program's own: functions of the standard libraries that it called come after it.
 */

#include "shell/base/session.h"

/** Prints these lines, and the same for JSON; nothing if no signal ended the process. */
void ending_print(struct session *session);

#endif
