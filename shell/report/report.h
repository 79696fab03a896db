// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef REPORT_H
#define REPORT_H

/**
 * The report page: one file that shows a browser what is in the last snapshot of a series, what
 * holds it and what has become of it. It needs nothing from elsewhere.
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
 * @param path   written anew
 * @param bytes  gets the page's size
 */
HEAP_MUST_CHECK
struct heap_error *report_write_one(const char *path, struct session *session, uint64_t *bytes);

/** Told of each file before it is read. */
typedef void report_listener(void *context, size_t number, const char *file);

/**
 * The same of a series; of the last of it what is in it, and what holds it.
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
