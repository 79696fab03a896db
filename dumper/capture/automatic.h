// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_AUTOMATIC_H
#define HEAPSNAP_AUTOMATIC_H

/**
 * The settings of automatic snapshots.
 *
 *	HEAPSNAP_EVERY=30s        timer.h       at this interval
 *	HEAPSNAP_GROWTH=64M, 10%  growth.h      each time that live bytes have grown by this much
 *	HEAPSNAP_BEFORE_OOM=90%   before_oom.h  once, when this share of memory is used
 *	HEAPSNAP_AT_EXIT=1        at_exit.h     when the program ends; =signals, =all: also if killed
 *	HEAPSNAP_AT_CHECKPOINT=10 configure.c   at each of the first 10 calls of heapsnap_checkpoint()
 *	HEAPSNAP_MIN_INTERVAL=1s                for timer and growth: the least time between snapshots
 *	HEAPSNAP_REPORT=1         at_exit.h     and a report of unfreed blocks
 *	HEAPSNAP_KEEP=10          retention.h   the oldest files of this process are removed
 *
 * configure.h reads them. The program can change them by heapsnap_set().
 */

#include <stdbool.h>
#include <stdint.h>

enum heapsnap_end {
	HEAPSNAP_END_EXIT = 1 << 0,    /**< exit(), return from main(), quick_exit() */
	HEAPSNAP_END_SIGNALS = 1 << 1, /**< abort(), and signals that would end the program */
};

struct heapsnap_automatic {
	uint64_t every_ns;          /**< 0: never */
	uint64_t growth_bytes;      /**< 0: not by bytes */
	uint64_t growth_percent;    /**< 0: not by per cent */
	uint64_t min_interval_ns;   /**< between snapshots triggered by growth */
	uint64_t timer_interval_ns; /**< the same for the timer: 0 unless it has been set */
	bool before_oom;            /**< when memory is about to run out */
	uint32_t before_oom_share;  /**< per cent of memory in use by then; 0: the default */
	uint32_t at_end;            /**< enum heapsnap_end, or'ed */
	uint32_t checkpoints;       /**< snapshots still to take at heapsnap_checkpoint() */
	uint32_t keep;              /**< files; 0: all */
	uint32_t report;            /**< enum heapsnap_report: when the program exits */
	const char *report_file;    /**< pattern of its name */
};

extern struct heapsnap_automatic heapsnap_automatic __attribute__((visibility("hidden")));

#endif
