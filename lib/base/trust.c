// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/trust.h"

#include "lib/base/cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	OTHERS_WRITE = S_IWGRP | S_IWOTH,
};

static bool is_users_or_roots(const struct stat *status)
{
	return status->st_uid == geteuid() || status->st_uid == 0;
}

// Checks that nobody else can replace files of the user in a directory.
HEAP_MUST_CHECK
static struct heap_error *check_above(const char *path)
{
	struct stat status;

	if (lstat(path, &status) != 0)
		return heap_error_create_system("%s", path);
	if (!S_ISDIR(status.st_mode) || !is_users_or_roots(&status) ||
	    ((status.st_mode & OTHERS_WRITE) && !(status.st_mode & S_ISVTX)))
		return heap_error_create(HEAP_ERROR_ABSENT,
					 "%s is not trusted: others can write there", path);
	return NULL;
}

// Checks all parent directories of a path without links. @param path  changed, and restored
HEAP_MUST_CHECK
static struct heap_error *check_parents(char *path)
{
	struct heap_error *error = check_above("/");

	for (char *slash = strchr(path + 1, '/'); slash && !error; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		error = check_above(path);
		*slash = '/';
	}
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *check(const char *path, mode_t kind)
{
	CLEANUP_FREE char *real = realpath(path, NULL);
	struct stat status;

	if (!real)
		return heap_error_create_system("%s", path);
	HEAP_TRY(check_parents(real));
	if (lstat(real, &status) != 0)
		return heap_error_create_system("%s", path);
	if ((status.st_mode & S_IFMT) != kind || !is_users_or_roots(&status) ||
	    (status.st_mode & OTHERS_WRITE))
		return heap_error_create(HEAP_ERROR_ABSENT,
					 "%s is not trusted: it is not the user's alone", path);
	return NULL;
}

// Checks a link: one that others could have made may lead to any file of the user.
HEAP_MUST_CHECK
static struct heap_error *check_link(const char *path)
{
	CLEANUP_FREE char *parent = strdup(path);
	CLEANUP_FREE char *real = NULL, *inside = NULL;
	struct stat status;
	char *slash = parent ? strrchr(parent, '/') : NULL;

	if (!parent)
		return heap_error_out_of_memory();
	if (lstat(path, &status) != 0)
		return heap_error_create_system("%s", path);
	if (!is_users_or_roots(&status))
		return heap_error_create(HEAP_ERROR_ABSENT,
					 "%s is not trusted: it is somebody else's", path);
	if (slash)
		slash[slash == parent] = '\0';
	real = realpath(slash ? parent : ".", NULL);
	if (!real)
		return heap_error_create_system("%s", path);
	if (asprintf(&inside, "%s/.", real) < 0) {
		inside = NULL;
		return heap_error_out_of_memory();
	}
	return check_parents(inside);
}

struct heap_error *heap_trust_directory(const char *path)
{
	return check(path, S_IFDIR);
}

struct heap_error *heap_trust_file(const char *path)
{
	HEAP_TRY(check_link(path));
	return check(path, S_IFREG);
}

// Checks the directory in which the first missing one will be made.
HEAP_MUST_CHECK
static struct heap_error *check_existing(const char *path)
{
	CLEANUP_FREE char *real = NULL, *inside = NULL;
	CLEANUP_FREE char *existing = strdup(path);

	if (!existing)
		return heap_error_out_of_memory();
	while (!(real = realpath(existing, NULL))) {
		char *slash = strrchr(existing, '/');

		if (errno != ENOENT || !slash)
			return heap_error_create_system("%s", existing);
		slash[slash == existing] = '\0';
	}
	if (asprintf(&inside, "%s/.", real) < 0) {
		inside = NULL;
		return heap_error_out_of_memory();
	}
	return check_parents(inside);
}

struct heap_error *heap_trust_make_directory(const char *path)
{
	CLEANUP_FREE char *part = strdup(path);

	HEAP_TRY(check_existing(path));
	if (!part)
		return heap_error_out_of_memory();
	for (char *slash = part + 1; *slash; slash++) {
		if (*slash != '/')
			continue;
		*slash = '\0';
		mkdir(part, 0700); // if that fails, so does the last one
		*slash = '/';
	}
	if (mkdir(part, 0700) != 0 && errno != EEXIST)
		return heap_error_create_system("%s", part);
	return heap_trust_directory(path);
}
