// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HTML_H
#define HTML_H

/**
 * Pages and pictures: what heapsh writes for a browser. A page is one file, without scripts and
 * without anything from elsewhere.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** Text inside an element or an attribute: what has a meaning there, or would harm, is escaped. */
void html_text(FILE *stream, const char *text);

/** Begins a page, as far as its first heading. */
void html_begin(FILE *stream, const char *title);
void html_end(FILE *stream);

/** A line of values, small enough to stand in a table. @param values  [count] */
void html_sparkline(FILE *stream, const uint64_t *times, const uint64_t *values, size_t count);

#endif
