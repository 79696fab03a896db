// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/capture.h"

#include "dumper/base/units.h"
#include "dumper/command/announcement.h"
#include "dumper/command/complain.h"
#include "dumper/command/handler.h"
#include "dumper/command/names.h"
#include "dumper/command/permission.h"
#include "dumper/command/process.h"
#include "dumper/command/progress.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/escape.h"
#include "lib/base/terminal.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum {
	LOOK_MS = 20,
	LOOK_NAMES_MS = 100, // a directory may be large
	IDLE_MS = 2000,      // without a sign of a snapshot
	SHOW_AFTER_MS = 2000,
	SHOW_EVERY_MS = 500,
	WAIT_MS = 2 * 3600000, // more than a writer takes, unless it is allowed more
};

struct options {
	bool is_verbose;
	int64_t timeout_ms;
	pid_t pid;
};

// The state of the snapshot, as one look shows it.
enum sign {
	SIGN_NONE,
	SIGN_WRITING,
	SIGN_ENDED, // it has been written, or has failed
	SIGN_GONE,  // the process cannot tell
};

// A snapshot that is awaited.
struct wait {
	struct process target;
	struct process frozen; // pid 0: not known
	char name[NAME_MAX + 1];
	struct announcement announcement;

	// By memory, or else by names of files.
	bool has_details;
	uint32_t own_pid; // in its own namespace
	uint32_t begun;   // snapshots of the process before this one
	uint64_t shared;  // address of its struct heapsnap_shared; 0: there is none yet
	int32_t outcome;  // of the last snapshot that ended: 0 or -errno
	struct utsname host;
	struct names names;

	int64_t start_ms;
	int64_t shown_ms;
	bool has_shown;
};

// --- whether it may be signalled -----------------------------------------------

HEAP_MAKES_ERROR
static struct heap_error *refuse_handler(const struct wait *wait, enum heapsnap_handler handler)
{
	const char *other = signal_left_alone(&wait->target);
	char signal[SIGNAL_NAME_MAX], remedy[160];
	int pid = (int)wait->target.pid;

	signal_name(wait->announcement.signal, signal);
	if (other)
		snprintf(remedy, sizeof(remedy),
			 "heapsnap attach %d needs none, and heapsnap run --signal %s names one "
			 "that it leaves alone",
			 pid, other);
	else
		snprintf(
			remedy, sizeof(remedy),
			"no --signal is left, but heapsnap attach %d, and heapsnap run --every and "
			"--growth need none",
			pid);
	if (wait->announcement.signal == 0)
		return heap_error_create(HEAP_ERROR_ABSENT,
					 "%d takes no signal: it had a handler of its own, or runs "
					 "set-user-id; %s",
					 pid, remedy);
	if (handler == HEAPSNAP_HANDLER_DEFAULT)
		return heap_error_create(
			HEAP_ERROR_ABSENT,
			"%d would die of SIG%s: it has reset that signal's handler; %s", pid,
			signal, remedy);
	if (handler == HEAPSNAP_HANDLER_SANDBOX)
		return heap_error_create(HEAP_ERROR_ABSENT,
					 "%d (%s) restricts its system calls, and its filter "
					 "would end it for a snapshot",
					 pid, wait->name);
	return heap_error_create(HEAP_ERROR_ABSENT, "%d (%s) %s SIG%s, which is not sent; %s", pid,
				 wait->name, handler_text(handler), signal, remedy);
}

HEAP_MUST_CHECK
static struct heap_error *check(struct wait *wait)
{
	struct announcement *announcement = &wait->announcement;
	struct own_libraries own;
	struct process_status status;
	int pid = (int)wait->target.pid;

	own_libraries_find(&own);

	struct heap_error *error = announcement_read(&wait->target, &own, announcement);

