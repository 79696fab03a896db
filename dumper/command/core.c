// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/core.h"

#include "dumper/command/complain.h"
#include "dumper/command/foreign.h"
#include "lib/base/cleanup.h"
#include "lib/base/escape.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

// --- compressed files ---------------------------------------------------------------

// By systemd-coredump, handlers of core_pattern, or people.
static const struct packer {
	const char *program;
	size_t length;
	uint8_t magic[4]; // [length]
} packers[] = {
	{ "zstd", 4, { 0x28, 0xb5, 0x2f, 0xfd } }, { "lz4", 4, { 0x04, 0x22, 0x4d, 0x18 } },
	{ "xz", 4, { 0xfd, 0x37, 0x7a, 0x58 } },   { "gzip", 3, { 0x1f, 0x8b, 0x08 } },
	{ "bzip2", 3, { 0x42, 0x5a, 0x68 } },
};

// How a file is compressed, which its first bytes tell. @return NULL: it is not
static const struct packer *find_packer(const char *path)
{
	CLEANUP_CLOSE int file = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t magic[4];

	if (file < 0 || read(file, magic, sizeof(magic)) != sizeof(magic))
		return NULL;
	for (size_t i = 0; i < sizeof(packers) / sizeof(packers[0]); i++) {
		if (memcmp(packers[i].magic, magic, packers[i].length) == 0)
			return &packers[i];
	}
	return NULL;
}

// A file without a name, beside others that are as large.
static int open_temporary(void)
{
	const char *directory = getenv("TMPDIR");
	int file = open(directory && *directory ? directory : "/var/tmp",
			O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return file >= 0 ? file : open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

// Three quarters of what is free. A small file may unpack to terabytes.
static rlim_t room_of(int file)
{
	struct statvfs space;

	return fstatvfs(file, &space) == 0 ? (rlim_t)space.f_bavail * space.f_frsize / 4 * 3
					   : RLIM_INFINITY;
}

static void limit_size(int file)
{
	struct rlimit limit;
	rlim_t most = room_of(file);

	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && most < limit.rlim_cur) {
		limit.rlim_cur = most;
		setrlimit(RLIMIT_FSIZE, &limit);
	}
}

HEAP_MUST_CHECK
static struct heap_error *unpack(const struct packer *packer, const char *path, int *result)
{
	CLEANUP_CLOSE int file = open_temporary();
	int status = 0;
	pid_t own = getpid(), child;

	if (file < 0)
		return heap_error_create_system("room for %s", path);
	child = fork();
	if (child == 0) {
		limit_size(file);
		// Nobody would want the rest of it.
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() == own && dup2(file, STDOUT_FILENO) >= 0)
			execlp(packer->program, packer->program, "-dcq", "--", path, (char *)NULL);
		_exit(127);
	}
	if (child < 0)
		return heap_error_create_system("no process for %s", packer->program);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return heap_error_create(HEAP_ERROR_ABSENT,
					 "%s is compressed: install %s, or unpack it", path,
					 packer->program);
	// The unpacked part may do: the writer says what is missing.
	if (status != 0)
		heap_print(stderr, "heapsnap: %s: %s could not unpack all of it\n", path,
			   packer->program);
	*result = file;
	file = -1;
	return NULL;
}

// --- standard input ---------------------------------------------------------------------

static const char standard_input[] = "standard input";

// Copies what a pipe has, as far as there is room: the writer says what is missing.
HEAP_MUST_CHECK
static struct heap_error *copy_input(int file)
{
	static char buffer[1 << 16];
	rlim_t left = room_of(file);

	for (;;) {
		ssize_t count = read(STDIN_FILENO, buffer, sizeof(buffer));

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return heap_error_create_system("%s", standard_input);
		if (count == 0)
			return NULL;
		if ((rlim_t)count > left) {
			heap_print(stderr, "heapsnap: %s: there is no room for all of it\n",
				   standard_input);
			return NULL;
		}
		left -= (rlim_t)count;
		for (ssize_t at = 0, written; at < count; at += written) {
			written = write(file, buffer + at, (size_t)(count - at));
			if (written <= 0)
				return heap_error_create_system("room for %s", standard_input);
		}
	}
}

