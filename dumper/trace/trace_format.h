// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_TRACE_FORMAT_H
#define HEAPSNAP_TRACE_FORMAT_H

/**
 * A trace's file: 8 bytes of magic, then chunks, each with its length and checksum (two
 * little-endian 32-bit numbers; FNV-1a of the rest). A chunk that is cut off ends the file;
 * all before it can be read.
 *
 * A chunk holds whole records. A record is a tag and varints (LEB128); "±" are differences,
 * zigzag-coded: 0, -1, 1, -2... A text is a length and bytes.
 *
 *	BEGIN      version, pid, start (ns since 1970), mean (bytes between samples), text program
 *	MODULE     start, end - start, text path: of the steps that follow, until another lies there
 *	STEP       ± address from the last step's, caller (how many steps before this one; 0: none)
 *	ALLOCATED  µs since the last event (±), ± number from the last allocated, size, ± step
 *	           from the last allocated one's
 *	FREED      µs since the last event (±), ± number from the last freed
 *	THREAD     thread id: of the events that follow
 *	DROPPED    how many events found no room
 *	WRAPPER    ± address from the last step's: the steps there are in a function like xmalloc(),
 *	           whose blocks belong to its callers
 *	END        µs since the last event (±): the trace was ended, not cut off
 *
 * Steps are numbered from 1 in the order in which they stand there. The MOVED forms of
 * ALLOCATED and FREED are realloc()'s, which is both.
 */

#include <stdint.h>

#define HEAPSNAP_TRACE_MAGIC "HSTRACE1"

enum {
	HEAPSNAP_TRACE_VERSION = 1,
	HEAPSNAP_TRACE_CHUNK_MAX = 1 << 16, /**< bytes of a chunk, with its 8 of length and sum */
};

enum heapsnap_trace_tag {
	HEAPSNAP_TRACE_BEGIN = 1,
	HEAPSNAP_TRACE_MODULE,
	HEAPSNAP_TRACE_STEP,
	HEAPSNAP_TRACE_ALLOCATED,
	HEAPSNAP_TRACE_ALLOCATED_MOVED,
	HEAPSNAP_TRACE_FREED,
	HEAPSNAP_TRACE_FREED_MOVED,
	HEAPSNAP_TRACE_THREAD,
	HEAPSNAP_TRACE_DROPPED,
	HEAPSNAP_TRACE_END,
	HEAPSNAP_TRACE_WRAPPER,
};

static inline uint32_t heapsnap_trace_checksum(const uint8_t *bytes, uint32_t size)
{
	uint32_t sum = 2166136261u;

	for (uint32_t i = 0; i < size; i++)
		sum = (sum ^ bytes[i]) * 16777619u;
	return sum;
}

#endif
