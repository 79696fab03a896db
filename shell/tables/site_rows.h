// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SITE_ROWS_H
#define SITE_ROWS_H

/**
 * Sites that print alike, and so are one row of a table: a line may allocate at several addresses, as where a
 * compiler has unrolled a loop or made copies of a generic function.
 */

#include "shell/base/session.h"

/**
 * Finds the first site of those that print as each one does.
 *
 * @param result  gets [site_count + 1]; until the session's texts are released
 */
HEAP_MUST_CHECK
struct heap_error *site_rows_find(struct session *session, const heap_site_id **result);

#endif
