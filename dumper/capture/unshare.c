// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * unshare() and setns(): what the kernel refuses to a process of several threads. One that
 * has a single thread of its own must not be refused it because of ours: that of the timer,
 * which rests meanwhile, and the one that waits for a snapshot to be written.
 */
#include "dumper/heapsnap.h"

#include "dumper/capture/timer.h"
#include "dumper/capture/trigger.h"

#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int OF_ONE_THREAD = CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM;

static int call_alone(long number, long first, long second)
{
	int result, before = errno;

	heapsnap_timer_stop();
	heapsnap_trigger_rest();
	errno = before;
	result = (int)syscall(number, first, second);
	before = errno;
	heapsnap_timer_start();
	errno = before;
	return result;
}

HEAPSNAP_API int unshare(int flags)
{
	return flags & OF_ONE_THREAD ? call_alone(SYS_unshare, flags, 0)
				     : (int)syscall(SYS_unshare, flags);
}

HEAPSNAP_API int setns(int file, int type)
{
	return call_alone(SYS_setns, file, type);
}
