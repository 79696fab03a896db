// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/run.h"

#include "dumper/base/signal_names.h"
#include "dumper/base/units.h"
#include "dumper/command/complain.h"
#include "dumper/command/executable.h"
#include "dumper/command/library.h"
#include "lib/base/cleanup.h"
#include "lib/base/escape.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// --- values ------------------------------------------------------------------

static bool is_any(const char *value)
{
	(void)value;
	return true;
}

static bool is_filled(const char *value)
{
	return *value != '\0';
}

static bool is_number(const char *value)
{
	static const struct heapsnap_unit units[] = { { "", 1 }, { NULL, 0 } };
	uint64_t number;

	return heapsnap_parse_amount(value, units, &number);
}

static bool is_positive(const char *value)
{
	return is_number(value) && value[strspn(value, "0")] != '\0';
}

static bool is_size(const char *value)
{
	uint64_t bytes;

	return heapsnap_parse_amount(value, heapsnap_sizes, &bytes);
}

static bool is_time(const char *value)
{
	uint64_t time;

	return heapsnap_parse_amount(value, heapsnap_times, &time);
}

static bool is_growth(const char *value)
{
	static const struct heapsnap_unit share[] = { { "%", 1 }, { NULL, 0 } };
	uint64_t number;

	return is_size(value) || heapsnap_parse_amount(value, share, &number);
}

static bool is_rate(const char *value)
{
	uint64_t bytes;
	char *end;
	double rate = strtod(value, &end);

	// As the library reads HEAPSNAP_RATE.
	if (rate >= 1e-15 && rate < 1 && *end == '\0')
		return true;
	return heapsnap_parse_amount(value, heapsnap_sizes, &bytes) && bytes > 0;
}

static bool is_signal(const char *value)
{
	return heapsnap_signal_number(value) > 0;
}

static bool is_content(const char *value)
{
	return strcmp(value, "none") == 0 || strcmp(value, "all") == 0 || is_number(value);
}

static bool is_types(const char *value)
{
	return strcmp(value, "none") == 0 || strcmp(value, "all") == 0;
}

static bool is_share(const char *value)
{
	static const struct heapsnap_unit share[] = { { "%", 1 }, { NULL, 0 } };
	uint64_t number;

	return strcmp(value, "1") == 0 ||
	       (heapsnap_parse_amount(value, share, &number) && number >= 1 && number <= 99);
}

static bool is_end(const char *value)
{
	return strcmp(value, "exit") == 0 || strcmp(value, "signals") == 0 ||
	       strcmp(value, "all") == 0;
}

// --- options -----------------------------------------------------------------

// The part of the library that an option is about.
enum wish {
	WISH_ANY,
	WISH_SNAPSHOTS, // contradicts --no-snapshots
	WISH_END,       // does so unless the oldest blocks are wanted
	WISH_OLDEST,
};

static const struct option {
	const char *name;
	const char *variable;
	bool (*is_valid)(const char *value);
	const char *expected;  // what a value that is not valid is not
	const char *otherwise; // the value of the option alone; NULL: the next word is its value
	enum wish wish;
} options[] = {
	{ "--file", "HEAPSNAP_FILE", is_filled, "an empty name", NULL, WISH_ANY },
	{ "--signal", "HEAPSNAP_SIGNAL", is_signal, "not a signal that can be caught", NULL,
	  WISH_ANY },
	{ "--content", "HEAPSNAP_CONTENT", is_content, "neither none, nor a number, nor all", NULL,
	  WISH_ANY },
	{ "--types", "HEAPSNAP_TYPES", is_types, "neither all nor none", NULL, WISH_ANY },
	{ "--stacks", "HEAPSNAP_STACKS", is_size, "not a number of bytes, like 512K", NULL,
	  WISH_ANY },
	{ "--trace", "HEAPSNAP_TRACE", is_filled, "an empty name", NULL, WISH_ANY },
	{ "--trace-signal", "HEAPSNAP_TRACE_SIGNAL", is_signal, "not a signal that can be caught",
	  NULL, WISH_ANY },
	{ "--rate", "HEAPSNAP_RATE", is_rate,
	  "neither bytes per sample, like 512K, nor samples per byte, like 1e-6", NULL, WISH_ANY },
	{ "--wrappers", "HEAPSNAP_WRAPPERS", is_any, NULL, NULL, WISH_ANY },
	{ "--every", "HEAPSNAP_EVERY", is_time, "not a time, like 30s or 5m", NULL,
	  WISH_SNAPSHOTS },
	{ "--growth", "HEAPSNAP_GROWTH", is_growth,
	  "neither bytes, like 64M, nor a share, like 10%", NULL, WISH_SNAPSHOTS },
	{ "--min-interval", "HEAPSNAP_MIN_INTERVAL", is_time, "not a time, like 30s or 5m", NULL,
	  WISH_ANY },
	{ "--before-oom", "HEAPSNAP_BEFORE_OOM", is_share, "not a share, like 90%", "1",
	  WISH_SNAPSHOTS },
	{ "--at-exit", "HEAPSNAP_AT_EXIT", is_end, "neither exit, nor signals, nor all", "exit",
	  WISH_END },
	{ "--report-at-exit", "HEAPSNAP_REPORT", is_filled, "an empty name", "1", WISH_SNAPSHOTS },
	{ "--report-limit", "HEAPSNAP_REPORT_LIMIT", is_positive, "not a number of lines", NULL,
	  WISH_ANY },
	{ "--report-type", "HEAPSNAP_REPORT_TYPE", is_any, NULL, NULL, WISH_ANY },
	{ "--keep", "HEAPSNAP_KEEP", is_number, "not a number of files", NULL, WISH_ANY },
	{ "--debuginfod", "HEAPSNAP_DEBUGINFOD", is_time, "not a time, like 30s or 0", NULL,
	  WISH_ANY },
	{ "--writer-time", "HEAPSNAP_WRITER_TIME", is_time, "not a time, like 30s or 5m", NULL,
	  WISH_ANY },
	{ "--oldest", "HEAPSNAP_OLDEST", is_number, "not a number of blocks", "256", WISH_OLDEST },
};

