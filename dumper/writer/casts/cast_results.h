// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CAST_RESULTS_H
#define CAST_RESULTS_H

/**
 * What functions return, for code_casts.h: the type that they are declared with, or those of the variables whose values
 * they return as a void pointer, or what another function has returned to them.
 *
 *	struct job *job_new(void)			a struct job
 *	void *job_make(void) { ... return job; }	likewise
 *	void *job_copy(void) { return job_make(); }	what job_make() returns
 */

#include "lib/base/array.h"

#include <stdint.h>

enum {
	CAST_RESULTS_OF_ONE = 8, /**< of one function, at most, that are found */
};

/** A function, by the address of its first instruction. */
struct cast_function {
	uint64_t entry;
	uint64_t place; /**< of its DIE */
};

/** What a function returns: one of these two, the other is 0. */
struct cast_result {
	uint64_t function;
	uint64_t type;
	uint64_t callee; /**< what this function returns */
};

/** Zeros are none. */
struct cast_results {
	struct HEAP_ARRAY(struct cast_function) functions;
	struct HEAP_ARRAY(struct cast_result) list;
};

void cast_results_deinit(struct cast_results *results);

HEAP_MUST_CHECK
struct heap_error *cast_results_add_function(struct cast_results *results, uint64_t entry,
					     uint64_t place);

/** Adds what a function returns, unless there is too much. */
HEAP_MUST_CHECK
struct heap_error *cast_results_add(struct cast_results *results, const struct cast_result *result);

/** Has what was added be found, each once. */
void cast_results_sort(struct cast_results *results);

/** The place of a function's DIE; 0: it is not known. */
uint64_t cast_results_place(const struct cast_results *results, uint64_t function);

/** What a function returns, the first of it if it is too much. @return [*count], one behind the other */
const struct cast_result *cast_results_find(const struct cast_results *results, uint64_t function,
					    size_t *count);

#endif
