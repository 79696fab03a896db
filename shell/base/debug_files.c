// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/base/debug_files.h"

#include "lib/base/array.h"
#include "lib/base/cleanup.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const char WRITER[] = "heapsnap-writer";

// The writer lies beside heapsh where both were built, and in the libraries' directory once installed.
HEAP_MUST_CHECK
static struct heap_error *find_writer(char **result)
{
	static const char *const places[] = { "", "/../lib/heapsnap", "/../lib64/heapsnap",
					      "/../lib/*/heapsnap" };
	char here[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", here, sizeof(here) - 1);

	if (length < 0)
		return heap_error_create_system("/proc/self/exe");
	here[length] = '\0';
	*strrchr(here, '/') = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		CLEANUP_FREE char *pattern = NULL;
		CLEANUP(globfree) glob_t found = { 0 };

		if (asprintf(&pattern, "%s%s/%s", here, places[i], WRITER) < 0) {
			pattern = NULL;
			return heap_error_out_of_memory();
		}
		if (glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc > 0 &&
		    access(found.gl_pathv[0], X_OK) == 0) {
			*result = strdup(found.gl_pathv[0]);
			return *result ? NULL : heap_error_out_of_memory();
		}
	}
	return heap_error_create(HEAP_ERROR_ABSENT, "no %s in %s, nor in the lib beside it", WRITER,
				 here);
}

// In the child. @param answer  gets what the writer says
static void execute(const char *writer, const char *path, int memory, int answer,
		    char *const *files)
{
	enum {
		WORDS = 4, // before the files
	};
	size_t count = 0;
	char number[16];

	while (files[count])
		count++;

	const char **words = calloc(WORDS + count + 1, sizeof(*words));

	snprintf(number, sizeof(number), "%d", memory);
	if (words && dup2(answer, STDOUT_FILENO) >= 0) {
		words[0] = WRITER;
		words[1] = "--again";
		words[2] = path;
		words[3] = number;
		for (size_t i = 0; i < count; i++)
			words[WORDS + i] = files[i];
		execv(writer, (char **)words);
	}
	_exit(127);
}

// "failed REASON", or nothing.
HEAP_MUST_CHECK
static struct heap_error *read_answer(int descriptor, pid_t child)
{
	static const char failed[] = "failed ";
	char text[4096];
	size_t size = 0;
	ssize_t got;
	int status = 0;

	while (size < sizeof(text) - 1 &&
	       ((got = read(descriptor, text + size, sizeof(text) - 1 - size)) > 0 ||
		(got < 0 && errno == EINTR)))
		size += got > 0 ? (size_t)got : 0;
	text[size] = '\0';
	text[strcspn(text, "\n")] = '\0';
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (strncmp(text, failed, strlen(failed)) == 0)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "%s", text + strlen(failed));
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return heap_error_create(HEAP_ERROR_SYSTEM, "%s could not be run", WRITER);
	return NULL;
}

// @param memory  gets the new snapshot
HEAP_MUST_CHECK
static struct heap_error *infer(const char *path, char *const *files, int memory)
{
	CLEANUP_FREE char *writer = NULL;
	CLEANUP_CLOSE int answer = -1;
	int ends[2];
	pid_t child;

	HEAP_TRY(find_writer(&writer));
	if (pipe(ends) != 0)
		return heap_error_create_system("no pipe for %s", WRITER);
	answer = ends[0];
	fflush(NULL);
	child = fork();
	if (child == 0)
		execute(writer, path, memory, ends[1], files);
	close(ends[1]);
	if (child < 0)
		return heap_error_create_system("no process for %s", WRITER);
	return read_answer(answer, child);
}

struct heap_error *debug_files_open(const char *path, char *const *files,
				    struct heap_snapshot **result)
{
	CLEANUP_CLOSE int memory = memfd_create("heapsh", 0);
	char name[32];

	if (memory < 0)
		return heap_error_create_system("memory for %s", path);
	HEAP_TRY(infer(path, files, memory));
	snprintf(name, sizeof(name), "/dev/fd/%d", memory);
	return heap_snapshot_open_as(name, path, result);
}
