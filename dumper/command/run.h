// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_RUN_H
#define HEAPSNAP_RUN_H

/**
 * heapsnap run: options become the library's environment (heapsnap(1)), and the process becomes
 * the program, with the library preloaded.
 */

/** @param words  what follows "run", NULL-terminated @return the exit status, if at all */
int run(char **words);

#endif
