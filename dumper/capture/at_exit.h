// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_ENDING_H
#define HEAPSNAP_ENDING_H

/**
 * HEAPSNAP_AT_EXIT: a snapshot when the program ends.
 *
 *	exit(), from main() or any thread     after the program's own atexit() and destructors
 *	the last thread's pthread_exit()      the same: libc calls exit()
 *	quick_exit()                          after its at_quick_exit()
 *	abort(), a fault, SIGTERM...          before the program dies of it as it would have
 *	_exit(), SIGKILL, exec                none
 *
 * The program ends when the snapshot has been written. Signals are caught only if the program had
 * no handler of its own when the setting was made; a handler that it installs later replaces ours.
 */

/** Begins to watch for the ends that the setting names. May be called again. */
void heapsnap_ending_init(void);

#endif
