// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef FOLLOW_SCREEN_H
#define FOLLOW_SCREEN_H

/**
 * `heapsh --follow`: shows what grows while snapshots are being written.
 *
 * On a terminal it is a screen that is drawn anew with each snapshot, sorted by a key press.
 * Elsewhere (a file, a pipe, TERM=dumb) each snapshot adds its first rows.
 */

#include "shell/series/follow_view.h"

/**
 * Follows until q, a signal, or nobody reads any more. A signal ends the process.
 *
 * @param session   without a snapshot; its output is standard output
 * @param patterns  [count] files, globs, directories
 */
HEAP_MUST_CHECK
struct heap_error *follow_run(struct session *session, char *const *patterns, size_t count,
			      const struct follow_view *view);

#endif