	if (error)
		return error;
	process_name(&wait->target, wait->name, sizeof(wait->name));
	if (process_has_ended(&wait->target) || !process_read_status(&wait->target, &status) ||
	    status.state == 'Z')
		return heap_error_create(HEAP_ERROR_ABSENT, "%d has ended", pid);
	if (!announcement->has_library)
		return heap_error_create(
			HEAP_ERROR_ABSENT,
			"%d (%s) runs without libheapsnap.so: start it with heapsnap "
			"run, or take a snapshot with heapsnap attach",
			pid, wait->name);
	if (!announcement->takes_snapshots)
		return heap_error_create(
			HEAP_ERROR_ABSENT,
			"%d (%s) is traced without snapshots: it runs with --no-snapshots", pid,
			wait->name);
	if (!announcement->is_known)
		return heap_error_create(HEAP_ERROR_ABSENT,
					 "%d does not say by which signal it can be captured", pid);
	process_comm(&wait->target, wait->name, sizeof(wait->name));
	if (strcmp(wait->name, FROZEN_COMM) == 0)
		return heap_error_create(HEAP_ERROR_ABSENT,
					 "%d is a copy of %d, which a snapshot is read from", pid,
					 (int)status.parent);
	process_name(&wait->target, wait->name, sizeof(wait->name));

	enum heapsnap_handler handler = handler_now(&wait->target, announcement);

	return handler == HEAPSNAP_HANDLER_OURS ? NULL : refuse_handler(wait, handler);
}

// --- how it goes, by memory ------------------------------------------------------

// A copy of the target as it was after the signal: a child of its, until it ends.
static bool is_frozen(const struct wait *wait, struct process *process)
{
	struct heapsnap_announcement details;
	struct process_status status;
	char comm[32];

	process_comm(process, comm, sizeof(comm));
	if (strcmp(comm, FROZEN_COMM) != 0 || !process_read_status(process, &status))
		return false;
	if (status.parent == wait->target.pid)
		return true;
	return wait->has_details &&
	       process_read(process, wait->announcement.address, &details, sizeof(details)) &&
	       details.address == wait->announcement.address && details.pid == wait->own_pid &&
	       details.begun != wait->begun;
}

static void find_frozen(struct wait *wait)
{
	CLEANUP_FREE pid_t *pids = NULL;
	size_t count = 0;
	struct heap_error *error = process_list(&pids, &count);

	for (size_t i = count; !error && i-- > 0;) {
		struct process process = { 0 };

		error = process_open(pids[i], &process);
		if (!error && is_frozen(wait, &process)) {
			wait->frozen = process;
			return;
		}
		heap_error_destroy(error);
		error = NULL;
		process_close(&process);
	}
	heap_error_destroy(error);
}

// Why there was nothing to write. What the writer says is not known then, or is of the snapshot before.
HEAP_MAKES_ERROR
static struct heap_error *explain_failure(const struct wait *wait)
{
	int pid = (int)wait->target.pid;

	errno = -wait->outcome;
	if (errno == EAGAIN)
		return heap_error_create(
			HEAP_ERROR_SYSTEM,
			"%d wrote no snapshot: it may have no further process "
			"(RLIMIT_NPROC, or pids.max of its cgroup); the first does "
			"not bind heapsnap attach %d, if root calls it",
			pid, pid);
	if (errno == EINVAL)
		return heap_error_create(HEAP_ERROR_SYSTEM,
					 "%d wrote no snapshot: children of it would be in another "
					 "namespace of processes (unshare(2), setns(2))",
					 pid);
	return heap_error_create_system("%d wrote no snapshot", pid);
}

// Why the writer failed. Servers that root has started, and that have given up its rights, may not write where they
// were started.
HEAP_MAKES_ERROR
static struct heap_error *explain_writer(const struct wait *wait, const char *message)
{
	const char *denied = strerror(EACCES);
	size_t length = strlen(message), end = strlen(denied);
	struct process_status status;
	int pid = (int)wait->target.pid;
	char user[64];

