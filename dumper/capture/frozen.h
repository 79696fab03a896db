// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_FROZEN_H
#define HEAPSNAP_FROZEN_H

/**
 * The frozen copy: starts the writer, keeps still while the writer reads it, and ends.
 *
 * It must not exec itself: its exit signal would become SIGCHLD, which the program would see. From
 * here on only system calls are made, and all signals are blocked. The copy leaves the program's
 * session, so that keys typed at the terminal do not end the writer. When memory runs out, the
 * kernel is to kill the copy before the program.
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
