// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef PROGRESS_H
#define PROGRESS_H

/**
 * A line on the terminal that says how far long work has come, and how long it will take:
 *
 *	dominators 43 % ███████████▎              2 s left
 *
 * It is shown on standard error if that is a terminal, from a second on, and wiped out
 * before the answer comes. ^C makes the work stop.
 */

#include "lib/base/progress.h"

#include <stdio.h>

struct progress {
	struct heap_progress progress; /**< what lib/ is given */
	FILE *stream;                  /**< NULL: nothing is shown */
	const char *what;              /**< the work that goes on */
	double begun;                  /**< when it began, in seconds */
	double shown;                  /**< when the line was shown last; 0: it is not there */
};

/** @param stream  where to show it; NULL for nowhere */
void progress_init(struct progress *progress, FILE *stream);

/** Wipes the line out, and forgets what went on. */
void progress_end(struct progress *progress);

#endif
