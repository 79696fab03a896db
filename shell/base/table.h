// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef TABLE_H
#define TABLE_H

/**
 * Tables: columns of figures, and a name at the end of each row.
 *
 * Names are never cut. On a terminal that is too narrow, columns are left out, the least
 * important first, until names have room; a longer name goes on in the next line, below where
 * it began. What goes to a file or a pipe has all columns, and each row on one line.
 *
 * Cells are separated by a tab in the format; the last one is the name.
 *
 *	table_header(output, "021", "%10s\t%10s\t%6s\t%s", "retained", "reachable", "%", "root");
 *	table_row(output, "%10s\t%10s\t%6.1f\t%s", retained, reachable, share, name);
 *
 * A name may begin with the lines of a tree (│ ├─ └─), which its continuation repeats.
 * Like output_text(), these functions write nothing in JSON mode.
 */

#include "shell/base/output.h"

/**
 * Writes the line of titles, and chooses the columns of the rows that follow.
 *
 * @param ranks  a digit for each column but the last: '0' is never left out, the highest goes
 *               first, and of equal ones the rightmost
 */
__attribute__((format(printf, 3, 4))) void table_header(struct output *output, const char *ranks,
							const char *format, ...);

/** Writes a row, formatted as by output_text(). */
__attribute__((format(printf, 2, 3))) void table_row(struct output *output, const char *format,
						     ...);

#endif
