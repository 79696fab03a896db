// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CHECK_H
#define CHECK_H

/**
 * Compares a snapshot, or a series with a snapshot per loop, with limits.
 *
 *	struct rules ──▶ check_run() ──▶ struct check_finding: what was checked, and what failed
 *
 * Without a rule of its own, no kind of object (type and site), no site and no type may grow by
 * loop. Growth is reported once: as a kind if a kind grows, else as a site, else as a type. The
 * latter two find leaks that spread over sizes or over sites.
 */

#include "shell/base/session.h"
#include "shell/check/rules.h"

enum check_limits {
	CHECK_SHOWN = 20, /**< kinds that grow; of more only the number is told */
};

struct check_options {
	struct rules rules;
	const char *suppressions; /**< path of a file, or NULL: heap_suppressions_read() */
	uint64_t warmup;          /**< loops that warm up, 1 at least */
	const char *source_root;  /**< a directory; NULL: the working directory */
	bool is_strict;           /**< a rule that matches nothing fails */
};

/** A check. Strings are the session's. */
struct check_finding {
	bool failed;
	bool is_unmatched;   /**< a rule about a type or site that no snapshot has */
	const char *rule;    /**< "growth", or the rule's text */
	const char *name;    /**< what it is about */
	const char *message; /**< a sentence without a full stop */
	const char
		*details; /**< lines: the history, what holds it, the path; "" if there are none */
	const char *file; /**< of the allocation site, relative to the source root; "" if unknown */
	uint32_t line;
};

struct check {
	struct HEAP_ARRAY(struct check_finding) findings;
	size_t failures;
	const char *program; /**< whose heap it is */
	uint64_t snapshots;
	uint64_t loops; /**< that were judged; 0: a single snapshot */
};

/** @return NULL, or HEAP_ERROR_ARGUMENT: so many snapshots are too few for what is to be checked */
HEAP_MUST_CHECK
struct heap_error *check_count(const struct check_options *options, size_t count);

/** The same before they are taken, and without a rule: nothing is run that no verdict can follow. */
HEAP_MUST_CHECK
struct heap_error *check_loops(const struct check_options *options, size_t count);

/**
 * Checks the snapshots of one process, in the order in which they were taken.
 *
 * @param check    all 0; check_deinit() is the caller's, also on failure
 * @param session  with an output, and without a snapshot
 * @return NULL; HEAP_ERROR_ARGUMENT: too few snapshots, or not of one process
 */
HEAP_MUST_CHECK
struct heap_error *check_run(struct check *check, const struct check_options *options,
			     struct session *session, char *const *files, size_t count);

/** Strings of the findings are the session's. */
void check_deinit(struct check *check);

#endif
