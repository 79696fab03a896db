// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_RIGHTS_H
#define HEAPSNAP_RIGHTS_H

/**
 * Users, groups and capabilities are each thread's own in the kernel. libc changes those of its threads, and
 * does not know ours: whoever takes over a process that has given up root would find a thread that has
 * not. So ours make the same calls: what changes users and groups for good, capset(2), and what prctl(2)
 * gives up.
 *
 * A change of the effective user or group alone changes nothing here: the program can take it back, and file
 * servers make it for each request. The thread that waits for a snapshot keeps its rights until that is
 * written. Raw system calls are not seen.
 */

/** Finds libc's functions. */
void heapsnap_rights_init(void);

#endif
