// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/capture/configure.h"

#include "dumper/alloc/epochs.h"
#include "dumper/base/units.h"
#include "dumper/alloc/blocks.h"
#include "dumper/capture/at_exit.h"
#include "dumper/capture/automatic.h"
#include "dumper/capture/before_oom.h"
#include "dumper/capture/growth.h"
#include "dumper/heapsnap.h"
#include "dumper/capture/retention.h"
#include "dumper/base/process.h"
#include "dumper/base/report.h"
#include "dumper/base/settings.h"
#include "dumper/host/sandbox.h"
#include "dumper/host/signals.h"
#include "dumper/capture/timer.h"
#include "dumper/trace/sampling.h"
#include "dumper/trace/trace.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

enum {
	MAX_KEEP = 10000,
};

#define SECOND UINT64_C(1000000000) /* ns */

static bool is_loaded;

static const struct heapsnap_unit shares[] = { { "%", 1 }, { NULL, 0 } };
static const struct heapsnap_unit counts[] = { { "", 1 }, { NULL, 0 } };

// A child of fork() has no timer. Its first allocation shall take the slow path, and start it.
static void look_soon(void)
{
	heapsnap_bytes_left = 0;
}

static void look_in_children(void)
{
	static bool registered;

	if (!registered)
		registered = pthread_atfork(NULL, NULL, look_soon) == 0;
}

// --- the settings ----------------------------------------------------------------

static bool set_every(const char *value)
{
	uint64_t time;

	if (!heapsnap_parse_amount(value, heapsnap_times, &time) ||
	    (time > 0 && time < SECOND / 100))
		return false;
	if (time > 0)
		look_in_children();
	heapsnap_automatic.every_ns = time;
	heapsnap_timer_start();
	heapsnap_timer_changed();
	return true;
}

static bool set_growth(const char *value)
{
	uint64_t bytes = 0, percent = 0;

	if (!heapsnap_growth_init() || (!heapsnap_parse_amount(value, heapsnap_sizes, &bytes) &&
					!heapsnap_parse_amount(value, shares, &percent)))
		return false;
	heapsnap_automatic.growth_bytes = bytes;
	heapsnap_automatic.growth_percent = percent;
	return true;
}

static bool set_before_oom(const char *value)
{
	uint64_t percent = 0;

	if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0 &&
	    (!heapsnap_parse_amount(value, shares, &percent) || percent < 1 || percent > 99))
		return false;
	look_in_children();
	heapsnap_automatic.before_oom = strcmp(value, "0") != 0;
	heapsnap_automatic.before_oom_share = (uint32_t)percent;
	heapsnap_before_oom_init();
	heapsnap_timer_start();
	heapsnap_timer_changed();
	return true;
}

static bool set_at_exit(const char *value)
{
	static const struct {
		const char *name;
		uint32_t at_end;
	} ends[] = {
		{ "", 0 },
		{ "0", 0 },
		{ "1", HEAPSNAP_END_EXIT },
		{ "exit", HEAPSNAP_END_EXIT },
		{ "signals", HEAPSNAP_END_SIGNALS },
		{ "all", HEAPSNAP_END_EXIT | HEAPSNAP_END_SIGNALS },
	};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (strcmp(value, ends[i].name) == 0) {
			heapsnap_automatic.at_end = ends[i].at_end;
			heapsnap_ending_init();
			return true;
		}
	}
	return false;
}

static bool set_keep(const char *value)
{
	uint64_t count;

	if (!heapsnap_parse_amount(value, counts, &count) || count > MAX_KEEP ||
	    !heapsnap_keep_init())
		return false;
	heapsnap_automatic.keep = (uint32_t)count;
	return true;
}

static bool set_at_checkpoint(const char *value)
{
	uint64_t count;

	if (!heapsnap_parse_amount(value, counts, &count) || count > UINT32_MAX)
		return false;
	heapsnap_automatic.checkpoints = (uint32_t)count;
	return true;
}

static bool set_min_interval(const char *value)
{
	if (!heapsnap_parse_amount(value, heapsnap_times, &heapsnap_automatic.min_interval_ns))
		return false;
	heapsnap_automatic.timer_interval_ns = heapsnap_automatic.min_interval_ns;
	return true;
}

static bool set_report(const char *value)
{
	static char file[HEAPSNAP_PATH_MAX];

	if (strlen(value) >= sizeof(file))
		return false;
	heapsnap_automatic.report = HEAPSNAP_REPORT_FILE;
	heapsnap_automatic.report_file = strcpy(file, value);
	if (!*value || strcmp(value, "0") == 0)
		heapsnap_automatic.report = HEAPSNAP_REPORT_NONE;
	else if (strcmp(value, "1") == 0)
		heapsnap_automatic.report = HEAPSNAP_REPORT_STANDARD_ERROR;
	heapsnap_ending_init();
	return true;
}

static bool set_report_limit(const char *value)
{
	uint64_t count;

	if (!heapsnap_parse_amount(value, counts, &count) || count == 0 || count > UINT32_MAX)
		return false;
	heapsnap_process.report_limit = (uint32_t)count;
	return true;
}

static bool set_report_type(const char *value)
{
	if (strlen(value) >= sizeof(heapsnap_process.report_type))
		return false;
	strcpy(heapsnap_process.report_type, value);
	return true;
}

