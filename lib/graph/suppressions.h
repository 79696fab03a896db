// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_SUPPRESSIONS_H
#define HEAP_SUPPRESSIONS_H

/**
 * Suppressed leaks, in LeakSanitizer's file format:
 *
 *	# the plugin's tables live as long as the program
 *	leak:plugin_register
 *	leak:libcrypto.so
 *	leak:^src/cache*.c$
 *
 * A pattern is matched against the function, the source file and the module of each known call that
 * led to an allocation: those of its backtrace, and its site. It may match any part of the name; *
 * matches any text, ^ at the start and $ at the end anchor it.
 */

#include "lib/snapshot/snapshot.h"

struct heap_suppressions;

/**
 * Reads a file of them and finds the sites and calls that they mean. Loads SITE and BACKTRACE.
 *
 * @return NULL, HEAP_ERROR_SYSTEM, HEAP_ERROR_ARGUMENT (a line is none; the message has its
 *         number), HEAP_ERROR_MEMORY, what heap_snapshot_load() says
 */
HEAP_MUST_CHECK
struct heap_error *heap_suppressions_read(const char *path, struct heap_snapshot *snapshot,
					  struct heap_suppressions **result);

/** NULL is fine. */
void heap_suppressions_destroy(struct heap_suppressions *suppressions);

/** True if an object's leak is suppressed; for heap_leaks_find(). */
bool heap_suppressions_match(void *suppressions, heap_object_id object);

/**
 * Counts a suppressed object for the line that it goes by.
 *
 * @param leader  the object that the line matched: itself, or one that takes it with it
 */
void heap_suppressions_count(struct heap_suppressions *suppressions, heap_object_id object,
			     heap_object_id leader);

/** One line, and how many objects were counted for it. */
struct heap_suppression {
	const char *pattern;
	uint64_t objects;
	uint64_t bytes;
};

/** @param count  gets their number @return [count] in the file's order */
const struct heap_suppression *heap_suppressions_used(const struct heap_suppressions *suppressions,
						      size_t *count);

/** True if a pattern is in a string. */
bool heap_suppression_fits(const char *pattern, const char *text);

#endif
