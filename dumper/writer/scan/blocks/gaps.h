// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef GAPS_H
#define GAPS_H

/**
 * Memory of other owners beside large blocks. The kernel joins neighbouring anonymous mappings, so
 * a mapping with blocks of glibc's malloc may also hold memory that the program has mapped itself.
 *
 *	mapping   │ arena of Python │ mapped chunk │ arena │ arena │ mapped chunk │
 *	gaps       └───────────────┘                └─────────────┘
 */

#include "dumper/writer/scan/objects.h"
#include "lib/base/array.h"

struct gap {
	uint64_t start, end;
};

struct gaps HEAP_ARRAY(struct gap);

/**
 * Finds the gaps between the blocks of a mapping. There are none unless each of its blocks is a chunk
 * that glibc has mapped for it alone: other memory that malloc has is not told from that of others.
 *
 * @param lead  bytes from a chunk's base to its block: those of a header, or 0
 */
HEAP_MUST_CHECK
struct heap_error *gaps_find(const struct image *image, const struct objects *objects,
			     const struct image_mapping *mapping, uint64_t lead, struct gaps *gaps);

#endif
