// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/unfreed.h"

#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char program[] = "heapsh-unfreed";

extern char **environ;

// Beside heapsnap-writer, as installed and as built; never looked for elsewhere.
static bool find_program(char *path, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", path, size - sizeof(program) - 1);
	char *slash;

	if (length <= 0)
		return false;
	path[length] = '\0';
	slash = strrchr(path, '/');
	strcpy(slash + 1, program);
	return access(path, X_OK) == 0;
}

static int spawn(const char *path, const struct heapsnap_process *process, int snapshot, int text,
		 pid_t *child)
{
	char file[64], limit[32] = "--limit=20", type[HEAPSNAP_NAME_MAX + 16] = "";
	char *arguments[5] = { (char *)program, limit, file, NULL, NULL };
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error != 0)
		return error;
	snprintf(file, sizeof(file), "/proc/self/fd/%d", snapshot);
	if (process->report_limit)
		snprintf(limit, sizeof(limit), "--limit=%" PRIu32, process->report_limit);
	if (process->report_type[0]) {
		snprintf(type, sizeof(type), "--type=%.*s", HEAPSNAP_NAME_MAX - 1,
			 process->report_type);
		arguments[2] = type;
		arguments[3] = file;
	}
	error = posix_spawn_file_actions_adddup2(&actions, text, STDOUT_FILENO);
	if (error == 0)
		error = posix_spawn_file_actions_adddup2(&actions, text, STDERR_FILENO);
	if (error == 0)
		error = posix_spawn(child, path, &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

struct heap_error *unfreed_print(const struct heapsnap_process *process, int snapshot, int text)
{
	char path[HEAPSNAP_PATH_MAX];
	int status = -1;
	pid_t child;

	if (!find_program(path, sizeof(path)))
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "no report: there is no heapsh-unfreed beside "
					 "heapsnap-writer");
	errno = spawn(path, process, snapshot, text, &child);
	if (errno != 0)
		return heap_error_create_system("%s", path);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	// 1 is that all has been freed.
	if (WIFEXITED(status) && WEXITSTATUS(status) <= 1)
		return NULL;
	return heap_error_create(HEAP_ERROR_ARGUMENT, "no report: %s has failed", path);
}
