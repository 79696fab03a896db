// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef EXIT_NOTE_H
#define EXIT_NOTE_H

/**
 * A series that ends with a snapshot of `heapsnap run --at-exit` seems to shrink at its end: main() has
 * returned by then, and destructors have run.
 */

#include "lib/snapshot/snapshot.h"

/** True if a thread was in exit() when the snapshot was taken. */
bool exit_note_applies(const struct heap_snapshot *snapshot);

/** Says so on standard error. @param program  "heapsh-evolution" */
void exit_note_print(const char *program, const char *file);

#endif
