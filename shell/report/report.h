// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef REPORT_H
#define REPORT_H

/**
 * The report page: one self-contained file for a browser that shows the last snapshot of a series, what
 * holds its objects, and how the heap has changed.
 *
 *	page.html   ┬ page.css
 *	            ├ vendor/…  libraries
 *	            ├ the data, as JSON      bounded: the largest of everything, and the sum of the rest
 *	            └ page.js                draws it
 */

#include "shell/base/session.h"

/**
 * Writes the page of one snapshot, the session's.
 *
 * @param path   replaced if it exists
 * @param bytes  gets the page's size
 */
HEAP_MUST_CHECK
struct heap_error *report_write_one(const char *path, struct session *session, uint64_t *bytes);

/** Called for each file before it is read. */
typedef void report_listener(void *context, size_t number, const char *file);

/**
 * Writes the page of a series, with the contents of its last snapshot.
 *
 * @param session  has no snapshot, and has none afterwards
 * @param files    [count] one or more
 * @param listen   may be NULL
 */
HEAP_MUST_CHECK
struct heap_error *report_write_series(const char *path, struct session *session,
				       char *const *files, size_t count, report_listener *listen,
				       void *context, uint64_t *bytes);

#endif
