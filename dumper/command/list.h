// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_LIST_H
#define HEAPSNAP_LIST_H

/**
 * heapsnap list: the processes that have the library and can be examined, one per line: pid,
 * signal, program; then, in parentheses, why it takes no signal, and how far the snapshot is that
 * is being written.
 */

/** @param words  what follows "list", NULL-terminated @return an exit status; 1: there are none */
int list(char **words);

#endif
