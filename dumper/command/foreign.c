// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/foreign.h"

#include "dumper/base/units.h"
#include "dumper/command/complain.h"
#include "dumper/command/interrupt.h"
#include "dumper/command/library.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	DEFAULT_CONTENT = 256,
	DEFAULT_WRITER_TIME = 600, // s
	TEND_MS = 10,
	INTERRUPT_MS = 100,
	MAX_NOTES = 4, // of a writer, each a line
};

static const uint64_t HEED_NS = UINT64_C(5000000000); // within which a writer ends that is asked to

// --- options -------------------------------------------------------------------------

static bool set_file(struct foreign_options *options, const char *value)
{
	options->pattern = value;
	return *value != '\0';
}

static bool set_content(struct foreign_options *options, const char *value)
{
	static const struct heapsnap_unit units[] = { { "", 1 }, { NULL, 0 } };

	if (strcmp(value, "all") == 0)
		options->content_limit = UINT64_MAX;
	else if (strcmp(value, "none") == 0)
		options->content_limit = 0;
	else
		return heapsnap_parse_amount(value, units, &options->content_limit);
	return true;
}

static bool set_types(struct foreign_options *options, const char *value)
{
	options->has_types = strcmp(value, "all") == 0;
	return options->has_types || strcmp(value, "none") == 0;
}

static bool set_writer_time(struct foreign_options *options, const char *value)
{
	return heapsnap_parse_amount(value, heapsnap_times, &options->writer_time_ns);
}

// The writer reads it from its environment.
static bool set_debuginfod(struct foreign_options *options, const char *value)
{
	uint64_t time;

	(void)options;
	return heapsnap_parse_amount(value, heapsnap_times, &time) &&
	       setenv("HEAPSNAP_DEBUGINFOD", value, 1) == 0;
}

static bool set_sysroot(struct foreign_options *options, const char *value)
{
	options->sysroot = value;
	return *value != '\0';
}

static bool set_executable(struct foreign_options *options, const char *value)
{
	options->executable = value;
	return *value != '\0';
}

static bool set_share(struct foreign_options *options, const char *value)
{
	static const struct heapsnap_unit units[] = { { "%", 1 }, { NULL, 0 } };
	uint64_t share;

	if (!heapsnap_parse_amount(value, units, &share) || share < 1 || share > 99)
		return false;
	options->share = (uint32_t)share;
	return true;
}

static const struct option {
	const char *name;
	bool (*set)(struct foreign_options *options, const char *value);
	const char *expected; // what a value that is not valid is not
	const char *command;  // that alone has it; NULL: all have
} all[] = {
	{ "--file", set_file, "an empty name", NULL },
	{ "--content", set_content, "neither none, nor a number, nor all", NULL },
	{ "--types", set_types, "neither all nor none", NULL },
	{ "--debuginfod", set_debuginfod, "not a time, like 30s or 0", NULL },
	{ "--writer-time", set_writer_time, "not a time, like 30s or 5m", NULL },
	{ "--sysroot", set_sysroot, "an empty name", "core" },
	{ "--before-oom", set_share, "not a share, like 90%", "watch" },
	{ "--exe", set_executable, "an empty name", "core" },
};

static const struct option *find_option(const char *command, const char *word)
{
	size_t length = strcspn(word, "=");

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (strlen(all[i].name) == length && memcmp(all[i].name, word, length) == 0 &&
		    (!all[i].command || strcmp(command, all[i].command) == 0))
			return &all[i];
	}
	return NULL;
}

HEAP_MUST_CHECK
static int read_option(const char *command, char ***words, struct foreign_options *options)
{
	const char *word = *(*words)++, *value = strchr(word, '=');
	const struct option *option = find_option(command, word);

	if (!option)
		return misused("%s: unknown option %s", command, word);
	value = value ? value + 1 : **words ? *(*words)++ : NULL;
	if (!value)
		return misused("%s: %s needs a value", command, option->name);
	if (option->set(options, value))
		return STATUS_DONE;
	return *value ? misused("%s: %s %s: %s", command, option->name, value, option->expected)
		      : misused("%s: %s: %s", command, option->name, option->expected);
}

