// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_TRACE_H
#define HEAP_TRACE_H

/**
 * Reads a trace of allocations (HEAPSNAP_TRACE): a sample of blocks, when each was allocated and
 * freed, and by which calls.
 *
 *	struct heap_trace *trace;
 *	struct heap_trace_event event;
 *
 *	error = heap_trace_open("app-00.trace", &trace);
 *	while (!error && heap_trace_next(trace, &event, &error))
 *		...
 *	heap_trace_close(trace);
 *
 * A block of s bytes is in the sample with probability p = heap_trace_probability(trace, s), so
 * it stands for 1 / p blocks and s / p bytes: sums of these are right on average, and their
 * variance is the sum of (1 - p) / p² (times s² for bytes).
 *
 * Installed as heapsnap/trace.h, for analyses of one's own (pkg-config heaptrace): heaptrace(3).
 *
 * The file may be hostile: what makes no sense is an error. One that is cut off, since the
 * program was killed, ends where its last whole chunk does.
 */

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum heap_trace_kind {
	HEAP_TRACE_ALLOCATED,
	HEAP_TRACE_FREED,
};

struct heap_trace_event {
	enum heap_trace_kind kind;
	bool moved;       /**< by realloc(), which frees one block and allocates another */
	uint64_t time_us; /**< since the trace began */
	uint32_t number;  /**< of the block; what is freed has been allocated before */
	uint32_t thread;  /**< its id */
	uint64_t size;    /**< bytes; of what is allocated */
	uint32_t step;    /**< the innermost call; of what is allocated */
};

/** A place in the code. The texts live as long as the trace. */
struct heap_trace_place {
	const char *function; /**< "" if unknown */
	const char *file;     /**< "" if unknown */
	const char *module;   /**< its path; "" if unknown */
	uint64_t address;     /**< a return address */
	uint64_t offset;      /**< of it in the function, or in the module */
	uint32_t line;        /**< 0 if unknown */
	bool inlined;         /**< into the next place */
};

/** What the file says of itself. Counts are of what has been read so far. */
struct heap_trace_info {
	const char *program;
	uint64_t start_ns; /**< since 1970 */
	uint64_t mean;     /**< bytes between samples */
	uint32_t pid;
	uint64_t end_us;  /**< of the last event, or the end */
	uint64_t dropped; /**< events that are missing, since the program was too fast */
	bool ended;       /**< by the program; else it is cut off */
};

struct heap_trace;

/** @return HEAP_ERROR_SYSTEM, HEAP_ERROR_FORMAT or HEAP_ERROR_MEMORY */
HEAP_MUST_CHECK_PUBLIC
struct heap_error *heap_trace_open(const char *path, struct heap_trace **result);

/** The same for bytes in memory, which are copied. */
HEAP_MUST_CHECK_PUBLIC
struct heap_error *heap_trace_open_memory(const void *bytes, size_t size,
					  struct heap_trace **result);

/** NULL is fine. */
HEAP_PUBLIC void heap_trace_close(struct heap_trace *trace);

HEAP_PUBLIC const struct heap_trace_info *heap_trace_info(const struct heap_trace *trace);

/** @return false at the end, and where @p error gets something */
HEAP_PUBLIC bool heap_trace_next(struct heap_trace *trace, struct heap_trace_event *event,
				 struct heap_error **error);

/** With what probability a block of that size is in the sample: 0 to 1. */
HEAP_PUBLIC double heap_trace_probability(const struct heap_trace *trace, uint64_t size);

/**
 * Whether a step is in a function like xmalloc(), whose blocks belong to its callers: as far as has
 * been read, which is why it is asked when all has been.
 */
HEAP_PUBLIC bool heap_trace_is_wrapper(const struct heap_trace *trace, uint32_t step);

/** The step that has called this one; 0 if none is known. Callers have lower numbers. */
HEAP_PUBLIC uint32_t heap_trace_caller(const struct heap_trace *trace, uint32_t step);

/**
 * Where a step's call is, inlined functions first. Reads the module's debug information when
 * it is asked for the first time: of the file that lies under its name now.
 *
 * @param places  gets what belongs to the trace; one at least
 * @param count   gets how many
 */
HEAP_MUST_CHECK_PUBLIC
struct heap_error *heap_trace_places(struct heap_trace *trace, uint32_t step,
				     const struct heap_trace_place **places, size_t *count);

#ifdef __cplusplus
}
#endif

#endif
