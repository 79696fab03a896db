// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_SETTINGS_H
#define HEAPSNAP_SETTINGS_H

/**
 * The user's settings: the HEAPSNAP_… environment, read once when the library is loaded.
 *
 * An invalid value causes one line on standard error, and the default is used.
 */

#include <stdbool.h>
#include <stdint.h>

enum {
#ifdef HEAPSNAP_UNTRACKED
	HEAPSNAP_TAKES_SNAPSHOTS = 0, /**< this is the trace-only library (untracked.h) */
#else
	HEAPSNAP_TAKES_SNAPSHOTS = 1,
#endif
};

struct heapsnap_settings {
	const char *file;        /**< HEAPSNAP_FILE: pattern of the snapshots' names */
	int signal;              /**< HEAPSNAP_SIGNAL: number; 0: none */
	int trace_signal;        /**< HEAPSNAP_TRACE_SIGNAL: the same */
	uint64_t content_limit;  /**< HEAPSNAP_CONTENT: bytes; UINT64_MAX: all */
	bool has_types;          /**< HEAPSNAP_TYPES: types of objects are found */
	uint64_t stacks;         /**< HEAPSNAP_STACKS: mean bytes between samples; 0: none */
	uint32_t run_pid;        /**< the process that heapsnap run started; 0: none */
	uint64_t run_start_ns;   /**< when that was, since 1970 */
	const char *wrappers;    /**< HEAPSNAP_WRAPPERS: functions, by commas; NULL: none named */
	bool tells_handlers;     /**< this is the process that heapsnap run started, or none has */
	bool verbose;            /**< HEAPSNAP_VERBOSE: say when a snapshot has been written */
	uint64_t writer_memory;  /**< HEAPSNAP_WRITER_MEMORY: bytes; 0: what is free */
	uint64_t writer_time_ns; /**< HEAPSNAP_WRITER_TIME, for types; 0: any */
	uint64_t stop_ns;        /**< HEAPSNAP_STOP: time limit for stopping the threads */
	uint64_t registers_ns;   /**< HEAPSNAP_REGISTERS: time limit for holding sleeping threads */
	bool writer_nice;        /**< HEAPSNAP_WRITER_NICE: the writer runs at idle priority */
	uint32_t oldest; /**< HEAPSNAP_OLDEST: the number of sampled blocks to find paths for */
};

extern struct heapsnap_settings heapsnap_settings;

/** True if a trigger has the process frozen: for a snapshot, or for the paths to old blocks. */
static inline bool heapsnap_freezes(void)
{
	return HEAPSNAP_TAKES_SNAPSHOTS || heapsnap_settings.oldest > 0;
}

/** Reads the environment. A set-user-id program's is not trusted: the defaults, no signal. */
void heapsnap_settings_read(void);

#endif
