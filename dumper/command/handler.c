// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/handler.h"

#include <signal.h>
#include <stdio.h>

enum heapsnap_handler handler_now(const struct process *process,
				  const struct announcement *announcement)
{
	struct process_status status;

	if (announcement->handler != HEAPSNAP_HANDLER_OURS ||
	    !process_read_status(process, &status))
		return announcement->handler;
	if (status.ignored >> (announcement->signal - 1) & 1)
		return HEAPSNAP_HANDLER_IGNORED;
	if (!(status.caught >> (announcement->signal - 1) & 1))
		return HEAPSNAP_HANDLER_DEFAULT;
	return HEAPSNAP_HANDLER_OURS;
}

const char *handler_text(enum heapsnap_handler handler)
{
	switch (handler) {
	case HEAPSNAP_HANDLER_OURS:
		return "is captured by";
	case HEAPSNAP_HANDLER_EARLIER:
		return "had a handler before the library for";
	case HEAPSNAP_HANDLER_REPLACED:
		return "has a handler of its own for";
	case HEAPSNAP_HANDLER_IGNORED:
		return "ignores";
	case HEAPSNAP_HANDLER_DEFAULT:
		return "would die of";
	case HEAPSNAP_HANDLER_WAITED:
		return "waits for";
	case HEAPSNAP_HANDLER_UNSURE:
		return "has Go's runtime, which handles";
	case HEAPSNAP_HANDLER_SANDBOX:
		return "allows itself too few system calls to take";
	default:
		return "does not take";
	}
}

const char *signal_left_alone(const struct process *process)
{
	// All known to dumper/base/settings.c by name; those that users send come first.
	static const struct {
		int number;
		const char *name;
	} candidates[] = {
		{ SIGUSR2, "USR2" }, { SIGUSR1, "USR1" }, { SIGPWR, "PWR" }, { SIGCONT, "CONT" },
		{ SIGXCPU, "XCPU" }, { SIGIO, "IO" },     { SIGURG, "URG" },
	};
	struct process_status status;

	if (!process_read_status(process, &status))
		return NULL;
	for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
		if (!((status.caught | status.ignored) >> (candidates[i].number - 1) & 1))
			return candidates[i].name;
	}
	return NULL;
}

void signal_name(int number, char *buffer)
{
	static const char *const names[] = {
		[SIGHUP] = "HUP",       [SIGINT] = "INT",   [SIGQUIT] = "QUIT",
		[SIGILL] = "ILL",       [SIGTRAP] = "TRAP", [SIGABRT] = "ABRT",
		[SIGBUS] = "BUS",       [SIGFPE] = "FPE",   [SIGUSR1] = "USR1",
		[SIGSEGV] = "SEGV",     [SIGUSR2] = "USR2", [SIGPIPE] = "PIPE",
		[SIGALRM] = "ALRM",     [SIGTERM] = "TERM", [SIGCHLD] = "CHLD",
		[SIGCONT] = "CONT",     [SIGTSTP] = "TSTP", [SIGTTIN] = "TTIN",
		[SIGTTOU] = "TTOU",     [SIGURG] = "URG",   [SIGXCPU] = "XCPU",
		[SIGXFSZ] = "XFSZ",     [SIGPROF] = "PROF", [SIGWINCH] = "WINCH",
		[SIGVTALRM] = "VTALRM", [SIGIO] = "IO",     [SIGPWR] = "PWR",
		[SIGSYS] = "SYS",
	};

	if (number > 0 && number < (int)(sizeof(names) / sizeof(names[0])) && names[number])
		snprintf(buffer, SIGNAL_NAME_MAX, "%s", names[number]);
	else
		snprintf(buffer, SIGNAL_NAME_MAX, "%d", number);
}
