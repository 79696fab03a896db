// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * unshare() and setns(): what the kernel refuses to a process of several threads. One that
 * has a single thread of its own must not be refused it because of ours: those of the timer and the
 * trace, which rest meanwhile, and the one that waits for a snapshot to be written.
 */
#include "dumper/capture/unshare.h"

#include "dumper/heapsnap.h"

#include "dumper/capture/timer.h"
#include "dumper/capture/trigger.h"
#include "dumper/host/sandbox.h"
#include "dumper/host/system_call.h"
#include "dumper/trace/trace.h"

#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int OF_ONE_THREAD = CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM;

// @param first  of the call's arguments: flags, or a file
static long call(heapsnap_system_call *next, long number, long first, long second)
{
	int before = errno;
	long result;

	if ((number == SYS_unshare && !(first & OF_ONE_THREAD)) ||
	    heapsnap_sandbox_forbids_snapshots())
		return next(number, first, second);
	heapsnap_timer_stop();
	heapsnap_trace_pause();
	heapsnap_trigger_rest();
	errno = before;
	result = next(number, first, second);
	before = errno;
	heapsnap_trace_resume();
	heapsnap_timer_start();
	errno = before;
	return result;
}

void heapsnap_unshare_init(void)
{
	heapsnap_system_call_take(call);
}

// By syscall(), which is ours as well.
HEAPSNAP_API int unshare(int flags)
{
	return (int)syscall(SYS_unshare, flags);
}

HEAPSNAP_API int setns(int file, int type)
{
	return (int)syscall(SYS_setns, file, type);
}
