// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef FUNCTIONS_H
#define FUNCTIONS_H

/**
 * The functions that words of the heap and of variables point to: callbacks, and the entries of
 * tables of them.
 *
 * The shell has no symbols of its own, as a snapshot may be read where the program is not
 * installed. So words that may point into code are noted, each value once, while memory is read for
 * other reasons. At the end they are named.
 */

#include "dumper/writer/scan/modules/modules.h"
#include "lib/snapshot/snapshot.h"

struct functions {
	uint64_t (*ranges)[2]; /**< [range_count] executable memory of files, by address */
	size_t range_count;
	uint64_t start, end; /**< no code lies outside */
	uint64_t *noted;     /**< a hash set; 0: free */
	uint32_t noted_count;
};

HEAP_MUST_CHECK
struct heap_error *functions_init(struct functions *functions, const struct image *image);

void functions_deinit(struct functions *functions);

/** Notes a word if it points into code. At most 65536 are kept. @return true if it does */
bool functions_note(struct functions *functions, uint64_t word);

/** Notes those in the kept values of the snapshot's roots. */
void functions_note_roots(struct functions *functions, const struct heap_snapshot *snapshot);

/** Those that have been noted, by address. @param addresses  [*count] malloc'd */
HEAP_MUST_CHECK
struct heap_error *functions_list(const struct functions *functions, uint64_t **addresses,
				  uint32_t *count);

/** Names all that have been noted, in the snapshot's table of functions. */
HEAP_MUST_CHECK
struct heap_error *functions_describe(const struct functions *functions,
				      const struct modules *modules, struct strings *strings,
				      struct heap_snapshot *snapshot);

#endif
