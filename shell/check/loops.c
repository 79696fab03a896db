// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/check/loops.h"

#include "shell/base/format.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const char suffix[] = ".snap";

// --- the directory -------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *make_directory(struct loops *loops, const char *wanted)
{
	const char *place = getenv("TMPDIR");

	loops->is_kept = wanted != NULL;
	if (wanted) {
		loops->directory = realpath(wanted, NULL);
		return loops->directory ? NULL : heap_error_create_system("%s", wanted);
	}
	if (asprintf(&loops->directory, "%s/heapsh-check-XXXXXX",
		     place && *place ? place : "/tmp") < 0) {
		loops->directory = NULL;
		return heap_error_out_of_memory();
	}
	if (mkdtemp(loops->directory))
		return NULL;

	struct heap_error *error =
		heap_error_create_system("making a directory for snapshots, %s", loops->directory);

	free(loops->directory);
	loops->directory = NULL;
	return error;
}

// "check-RUN-", where RUN is random: a directory that is kept may have snapshots of other runs,
// past or concurrent, and in containers even the process ids of these are often the same.
static char prefix[sizeof("check-12345678-")];

HEAP_MUST_CHECK
static struct heap_error *choose_prefix(void)
{
	unsigned number;

	if (getentropy(&number, sizeof(number)) < 0)
		return heap_error_create_system("choosing a name for snapshots");
	snprintf(prefix, sizeof(prefix), "check-%08x-", number);
	return NULL;
}

// Patterns of snapshots' names escape %.
static char *make_pattern(const char *directory)
{
	char *pattern = malloc(2 * strlen(directory) + sizeof(prefix) + sizeof("/%p-%N.snap"));
	char *at = pattern;

	if (!pattern)
		return NULL;
	for (; *directory; directory++) {
		*at++ = *directory;
		if (*directory == '%')
			*at++ = '%';
	}
	sprintf(at, "/%s%%p-%%N%s", prefix, suffix);
	return pattern;
}

static int select_snapshot(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
	       strcmp(entry->d_name + length - strlen(suffix), suffix) == 0;
}

// The process in the name "check-RUN-PID-NUMBER.snap".
static long process_of(const char *name)
{
	return strtol(name + strlen(prefix), NULL, 10);
}

static int compare_names(const struct dirent **left, const struct dirent **right)
{
	long a = process_of((*left)->d_name), b = process_of((*right)->d_name);

	return a != b ? (a < b ? -1 : 1) : strverscmp((*left)->d_name, (*right)->d_name);
}

static void free_entries(struct dirent **entries, int count)
{
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
}

// Chooses among several processes: the one with the most snapshots ran the loops.
HEAP_MUST_CHECK
static struct heap_error *choose(struct loops *loops, struct dirent **entries, int count)
{
	int best = 0, length = 0;

