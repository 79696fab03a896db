// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_SIGNAL_NAMES_H
#define HEAPSNAP_SIGNAL_NAMES_H

/** Signals that may ask for a snapshot or a trace, by name: for the library and for heapsnap run. */

/** Appends the name of a signal, "SIGQUIT" or "signal 40". @return where to go on */
char *heapsnap_format_signal(char *at, const char *end, int number);

/** The number of a signal by name ("QUIT", "SIGUSR2", "10"), or -1. */
int heapsnap_signal_number(const char *name);

#endif
