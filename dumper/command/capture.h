// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_CAPTURE_H
#define HEAPSNAP_CAPTURE_H

/**
 * heapsnap capture: has a process write a snapshot, waits for it, and prints its name.
 *
 * The signal is sent only if the library says that its handler stands, and the kernel that there
 * is one; and to no other process, whatever becomes of the pid meanwhile.
 */

/** @param words  what follows "capture", NULL-terminated @return an exit status */
int capture(char **words);

#endif
