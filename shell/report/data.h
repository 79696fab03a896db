// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef REPORT_DATA_H
#define REPORT_DATA_H

/** The data of a report page: a JSON object, which shell/web/page.js reads. */

#include "shell/report/series.h"
#include "shell/series/candidates.h"

/** Writes the data to the session's output, which must be set to JSON. See report_write_page(). */
HEAP_MUST_CHECK
struct heap_error *report_data_write(struct session *session, struct report_series *series,
				     const struct candidates *leaks);

#endif
