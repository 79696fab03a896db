// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef PAGE_H
#define PAGE_H

/**
 * Pages that draw themselves: a frame of shell/web/, the parts that it names, and the data. Parts of
 * HTML may name further parts.
 */

#include <stddef.h>
#include <stdio.h>

/**
 * @param frame    with "@part@", "@data@", "@title@"
 * @param program  for the title; any bytes
 * @param data     [size] JSON
 */
void page_write(FILE *stream, const char *frame, const char *program, const char *data,
		size_t size);

#endif
