// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	MAX_PENDING = 16, // files that are written at a time
};

// --- signals -----------------------------------------------------------------

// Files to remove when a signal ends the program.
static char *volatile pending[MAX_PENDING];

static void remove_pending(int number)
{
	// A directory comes before the files in it.
	for (size_t i = MAX_PENDING; i-- > 0;) {
		if (pending[i] && unlink(pending[i]) != 0)
			rmdir(pending[i]);
	}
	signal(number, SIG_DFL);
	raise(number);
}

// A signal that the program has a handler for, or ignores, does not end it.
static void watch_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
	struct sigaction action;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler == SIG_DFL)
			signal(numbers[i], remove_pending);
	}
}

// So that none comes after a file is made and before it is known to be pending.
static void block_signals(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, before);
}

static void add_pending(char *path)
{
	watch_signals();
	for (size_t i = 0; i < MAX_PENDING; i++) {
		if (!pending[i]) {
			pending[i] = path;
			return;
		}
	}
}

static void remove_from_pending(const char *path)
{
	for (size_t i = 0; i < MAX_PENDING; i++) {
		if (pending[i] == path)
			pending[i] = NULL;
	}
}

// --- names -------------------------------------------------------------------

// The file that is there already: a link leads to the one to be replaced.
static bool is_written_in_place(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

// As readable as snapshots are: the file has what was in the program's memory.
static mode_t mode_of(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 ? status.st_mode & 07777 : 0600;
}

static void forget(struct new_file *file)
{
	if (file->written)
		remove_from_pending(file->written);
	if (file->written != file->path)
		free(file->written);
	free(file->path);
	*file = (struct new_file){ 0 };
}

// Makes the file under a name of its own.
HEAP_MUST_CHECK
static struct heap_error *make(struct new_file *file, int *descriptor)
{
	sigset_t before;
	int saved;

	block_signals(&before);
	*descriptor = mkostemp(file->written, O_CLOEXEC);
	saved = errno;
	if (*descriptor >= 0)
		add_pending(file->written);
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = saved;
	if (*descriptor < 0)
		return heap_error_create_system("%s", file->path);
	fchmod(*descriptor, mode_of(file->path));
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *prepare(struct new_file *file, const char *path, int *descriptor)
{
	char *real = realpath(path, NULL);
	struct heap_error *error = NULL;

	*descriptor = -1;
	*file = (struct new_file){ .path = real && !is_written_in_place(path) ? real
									      : strdup(path) };
	if (file->path != real)
		free(real);
	if (!file->path)
		return heap_error_out_of_memory();
	if (is_written_in_place(path)) {
		file->written = file->path;
		return NULL;
	}
	// A file that may not be written is not to be replaced, either.
	if (access(file->path, F_OK) == 0 && access(file->path, W_OK) != 0)
		error = heap_error_create_system("%s", path);
	else if (asprintf(&file->written, "%s.XXXXXX", file->path) < 0) {
		file->written = NULL;
		error = heap_error_out_of_memory();
	}
	if (!error)
		error = make(file, descriptor);
	if (error)
		forget(file);
	return error;
}

// --- in and out --------------------------------------------------------------

struct heap_error *new_file_reserve(struct new_file *file, const char *path)
{
	int descriptor;
	struct heap_error *error = prepare(file, path, &descriptor);

	if (descriptor >= 0)
		close(descriptor);
	return error;
}

struct heap_error *new_file_open(struct new_file *file, const char *path)
{
	int descriptor;
	struct heap_error *error = prepare(file, path, &descriptor);

	if (error)
		return error;
	file->stream = descriptor < 0 ? fopen(path, "we") : fdopen(descriptor, "w");
	if (file->stream)
		return NULL;
	error = heap_error_create_system("%s", path);
	if (descriptor >= 0)
		close(descriptor);
	return new_file_close(file, error);
}

struct heap_error *new_file_finish(struct new_file *file)
{
	FILE *stream = file->stream;
	bool failed;

	if (!stream)
		return NULL;
	file->stream = NULL;
	failed = ferror(stream);
	failed |= fclose(stream) != 0;
	return failed ? heap_error_create_system("%s", file->path) : NULL;
}

struct heap_error *new_file_close(struct new_file *file, struct heap_error *error)
{
	struct heap_error *unwritten = new_file_finish(file);

	if (error)
		heap_error_destroy(unwritten);
	else
		error = unwritten;
	if (!error && file->written != file->path && rename(file->written, file->path) != 0)
		error = heap_error_create_system("%s", file->path);
	if (error && file->written && file->written != file->path)
		unlink(file->written);
	forget(file);
	return error;
}

struct heap_error *new_file_begin_directory(char *path, bool *made)
{
	sigset_t before;
	int saved;

	block_signals(&before);
	*made = mkdir(path, 0700) == 0;
	saved = errno;
	if (*made)
		add_pending(path);
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = saved;
	return *made || saved == EEXIST ? NULL : heap_error_create_system("%s", path);
}

struct heap_error *new_file_end_directory(char *path, bool made, struct heap_error *error)
{
	if (error && made)
		rmdir(path);
	remove_from_pending(path);
	return error;
}
