// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * heapsnap: runs a program so that its heap can be captured, captures it, lists such programs;
 * and attaches to others, or watches them.
 */
#include "dumper/command/attach.h"
#include "dumper/command/capture.h"
#include "dumper/command/complain.h"
#include "dumper/command/core.h"
#include "dumper/command/list.h"
#include "dumper/command/run.h"
#include "dumper/command/watch.h"
#include "lib/base/open_files.h"
#include "lib/base/own_proc.h"
#include "lib/base/standard_streams.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
	FILES = 16,
};

// On aarch64 a second line says how much of heapsh-limits(7) a user has to know.
static const char version[] =
#if defined(__aarch64__)
	"heapsnap " HEAPSH_VERSION " for aarch64\n"
	"tested in emulated machines only: see heapsh-limits(7)\n";
#else
	"heapsnap " HEAPSH_VERSION " for x86-64\n";
#endif

static const char usage[] =
	"Usage: heapsnap run [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
	"       heapsnap capture [--verbose] [--timeout TIME] [--] PID\n"
	"       heapsnap attach [OPTION]... [--] PID\n"
	"       heapsnap watch [OPTION]... [--] PID\n"
	"       heapsnap core [OPTION]... [--] FILE\n"
	"       heapsnap list [--all]\n"
	"       heapsnap --help | --version\n"
	"\n"
	"run      starts PROGRAM so that kill -QUIT PID writes a snapshot of its heap\n"
	"capture  has process PID write a snapshot, waits for it, prints its name\n"
	"attach   takes a snapshot of process PID, which nobody has prepared, prints its name\n"
	"watch    does so when its memory nears the end, before the kernel kills it\n"
	"core     takes one of a process that has crashed, from its core FILE\n"
	"list     lists the processes that can be captured: pid, signal, program;\n"
	"         with --all those that can be attached to: pid, user, memory, allocator, program\n"
	"\n"
	"Options of capture:\n"
	"  --timeout TIME        wait no longer than that (default: 2h; 0: as long as it takes)\n"
	"  --verbose             say how far it is\n"
	"\n"
	"Options of attach, watch and core: --file, --content, --types, --debuginfod and\n"
	"--writer-time, as those of run; of watch --before-oom, too, with a share; core's own:\n"
	"  --sysroot DIR         has the files that the process had mapped (default: /)\n"
	"  --exe FILE            the program\n"
	"\n"
	"Options of run:\n"
	"  --file PATTERN        name of the snapshots; %e program, %p pid, %h host, %t seconds\n"
	"                        since 1970, %N serial number, %% a % (default: %e-%N.snap)\n"
	"  --signal SIGNAL       the signal that asks for one (default: QUIT)\n"
	"  --content none|N|all  bytes of each object to keep (default: 256)\n"
	"  --types all|none      whether to find out of what types they are (default: all); "
	"without,\n"
	"                        large heaps take a third of the time\n"
	"  --stacks SIZE         a backtrace for one in so many bytes allocated (default: 512K), "
	"and\n"
	"                        for the first block of each site and size; 0: none\n"
	"  --trace PATTERN       a sample of what is allocated and freed, over time, into that "
	"file\n"
	"  --rate SIZE           one sample of that in so many bytes (default: as --stacks)\n"
	"  --trace-signal SIGNAL traces begin and end with that, rather than with the program\n"
	"  --no-snapshots        traces alone, which then cost next to nothing: blocks stay as "
	"they are\n"
	"  --oldest[=NUMBER]     with --no-snapshots: the signal finds what holds the oldest "
	"blocks of\n"
	"                        the sample (default: 256), for heapsh-trace --oldest\n"
	"  --wrappers NAMES      functions like xmalloc, with commas: blocks count for their "
	"callers\n"
	"  --every TIME          a snapshot each 30s, 500ms, 5m, 1h...\n"
	"  --growth SIZE|SHARE   one each time that live bytes have grown by 64M, or by 10%\n"
	"  --min-interval TIME   at least so long between those two kinds (default: 1s before one\n"
	"                        because of growth)\n"
	"  --before-oom[=SHARE]  one when so much of the memory is used that the control group or "
	"the\n"
	"                        machine has (default: 90%), with the program held until it is "
	"written\n"
	"  --at-exit[=WHEN]      one at the end: exit (which is meant if nothing is said), "
	"signals\n"
	"                        (abort, a fault, TERM, INT...), all\n"
	"  --report-at-exit[=FILE]  what has not been freed, on standard error or in a file that "
	"is\n"
	"                        named as snapshots are\n"
	"  --report-limit N      at most so many lines of each part (default: 20)\n"
	"  --report-type NAME    of that type alone; a pattern as * and ? make it\n"
	"  --debuginfod TIME     with DEBUGINFOD_URLS set, debug information may be fetched for "
	"so\n"
	"                        long (default: 30s; 0: nothing is fetched)\n"
	"  --writer-time TIME    a snapshot that takes longer is written without all types "
	"(default:\n"
	"                        10m; 0: any time)\n"
	"  --keep N              only the last N snapshots of each process stay\n"
	"  --verbose             say on standard error when a snapshot has been written\n";

// The program that is run is to get the limits that it would have got.
static const struct command {
	const char *name;
	int (*begin)(char **words);
	unsigned files; // that it has to open at once; 0: it does not matter
	bool knows_pids;
} commands[] = {
	{ "run", run, 0, false },          { "capture", capture, FILES, true },
	{ "attach", attach, FILES, true }, { "watch", watch, FILES, true },
	{ "core", core, FILES, false },    { "list", list, FILES, true },
};

static int begin(const struct command *command, char **words)
{
	struct heap_error *error =
		command->files > 0 ? heap_open_files_reserve(command->files) : NULL;

	if (!error && command->knows_pids)
		error = heap_own_proc_check();
	return error ? fail(error) : command->begin(words);
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : NULL;

	heap_standard_streams_init("heapsnap", STATUS_FAILED);
	if (!command)
		return misused("which command?");
	if (argc == 3 && (strcmp(argv[2], "-h") == 0 || strcmp(argv[2], "--help") == 0))
		command = argv[2];
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(command, commands[i].name) == 0)
			return begin(&commands[i], argv + 2);
	}
	if (strcmp(command, "-h") == 0 || strcmp(command, "--help") == 0 ||
	    strcmp(command, "help") == 0) {
		fputs(usage, stdout);
		return STATUS_DONE;
	}
	if (strcmp(command, "--version") == 0) {
		fputs(version, stdout);
		return STATUS_DONE;
	}
	return misused("unknown command %s", command);
}
