// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/base/signal_names.h"

#include "dumper/base/system.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static const struct {
	const char *name;
	int number;
} signals[] = {
	{ "HUP", SIGHUP },   { "INT", SIGINT },   { "QUIT", SIGQUIT },     { "USR1", SIGUSR1 },
	{ "USR2", SIGUSR2 }, { "ALRM", SIGALRM }, { "TERM", SIGTERM },     { "CONT", SIGCONT },
	{ "URG", SIGURG },   { "XCPU", SIGXCPU }, { "WINCH", SIGWINCH },   { "IO", SIGIO },
	{ "PWR", SIGPWR },   { "PROF", SIGPROF }, { "VTALRM", SIGVTALRM },
};

int heapsnap_signal_number(const char *name)
{
	int number = 0;

	if (*name && name[strspn(name, "0123456789")] == '\0') {
		for (; *name && number < 64; name++)
			number = number * 10 + (*name - '0');
		return number > 0 && number < 64 && number != SIGKILL && number != SIGSTOP ? number
											   : -1;
	}
	if (strncmp(name, "SIG", 3) == 0)
		name += 3;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		if (strcmp(signals[i].name, name) == 0)
			return signals[i].number;
	}
	return -1;
}

char *heapsnap_format_signal(char *at, const char *end, int number)
{
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		if (signals[i].number == number) {
			at = heapsnap_format_text(at, end, "SIG");
			return heapsnap_format_text(at, end, signals[i].name);
		}
	}
	at = heapsnap_format_text(at, end, "signal ");
	return heapsnap_format_number(at, end, (uint64_t)number, 10);
}
