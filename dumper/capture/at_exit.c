// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/capture/at_exit.h"

#include "dumper/capture/automatic.h"
#include "dumper/capture/context.h"
#include "dumper/base/protocol.h"
#include "dumper/base/report.h"
#include "dumper/host/sandbox.h"
#include "dumper/base/settings.h"
#include "dumper/host/signals.h"
#include "dumper/base/system.h"
#include "dumper/capture/trigger.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

static uint32_t ending; // pid of the process that takes its last snapshot
static uint32_t dying;  // futex: pid of the process that does so because of a signal; then 0

// @return false in all but the first thread that ends this process
static bool is_first(void)
{
	uint32_t pid = (uint32_t)heapsnap_system(SYS_getpid, 0, 0, 0, 0, 0, 0);

	return __atomic_exchange_n(&ending, pid, __ATOMIC_ACQ_REL) != pid;
}

// Not to what has taken the number of standard error since.
static void report(const heapsnap_context *context)
{
	uint32_t report = heapsnap_automatic.report;

	if (report == HEAPSNAP_REPORT_FILE)
		heapsnap_trigger_last(heapsnap_automatic.report_file, report, context);
	else if (report != HEAPSNAP_REPORT_NONE && heapsnap_report_is_possible())
		heapsnap_trigger_last("", report, context);
}

static void at_exit(void)
{
	ucontext_t context;

	if (heapsnap_sandbox_forbids_snapshots() ||
	    (!(heapsnap_automatic.at_end & HEAPSNAP_END_EXIT) &&
	     heapsnap_automatic.report == HEAPSNAP_REPORT_NONE) ||
	    !is_first())
		return;
	heapsnap_context_here(&context);
	if (heapsnap_automatic.at_end & HEAPSNAP_END_EXIT)
		heapsnap_trigger_last(heapsnap_settings.file, HEAPSNAP_REPORT_NONE, &context);
	report(&context);
}

__attribute__((destructor)) static void unload(void)
{
	at_exit();
}

// --- signals ---------------------------------------------------------------------

static const int fatal[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL,  SIGSYS,
			     SIGTRAP, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGXCPU };

// The first thread takes it; others, which may die of the same, wait. But who exits already and
// is then killed, is killed.
static void take_last(const heapsnap_context *context)
{
	uint32_t pid = (uint32_t)heapsnap_system(SYS_getpid, 0, 0, 0, 0, 0, 0);

	if (is_first()) {
		__atomic_store_n(&dying, pid, __ATOMIC_RELEASE);
		heapsnap_trigger_last(heapsnap_settings.file, HEAPSNAP_REPORT_NONE, context);
		__atomic_store_n(&dying, 0, __ATOMIC_RELEASE);
		heapsnap_futex_wake(&dying);
		return;
	}
	while (__atomic_load_n(&dying, __ATOMIC_ACQUIRE) == pid)
		heapsnap_futex_wait(&dying, pid, 0);
}

static void on_fatal(int number, siginfo_t *info, void *context)
{
	if (heapsnap_automatic.at_end & HEAPSNAP_END_SIGNALS)
		take_last(context);
	// Blocked as long as this handler runs, and deadly when it returns: with the registers
	// and the cause that it came with, for the core and whoever reads it.
	heapsnap_signals_drop(number);
	HEAPSNAP_SYSTEM_4(SYS_rt_tgsigqueueinfo, heapsnap_system(SYS_getpid, 0, 0, 0, 0, 0, 0),
			  heapsnap_system(SYS_gettid, 0, 0, 0, 0, 0, 0), number, info);
}

static void catch_signals(void)
{
	for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++) {
		if (fatal[i] != heapsnap_settings.signal)
			heapsnap_signals_claim(fatal[i], on_fatal, false);
	}
}

void heapsnap_ending_init(void)
{
	static bool knows_quick_exit;

	if ((heapsnap_automatic.at_end & HEAPSNAP_END_EXIT ||
	     heapsnap_automatic.report != HEAPSNAP_REPORT_NONE) &&
	    !knows_quick_exit)
		knows_quick_exit = at_quick_exit(at_exit) == 0;
	if (heapsnap_automatic.at_end & HEAPSNAP_END_SIGNALS)
		catch_signals();
}
