// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef ASLEEP_H
#define ASLEEP_H

/**
 * For programs whose threads are to be captured asleep in a call, not on the way there: on a busy
 * machine that takes a while.
 */

#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

// The kernel tells the call that a thread sleeps in, and says "running" of others.
static inline int count_asleep(void)
{
	glob_t calls;
	int asleep = 0;

	if (glob("/proc/self/task/*/syscall", 0, NULL, &calls) != 0)
		return 0;
	for (size_t i = 0; i < calls.gl_pathc; i++) {
		FILE *file = fopen(calls.gl_pathv[i], "r");
		int first = file ? fgetc(file) : EOF;

		asleep += first >= '0' && first <= '9';
		if (file)
			fclose(file);
	}
	globfree(&calls);
	return asleep;
}

/** Waits until so many threads sleep. Who has changed the user may not ask, and waits 0.1 s. */
static inline void await_asleep(int sleeping)
{
	FILE *own = fopen("/proc/self/syscall", "r");
	bool may_ask = own && fgetc(own) != EOF;

	if (own)
		fclose(own);
	usleep(100000);
	while (may_ask && count_asleep() < sleeping)
		usleep(10000);
}

#endif