	if (length < end || strcmp(message + length - end, denied) != 0 ||
	    !process_read_status(&wait->target, &status) || status.effective_user == geteuid())
		return heap_error_create(HEAP_ERROR_ABSENT, "%d wrote no snapshot: %s", pid,
					 message);
	permission_user_name(status.effective_user, user, sizeof(user));
	return heap_error_create(HEAP_ERROR_ABSENT,
				 "%d wrote no snapshot: %s: it is of user %s now; --file of "
				 "heapsnap run can name a place for them, and heapsnap attach %d "
				 "writes as you",
				 pid, message, user, pid);
}

// The outcome of the last snapshot. @param path  set if it has been written
HEAP_MUST_CHECK
static struct heap_error *read_outcome(struct wait *wait, struct process *process, char **path)
{
	CLEANUP_FREE struct heapsnap_shared *shared = malloc(sizeof(*shared));

	if (!shared)
		return heap_error_out_of_memory();
	if (wait->outcome != 0 && wait->outcome != -EIO) // which the writer explains
		return explain_failure(wait);
	if (!process_read(process, wait->shared, shared, sizeof(*shared)))
		return heap_error_create(HEAP_ERROR_ABSENT, "%d ended, and no snapshot came",
					 (int)wait->target.pid);
	shared->message[sizeof(shared->message) - 1] = '\0';
	if (shared->status != 0)
		return explain_writer(wait, shared->message);
	*path = strdup(shared->message);
	return *path ? NULL : heap_error_out_of_memory();
}

// The process itself, whose counters say when its snapshot has ended.
static enum sign look_at_target(struct wait *wait, struct heapsnap_progress *progress)
{
	struct heapsnap_announcement details;

	if (!progress_of_process(&wait->target, &wait->announcement, &details))
		return SIGN_GONE;
	wait->shared = details.shared;
	wait->outcome = details.outcome;
	// Serial numbers: they may wrap around.
	if ((int32_t)(details.ended - wait->begun) > 0 && details.ended == details.begun)
		return SIGN_ENDED;
	// Another that was asked for before takes as long as it takes: this one comes next.
	if (details.begun == wait->begun)
		return details.writing ? SIGN_WRITING : SIGN_NONE;
	if (progress_read(&wait->target, wait->shared, progress) && progress_is_writing(progress) &&
	    wait->frozen.pid == 0)
		find_frozen(wait);
	return SIGN_WRITING;
}

// The frozen copy, when the process has ended or become another program.
static enum sign look_at_frozen(struct wait *wait, struct heapsnap_progress *progress)
{
	struct heapsnap_announcement details;

	if (wait->frozen.pid == 0)
		find_frozen(wait);
	if (wait->frozen.pid == 0)
		return SIGN_NONE;
	if (process_read(&wait->frozen, wait->announcement.address, &details, sizeof(details)))
		wait->shared = details.shared;
	if (!progress_read(&wait->frozen, wait->shared, progress))
		return SIGN_NONE;
	return progress_is_writing(progress) ? SIGN_WRITING : SIGN_ENDED;
}

HEAP_MUST_CHECK
static struct heap_error *look_at_memory(struct wait *wait, struct heapsnap_progress *progress,
					 enum sign *sign, char **path)
{
	struct process *teller = &wait->target;

	*sign = look_at_target(wait, progress);
	if (*sign == SIGN_GONE) {
		teller = &wait->frozen;
		*sign = look_at_frozen(wait, progress);
	}
	return *sign == SIGN_ENDED ? read_outcome(wait, teller, path) : NULL;
}

// --- how it goes, by files -------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *look_at_names(struct wait *wait, enum sign *sign, char **path)
{
	struct heap_error *error = names_find_new(&wait->names, path);

	if (error || *path) {
		*sign = SIGN_ENDED;
		return error;
	}
	if (wait->frozen.pid == 0 && process_has_thread(&wait->target, WAITING_COMM))
		find_frozen(wait);
	*sign = wait->frozen.pid != 0 && !process_has_ended(&wait->frozen) ? SIGN_WRITING
									   : SIGN_NONE;
	return NULL;
}

// --- waiting -------------------------------------------------------------------

