// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_HEADROOM_H
#define HEAPSNAP_HEADROOM_H

/**
 * The memory that is left to a process before the kernel has to kill one.
 *
 * Three things can exhaust it: the limit of the process's control group or of an ancestor
 * (cgroups(7), version 1 or 2), the memory of the machine, and pressure, when everything waits for
 * pages (PSI: Documentation/accounting/psi.rst of Linux). Page cache counts as free, and so does
 * swap space that may be used.
 *
 * Calls no libc function that needs thread-local storage or memory.
 */

#include <stdbool.h>
#include <stdint.h>

enum {
	HEAPSNAP_HEADROOM_PATH = 1024,
};

/** The paths of the kernel's files. */
struct heapsnap_headroom_places {
	const char *groups_1;   /**< directory of the memory controller, version 1 */
	const char *groups_2;   /**< of version 2 */
	const char *membership; /**< a file as /proc/PID/cgroup */
	const char *memory;     /**< as /proc/meminfo */
	const char *pressure;   /**< as /proc/pressure/memory */
	const char *processors; /**< as /sys/devices/system/cpu/online */
};

/** A place of pressure, between two looks. */
struct heapsnap_stall {
	uint64_t total_us; /**< that all tasks have waited for memory */
	uint64_t since_ns; /**< when that was read; 0: never */
	bool is_long;      /**< they waited for most of the time before */
};

struct heapsnap_headroom {
	struct heapsnap_headroom_places places;
	uint32_t percent; /**< used memory from which on the end is near */
	uint64_t fastest; /**< bytes a second that it may grow by; 0: not looked up */
	struct heapsnap_stall stalls[2]; /**< of the machine and of the group */

	/* Results of heapsnap_headroom_look(). */
	uint64_t limit, left;              /**< bytes, where the least is left; 0: unknown */
	uint64_t beyond;                   /**< bytes until the end is near */
	bool is_near;                      /**< the end is */
	bool stalls_now;                   /**< because of pressure */
	char name[HEAPSNAP_HEADROOM_PATH]; /**< directory of the group; "": the machine */
	char own[HEAPSNAP_HEADROOM_PATH];  /**< directory of the process's own group, or "" */
};

enum {
	HEAPSNAP_HEADROOM_PERCENT = 90, /**< if the user names no share */
};

/**
 * Prepares looks at a process.
 *
 * @param membership  its /proc/PID/cgroup; must stay
 * @param percent     of the memory; 0: HEAPSNAP_HEADROOM_PERCENT, or less where that would leave
 *                    less than 64 MiB, but not less than half
 */
void heapsnap_headroom_init(struct heapsnap_headroom *room, const char *membership,
			    uint32_t percent);

/**
 * Looks how much is left.
 *
 * @param now_ns  on a clock that never jumps
 * @return how long to wait before the next look, in ns: the nearer the end, the shorter
 */
uint64_t heapsnap_headroom_look(struct heapsnap_headroom *room, uint64_t now_ns);

/**
 * Keeps other processes of the group from taking a snapshot for the same reason at the same time.
 *
 * @return a descriptor, to be closed at the end; -1: another process does it
 */
int heapsnap_headroom_lock(const struct heapsnap_headroom *room);

#endif
