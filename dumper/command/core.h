// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_CORE_H
#define HEAPSNAP_CORE_H

/**
 * heapsnap core: a snapshot of a process that is dead, from its core file.
 *
 * @param words  the arguments behind "core", to a NULL
 * @return the exit status
 */
int core(char **words);

#endif
