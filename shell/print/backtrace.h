// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef BACKTRACE_H
#define BACKTRACE_H

/**
 * The calls that led to an allocation, innermost first.
 *
 *	#0   node_new (app.c:12), inlined
 *	#1   add (app.c:20)
 *	#2   main (app.c:44)
 */

#include "shell/base/session.h"

/** The step that follows outwards; 0 after main(): what calls that is the same in all programs. */
uint32_t backtrace_caller(const struct heap_snapshot *snapshot, uint32_t step);

/** "node_new (app.c:12)", "grow+0x10 (libutility.so)". */
const char *backtrace_call(struct session *session, uint32_t call);

/**
 * The nearest call outwards from a step whose line is known and that is not inside the C++ library:
 * it tells more than code without debug information does.
 *
 * @return a call, or HEAP_NO_INDEX
 */
uint32_t backtrace_known_call(const struct heap_snapshot *snapshot, uint32_t step);

/**
 * An object's site. If its line is not known, the nearest call with one follows:
 * "deflateInit2_+0x189 (libz.so.1), for conn_open (z.c:9)". Needs SITE and BACKTRACE.
 */
const char *backtrace_site(struct session *session, heap_object_id object);

/** Prints an object's backtrace, if it has one. Needs BACKTRACE. */
void backtrace_print(struct session *session, heap_object_id object);

#endif
