// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_PRIORITY_H
#define HEAPSNAP_PRIORITY_H

/**
 * The priority of this process among all of the machine, sched(7).
 *
 * A process that watches another one has to get its turn when memory ends, which is when many
 * others compete for processors. Nice values are no help there: they count only among the processes
 * of a session, where those are scheduled as groups. Children never inherit what is raised here.
 */

/** Comes before all others, as far as this user may: real-time, or else with a low nice value. */
void priority_raise(void);

/** As it was before priority_raise(). */
void priority_restore(void);

#endif
