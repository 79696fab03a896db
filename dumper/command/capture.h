// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_CAPTURE_H
#define HEAPSNAP_CAPTURE_H

/**
 * heapsnap capture: has a process write a snapshot, waits for it, and prints its name.
 *
 * The signal is sent only if the library says that its handler is installed, and the kernel
 * confirms that there is one. It never reaches another process, even if the pid is reused
 * meanwhile.
 */

/** @param words  what follows "capture", NULL-terminated @return an exit status */
int capture(char **words);

#endif
