// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_ATTACH_H
#define HEAPSNAP_ATTACH_H

/**
 * heapsnap attach: a snapshot of a process that was not started by heapsnap run.
 *
 * @param words  the arguments behind "attach", to a NULL
 * @return the exit status
 */
int attach(char **words);

#endif
