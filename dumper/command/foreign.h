// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_FOREIGN_H
#define HEAPSNAP_FOREIGN_H

/** Snapshots of processes without the library: the request, and the writer that serves it. */

#include "dumper/base/protocol.h"
#include "lib/base/error.h"

#include <stdbool.h>

/** The common part of heapsnap attach, watch and core. */
struct foreign_options {
	const char *pattern; /**< of the file's name */
	uint64_t content_limit;
	uint64_t writer_time_ns;
	bool has_types;
	uint32_t share;      /**< of watch: per cent of memory that are used then; 0: the default */
	const char *sysroot; /**< of core: where its files are; NULL: where they were */
	const char *executable; /**< of core: its program; NULL: by its name */
};

/**
 * Reads the options, which may stand before and behind the operands.
 *
 * @param command  "attach", or "watch" or "core", which know more of them
 * @param words  becomes the operands alone
 * @return an exit status; what is wrong has been said
 */
int foreign_read_options(const char *command, char **words, struct foreign_options *options);

/** Fills in all but what the process itself tells: program, pid, times and threads. */
HEAP_MUST_CHECK
struct heap_error *foreign_describe(const struct foreign_options *options,
				    struct heapsnap_process *process);

/**
 * Has the snapshot written, and prints the file's name.
 *
 * @param mode, subject  the writer's first two arguments
 * @param threads  [process->thread_count]
 * @param tend     called some times a second meanwhile; NULL: nothing is
 */
HEAP_MUST_CHECK
struct heap_error *foreign_write(const char *mode, const char *subject,
				 const struct foreign_options *options,
				 const struct heapsnap_process *process,
				 const struct heapsnap_shared *shared,
				 const struct heapsnap_thread *threads, void (*tend)(void *context),
				 void *context);

#endif
