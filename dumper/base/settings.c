// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/base/settings.h"

#include "dumper/base/signal_names.h"
#include "dumper/base/units.h"
#include "dumper/base/protocol.h"
#include "dumper/base/report.h"
#include "dumper/base/system.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum {
	MAX_OLDEST = 10000,
};

// Not the environment's own: programs write over that to set a title.
static char file[HEAPSNAP_PATH_MAX] = "%e-%N.snap";

struct heapsnap_settings heapsnap_settings = {
	.file = file,
	.signal = SIGQUIT,
	.content_limit = 256,
	.has_types = true,
	.writer_time_ns = UINT64_C(600000000000),
	.stop_ns = 250000000,
	.registers_ns = 5000000,
	.stacks = 512 << 10,
};

// @return false unless all of the text is a number
static bool parse_number(const char *text, uint64_t *result)
{
	uint64_t value = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' || value > (UINT64_MAX - 9) / 10)
			return false;
		value = value * 10 + (uint64_t)(*text - '0');
	}
	*result = value;
	return true;
}

static void read_signal(void)
{
	const char *value = getenv("HEAPSNAP_SIGNAL");
	int number;

	if (!value)
		return;
	number = heapsnap_signal_number(value);
	if (number < 0)
		heapsnap_report("HEAPSNAP_SIGNAL", value,
				": not a signal that can be caught; QUIT is used");
	else
		heapsnap_settings.signal = number;
}

// Snapshots have all blocks, so the library that takes them has no need of it.
static void read_oldest(void)
{
	const char *value = getenv("HEAPSNAP_OLDEST");
	uint64_t number;

	if (HEAPSNAP_TAKES_SNAPSHOTS || !value || !*value)
		return;
	if (parse_number(value, &number) && number <= MAX_OLDEST)
		heapsnap_settings.oldest = (uint32_t)number;
	else
		heapsnap_report("HEAPSNAP_OLDEST", value,
				": not a number of blocks up to 10000; none are looked for");
}

static void read_trace_signal(void)
{
	const char *value = getenv("HEAPSNAP_TRACE_SIGNAL");
	int number;

	if (!value || !*value)
		return;
	number = heapsnap_signal_number(value);
	if (number < 0)
		heapsnap_report("HEAPSNAP_TRACE_SIGNAL", value,
				": not a signal that can be caught; none is used");
	else if (number == heapsnap_settings.signal)
		heapsnap_report("HEAPSNAP_TRACE_SIGNAL", value,
				": that one asks for snapshots; none is used");
	else
		heapsnap_settings.trace_signal = number;
}

static void read_content(void)
{
	const char *value = getenv("HEAPSNAP_CONTENT");

	if (!value)
		return;
	if (strcmp(value, "all") == 0)
		heapsnap_settings.content_limit = UINT64_MAX;
	else if (strcmp(value, "none") == 0)
		heapsnap_settings.content_limit = 0;
	else if (!parse_number(value, &heapsnap_settings.content_limit))
		heapsnap_report("HEAPSNAP_CONTENT", value,
				": neither a number of bytes, nor all, nor none; 256 is used");
}

static void read_types(void)
{
	const char *value = getenv("HEAPSNAP_TYPES");

	if (!value)
		return;
	if (strcmp(value, "none") == 0)
		heapsnap_settings.has_types = false;
	else if (strcmp(value, "all") != 0)
		heapsnap_report("HEAPSNAP_TYPES", value, ": neither all nor none; all is used");
}

static void read_stacks(void)
{
	const char *value = getenv("HEAPSNAP_STACKS");

	if (value && !heapsnap_parse_amount(value, heapsnap_sizes, &heapsnap_settings.stacks))
		heapsnap_report("HEAPSNAP_STACKS", value,
				": not a number of bytes, as 512K; 512K is used");
}

// Samples per byte, or mean bytes per sample. Of a trace, so that backtraces are taken. A program that begins
// its traces by heapsnap_set() has a rate alone.
static void read_rate(void)
{
	const char *value = getenv("HEAPSNAP_RATE"), *trace = getenv("HEAPSNAP_TRACE");
	char *end;
	double rate;

	if (!value && (!trace || !*trace) && heapsnap_settings.trace_signal == 0)
		return;
	if (heapsnap_settings.stacks == 0)
		heapsnap_settings.stacks = 512 << 10;
	if (!value)
		return;
	rate = strtod(value, &end);
	if (rate >= 1e-15 && rate < 1 && *end == '\0')
		heapsnap_settings.stacks = (uint64_t)(1 / rate + 0.5);
	else if (!heapsnap_parse_amount(value, heapsnap_sizes, &heapsnap_settings.stacks) ||
		 heapsnap_settings.stacks == 0)
		heapsnap_report(
			"HEAPSNAP_RATE", value,
			": neither bytes per sample, as 512K, nor samples per byte, as 1e-6");
}

