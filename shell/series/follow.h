// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef FOLLOW_H
#define FOLLOW_H

/**
 * Follows snapshots while they are being written: counts each new one that a pattern matches.
 *
 *	'app-*.snap' ──▶ follow_find() ──▶ follow_read() ──▶ a process: the first snapshot,
 *	                 new files, oldest first              the one before, the latest
 *
 * A process keeps three numbers for each type and site, however long it is followed.
 */

#include "lib/base/array.h"
#include "lib/series/census.h"
#include "shell/base/session.h"
#include "shell/tables/tally.h"

/** The snapshots of a process that are kept. */
enum follow_moment {
	FOLLOW_FIRST,
	FOLLOW_BEFORE,
	FOLLOW_LATEST,
	FOLLOW_MOMENTS,
};

/** How objects are counted: tally_by's kind, type and site. */
enum {
	FOLLOW_WAYS = 3,
};

struct follow_process {
	char *program;     /**< escaped for a terminal */
	char *name, *host; /**< as in the snapshots */
	struct heap_info
		latest; /**< what heap_is_one_process() compares; strings are those above */
	uint64_t snapshots;
	uint64_t times[FOLLOW_MOMENTS];
	struct heap_amount totals[FOLLOW_MOMENTS];
	struct tally tally[FOLLOW_WAYS];
	struct heap_census *census[FOLLOW_WAYS];
};

/** A file that waits to be read. */
struct follow_file {
	char *path;
	uint64_t key; /**< changes if the file is replaced */
	uint64_t modified_ns;
};

struct follow {
	char *const *patterns; /**< [pattern_count] the caller's: files, globs, directories */
	size_t pattern_count;
	uint64_t directories; /**< private: a hash of their state when files were last looked for */
	struct HEAP_ARRAY(uint64_t) seen;              /**< keys, ascending */
	struct HEAP_ARRAY(struct follow_file) waiting; /**< newest first */
	struct HEAP_ARRAY(struct follow_process) processes;
	char *trouble; /**< why the last file that could not be read was not; NULL: none */
};

void follow_deinit(struct follow *follow);

/**
 * Adds the new files to those that wait. While files wait, it looks again only if a directory has
 * changed: n files cost n system calls each time.
 */
HEAP_MUST_CHECK
struct heap_error *follow_find(struct follow *follow);

/**
 * Reads the next file that waits. One that cannot be read becomes follow->trouble.
 *
 * @param session  without a snapshot; its output and debug files are used
 * @param process  gets the number of its process; SIZE_MAX if there was nothing to count
 */
HEAP_MUST_CHECK
struct heap_error *follow_read(struct follow *follow, const struct session *session,
			       size_t *process);

/** The objects and bytes of a kind at a moment. */
struct heap_amount follow_amount(const struct follow_process *process, int way, heap_kind_id kind,
				 enum follow_moment moment);

#endif
