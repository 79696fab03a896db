// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef PAGER_H
#define PAGER_H

/**
 * Passes output that is longer than the terminal to a pager, and prints shorter output directly.
 *
 * Output is buffered until it exceeds the terminal. Then the program that HEAPSH_PAGER or PAGER
 * names is started, or else less if it is installed.
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

/** Writes the rest, and waits until the user has read it. */
void pager_close(FILE *stream, struct pager *pager);

#endif