// Where a signal begins traces, the environment only gives them their name.
static bool set_trace(const char *value)
{
	if (!is_loaded && heapsnap_settings.trace_signal != 0)
		return heapsnap_trace_name(value) == 0;
	return heapsnap_trace_set(value) == 0;
}

// Parts that the trace-only library lacks, or has for the oldest blocks.
enum needs {
	NEEDS_NOTHING,
	NEEDS_FREEZING,
	NEEDS_SNAPSHOTS,
};

static const struct setting {
	const char *name;
	bool (*set)(const char *value);
	const char *complaint;
	enum needs needs;
} settings[] = {
	{ "HEAPSNAP_EVERY", set_every,
	  ": not a time of 10ms at least, like 30s, 500ms, 5m or 1h; no snapshots by time",
	  NEEDS_SNAPSHOTS },
	{ "HEAPSNAP_GROWTH", set_growth,
	  ": neither bytes, like 64M, nor a share, like 10%; no snapshots by growth",
	  NEEDS_SNAPSHOTS },
	{ "HEAPSNAP_BEFORE_OOM", set_before_oom,
	  ": neither 0, nor 1, nor a share, like 90%; no snapshot before memory ends",
	  NEEDS_SNAPSHOTS },
	{ "HEAPSNAP_AT_EXIT", set_at_exit,
	  ": neither 0, nor 1 or exit, nor signals, nor all; no snapshot at the end",
	  NEEDS_FREEZING },
	{ "HEAPSNAP_AT_CHECKPOINT", set_at_checkpoint,
	  ": not a number of snapshots; none at checkpoints", NEEDS_SNAPSHOTS },
	{ "HEAPSNAP_KEEP", set_keep, ": not a number up to 10000; all files are kept",
	  NEEDS_NOTHING },
	{ "HEAPSNAP_MIN_INTERVAL", set_min_interval, ": not a time, like 10s; 1s is used",
	  NEEDS_NOTHING },
	{ "HEAPSNAP_REPORT", set_report, ": too long; no report", NEEDS_SNAPSHOTS },
	{ "HEAPSNAP_REPORT_LIMIT", set_report_limit, ": not a number of lines; 20 is used",
	  NEEDS_NOTHING },
	{ "HEAPSNAP_REPORT_TYPE", set_report_type, ": too long; all types are told",
	  NEEDS_NOTHING },
	{ "HEAPSNAP_TRACE", set_trace, ": too long a name, or no backtraces are taken; no trace",
	  NEEDS_NOTHING },
};

static const size_t setting_count = sizeof(settings) / sizeof(settings[0]);

// @return 0, -ENOTSUP, or -EINVAL
static int set(const struct setting *setting, const char *value)
{
	bool is_there = setting->needs == NEEDS_SNAPSHOTS  ? HEAPSNAP_TAKES_SNAPSHOTS
			: setting->needs == NEEDS_FREEZING ? heapsnap_freezes()
							   : true;

	if (!is_there && *value && strcmp(value, "0") != 0)
		return -ENOTSUP;
	return setting->set(value) ? 0 : -EINVAL;
}

// heapsnap_each_stretch, from the slow path of allocation.
static void look(uint64_t bytes)
{
	bool has_timer = heapsnap_automatic.every_ns > 0 || heapsnap_automatic.before_oom;
	bool has_growth = heapsnap_automatic.growth_bytes | heapsnap_automatic.growth_percent;

	if ((!has_timer && !has_growth) || !heapsnap_sandbox_enter(HEAPSNAP_NEED_SNAPSHOT))
		return;
	if (has_timer)
		heapsnap_timer_start(); // in a child of fork() it has ended
	if (heapsnap_automatic.before_oom)
		heapsnap_before_oom_brake(bytes);
	if (has_growth)
		heapsnap_growth_look(bytes);
	heapsnap_sandbox_leave();
}

void heapsnap_configure(void)
{
	if (getauxval(AT_SECURE))
		return;
	for (size_t i = 0; i < setting_count; i++) {
		const char *value = getenv(settings[i].name);
		int error = value && *value ? set(&settings[i], value) : 0;

		if (error)
			heapsnap_report(settings[i].name, value,
					error == -ENOTSUP
						? ": libheapsnap-trace.so takes no snapshots"
						: settings[i].complaint);
	}
	is_loaded = true;
	heapsnap_each_stretch = look;
	heapsnap_trace_init();
}

HEAPSNAP_API int heapsnap_set(const char *name, const char *value)
{
	if (!name || !value)
		return -EINVAL;
	for (size_t i = 0; i < setting_count; i++) {
		if (strcmp(name, settings[i].name) == 0)
			return set(&settings[i], value);
	}
	return -ENOENT;
}

// Takes the next of the snapshots that HEAPSNAP_AT_CHECKPOINT asks for, and waits for it.
static void dump_at_checkpoint(void)
{
	uint32_t left = __atomic_load_n(&heapsnap_automatic.checkpoints, __ATOMIC_RELAXED);

	while (left > 0 &&
	       !__atomic_compare_exchange_n(&heapsnap_automatic.checkpoints, &left, left - 1, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	if (left == 0)
		return;
	heapsnap_wait(); // for one with another trigger
	if (heapsnap_dump(NULL) == 0)
		heapsnap_wait();
}

// The snapshot precedes its checkpoint: it still tells what came after the one before.
HEAPSNAP_API int heapsnap_checkpoint(void)
{
	dump_at_checkpoint();
	return heapsnap_begin_checkpoint() ? 0 : -ENOSPC;
}
