// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef REPORT_PARTS_H
#define REPORT_PARTS_H

/**
 * The files of shell/web/ that make up the pages of reports and traces, embedded at build time.
 */

#include <stddef.h>

struct report_part {
	const char *name; /**< as pages refer to it: "page.css" */
	const char *text; /**< up to a NUL */
};

/** The page of a report, with "@name@" for a part, "@data@" for the data, "@title@" for the program. */
const char *report_frame(void);

/** The page of a trace. */
const char *report_trace_frame(void);

/** @return NULL if there is none of that name */
const char *report_part(const char *name, size_t length);

#endif
