// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef BACKTRACE_H
#define BACKTRACE_H

/**
 * The way to an allocation, innermost call first.
 *
 *	#0   node_new (app.c:12), inlined
 *	#1   add (app.c:20)
 *	#2   main (app.c:44)
 */

#include "shell/session.h"

/** "node_new (app.c:12)", "grow+0x10 (libutility.so)". */
const char *backtrace_call(struct session *session, uint32_t call);

/** Prints an object's backtrace, if it has one. Needs BACKTRACE. */
void backtrace_print(struct session *session, heap_object_id object);

#endif
