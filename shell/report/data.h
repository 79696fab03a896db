// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef REPORT_DATA_H
#define REPORT_DATA_H

/** The data of a report page: an object of JSON, whose members shell/web/page.js knows. */

#include "shell/report/series.h"
#include "shell/series/candidates.h"

/** Writes the data to the session's output, which takes JSON. See report_write_page(). */
HEAP_MUST_CHECK
struct heap_error *report_data_write(struct session *session, struct report_series *series,
				     const struct candidates *leaks);

#endif
