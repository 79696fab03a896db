// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_TRACE_FILE_H
#define HEAPSNAP_TRACE_FILE_H

/**
 * Writes a trace's file (trace_format.h), in a thread of the library's, by system calls only.
 */

#include "dumper/base/protocol.h"
#include "dumper/trace/trace_format.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	HEAPSNAP_TRACE_MODULES = 1024,
	HEAPSNAP_TRACE_WRAPPERS = 1 << 14,
};

/** An event, as the program's threads note it. */
struct heapsnap_trace_event {
	uint64_t time_ns; /**< monotonic */
	uint64_t size;
	uint32_t number; /**< of the sample */
	uint32_t step;   /**< 0: it was freed */
	uint32_t thread;
	bool moved;
};

struct heapsnap_trace_file {
	int descriptor; /**< -1: not open, or it could not be written to */
	int error;      /**< that it could not be written for; else 0 */
	uint32_t used;
	uint8_t chunk[HEAPSNAP_TRACE_CHUNK_MAX];

	char path[HEAPSNAP_PATH_MAX + 32];
	uint64_t start_ns; /**< since 1970, as the file says */
	uint64_t start_us; /**< the same moment, monotonic */

	uint8_t told[HEAPSNAP_TRACE_WRAPPERS / 8]; /**< bit per place of the table of wrappers */

	uint64_t time_us, address; /**< what differences are from */
	uint32_t allocated, freed, step, thread;

	uint32_t steps; /**< that have been written */
	uint32_t unmapped;
	uint64_t next_look_ns; /**< at the modules */
	uint32_t module_count;
	struct {
		uint64_t start, end;
	} modules[HEAPSNAP_TRACE_MODULES];
};

/**
 * Opens a new file, and writes how it begins. The structure is zeros.
 *
 * @param pattern   of its name
 * @param own_name  whether the process must have one of its own, whatever the pattern says
 * @return 0 or -errno
 */
int heapsnap_trace_file_open(struct heapsnap_trace_file *file, const char *pattern, bool own_name);

/** Writes an event, after everything that it refers to. */
void heapsnap_trace_file_add(struct heapsnap_trace_file *file,
			     const struct heapsnap_trace_event *event);

void heapsnap_trace_file_add_dropped(struct heapsnap_trace_file *file, uint64_t count);

/** Writes the sites that have turned out to be in wrappers since the last call. */
void heapsnap_trace_file_add_wrappers(struct heapsnap_trace_file *file);

/** Writes out what has been added. @return 0 or -errno; after that nothing more is written */
int heapsnap_trace_file_flush(struct heapsnap_trace_file *file);

/** Writes the end record, and closes the file. @return 0 or -errno */
int heapsnap_trace_file_close(struct heapsnap_trace_file *file);

#endif
