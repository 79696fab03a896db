// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef REPORT_HOLDINGS_H
#define REPORT_HOLDINGS_H

/** The member "holdings" of a report's data: the dominator tree, merged by type (lib/graph/merged_tree.h). */

#include "shell/report/details.h"

/** Needs the dominator tree. */
HEAP_MUST_CHECK
struct heap_error *report_holdings_write(struct session *session, struct report_details *details);

#endif
