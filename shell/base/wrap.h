// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef WRAP_H
#define WRAP_H

/**
 * Breaks lines that are wider than the terminal between words and between the parts of names, so
 * that the terminal does not break them elsewhere:
 *
 *	1. 44.3 % of the heap, 479.3 KiB:          ├─.next of struct session at
 *	   1000 × struct node, held by …           │ 0x55d0c0ffee40
 *
 * Widths are those of characters on a terminal; colours take none.
 */

#include <stddef.h>

typedef void wrap_put(void *context, const char *bytes, size_t size);

/** Columns that a text takes. */
size_t wrap_width(const char *text);

/**
 * Writes a text that begins in column @p indent, where its continuations begin, too. Lines of a tree
 * (│ ├─ └─) at its start are repeated.
 *
 * @param columns  of the terminal; 0: there is none
 */
void wrap_cell(const char *text, size_t columns, size_t indent, wrap_put *put, void *context);

/** Writes a whole line, without its newline. Continuations are indented further than it. */
void wrap_line(const char *line, size_t columns, wrap_put *put, void *context);

#endif
