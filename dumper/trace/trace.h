// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_TRACE_H
#define HEAPSNAP_TRACE_H

/**
 * HEAPSNAP_TRACE: records the allocation and the freeing of sampled blocks in a file, as they
 * happen.
 *
 *	malloc, free of a sample ──▶ ring of events ──▶ thread of ours ──▶ file (trace_format.h)
 *
 * The program's threads put an event of 40 bytes into a ring that has room for 65536, and never
 * wait: an event that finds no room is counted as dropped. The thread wakes 50 ms after the first
 * event, or when the ring is half full, and writes the events; so if the program is killed, the
 * file lacks its last 50 ms. A child of fork() begins a file of its own with its first event.
 *
 * HEAPSNAP_TRACE_SIGNAL begins a trace if there is none, and ends the current one otherwise.
 *
 * async-signal-safe.
 */

#include "dumper/trace/sampling.h"

#include <stdbool.h>
#include <stdint.h>

/**
 * Begins a trace, ending the one before.
 *
 * @param pattern  of the file's name, as HEAPSNAP_TRACE; "" for none
 * @return 0 or -errno
 */
int heapsnap_trace_set(const char *pattern);

/** Sets the name of the traces that the signal begins. @return 0 or -errno */
int heapsnap_trace_name(const char *pattern);

/** Installs the signal's handler, if the settings have one, and the program has none. */
void heapsnap_trace_init(void);

/** Ends the trace: what there is of it is in the file when this returns, or 2 s have passed. */
void heapsnap_trace_stop(void);

/** True if there is a trace; in a child of fork() its own begins. */
bool heapsnap_trace_is_on(void);

/**
 * Notes that a sample has been allocated.
 *
 * @param sample  by which thread, when, and how
 * @param moved  by realloc(), from another that is noted as freed
 * @return its number, or 0 if there is no trace, or no room
 */
uint32_t heapsnap_trace_allocated(uint64_t size, const struct heapsnap_sampled *sample, bool moved);

/**
 * The clock of samples, in one of the program's threads, by libc: without a system call on most
 * machines. While there is no trace, good to some ms.
 */
uint64_t heapsnap_trace_now_ns(void);

/** Counts a sample that cannot be recorded, for lack of room elsewhere. */
void heapsnap_trace_missed(void);

/** Notes that a sample has been freed. @param number  0 is fine */
void heapsnap_trace_freed(uint32_t number, bool moved);

/** The id of the writing thread, which is not the program's; 0 if there is none. */
uint32_t heapsnap_trace_thread(void);

/**
 * Ends the thread that writes, and starts it again; the trace goes on. Between the two the process has
 * no such thread.
 */
void heapsnap_trace_pause(void);
void heapsnap_trace_resume(void);

/** Has the thread, if there is one, make a system call, too: thread_call.h. */
void heapsnap_trace_call(long number, const long *arguments);

#endif
