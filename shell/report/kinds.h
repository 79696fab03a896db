// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef REPORT_KINDS_H
#define REPORT_KINDS_H

/**
 * The members "types", "sites" and "evolution" of a report's data: the totals of each, with
 * examples, and their history.
 */

#include "shell/report/details.h"
#include "shell/report/series.h"

/** Writes the three members, and adds the examples to the details. */
HEAP_MUST_CHECK
struct heap_error *report_kinds_write(struct session *session, struct report_series *series,
				      struct report_details *details);

#endif
