// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef DAMAGE_H
#define DAMAGE_H

/**
 * Headers that the program has overwritten.
 *
 * A header that does not verify is only a suspect: other pairs of words look like one, too. It
 * counts as damage if its neighbours show that a block lies there: glibc's chunks, or blocks at the
 * very distances at which malloc would have put them.
 */

#include "dumper/base/protocol.h"
#include "dumper/writer/scan/image/image.h"
#include "dumper/writer/scan/objects.h"

/** Two words in the place of a header that do not verify; the second is an address of code. */
struct suspect {
	uint64_t header; /**< address */
	uint64_t extent;
};

struct suspects {
	struct suspect *list; /**< [count] by address */
	size_t count, capacity;
	bool is_cut; /**< there are more */
};

/** Appends a suspect, up to a limit. */
HEAP_MUST_CHECK
struct heap_error *suspects_add(struct suspects *suspects, struct suspect suspect);

/** Forgets those at or after an address, which must be at the end. */
void suspects_forget_from(struct suspects *suspects, uint64_t address);

void suspects_deinit(struct suspects *suspects);

/** Memory that has been scanned, and whose blocks are known. */
struct scanned_memory {
	const struct image *image;
	const struct heapsnap_process *process;
	uint64_t start, end;
};

/** Adds the damage among the suspects to the objects' list. @param range  of the memory */
HEAP_MUST_CHECK
struct heap_error *damage_find(struct objects *objects, const struct scanned_memory *memory,
			       const struct object_range *range, const struct suspects *suspects);

#endif