static void show(struct wait *wait, const struct options *options,
		 const struct heapsnap_progress *progress)
{
	int64_t now = heap_monotonic_ms();
	bool is_terminal = heap_terminal_is_able(STDERR_FILENO);
	char text[PROGRESS_TEXT_MAX];

	if (!progress_is_writing(progress) || (!options->is_verbose && !is_terminal) ||
	    now - wait->start_ms < SHOW_AFTER_MS || now - wait->shown_ms < SHOW_EVERY_MS)
		return;
	progress_format(progress, text, sizeof(text));
	fprintf(stderr, is_terminal ? "\rheapsnap: %s\033[K" : "heapsnap: %s\n", text);
	wait->shown_ms = now;
	wait->has_shown = is_terminal;
}

static void clear_shown(struct wait *wait)
{
	if (wait->has_shown)
		fputs("\r\033[K", stderr);
	wait->has_shown = false;
}

// Why nothing came of the signal.
HEAP_MAKES_ERROR
static struct heap_error *explain_idleness(const struct wait *wait)
{
	enum heap_error_code code = HEAP_ERROR_ABSENT;
	int pid = (int)wait->target.pid;
	struct process_status status;
	char signal[SIGNAL_NAME_MAX];

	signal_name(wait->announcement.signal, signal);
	if (process_has_ended(&wait->target) || !process_read_status(&wait->target, &status) ||
	    status.state == 'Z')
		return heap_error_create(code, "%d ended, and no snapshot came", pid);
	if (status.state == 'T' || status.state == 't')
		return heap_error_create(code,
					 "%d is stopped: it takes its snapshot when it goes on "
					 "(kill -CONT %d)",
					 pid, pid);
	if (status.pending >> (wait->announcement.signal - 1) & 1)
		return heap_error_create(
			code,
			"%d has SIG%s blocked: it takes its snapshot when a thread "
			"lets it through",
			pid, signal);
	return heap_error_create(code, "%d wrote no snapshot; its standard error says why", pid);
}

HEAP_MUST_CHECK
static struct heap_error *await(struct wait *wait, const struct options *options, char **path)
{
	const struct timespec pause = {
		.tv_nsec = (wait->has_details ? LOOK_MS : LOOK_NAMES_MS) * 1000000L,
	};
	int64_t idle_since = heap_monotonic_ms();

	for (;;) {
		struct heapsnap_progress progress = { 0 };
		enum sign sign;
		struct heap_error *error = wait->has_details
						   ? look_at_memory(wait, &progress, &sign, path)
						   : look_at_names(wait, &sign, path);
		int64_t now = heap_monotonic_ms();

		if (error || sign == SIGN_ENDED)
			return error;
		if (sign == SIGN_WRITING)
			idle_since = now;
		else if (now - idle_since > IDLE_MS)
			return explain_idleness(wait);
		if (options->timeout_ms > 0 && now - wait->start_ms > options->timeout_ms)
			return heap_error_create(HEAP_ERROR_INTERRUPTED,
						 "%d is still writing its snapshot, which is not "
						 "awaited any longer",
						 (int)wait->target.pid);
		show(wait, options, &progress);
		nanosleep(&pause, NULL);
	}
}

// --- all of it -----------------------------------------------------------------

// Notes what there is, so that the new can be told from it.
HEAP_MUST_CHECK
static struct heap_error *prepare(struct wait *wait, const struct options *options)
{
	struct heapsnap_announcement details;
	struct process_status status;
	struct name_words words = { wait->name, wait->host.nodename, (int)wait->target.pid };

	if (!process_read_status(&wait->target, &status))
		return heap_error_create(HEAP_ERROR_ABSENT, "%d has ended", words.pid);
	wait->own_pid = (uint32_t)status.own_pid;
	words.pid = (int)status.own_pid;
	if (progress_is_understood(&wait->target, &wait->announcement)) {
		wait->has_details = true;
		if (progress_of_process(&wait->target, &wait->announcement, &details))
			wait->begun = details.begun;
		return NULL;
	}
	if (!wait->announcement.pattern)
		return heap_error_create(
			HEAP_ERROR_ABSENT,
			"%d does not say where it writes snapshots: its pattern is "
			"too long, and its memory may not be read",
			(int)wait->target.pid);
	uname(&wait->host);
	return names_init(&wait->names, wait->target.folder, wait->announcement.pattern, &words,
			  options->timeout_ms > 0 ? wait->start_ms + options->timeout_ms : 0);
}