int foreign_read_options(const char *command, char **words, struct foreign_options *options)
{
	char **operands = words;
	bool is_operand = false;
	int status = STATUS_DONE;

	*options = (struct foreign_options){
		.pattern = "%e-%N.snap",
		.content_limit = DEFAULT_CONTENT,
		.writer_time_ns = DEFAULT_WRITER_TIME * UINT64_C(1000000000),
		.has_types = true,
	};
	// Options may come behind the process or file, too.
	while (*words && status == STATUS_DONE) {
		if (is_operand || **words != '-' || !(*words)[1]) {
			*operands++ = *words++;
		} else if (strcmp(*words, "--") == 0) {
			is_operand = true;
			words++;
		} else {
			status = read_option(command, &words, options);
		}
	}
	*operands = NULL;
	return status;
}

struct heap_error *foreign_describe(const struct foreign_options *options,
				    struct heapsnap_process *process)
{
	*process = (struct heapsnap_process){
		.magic = HEAPSNAP_PROCESS_MAGIC,
		.version = HEAPSNAP_PROTOCOL_VERSION,
		.bytes = sizeof(*process),
		.content_limit = options->content_limit,
		.writer_time_ns = options->writer_time_ns,
		.has_types = options->has_types,
	};
	// One that has been removed matters only to names that are relative to it.
	if (options->pattern[0] != '/' && !getcwd(process->directory, sizeof(process->directory)))
		return heap_error_create_system("the current directory");
	if (strlen(options->pattern) >= sizeof(process->pattern))
		return heap_error_create(HEAP_ERROR_ARGUMENT, "%.200s: the file's name is too long",
					 options->pattern);
	strcpy(process->pattern, options->pattern);
	return NULL;
}

// --- the writer -------------------------------------------------------------------------

static bool write_all(int descriptor, const void *bytes, size_t size)
{
	while (size > 0) {
		ssize_t written = write(descriptor, bytes, size);

		if (written <= 0)
			return false;
		bytes = (const char *)bytes + written;
		size -= (size_t)written;
	}
	return true;
}

// The file that the writer inherits. @return -1 and errno
static int make_description(const struct heapsnap_process *process,
			    const struct heapsnap_shared *shared,
			    const struct heapsnap_thread *threads)
{
	CLEANUP_CLOSE int file = memfd_create("heapsnap", 0);
	static const char zeros[sizeof(struct heapsnap_foreign)];
	size_t padding = sizeof(struct heapsnap_foreign) - sizeof(*process) - sizeof(*shared);

	_Static_assert(offsetof(struct heapsnap_foreign, shared) == sizeof(*process),
		       "no padding between them");
	if (file < 0 || !write_all(file, process, sizeof(*process)) ||
	    !write_all(file, shared, sizeof(*shared)) || !write_all(file, zeros, padding) ||
	    !write_all(file, threads, process->thread_count * sizeof(*threads)))
		return -1;

	int result = file;

	file = -1;
	return result;
}

/*
 * It ends with this process, which the image depends on: by SIGTERM, so that no part of a file stays.
 *
 * A session of its own makes it a group of its own for the scheduler, sched(7): beside a process with 300 threads
 * that never sleep it has half of the processors then, and not a share of 1 in 300. Signals of the terminal do not
 * reach it there.
 */
__attribute__((noreturn)) static void exec_writer(const char *path, const char *mode,
						  const char *subject,
						  const struct foreign_options *options,
						  int description, int answer, pid_t parent)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", description);
	setsid();
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() == parent && dup2(answer, STDOUT_FILENO) >= 0) {
		execl(path, "heapsnap-writer", mode, subject, number,
		      options->sysroot ? options->sysroot : "",
		      options->executable ? options->executable : "", (char *)NULL);
		dprintf(STDOUT_FILENO, "failed %s could not be started: %s\n", path,
			strerror(errno));
	}
	_exit(127);
}

// A writer at work.
struct work {
	pid_t writer;
	const struct interrupts *interrupts;
	uint64_t asked_ns; // when it was asked to end; 0: it was not
	void (*tend)(void *context);
	void *context;
};

