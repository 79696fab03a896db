// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef TRACE_PAGE_H
#define TRACE_PAGE_H

/**
 * A trace as an interactive page for a browser, which filters the samples.
 *
 *	samples   columns of 32 bits in base64: time of birth and death, size, path, thread
 *	ways      call paths that led to samples, as columns of places
 *	places    their names
 *
 * Times are in ticks, long enough for all times to fit into 32 bits.
 */

#include "shell/trace/samples.h"

#include <stdio.h>

/**
 * Writes the page.
 *
 * @param peak_us  when most bytes are live
 * @param name     of the trace's file, for the commands that the page shows
 */
HEAP_MUST_CHECK
struct heap_error *trace_page_write(FILE *stream, const struct trace_samples *samples,
				    uint64_t peak_us, const char *name);

#endif
