// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef FUNCTIONS_H
#define FUNCTIONS_H

/**
 * The functions that words of the heap and of variables point to: callbacks, and the entries of
 * tables of them.
 *
 * The shell has no symbols of its own: a snapshot is read where the program is not. So what
 * looks like a pointer into code is noted while words are looked at for other reasons, once
 * however often it is there, and named at the end.
 */

#include "dumper/writer/scan/modules.h"
#include "dumper/writer/scan/roots.h"
#include "lib/snapshot/snapshot.h"

struct functions {
	uint64_t (*ranges)[2]; /**< [range_count] executable memory of files, by address */
	size_t range_count;
	uint64_t start, end; /**< no code lies outside */
	uint64_t *noted;     /**< a hash set; 0: free */
	uint32_t noted_count;
	struct heap_call *calls; /**< [count] by address; filled by functions_describe() */
	uint32_t count;
};

HEAP_MUST_CHECK
struct heap_error *functions_init(struct functions *functions, const struct image *image);

void functions_deinit(struct functions *functions);

/** Notes a word if it points into code. Beyond 65536 different ones no more are. */
void functions_note(struct functions *functions, uint64_t word);

/** Notes those in the kept values of variables. */
void functions_note_roots(struct functions *functions, const struct roots *roots);

/** Names all that have been noted. */
HEAP_MUST_CHECK
struct heap_error *functions_describe(struct functions *functions, const struct modules *modules,
				      struct strings *strings);

#endif
