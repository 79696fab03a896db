// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef TRACE_PAGE_H
#define TRACE_PAGE_H

/**
 * A trace as a page for a browser, which filters its samples as one points at them.
 *
 *	samples   columns of 32 bits in base64: when born, when dead, which size, way, thread
 *	ways      the calls that led to samples, as columns of places
 *	places    their texts
 *
 * A time is a number of ticks, which are so long that all times fit into 32 bits.
 */

#include "shell/trace/samples.h"

#include <stdio.h>

/**
 * @param peak_us  when most bytes are live
 * @param name     of the trace's file, as commands in the page have it
 */
HEAP_MUST_CHECK
struct heap_error *trace_page_write(FILE *stream, const struct trace_samples *samples,
				    uint64_t peak_us, const char *name);

#endif
