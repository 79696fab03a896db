// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_TRIGGER_H
#define HEAPSNAP_TRIGGER_H

/**
 * What asks for a snapshot: the signal, and the program itself (heapsnap.h).
 *
 * One snapshot is written at a time. A signal that comes meanwhile is counted, and its
 * snapshot is taken as soon as the one before is done; a call by the program is refused.
 * While a snapshot is being written a thread of ours, which blocks all signals and has no
 * part in the program, waits for the frozen copy: the program has no child to reap.
 */

/** Installs the handler, unless the program has one of its own by now. */
void heapsnap_trigger_init(void);

#endif
