// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_SIGNALS_H
#define HEAPSNAP_SIGNALS_H

/**
 * Handlers of ours in the program that hosts us, which must behave as if there were none.
 *
 * libc's functions that set handlers are interposed. For a signal that has a handler of ours
 *
 *	the program asks for the present action    gets SIG_DFL, or SIG_IGN if that was inherited
 *	it installs a handler, or ignores it       is done, and ours is gone
 *	it sets SIG_DFL                            ours comes back, or stays
 *	it raises the signal after that            the signal's default action
 *
 * SIG_DFL gives the signal back to us because programs restore it after they have ignored a
 * signal for a while. One that wants to die by the signal sets SIG_DFL and sends the signal to itself.
 *
 * Handlers installed past libc are not seen here; heapsnap_signals_look() asks the kernel.
 */

#include "dumper/base/system.h"

#include <signal.h>
#include <stdbool.h>

typedef void heapsnap_signal_handler(int number, siginfo_t *info, void *context);

/** Finds libc's functions. To be called when the library is loaded. */
void heapsnap_signals_init(void);

/**
 * Installs a handler of ours where the program has none; all signals are blocked in it.
 * async-signal-safe after heapsnap_signals_init(). Again for the same handler: does nothing.
 *
 * @param over_ignored  also where the signal is ignored
 * @return whether it stands
 */
bool heapsnap_signals_claim(int number, heapsnap_signal_handler *handler, bool over_ignored);

/**
 * For a handler of ours, first of all: a signal that the program has sent itself after it had
 * set SIG_DFL takes its default action when the handler returns. async-signal-safe.
 *
 * @return whether that is so, and the handler should return
 */
bool heapsnap_signals_take_default(int number, const siginfo_t *info);

/**
 * The signals that the program ignores, by its own will or by default. async-signal-safe.
 *
 * A thread that stands still for long must not block these. The kernel drops an ignored signal
 * that is sent to a thread, unless this thread blocks it: then the signal becomes pending, and
 * wakes another thread of the process, whose call may end with EINTR.
 */
heapsnap_signals heapsnap_signals_ignored(void);

/** Blocks all signals of this thread but the ignored ones. @param before  gets the mask that was */
void heapsnap_signals_block(heapsnap_signals *before);

/**
 * For a handler of ours, in which all signals are blocked: blocks the ignored ones no longer, except
 * those that the thread blocked before.
 *
 * @param context  the handler's ucontext_t
 */
void heapsnap_signals_let_ignored(const void *context);

/** For a handler of ours that does nothing but wait: blocks no ignored ones in it from now on. */
void heapsnap_signals_open(int number);

/** Removes our handler for good: the next such signal takes its default action. async-signal-safe. */
void heapsnap_signals_drop(int number);

/** Looks at who answers the signal that asks for snapshots, and announces it. async-signal-safe. */
void heapsnap_signals_look(void);

/** To be called when the program may have changed a signal's action. async-signal-safe. */
void heapsnap_signals_changed(int number);

#endif
