// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef TRACE_SAMPLES_H
#define TRACE_SAMPLES_H

/**
 * The sampled blocks of a trace, each with its lifetime, and estimates for all blocks.
 *
 *	sample      size, born, died, calls        1 / p of the blocks of its size
 *	estimate    bytes ± error                  sum of size / p; the error is two standard
 *	                                           deviations, sqrt(sum of size² (1 - p) / p²)
 */

#include "lib/base/hash_table.h"
#include "lib/trace/trace.h"

#include <stdint.h>

#define TRACE_ALIVE UINT64_MAX

struct trace_sample {
	uint64_t size;    /**< bytes */
	uint64_t born_us; /**< since the trace began */
	uint64_t died_us; /**< or TRACE_ALIVE */
	uint32_t step;    /**< the innermost of its calls */
	uint32_t number;
	uint32_t born_by; /**< thread id */
	uint32_t died_by;
	bool moved_in;  /**< it came from realloc() */
	bool moved_out; /**< realloc() ended it */
};

struct trace_samples {
	struct heap_trace *trace;
	struct trace_sample *samples; /**< [count] in the order of their numbers' appearance */
	uint32_t count, capacity;
	struct heap_hash_table by_number; /**< private: indexes of samples */
	bool shows_wrappers;              /**< paths include the calls within wrappers */
	uint64_t unknown_frees;           /**< of blocks that are not in the trace */
};

struct trace_estimate {
	uint64_t samples;
	double objects, bytes, variance; /**< variance of bytes */
};

/** Conditions that a sample must meet; zeros and NULL are none. */
struct trace_filter {
	bool has_between, has_live, has_longer, has_shorter, has_thread;
	uint64_t between[2]; /**< µs: born within */
	uint64_t live[2];    /**< µs: alive at some time within */
	uint64_t longer_us, shorter_us;
	uint64_t size_min, size_max; /**< size_max 0: any */
	uint32_t thread;
	const char *const *
		with; /**< [with_count] functions, files or modules, all of which are among its calls */
	const char *const *without; /**< [without_count] none of which is among its calls */
	const char *site;           /**< the same, of the innermost call */
	unsigned with_count, without_count;
};

/** Reads all of a trace. @param samples  zeros, but for shows_wrappers */
HEAP_MUST_CHECK
struct heap_error *trace_samples_load(struct trace_samples *samples, const char *path);

void trace_samples_deinit(struct trace_samples *samples);

/** Keeps only samples that match a filter. */
HEAP_MUST_CHECK
struct heap_error *trace_samples_filter(struct trace_samples *samples,
					const struct trace_filter *filter);

/** The highest step of any sample. */
uint32_t trace_samples_steps(const struct trace_samples *samples);

/** Adds what a sample stands for, which is more the smaller it is. */
void trace_estimate_add(struct trace_estimate *estimate, const struct trace_samples *samples,
			const struct trace_sample *sample);

/** Two standard deviations, in bytes. */
double trace_estimate_error(const struct trace_estimate *estimate);

/** True if a sample is live at a time: from its birth until its death. */
static inline bool trace_is_live(const struct trace_sample *sample, uint64_t time_us)
{
	return sample->born_us <= time_us && time_us < sample->died_us;
}

/** The time at which most bytes are live, in µs; 0 if there are no samples. */
HEAP_MUST_CHECK
struct heap_error *trace_samples_peak(const struct trace_samples *samples, uint64_t *time_us);

/** "node_new (app.c:12)", "grow+0x10 (libutility.so)", "libutility.so+0x1234". In @p buffer. */
const char *trace_place_text(const struct heap_trace_place *place, char *buffer, size_t size);

/** The site of a step's samples: the first of its calls. In @p buffer. */
HEAP_MUST_CHECK
struct heap_error *trace_site_text(const struct trace_samples *samples, uint32_t step, char *buffer,
				   size_t size);

/** The calls of a step, innermost first, behind those in wrappers, up to main. @return malloc'd, NULL without memory */
HEAP_MUST_CHECK
struct heap_error *trace_way(const struct trace_samples *samples, uint32_t step,
			     const struct heap_trace_place ***places, size_t *count);

#endif
