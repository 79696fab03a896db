// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_REPORT_H
#define HEAPSNAP_REPORT_H

/** The library's messages on the program's standard error: few, and one line each. */

#include <stdbool.h>

/**
 * Notes what standard error is. Later nothing is written to what has taken its number: a
 * daemon may have closed it, and opened a file of its own there.
 */
void heapsnap_report_init(void);

/**
 * Writes "heapsnap: @p subject: @p message@p end" and a newline in one write.
 * async-signal-safe. After 32 lines it falls silent: a program's log is not ours to fill. Where
 * nobody reads any more, or a tenth of a second goes by without room for the line, it is dropped.
 *
 * @param subject  may be NULL
 */
void heapsnap_report(const char *subject, const char *message, const char *end);

/** Notes the name of standard error if it is a file or terminal. async-signal-safe. */
void heapsnap_report_note_name(void);

/**
 * Writes a line to the file or terminal that has been noted, if it is still there: for the frozen copy,
 * which must not keep the program's pipes and terminals open. async-signal-safe.
 */
void heapsnap_report_by_name(const char *message, const char *end);

/** True if standard error is still what it was, or is a terminal, null device or log by now. */
bool heapsnap_report_is_possible(void);

/**
 * True if standard error is a terminal that does not wait for whole lines: a full-screen program
 * draws there. async-signal-safe.
 */
bool heapsnap_report_would_disturb(void);

/** The message of an errno of clone, open and similar calls. async-signal-safe. */
const char *heapsnap_error_text(int number);

#endif
