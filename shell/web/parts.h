// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef REPORT_PARTS_H
#define REPORT_PARTS_H

/**
 * The files of shell/web/ that the pages of reports and traces are made of, as they were when this was built.
 */

#include <stddef.h>

struct report_part {
	const char *name; /**< as the page's frame has it: "page.css" */
	const char *text; /**< up to a NUL */
};

/** The page's frame; "@name@" stands where a part goes, "@data@" where the data goes. */
const char *report_frame(void);

/** The frame of the page of a trace. */
const char *report_trace_frame(void);

/** @return NULL if there is none of that name */
const char *report_part(const char *name, size_t length);

#endif