struct request {
	char **program;
	bool has_no_snapshots;
	const char *names[WISH_OLDEST + 1]; // by wish: the last option that was given; NULL: none
};

// The option of a word "--name" or "--name=value". @return NULL: there is none
static const struct option *find_option(const char *word)
{
	size_t length = strcspn(word, "=");

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (strlen(options[i].name) == length && memcmp(options[i].name, word, length) == 0)
			return &options[i];
	}
	return NULL;
}

// Applies the option at *words, and moves past it. @return an exit status
static int apply(const struct option *option, char ***words)
{
	char *word = **words, *equals = strchr(word, '=');
	const char *value = option->otherwise;

	++*words;
	if (equals)
		value = equals + 1;
	else if (!value)
		value = *(*words) ? *(*words)++ : NULL;
	if (!value)
		return misused("run: %s needs a value", option->name);
	if (!option->is_valid(value) && !*value)
		return misused("run: %s: %s", option->name, option->expected);
	if (!option->is_valid(value))
		return option->otherwise
			       ? misused("run: %s: %s", word, option->expected)
			       : misused("run: %s %s: %s", option->name, value, option->expected);
	return setenv(option->variable, value, 1) == 0 ? STATUS_DONE
						       : fail(heap_error_out_of_memory());
}

// True if the name of each snapshot is another: by its number, or the time.
static bool is_pattern(const char *file)
{
	for (const char *at = strchr(file, '%'); at && at[1]; at = strchr(at + 2, '%')) {
		if (at[1] == 'N' || at[1] == 't')
			return true;
	}
	return false;
}

// A file is never written to again: of many snapshots all but the first would fail.
static int check_file(void)
{
	const char *file = getenv("HEAPSNAP_FILE");
	const char *many = getenv("HEAPSNAP_EVERY")    ? "--every"
			   : getenv("HEAPSNAP_GROWTH") ? "--growth"
						       : NULL;

	if (!many || !file || !*file || is_pattern(file))
		return STATUS_DONE;
	return misused("run: %s takes many snapshots, and %s is the name of one: it needs %%N",
		       many, file);
}

static int check_wishes(const struct request *request)
{
	const char *end = request->names[WISH_END], *oldest = request->names[WISH_OLDEST];
	const char *snapshots = request->names[WISH_SNAPSHOTS];

	if (oldest && !request->has_no_snapshots)
		return misused("run: %s is for --no-snapshots: a snapshot has all blocks, and "
			       "heapsh-trace --oldest --snapshot tells which are the oldest",
			       oldest);
	if (!snapshots && !oldest)
		snapshots = end;
	if (request->has_no_snapshots && snapshots)
		return misused("run: %s asks for snapshots, and --no-snapshots for none",
			       snapshots);
	return check_file();
}

