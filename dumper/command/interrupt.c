// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/interrupt.h"

#include <stddef.h>

static const int asking[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };

enum {
	ASKING = sizeof(asking) / sizeof(asking[0])
};

void interrupts_hold(struct interrupts *interrupts)
{
	sigemptyset(&interrupts->held);
	for (size_t i = 0; i < ASKING; i++) {
		struct sigaction action;

		// One that is ignored would wait, too, once it is blocked.
		if (sigaction(asking[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(&interrupts->held, asking[i]);
	}
	sigprocmask(SIG_BLOCK, &interrupts->held, &interrupts->before);
}

bool interrupts_have_come(const struct interrupts *interrupts)
{
	sigset_t waiting;

	if (sigpending(&waiting) != 0)
		return false;
	for (size_t i = 0; i < ASKING; i++) {
		if (sigismember(&interrupts->held, asking[i]) && sigismember(&waiting, asking[i]))
			return true;
	}
	return false;
}

void interrupts_release(const struct interrupts *interrupts)
{
	sigprocmask(SIG_SETMASK, &interrupts->before, NULL);
}
