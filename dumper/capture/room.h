// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_ROOM_H
#define HEAPSNAP_ROOM_H

/**
 * Tables of a snapshot that have an entry for each thread: reserved for the first one, then kept. By slot
 * in the table of threads, except where another index is named.
 */

#include "dumper/base/protocol.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	HEAPSNAP_TID_SLOTS = 4 * HEAPSNAP_THREADS,
	HEAPSNAP_ASKED =
		2 * HEAPSNAP_THREADS, /**< in one stop: a thread that woke is asked again */
};

struct heapsnap_room {
	struct heapsnap_thread threads[HEAPSNAP_THREADS];

	/**
	 * freeze.c: the processor time of a thread that is left alone, before it was examined. 0: it is
	 * stopped, or is to be.
	 */
	uint64_t time_before[HEAPSNAP_THREADS];
	uint8_t left_call[HEAPSNAP_THREADS]; /**< freeze.c: enum heapsnap_call, of those */
	/** freeze.c: the thread ids that have a place in the table: a hash table with linear probing. */
	uint32_t known_tids[HEAPSNAP_TID_SLOTS];

	uint32_t asked[HEAPSNAP_ASKED]; /**< gate.c: slots, in the order in which they are asked */
	uint8_t answer[HEAPSNAP_THREADS]; /**< gate.c: enum answer */

	uint8_t grip[HEAPSNAP_THREADS];   /**< hold.c: enum grip */
	uint8_t signal[HEAPSNAP_THREADS]; /**< hold.c: that was on its way when it was stopped */
	uint32_t held_call[HEAPSNAP_THREADS]; /**< hold.c: that it slept in; 0: nothing to repair */
};

/** NULL before the first snapshot. */
extern struct heapsnap_room *heapsnap_room;

/** Reserves it, if need be. async-signal-safe. @return false if there is no memory */
bool heapsnap_room_make(void);

#endif
