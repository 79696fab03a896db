// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef PAGER_H
#define PAGER_H

/**
 * Answers that are longer than the terminal go to a pager, shorter ones just appear.
 *
 * Output is kept until it exceeds that; then the program that HEAPSH_PAGER or PAGER names is
 * started, or else less if it is installed.
 */

#include <stdbool.h>
#include <stdio.h>

struct pager;

/**
 * @param terminal  what short answers are written to
 * @return a stream to write to, closed by pager_close(); NULL if there can be none
 */
FILE *pager_open(FILE *terminal, struct pager **result);

/** The size of the terminal. */
unsigned pager_columns(const struct pager *pager);
unsigned pager_rows(const struct pager *pager);

/** Writes what is left, and waits until it has been read. */
void pager_close(FILE *stream, struct pager *pager);

#endif
