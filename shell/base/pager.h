// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef PAGER_H
#define PAGER_H

/**
 * Answers that are longer than the terminal go to a pager, shorter ones just appear.
 *
 * What is written is kept until it is known to be longer; then the program that HEAPSH_PAGER
 * or PAGER names is started, else less if there is one. Tables may be cut at the terminal's
 * width, since a line that is broken in two is no table any more: "…" says so.
 */

#include <stdbool.h>
#include <stdio.h>

struct pager;

/**
 * @param terminal  what short answers are written to
 * @param cut       cut lines at its width
 * @return a stream to write to, closed by pager_close(); NULL if there can be none
 */
FILE *pager_open(FILE *terminal, bool cut, struct pager **result);

/** Writes what is left, and waits until it has been read. */
void pager_close(FILE *stream, struct pager *pager);

#endif
