// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef TRACE_PPROF_H
#define TRACE_PPROF_H

/**
 * A trace's samples as a profile for pprof: what was allocated (alloc_objects, alloc_space), and
 * what is live at a time (inuse_objects, inuse_space), each an estimate for all blocks.
 */

#include "shell/trace/samples.h"

#include <stdio.h>

/** @param time_us  when what is live then is in use */
HEAP_MUST_CHECK
struct heap_error *trace_pprof_write(const struct trace_samples *samples, uint64_t time_us,
				     FILE *file);

#endif