// True if a path may lead elsewhere in the process than here.
static bool has_other_root(const struct wait *wait)
{
	static const char *const names[] = { "root", "ns/mnt" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[32];
		struct stat own, its;

		snprintf(path, sizeof(path), "/proc/self/%s", names[i]);
		if (stat(path, &own) == 0 && fstatat(wait->target.folder, names[i], &its, 0) == 0 &&
		    (own.st_dev != its.st_dev || own.st_ino != its.st_ino))
			return true;
	}
	return false;
}

HEAP_MUST_CHECK
static struct heap_error *print_path(const struct wait *wait, const char *path)
{
	char root[32] = "";

	if (has_other_root(wait))
		snprintf(root, sizeof(root), "/proc/%d/root", (int)wait->target.pid);
	heap_print(stdout, "%s%s\n", root, path);
	return check_path_was_printed(root, path);
}

HEAP_MUST_CHECK
static struct heap_error *take(struct wait *wait, const struct options *options)
{
	CLEANUP_FREE char *path = NULL;
	struct heap_error *error;

	HEAP_TRY(process_open(options->pid, &wait->target));
	HEAP_TRY(check(wait));
	wait->start_ms = heap_monotonic_ms();
	HEAP_TRY(prepare(wait, options));
	if (!process_send(&wait->target, wait->announcement.signal))
		return heap_error_create_system("%d cannot be signalled", (int)options->pid);
	error = await(wait, options, &path);
	clear_shown(wait);
	HEAP_TRY(error);
	return print_path(wait, path);
}

static int read_timeout(const char *value, struct options *options)
{
	uint64_t time;

	if (!heapsnap_parse_amount(value, heapsnap_times, &time))
		return misused("capture: --timeout %s: not a time, like 30s or 5m", value);
	options->timeout_ms = (int64_t)((time + 999999) / 1000000);
	return STATUS_DONE;
}

static int read_options(char **words, struct options *options)
{
	char **operands = words, **word = words;
	int status = STATUS_DONE;

	// Options may come behind the process, too.
	for (; *word && status == STATUS_DONE; word++) {
		if (**word != '-')
			*operands++ = *word;
		else if (strcmp(*word, "--") == 0)
			break;
		else if (strcmp(*word, "--verbose") == 0)
			options->is_verbose = true;
		else if (strcmp(*word, "--timeout") == 0 && word[1])
			status = read_timeout(*++word, options);
		else if (strncmp(*word, "--timeout=", 10) == 0)
			status = read_timeout(*word + 10, options);
		else
			status = misused("capture: unknown option %s", *word);
	}
	if (status != STATUS_DONE)
		return status;
	while (*word && *++word)
		*operands++ = *word;
	*operands = NULL;
	options->pid = *words ? process_parse_pid(*words) : 0;
	if (!*words || **words == '\0' || strspn(*words, "0123456789") != strlen(*words))
		return misused("capture: which process?");
	if (words[1])
		return misused("capture: one process at a time");
	if (options->pid == 0)
		return fail(heap_error_create(HEAP_ERROR_ABSENT, "%s: no such process", *words));
	return STATUS_DONE;
}

int capture(char **words)
{
	struct options options = { .timeout_ms = WAIT_MS };
	struct wait wait = { 0 };
	int status = read_options(words, &options);

	if (status != STATUS_DONE)
		return status;
	wait.names.directory = -1;

	struct heap_error *error = take(&wait, &options);

	names_deinit(&wait.names);
	announcement_deinit(&wait.announcement);
	process_close(&wait.frozen);
	process_close(&wait.target);
	return error ? fail(error) : STATUS_DONE;
}
