// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HTML_H
#define HTML_H

/**
 * Static pages and pictures for a browser. A page is one file, without scripts, and loads nothing
 * else.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** Writes text inside an element or an attribute, escaped. */
void html_text(FILE *stream, const char *text);

/** Begins a page, up to its first heading. */
void html_begin(FILE *stream, const char *title);
void html_end(FILE *stream);

/** Draws a line chart small enough for a table. @param values  [count] */
void html_sparkline(FILE *stream, const uint64_t *times, const uint64_t *values, size_t count);

#endif
