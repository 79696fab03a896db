// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEADER_SCAN_H
#define HEADER_SCAN_H

/**
 * Finds the signed headers and footers of live blocks in a part of the memory.
 *
 * Several threads scan parts independently. A part may begin inside a block, which only shows once
 * the part before it is known; header_scan_mend() then corrects it.
 */

#include "dumper/base/protocol.h"
#include "dumper/writer/scan/blocks/damage.h"
#include "dumper/writer/scan/image/image.h"
#include "dumper/writer/scan/reallocations.h"

/** A block's header or footer. */
struct found_header {
	uint64_t block;
	uint64_t extent, origin;
	uint64_t address;
	uint64_t next; /**< where another one may begin */
};

/** The headers in a part of the memory. */
struct header_scan {
	const struct scanned_memory *memory;
	struct moves *moves;
	uint64_t end;
	uint64_t next; /**< none can begin before: inside the last block */
	bool has_footers;
	uint64_t last_word, last_address; /**< the last word that was visited */
	struct found_header *headers;     /**< [count] by address */
	size_t count, capacity;
	const struct image_mapping *code; /**< which the last site was in */
	struct suspects suspects;
};

/**
 * Scans from @p start to @p end.
 *
 * @param scan  zeros, or what an earlier part has left there: its memory is used again
 */
HEAP_MUST_CHECK
struct heap_error *header_scan_run(struct header_scan *scan, const struct scanned_memory *memory,
				   struct moves *moves, uint64_t start, uint64_t end);

/**
 * Scans again if anything was found before @p start, where the last block of an earlier part ends.
 * That block's contents may have looked like damage; one in 65,536 words looks like a signature,
 * and may have hidden what comes after it.
 */
HEAP_MUST_CHECK
struct heap_error *header_scan_mend(struct header_scan *scan, uint64_t start);

void header_scan_deinit(struct header_scan *scan);

#endif
