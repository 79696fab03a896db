// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef PROGRESS_H
#define PROGRESS_H

/**
 * A progress bar for long work, with an estimate of the remaining time:
 *
 *	dominators 43 % ███████████▎              2 s left
 *
 * It appears on standard error after one second, if that is a terminal, and is erased before the
 * output. ^C makes the work stop.
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
