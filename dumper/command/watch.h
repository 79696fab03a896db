// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_WATCH_H
#define HEAPSNAP_WATCH_H

/**
 * heapsnap watch: waits until the memory of a process nears its end, and takes one snapshot then,
 * before the kernel kills the process.
 *
 * @param words  the arguments behind "watch", to a NULL
 * @return the exit status
 */
int watch(char **words);

#endif