	for (int i = 0, start = 0; i <= count; i++) {
		if (i < count &&
		    process_of(entries[i]->d_name) == process_of(entries[start]->d_name))
			continue;
		if (i - start > length) {
			best = start;
			length = i - start;
		}
		start = i;
	}
	for (int i = 0; i < count; i++) {
		char *path;

		if (asprintf(&path, "%s/%s", loops->directory, entries[i]->d_name) < 0)
			return heap_error_out_of_memory();
		if (i >= best && i < best + length) {
			HEAP_TRY(heap_array_append(&loops->files, path));
			continue;
		}
		if (!loops->is_kept)
			unlink(path);
		free(path);
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_snapshots(struct loops *loops)
{
	struct dirent **entries;
	int count = scandir(loops->directory, &entries, select_snapshot, compare_names);
	struct heap_error *error;

	if (count < 0)
		return heap_error_create_system("%s", loops->directory);
	error = choose(loops, entries, count);
	free_entries(entries, count);
	return error;
}

// The directory that remove_and_end() removes. There neither malloc() nor opendir() may be called.
static struct loops *temporary;

static void remove_and_end(int number)
{
	for (size_t i = 0; temporary && i < temporary->files.count; i++)
		unlink(temporary->files.items[i]);
	if (temporary)
		rmdir(temporary->directory);
	raise(number); // by now its default action, as soon as this returns
}

// Whatever ends the judgement, such as a reader that has closed its pipe, leaves nothing behind.
static void guard_temporary(struct loops *loops)
{
	static const int ends[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE };

	temporary = loops;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		struct sigaction action = { .sa_handler = remove_and_end,
					    .sa_flags = (int)SA_RESETHAND };
		struct sigaction before;

		if (sigaction(ends[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
			sigaction(ends[i], &action, NULL);
	}
}

static void remove_all(const char *directory)
{
	struct dirent **entries;
	int count = scandir(directory, &entries, NULL, NULL);

	for (int i = 0; i < count; i++) {
		char *path;

		if (entries[i]->d_name[0] != '.' &&
		    asprintf(&path, "%s/%s", directory, entries[i]->d_name) >= 0) {
			unlink(path);
			free(path);
		}
	}
	if (count >= 0)
		free_entries(entries, count);
	rmdir(directory);
}

// --- the program ---------------------------------------------------------------------

// heapsnap beside this program, as built and as installed; else by PATH.
static void find_heapsnap(char *path, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", path, size - sizeof("heapsnap"));
	char *slash;

	path[length > 0 ? length : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash) {
		strcpy(slash + 1, "heapsnap");
		if (access(path, X_OK) == 0)
			return;
	}
	strcpy(path, "heapsnap");
}

// @return the words of the command, malloc'd; NULL if memory is short
static char **make_command(char *heapsnap, char *pattern, char **program)
{
	static char run[] = "run", file[] = "--file", end[] = "--";
	char *head[] = { heapsnap, run, file, pattern, end };
	size_t fixed = sizeof(head) / sizeof(head[0]), count = 0;
	char **command;

	while (program[count])
		count++;
	command = calloc(fixed + count + 1, sizeof(*command));
	if (command) {
		memcpy(command, head, sizeof(head));
		memcpy(command + fixed, program, count * sizeof(*program));
	}
	return command;
}

// Snapshots between the loops, or after the last one, would count as loops; and all must stay.
static void unset_automatic_snapshots(void)
{
	static const char *const variables[] = { "HEAPSNAP_EVERY", "HEAPSNAP_GROWTH",
						 "HEAPSNAP_BEFORE_OOM", "HEAPSNAP_AT_EXIT",
						 "HEAPSNAP_KEEP" };

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		unsetenv(variables[i]);
}

static void exec_program(char **command, size_t count)
{
	char number[32];

	unset_automatic_snapshots();
	snprintf(number, sizeof(number), "%zu", count);
	if (setenv("HEAPSNAP_AT_CHECKPOINT", number, 1) == 0 &&
	    dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
		execvp(command[0], command);
	_exit(127);
}

static volatile pid_t running; // the program, for the handler

// Who ends this program means the one that it waits for, whose end it survives to clean up.
static void hand_on(int number)
{
	kill(running, number);
}

static const int handled[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };

enum {
	HANDLED = sizeof(handled) / sizeof(handled[0]),
	FROM_TERMINAL = 2, // of these: the program gets them, too
};

HEAP_MUST_CHECK
static struct heap_error *wait_for(pid_t child, int *status)
{
	struct sigaction before[HANDLED];
	pid_t got;

	running = child;
	for (int i = 0; i < HANDLED; i++) {
		struct sigaction action = { .sa_handler = i < FROM_TERMINAL ? SIG_IGN : hand_on };

		sigaction(handled[i], &action, &before[i]);
	}
	do
		got = waitpid(child, status, 0);
	while (got < 0 && errno == EINTR);
	for (int i = 0; i < HANDLED; i++)
		sigaction(handled[i], &before[i], NULL);
	return got < 0 ? heap_error_create_system("waiting for the program") : NULL;
}

HEAP_MUST_CHECK
static struct heap_error *run(char **command, size_t count, const char *name)
{
	int status = 0;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child < 0)
		return heap_error_create_system("starting %s", command[0]);
	if (child == 0)
		exec_program(command, count);
	HEAP_TRY(wait_for(child, &status));
	if (WIFSIGNALED(status))
		return heap_error_create(HEAP_ERROR_ARGUMENT, "%s was killed by signal %d", name,
					 WTERMSIG(status));
	if (WEXITSTATUS(status) != 0)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "%s ended with status %d", name,
					 WEXITSTATUS(status));
	return NULL;
}

struct heap_error *loops_run(struct loops *loops, size_t count, const char *directory,
			     char **program)
{
	char heapsnap[4096];

	HEAP_TRY(choose_prefix());
	HEAP_TRY(make_directory(loops, directory));
	find_heapsnap(heapsnap, sizeof(heapsnap));

	CLEANUP_FREE char *pattern = make_pattern(loops->directory);
	CLEANUP_FREE char **command = pattern ? make_command(heapsnap, pattern, program) : NULL;

	if (!command)
		return heap_error_out_of_memory();
	HEAP_TRY(run(command, count, program[0]));
	HEAP_TRY(find_snapshots(loops));
	if (!loops->is_kept)
		guard_temporary(loops);
	if (loops->files.count >= count)
		return NULL;
	return heap_error_create(HEAP_ERROR_ARGUMENT,
				 "%s has ended after %zu of %zu loops: it is to call "
				 "heapsnap_checkpoint() at the end of each",
				 program[0], loops->files.count, count);
}

void loops_deinit(struct loops *loops)
{
	temporary = NULL;
	for (size_t i = 0; i < loops->files.count; i++)
		free(loops->files.items[i]);
	heap_array_deinit(&loops->files);
	if (loops->directory && !loops->is_kept)
		remove_all(loops->directory);
	free(loops->directory);
}
