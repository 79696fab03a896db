// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_ANNOUNCE_H
#define HEAPSNAP_ANNOUNCE_H

/**
 * Tells other processes how this one is captured, for heapsnap capture and heapsnap list.
 *
 * The program may change its directory, and overwrite its environment to set a title. So
 * the answer is the name of a mapping of ours, which /proc/PID/maps shows to whoever may
 * send a signal:
 *
 *	/memfd:heapsnap SIGNAL PATTERN (deleted)
 *
 * SIGNAL is a number, 0 for none; PATTERN is absolute, in the form of HEAPSNAP_FILE.
 */

/** Announces it. The page behind the name is never touched. @param signal  number, or 0 */
void heapsnap_announce(int signal);

#endif
