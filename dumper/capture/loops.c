// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * HEAPSNAP_EXPECT_NO_GROWTH (heapsnap.h): a snapshot after each loop of a test, which heapsh-check
 * then judges. All of this runs in the thread that calls, at the test's own request.
 */
#include "dumper/base/process.h"
#include "dumper/base/report.h"
#include "dumper/base/settings.h"
#include "dumper/heapsnap.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	MAX_LOOPS = 100,
	MAX_VARIABLES = 4096,
};

static const char checker[] = "heapsh-check";

// The snapshots of one check at a time: one that an assertion has left is removed by the next.
static char directory[256];
static unsigned written;

static void name_of(unsigned number, char *name, size_t size)
{
	snprintf(name, size, "%s/%03u.snap", directory, number);
}

static void remove_snapshots(void)
{
	char name[sizeof(directory) + 16];

	if (!directory[0])
		return;
	for (unsigned i = 0; i < written; i++) {
		name_of(i, name, sizeof(name));
		unlink(name);
	}
	rmdir(directory);
	directory[0] = '\0';
	written = 0;
}

// A child of fork() has its parent's directory, which is not its own to remove.
static void forget_snapshots(void)
{
	directory[0] = '\0';
	written = 0;
}

// @return 0, or -errno
static int make_directory(void)
{
	static bool is_registered;
	const char *place = getenv("TMPDIR");

	// heapsnap_dump() takes a pattern.
	if (!place || !*place || strchr(place, '%') ||
	    strlen(place) > sizeof(directory) - sizeof("/heapsnap-XXXXXX"))
		place = "/tmp";
	remove_snapshots();
	snprintf(directory, sizeof(directory), "%s/heapsnap-XXXXXX", place);
	if (!mkdtemp(directory)) {
		directory[0] = '\0';
		return -errno;
	}
	if (!is_registered)
		is_registered = atexit(remove_snapshots) == 0 &&
				pthread_atfork(NULL, NULL, forget_snapshots) == 0;
	return 0;
}

// --- heapsh-check --------------------------------------------------------------------

// Beside heapsnap-writer, as installed and as built; never looked for elsewhere.
static bool find_checker(char *path, size_t size)
{
	const char *slash = strrchr(heapsnap_writer_path, '/');
	int length = slash ? (int)(slash + 1 - heapsnap_writer_path) : 0;

	if (!slash || (size_t)length + sizeof(checker) > size)
		return false;
	snprintf(path, size, "%.*s%s", length, heapsnap_writer_path, checker);
	return access(path, X_OK) == 0;
}

// The environment without what would have the checker captured, too.
static void copy_environment(char **copy)
{
	size_t count = 0;

	for (char **at = environ; *at && count + 1 < MAX_VARIABLES; at++) {
		if (strncmp(*at, "LD_PRELOAD=", 11) != 0 && strncmp(*at, "HEAPSNAP_", 9) != 0)
			copy[count++] = *at;
	}
	copy[count] = NULL;
}

// @return 0, or an errno
static int start_checker(const char *path, int text, pid_t *child)
{
	static char *environment[MAX_VARIABLES];
	static char names[MAX_LOOPS][sizeof(directory) + 16];
	char *arguments[MAX_LOOPS + 2] = { (char *)checker };
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error != 0)
		return error;
	for (unsigned i = 0; i < written; i++) {
		name_of(i, names[i], sizeof(names[i]));
		arguments[i + 1] = names[i];
	}
	copy_environment(environment);
	error = posix_spawn_file_actions_adddup2(&actions, text, STDOUT_FILENO);
	if (error == 0)
		error = posix_spawn_file_actions_adddup2(&actions, text, STDERR_FILENO);
	if (error == 0)
		error = posix_spawn(child, path, &actions, NULL, arguments, environment);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

// Reads to the end, also what has no room.
static void read_all(int text, char *message, size_t size)
{
	char rest[512];
	size_t used = 0;
	ssize_t got;

	for (;;) {
		bool has_room = used + 1 < size;

		got = has_room ? read(text, message + used, size - used - 1)
			       : read(text, rest, sizeof(rest));
		if (got > 0 && has_room)
			used += (size_t)got;
		if (got == 0 || (got < 0 && errno != EINTR))
			break;
	}
	message[used] = '\0';
}

static void fail(struct heapsnap_loops *loops, const char *why, int error)
{
	loops->grew = 1;
	snprintf(loops->message, sizeof(loops->message), "growth could not be checked: %.2000s%s%s",
		 why, error ? ": " : "", error ? heapsnap_error_text(error) : "");
}

static void judge(struct heapsnap_loops *loops)
{
	char path[HEAPSNAP_PATH_MAX];
	int text[2], error, status = -1;
	pid_t child;

	if (!find_checker(path, sizeof(path))) {
		fail(loops, "there is no heapsh-check beside heapsnap-writer", 0);
		return;
	}
	if (pipe2(text, O_CLOEXEC) != 0) {
		fail(loops, "pipe", errno);
		return;
	}
	error = start_checker(path, text[1], &child);
	close(text[1]);
	if (error != 0)
		fail(loops, path, error);
	else
		read_all(text[0], loops->message, sizeof(loops->message));
	close(text[0]);
	if (error != 0)
		return;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	loops->grew = status != 0;
}

// --- loops ---------------------------------------------------------------------------

// @return false: there is nothing to go on with
static bool take(struct heapsnap_loops *loops)
{
	char name[sizeof(directory) + 16];
	int error;

	name_of(written, name, sizeof(name));
	heapsnap_wait(); // for one with another trigger
	error = heapsnap_dump(name);
	if (error == 0) {
		written++;
		error = heapsnap_wait();
	}
	if (error == -ENOTSUP)
		heapsnap_report(NULL, "growth is not checked: there can be no snapshots", "");
	else if (error != 0)
		fail(loops, "no snapshot", -error);
	return error == 0;
}

HEAPSNAP_API int heapsnap_next_loop(struct heapsnap_loops *loops, unsigned count)
{
	bool goes_on = true;
	int error;

	if (loops->has_ended)
		return 0;
	if (loops->done == 0) {
		error = make_directory();
		if (error)
			fail(loops, "no directory for snapshots", -error);
		goes_on = error == 0;
	} else {
		goes_on = take(loops);
	}
	count = count > MAX_LOOPS ? MAX_LOOPS : count;
	if (goes_on && loops->done < count) {
		loops->done++;
		return 1;
	}
	if (goes_on)
		judge(loops);
	loops->has_ended = 1;
	remove_snapshots();
	return loops->grew;
}