// Asks the writer to end if this process shall, and ends one that does not heed that.
static void pass_interrupt(struct work *work)
{
	if (work->asked_ns == 0 && interrupts_have_come(work->interrupts)) {
		work->asked_ns = heap_monotonic_ns();
		kill(work->writer, SIGTERM);
	} else if (work->asked_ns != 0 && heap_monotonic_ns() - work->asked_ns > HEED_NS) {
		kill(work->writer, SIGKILL);
	}
}

// Reads the writer's answer: a line, and notes before and behind it.
static void read_answer(int descriptor, struct work *work, char *text, size_t size)
{
	struct pollfd event = { .fd = descriptor, .events = POLLIN };
	size_t length = 0;

	for (;;) {
		int ready = poll(&event, 1, work->tend ? TEND_MS : INTERRUPT_MS);
		ssize_t got;

		pass_interrupt(work);
		if (work->tend)
			work->tend(work->context);
		// Where it cannot be waited for in turns, all is left to read(2).
		if (ready == 0 || (ready < 0 && errno == EINTR))
			continue;
		got = read(descriptor, text + length, size - 1 - length);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		length += (size_t)got;
	}
	text[length] = '\0';
}

struct answer {
	const char *line;
	const char *notes[MAX_NOTES]; // [count]
	size_t count;
};

static struct answer split(char *text)
{
	struct answer result = { .line = "" };

	for (const char *line; (line = strsep(&text, "\n"));) {
		if (strncmp(line, "wrote ", 6) == 0 || strncmp(line, "failed ", 7) == 0)
			result.line = line;
		else if (*line && result.count < MAX_NOTES)
			result.notes[result.count++] = line;
	}
	return result;
}

HEAP_MUST_CHECK
static struct heap_error *judge(const char *program, char *text, int status)
{
	const struct answer answer = split(text);
	const char *path;

	if (WIFSIGNALED(status))
		return heap_error_create(HEAP_ERROR_SYSTEM, "%s was ended by signal %d", program,
					 WTERMSIG(status));
	if (*answer.line == 'f')
		return heap_error_create(HEAP_ERROR_SYSTEM, "%s", answer.line + 7);
	path = *answer.line ? strchr(answer.line + 6, ' ') : NULL;
	if (!path || status != 0)
		return heap_error_create(HEAP_ERROR_SYSTEM, "%s could not be started", program);
	puts(path + 1);
	for (size_t i = 0; i < answer.count; i++)
		fprintf(stderr, "heapsnap: %s\n", answer.notes[i]);
	return check_path_was_printed("", path + 1);
}

// Signals that are held here are held there, too: it takes them when it can end in order. @return its pid; -1 and errno
static pid_t start_writer(const char *path, const char *mode, const char *subject,
			  const struct foreign_options *options, int description, int answer)
{
	pid_t own = getpid(), writer = fork();

	if (writer == 0)
		exec_writer(path, mode, subject, options, description, answer, own);
	return writer;
}

struct heap_error *foreign_write(const char *mode, const char *subject,
				 const struct foreign_options *options,
				 const struct heapsnap_process *process,
				 const struct heapsnap_shared *shared,
				 const struct heapsnap_thread *threads, void (*tend)(void *context),
				 void *context)
{
	CLEANUP_FREE char *path = NULL;
	CLEANUP_CLOSE int description = -1;
	CLEANUP_CLOSE int answer = -1;
	CLEANUP(interrupts_release) struct interrupts interrupts;
	char text[HEAPSNAP_PATH_MAX + 256];
	struct work work = { .interrupts = &interrupts, .tend = tend, .context = context };
	int pipes[2], status = 0;

	interrupts_hold(&interrupts);
	HEAP_TRY(library_find("heapsnap-writer", &path));
	description = make_description(process, shared, threads);
	if (description < 0)
		return heap_error_create_system("a description of the process");
	if (pipe2(pipes, O_CLOEXEC) != 0)
		return heap_error_create_system("a pipe");
	answer = pipes[0];
	work.writer = start_writer(path, mode, subject, options, description, pipes[1]);
	close(pipes[1]);
	if (work.writer < 0)
		return heap_error_create_system("no process for heapsnap-writer");
	read_answer(answer, &work, text, sizeof(text));
	while (waitpid(work.writer, &status, 0) < 0 && errno == EINTR)
		;
	return judge(path, text, status);
}
