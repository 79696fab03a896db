// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef PROGRESS_H
#define PROGRESS_H

/**
 * The writer's progress, and whether its time is up.
 *
 * Loops count their steps. Every few thousand steps the clock is read: the progress that the frozen
 * copy shares with the program (struct heapsnap_progress) is updated, and once the time is up
 * progress_is_late() returns true. Type inference then stops; everything else goes on.
 *
 *	loop ──progress_step()──▶ counter of the thread ──each 4096──▶ clock ──each 100 ms──▶ program
 */

#include "dumper/base/protocol.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	PROGRESS_BATCH = 4096, /**< steps between two looks at the clock */
};

extern __thread uint32_t progress_pending; /**< steps of this thread that were not added yet */

/**
 * Starts the clock. To be called before the worker is forked, so that all attempts share it.
 *
 * @param frozen   pid of the frozen copy
 * @param process  says where its memory for progress is, and how long types may take
 */
void progress_init(pid_t frozen, const struct heapsnap_process *process);

/** The time since progress_init(), by the clock. */
uint64_t progress_elapsed_ns(void);

/** Calls a function each time that the clock is read: the writer is alive. */
void progress_set_beat(void (*beat)(void));

/** Begins a phase. @param total  of what progress_set_done() counts; 0: unknown */
void progress_begin(enum heapsnap_phase phase, uint64_t total);

/** Notes how much of the phase is done; may be called by several threads. */
void progress_set_done(uint64_t done);

/** Adds to what of the phase is done. */
void progress_add_done(uint64_t more);

/** Adds this thread's pending steps to the sum, and looks at the clock. */
void progress_flush(void);

/** Counts steps of work. Costs an addition. */
static inline void progress_steps(uint32_t count)
{
	progress_pending += count;
	if (progress_pending >= PROGRESS_BATCH)
		progress_flush();
}

static inline void progress_step(void)
{
	progress_steps(1);
}

/** All steps that were counted. */
uint64_t progress_total_steps(void);

extern bool progress_late; /**< private: the time is over */

/** True when the time that types may take is over; never false again after that. */
static inline bool progress_is_late(void)
{
	return __atomic_load_n(&progress_late, __ATOMIC_RELAXED);
}

/** Notes that types are missing because the time is over. */
void progress_miss_types(void);

/** True if that has been noted. */
bool progress_missed_types(void);

#endif
