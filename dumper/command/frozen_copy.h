// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_FROZEN_COPY_H
#define HEAPSNAP_FROZEN_COPY_H

/**
 * A copy of another process's memory, of one moment, that the process goes on without.
 *
 *	process           clone(CLONE_VM) ┐    one of its threads is made to do so
 *	  └ go-between    clone(CLONE_VM) ┐    it ends at once: then the holder is no child of the process
 *	      └ holder    clone(0) ┐           shares the memory; made while all threads go on
 *	          └ copy                       made while all threads are stopped
 *
 * None of the three ever runs an instruction of the program, nor is there a signal or an exit
 * status of theirs. All die with this process. A process that takes in orphans gets the copy as a
 * child of its own, and is made to wait for it at the end.
 */

#include "dumper/base/protocol.h"
#include "dumper/command/process_threads.h"

struct frozen_copy {
	pid_t pid;                       /**< 0: there is none */
	struct heapsnap_thread *threads; /**< [thread_count] at the moment of the copy */
	uint32_t thread_count;
	uint64_t stop_ns, clone_ns; /**< how long threads were stopped, and the copy took */
	bool is_lost; /**< there is none since the process ended, or began another program */
	long left;    /**< the go-between's pid there if it has not been waited for; 0: it has */

	/* Private. */
	uint64_t held_until_ns; /**< when all threads go on at the latest; 0: they do at once */
	pid_t holder;
	bool is_reaper;                 /**< the process takes in orphans */
	long own_pids[2];               /**< of holder and copy, in the process's namespace */
	struct process_threads tracees; /**< that are, were or could not be stopped */
};

/**
 * Makes the copy. Threads that sleep in calls which an interruption would disturb are left alone;
 * the registers of the others are exact.
 *
 * @param hold_ns  for how long threads stay stopped, unless the copy is destroyed before; those
 *                 that were left alone are stopped when they wake. 0: they go on at once
 * @param copy  to be given to frozen_copy_destroy() in any case. If an attempt before has left a child, copy->left
 *              says so: the process is made to wait for it
 */
HEAP_MUST_CHECK
struct heap_error *frozen_copy_create(struct process *process, const struct process_status *status,
				      uint64_t hold_ns, struct frozen_copy *copy);

/**
 * Lets threads go that could not be stopped in time, or all when they have been held for long
 * enough. Call it now and then.
 */
void frozen_copy_tend(struct process *process, struct frozen_copy *copy);

/** Makes the process wait for a child that an attempt has left. @param left  0 from then on */
void frozen_copy_reap(struct process *process, long *left);

void frozen_copy_destroy(struct process *process, struct frozen_copy *copy);

#endif
