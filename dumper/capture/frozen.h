// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_FROZEN_H
#define HEAPSNAP_FROZEN_H

/**
 * The frozen copy: starts the writer, keeps still while that reads it, and ends.
 *
 * It must not exec itself: its exit signal would become SIGCHLD, which the program would
 * see. Only system calls from here on; all signals are blocked. It leaves the program's
 * session, so that keys typed at the terminal do not end the writer, and offers itself to
 * the kernel when memory runs out, before the program.
 */

#include <stdint.h>

/**
 * The clone runs this instead of returning. The outcome goes to struct heapsnap_shared; a failure
 * is reported from here if nobody waits any more.
 *
 * @param waiter  id of the thread that waits for the outcome
 */
__attribute__((noreturn)) void heapsnap_frozen(uint32_t waiter);

#endif
