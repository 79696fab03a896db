// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_ROOM_H
#define HEAPSNAP_ROOM_H

/**
 * Tables of a snapshot that have an entry for each thread: reserved for the first one, for twice as many
 * threads as there are, then kept until there are more. By slot in the table of threads, except where
 * another index is named.
 */

#include "dumper/base/protocol.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	HEAPSNAP_TID_SLOTS = 4, /**< per thread */
	HEAPSNAP_ASKED = 2,     /**< per thread, in one stop: one that woke is asked again */
};

struct heapsnap_room {
	uint32_t capacity; /**< threads */
	struct heapsnap_thread *threads;

	/**
	 * freeze.c: the processor time of a thread that is left alone, before it was examined. 0: it is
	 * stopped, or is to be.
	 */
	uint64_t *time_before;
	uint8_t *left_call; /**< freeze.c: enum heapsnap_call, of those */
	/** freeze.c: the thread ids that have a place in the table: a hash table with linear probing. */
	uint32_t *known_tids;

	uint32_t *asked; /**< gate.c: slots, in the order in which they are asked */
	uint8_t *answer; /**< gate.c: enum answer */

	uint8_t *grip;       /**< hold.c: enum grip */
	uint8_t *signal;     /**< hold.c: that was on its way when it was stopped */
	uint32_t *held_call; /**< hold.c: that it slept in; 0: nothing to repair */
};

/** NULL before the first snapshot. */
extern struct heapsnap_room *heapsnap_room;

/**
 * Sees to it that there is room for the threads of now, if need be; to be called when no snapshot is
 * being taken. async-signal-safe.
 *
 * @return false if there is no memory, and no room from before
 */
bool heapsnap_room_make(void);

#endif