// Makes standard input a file that the writer can read anywhere: a pipe is copied to one without a name.
HEAP_MUST_CHECK
static struct heap_error *take_input(int *result)
{
	CLEANUP_CLOSE int file = -1;
	struct stat status;

	if (fstat(STDIN_FILENO, &status) != 0)
		return heap_error_create_system("%s", standard_input);
	if (S_ISREG(status.st_mode)) {
		file = dup(STDIN_FILENO);
		if (file < 0)
			return heap_error_create_system("%s", standard_input);
	} else {
		file = open_temporary();
		if (file < 0)
			return heap_error_create_system("room for %s", standard_input);
		HEAP_TRY(copy_input(file));
	}
	// The writer inherits it.
	fcntl(file, F_SETFD, 0);
	*result = file;
	file = -1;
	return NULL;
}

// --- options --------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *check_executable(const char *path)
{
	CLEANUP_CLOSE int file = -1;
	struct stat status;
	char magic[SELFMAG];

	if (stat(path, &status) != 0)
		return heap_error_create_system("--exe %s", path);
	if (!S_ISREG(status.st_mode))
		return heap_error_create(HEAP_ERROR_ARGUMENT, "--exe %s: no file", path);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return heap_error_create_system("--exe %s", path);
	if (read(file, magic, sizeof(magic)) != sizeof(magic) ||
	    memcmp(magic, ELFMAG, SELFMAG) != 0)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "--exe %s: no program", path);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *check_sysroot(const char *path)
{
	struct stat status;

	if (stat(path, &status) != 0)
		return heap_error_create_system("--sysroot %s", path);
	if (!S_ISDIR(status.st_mode))
		return heap_error_create(HEAP_ERROR_ARGUMENT, "--sysroot %s: no directory", path);
	return NULL;
}

// Without its files a core file gives a snapshot, too, but one that says little.
HEAP_MUST_CHECK
static struct heap_error *check_options(const struct foreign_options *options)
{
	if (options->executable)
		HEAP_TRY(check_executable(options->executable));
	return options->sysroot ? check_sysroot(options->sysroot) : NULL;
}

// --- the snapshot ---------------------------------------------------------------------

static const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

HEAP_MUST_CHECK
static struct heap_error *take(const char *path, const struct foreign_options *options)
{
	static struct heapsnap_process process;
	static const struct heapsnap_shared shared;
	static const struct heapsnap_thread threads[1];
	const struct packer *packer;
	CLEANUP_CLOSE int input = -1, unpacked = -1;
	char input_name[32], name[32];
	struct stat status;

	HEAP_TRY(check_options(options));
	if (strcmp(path, "-") == 0) {
		HEAP_TRY(take_input(&input));
		snprintf(input_name, sizeof(input_name), "/dev/fd/%d", input);
		path = input_name;
	}
	if (stat(path, &status) != 0)
		return heap_error_create_system("%s", path);
	if (!S_ISREG(status.st_mode))
		return heap_error_create(HEAP_ERROR_ARGUMENT, "%s is no file; - reads %s", path,
					 standard_input);
	// Not before: a pipe would wait for a writer, and a device may act when it is opened.
	packer = find_packer(path);
	if (packer) {
		HEAP_TRY(unpack(packer, path, &unpacked));
		// The writer inherits it.
		fcntl(unpacked, F_SETFD, 0);
		snprintf(name, sizeof(name), "/dev/fd/%d", unpacked);
	}
	HEAP_TRY(foreign_describe(options, &process));
	process.origin = HEAPSNAP_ORIGIN_CORE;
	process.time_ns =
		(uint64_t)status.st_mtim.tv_sec * 1000000000 + (uint64_t)status.st_mtim.tv_nsec;
	process.start_time_ns = process.time_ns;
	if (options->executable)
		snprintf(process.program, sizeof(process.program), "%s",
			 path_name(options->executable));
	return foreign_write("--core", packer ? name : path, options, &process, &shared, threads,
			     NULL, NULL);
}

int core(char **words)
{
	struct foreign_options options;
	int status = foreign_read_options("core", words, &options);

	if (status != STATUS_DONE)
		return status;
	if (!*words)
		return misused("core: which file?");
	if (words[1])
		return misused("core: one file at a time, not %s, too", words[1]);

	struct heap_error *error = take(*words, &options);

	return error ? fail(error) : STATUS_DONE;
}