static void read_file(void)
{
	const char *value = getenv("HEAPSNAP_FILE");

	if (!value)
		return;
	if (!*value || strlen(value) >= sizeof(file))
		heapsnap_report("HEAPSNAP_FILE", "empty or too long", "; %e-%N.snap is used");
	else
		strcpy(file, value);
}

static bool read_switch(const char *name)
{
	const char *value = getenv(name);

	if (!value || !*value || strcmp(value, "0") == 0)
		return false;
	if (strcmp(value, "1") == 0)
		return true;
	heapsnap_report(name, value, ": neither 0 nor 1; 0 is used");
	return false;
}

// Limits for the writer.
static void read_bounds(void)
{
	const char *stop = getenv("HEAPSNAP_STOP");
	const char *registers = getenv("HEAPSNAP_REGISTERS");
	const char *memory = getenv("HEAPSNAP_WRITER_MEMORY");
	const char *time = getenv("HEAPSNAP_WRITER_TIME");
	const char *fetching = getenv("HEAPSNAP_DEBUGINFOD");
	uint64_t fetching_ns;

	if (memory &&
	    !heapsnap_parse_amount(memory, heapsnap_sizes, &heapsnap_settings.writer_memory))
		heapsnap_report("HEAPSNAP_WRITER_MEMORY", memory,
				": not a size, like 512M; what is free is used");
	if (time && !heapsnap_parse_amount(time, heapsnap_times, &heapsnap_settings.writer_time_ns))
		heapsnap_report("HEAPSNAP_WRITER_TIME", time,
				": not a time, like 60s; 10m is used");
	// The writer reads it; here it is said that it makes no sense, once.
	if (fetching && !heapsnap_parse_amount(fetching, heapsnap_times, &fetching_ns))
		heapsnap_report("HEAPSNAP_DEBUGINFOD", fetching,
				": not a time, like 30s or 0; 30s is used");
	if (stop && !heapsnap_parse_amount(stop, heapsnap_times, &heapsnap_settings.stop_ns))
		heapsnap_report("HEAPSNAP_STOP", stop, ": not a time, like 100ms; 250ms is used");
	if (registers &&
	    !heapsnap_parse_amount(registers, heapsnap_times, &heapsnap_settings.registers_ns))
		heapsnap_report("HEAPSNAP_REGISTERS", registers,
				": not a time, like 100ms; 5ms is used");
	heapsnap_settings.writer_nice = read_switch("HEAPSNAP_WRITER_NICE");
}

// The writer reads it too; here it is said that it makes no sense, once.
static void read_threads(void)
{
	const char *value = getenv("HEAPSNAP_THREADS");
	uint64_t number;

	if (value && (!parse_number(value, &number) || number < 1 || number > 64))
		heapsnap_report(
			"HEAPSNAP_THREADS", value,
			": not a number from 1 to 64; as many as processors, 4 at most, are used");
}

// HEAPSNAP_RUN is the pid of the program that heapsnap run has started. What that starts in turn
// may have its standard error read by others.
static void read_run(void)
{
	const char *value = getenv("HEAPSNAP_RUN"), *start = getenv("HEAPSNAP_RUN_START");
	uint64_t number;

	heapsnap_settings.tells_handlers =
		!value || !parse_number(value, &number) || number == (uint64_t)getpid();
	if (value && start && parse_number(value, &number) &&
	    parse_number(start, &heapsnap_settings.run_start_ns))
		heapsnap_settings.run_pid = (uint32_t)number;
}

void heapsnap_settings_read(void)
{
	if (getauxval(AT_SECURE)) {
		heapsnap_settings.signal = 0;
		return;
	}
	read_file();
	read_oldest();
	if (heapsnap_freezes())
		read_signal();
	else
		heapsnap_settings.signal = 0;
	read_trace_signal();
	read_content();
	read_types();
	read_stacks();
	read_rate();
	read_threads();
	read_bounds();
	read_run();
	heapsnap_settings.verbose = read_switch("HEAPSNAP_VERBOSE");
	heapsnap_settings.wrappers = getenv("HEAPSNAP_WRAPPERS");
}
