// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/priority.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>

enum {
	LEAST_NICE = -20,
};

static struct {
	int policy, nice;
	struct sched_param parameters;
	bool is_known;
} before;

static bool note(void)
{
	before.policy = sched_getscheduler(0);
	errno = 0;
	before.nice = getpriority(PRIO_PROCESS, 0);
	before.is_known =
		errno == 0 && before.policy >= 0 && sched_getparam(0, &before.parameters) == 0;
	return before.is_known;
}

static bool is_real_time(int policy)
{
	policy &= ~SCHED_RESET_ON_FORK;
	return policy == SCHED_FIFO || policy == SCHED_RR;
}

// Root may be without the capability, and others may have it or a limit of theirs: try.
void priority_raise(void)
{
	const struct sched_param least = { .sched_priority = sched_get_priority_min(SCHED_FIFO) };

	if (before.is_known || !note() || is_real_time(before.policy))
		return;
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &least) == 0)
		return;
	sched_setscheduler(0, before.policy | SCHED_RESET_ON_FORK, &before.parameters);
	setpriority(PRIO_PROCESS, 0, LEAST_NICE);
}

void priority_restore(void)
{
	if (!before.is_known)
		return;
	// Who is not privileged cannot take back that children inherit nothing.
	if (sched_setscheduler(0, before.policy, &before.parameters) != 0)
		sched_setscheduler(0, before.policy | SCHED_RESET_ON_FORK, &before.parameters);
	setpriority(PRIO_PROCESS, 0, before.nice);
	before.is_known = false;
}
