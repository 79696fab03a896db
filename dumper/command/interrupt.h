// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_INTERRUPT_H
#define HEAPSNAP_INTERRUPT_H

/**
 * Signals that ask this process to end: INT, QUIT, TERM and HUP. While they are held, they wait until what
 * they would leave half done is in order: a copy that another process has to wait for, a file that is being
 * written. Those that this process was started to ignore stay ignored.
 *
 *	struct interrupts interrupts;
 *
 *	interrupts_hold(&interrupts);
 *	while (there is work and !interrupts_have_come(&interrupts))
 *		do some of it
 *	put things in order
 *	interrupts_release(&interrupts);    // ends this process if one has come
 */

#include <signal.h>
#include <stdbool.h>

struct interrupts {
	sigset_t held; /**< those that are not ignored */
	sigset_t before;
};

void interrupts_hold(struct interrupts *interrupts);

/** True if one waits. */
bool interrupts_have_come(const struct interrupts *interrupts);

/** The mask is then as it was before interrupts_hold(); one that waits takes effect. */
void interrupts_release(const struct interrupts *interrupts);

#endif
