// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_TRACE_H
#define HEAP_TRACE_H

/**
 * Reads a trace of allocations (HEAPSNAP_TRACE): a sample of blocks, with the times and the calls
 * that allocated and freed them.
 *
 *	struct heap_trace *trace;
 *	struct heap_trace_event event;
 *
 *	error = heap_trace_open("app-00.trace", &trace);
 *	while (!error && heap_trace_next(trace, &event, &error))
 *		...
 *	heap_trace_close(trace);
 *
 * A block of s bytes is in the sample with probability p = heap_trace_probability(trace, s), so it
 * represents 1 / p blocks and s / p bytes. Sums of these are unbiased estimates, with a variance of
 * the sum of (1 - p) / p² (times s² for bytes).
 *
 * Installed as heapsnap/trace.h for other programs (pkg-config heaptrace): heaptrace(3).
 *
 * The file may be hostile: damage is an error. A trace that is cut off, because the program was
 * killed, ends after its last complete chunk.
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
	uint32_t number;  /**< of the block; a block that is freed was allocated before */
	uint32_t thread;  /**< its id */
	uint64_t size;    /**< bytes; of allocations only */
	uint32_t step;    /**< the innermost call; of allocations only */
};

/** A place in the code. The strings live as long as the trace. */
struct heap_trace_place {
	const char *function; /**< "" if unknown */
	const char *file;     /**< "" if unknown */
	const char *module;   /**< its path; "" if unknown */
	uint64_t address;     /**< a return address */
	uint64_t offset;      /**< of the address in the function, or in the module */
	uint32_t line;        /**< 0 if unknown */
	bool inlined;         /**< into the next place */
	bool is_wrapper;      /**< inlined, and passes on memory that it allocates */
};

/** Properties of a trace. Counts are those of the part that has been read so far. */
struct heap_trace_info {
	const char *program;
	uint64_t start_ns; /**< since 1970 */
	uint64_t mean;     /**< bytes between samples */
	uint32_t pid;
	uint64_t end_us;  /**< time of the last event, or of the end */
	uint64_t dropped; /**< missing events: the program was too fast */
	bool ended;       /**< by the program; false: it is cut off */
};

struct heap_trace;

/** Opens a trace. @return NULL, HEAP_ERROR_SYSTEM, HEAP_ERROR_FORMAT or HEAP_ERROR_MEMORY */
HEAP_MUST_CHECK_PUBLIC
struct heap_error *heap_trace_open(const char *path, struct heap_trace **result);

/** The same for bytes in memory, which are copied. */
HEAP_MUST_CHECK_PUBLIC
struct heap_error *heap_trace_open_memory(const void *bytes, size_t size,
					  struct heap_trace **result);

/** NULL is fine. */
HEAP_PUBLIC void heap_trace_close(struct heap_trace *trace);

HEAP_PUBLIC const struct heap_trace_info *heap_trace_info(const struct heap_trace *trace);

/** Reads the next event. @return false at the end, and on an error, which @p error gets */
HEAP_PUBLIC bool heap_trace_next(struct heap_trace *trace, struct heap_trace_event *event,
				 struct heap_error **error);

/** The probability that a block of that size is in the sample: 0 to 1. */
HEAP_PUBLIC double heap_trace_probability(const struct heap_trace *trace, uint64_t size);

/**
 * True if a step is in a function like xmalloc(), whose blocks belong to its callers. Wrappers may
 * come anywhere in a trace, so call it after the whole trace has been read.
 */
HEAP_PUBLIC bool heap_trace_is_wrapper(const struct heap_trace *trace, uint32_t step);

/** The step that called this one; 0 if none is known. Callers have lower numbers. */
HEAP_PUBLIC uint32_t heap_trace_caller(const struct heap_trace *trace, uint32_t step);

/**
 * Finds the places of a step's call, inlined functions first. The first call for a module reads its
 * debug information, from the file that is at its path now.
 *
 * @param places  gets an array owned by the trace, of at least one place
 * @param count   gets its length
 */
HEAP_MUST_CHECK_PUBLIC
struct heap_error *heap_trace_places(struct heap_trace *trace, uint32_t step,
				     const struct heap_trace_place **places, size_t *count);

#ifdef __cplusplus
}
#endif

#endif