static int read_options(char **words, struct request *request)
{
	int status = STATUS_DONE;

	while (status == STATUS_DONE && *words && **words == '-') {
		const struct option *option = find_option(*words);

		if (strcmp(*words, "--") == 0) {
			words++;
			break;
		}
		if (option) {
			request->names[option->wish] = option->name;
			status = apply(option, &words);
		} else if (strcmp(*words, "--verbose") == 0) {
			setenv("HEAPSNAP_VERBOSE", "1", 1);
			words++;
		} else if (strcmp(*words, "--no-snapshots") == 0) {
			request->has_no_snapshots = true;
			words++;
		} else {
			status = misused("run: unknown option %s", *words);
		}
	}
	request->program = words;
	if (status == STATUS_DONE && !*words)
		return misused("run: which program?");
	return status == STATUS_DONE ? check_wishes(request) : status;
}

// --- starting ----------------------------------------------------------------

// Before other libraries: an allocator that is preloaded too then lies below ours.
HEAP_MUST_CHECK
static struct heap_error *preload(const char *library)
{
	const char *others = getenv("LD_PRELOAD");
	CLEANUP_FREE char *value = NULL;

	if (strpbrk(library, " :"))
		return heap_error_create(
			HEAP_ERROR_ARGUMENT,
			"%s: the dynamic linker takes no path with a space or colon", library);
	if (asprintf(&value, "%s%s%s", library, others && *others ? ":" : "",
		     others ? others : "") < 0) {
		value = NULL;
		return heap_error_out_of_memory();
	}
	return setenv("LD_PRELOAD", value, 1) == 0 ? NULL : heap_error_out_of_memory();
}

// Exec keeps the pid. The library says in that process alone what no child's standard error should
// have: others may read it.
HEAP_MUST_CHECK
static struct heap_error *name_process(void)
{
	char pid[24];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	return setenv("HEAPSNAP_RUN", pid, 1) == 0 ? NULL : heap_error_out_of_memory();
}

// For traces: the name that was given is for the process that this one becomes, through all its
// execs; what that starts gets names of its own.
HEAP_MUST_CHECK
static struct heap_error *note_start(void)
{
	char start[32];
	struct timespec now;

	if (!getenv("HEAPSNAP_TRACE"))
		return NULL;
	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(start, sizeof(start), "%lld%09ld", (long long)now.tv_sec, now.tv_nsec);
	return setenv("HEAPSNAP_RUN_START", start, 1) == 0 ? NULL : heap_error_out_of_memory();
}

// The seccomp filters that bind this process, and so the program, from its start. The library knows by that
// a program that was started with others besides.
HEAP_MUST_CHECK
static struct heap_error *note_filters(void)
{
	static const char name[] = "Seccomp_filters:", mode_name[] = "Seccomp:";
	CLEANUP_FILE FILE *status = fopen("/proc/self/status", "re");
	char line[256], text[24];
	unsigned count = 0, mode = 0;
	bool has_count = false;

	while (status && fgets(line, sizeof(line), status)) {
		if (strncmp(line, mode_name, strlen(mode_name)) == 0)
			mode = (unsigned)strtoul(line + strlen(mode_name), NULL, 10);
		if (strncmp(line, name, strlen(name)) == 0) {
			count = (unsigned)strtoul(line + strlen(name), NULL, 10);
			has_count = true;
		}
	}
	snprintf(text, sizeof(text), "%u", has_count ? count : mode != 0);
	return setenv("HEAPSNAP_RUN_FILTERS", text, 1) == 0 ? NULL : heap_error_out_of_memory();
}

// Finds the program and checks it, and sets up the environment that it will run in.
// @param remark  as executable_check() gives it
HEAP_MUST_CHECK
static struct heap_error *prepare(const struct request *request, struct executable *executable,
				  const char **remark)
{
	CLEANUP_FREE char *library = NULL;

	HEAP_TRY(library_find(request->has_no_snapshots ? LIBRARY_TRACE_NAME : LIBRARY_NAME,
			      &library));
	HEAP_TRY(executable_find(*request->program, executable));
	HEAP_TRY(executable_check(executable, remark));
	HEAP_TRY(preload(library));
	HEAP_TRY(name_process());
	HEAP_TRY(note_filters());
	return note_start();
}

int run(char **words)
{
	struct request request = { 0 };
	CLEANUP(executable_deinit) struct executable executable = { 0 };
	const char *remark = NULL;
	int status = read_options(words, &request);

	if (status != STATUS_DONE)
		return status;

	struct heap_error *error = prepare(&request, &executable, &remark);

	if (error)
		return fail(error);
	if (remark)
		heap_print(stderr, "heapsnap: %s: %s\n", executable.path, remark);
	// A file that is neither ELF nor has "#!" is a script of sh, as everywhere.
	execvp(executable.path, request.program);
	return fail(heap_error_create_system("%s", executable.path));
}
