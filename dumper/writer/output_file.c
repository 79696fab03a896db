// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum {
	MAX_SERIAL = 1000000,
};

static bool append(char *buffer, size_t size, size_t *length, const char *text)
{
	size_t more = strlen(text);

	if (more >= size - *length)
		return false;
	memcpy(buffer + *length, text, more + 1);
	*length += more;
	return true;
}

static void expand_one(const struct heapsnap_process *process, char letter, unsigned serial,
		       char piece[256])
{
	switch (letter) {
	case 'e':
		snprintf(piece, 256, "%.*s", heapsnap_name_in_file(process->program),
			 process->program);
		break;
	case 'p':
		snprintf(piece, 256, "%" PRIu32, process->pid);
		break;
	case 'h':
		if (gethostname(piece, 256) != 0)
			strcpy(piece, "localhost");
		piece[255] = '\0';
		break;
	case 't':
		snprintf(piece, 256, "%" PRIu64, process->time_ns / UINT64_C(1000000000));
		break;
	case 'N':
		snprintf(piece, 256, "%02u", serial);
		break;
	case '%':
		strcpy(piece, "%");
		break;
	default:
		piece[0] = '%';
		piece[1] = letter;
		piece[2] = '\0';
	}
	// A program's name must not lead the file elsewhere.
	for (char *slash; (slash = strchr(piece, '/'));)
		*slash = '_';
}

bool destination_expand(const struct heapsnap_process *process, const char *pattern,
			unsigned serial, char *buffer, size_t size)
{
	size_t length = 0;
	char piece[256];

	buffer[0] = '\0';
	if (pattern[0] != '/' && (!append(buffer, size, &length, process->directory) ||
				  !append(buffer, size, &length, "/")))
		return false;
	for (; *pattern; pattern++) {
		if (*pattern == '%' && pattern[1]) {
			expand_one(process, *++pattern, serial, piece);
		} else {
			piece[0] = *pattern;
			piece[1] = '\0';
		}
		if (!append(buffer, size, &length, piece))
			return false;
	}
	return length > 0;
}

// True if names that are taken can be avoided: by %N, which the one in %%N is not.
static bool has_serial(const char *pattern)
{
	for (const char *at = pattern; (at = strchr(at, '%')) && at[1]; at += 2) {
		if (at[1] == 'N')
			return true;
	}
	return false;
}

HEAP_MAKES_ERROR
static struct heap_error *too_long(const struct heapsnap_process *process)
{
	return heap_error_create(HEAP_ERROR_ARGUMENT, "%.200s: the file's name is too long",
				 process->pattern);
}

struct heap_error *destination_open(struct destination *destination,
				    const struct heapsnap_process *process)
{
	uint64_t random = 0;

	destination->descriptor = -1;
	if (!destination_expand(process, process->pattern, process->serial, destination->path,
				sizeof(destination->path)))
		return too_long(process);
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return heap_error_create_system("random numbers");

	// All the work would be for nothing.
	if (!has_serial(process->pattern) &&
	    faccessat(AT_FDCWD, destination->path, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		errno = EEXIST;
		return heap_error_create_system("%s", destination->path);
	}

	char *slash = strrchr(destination->path, '/');
	int directory = (int)(slash + 1 - destination->path);
	int length = snprintf(destination->temporary, sizeof(destination->temporary),
			      "%.*s.%.200s.%016" PRIx64, directory, destination->path, slash + 1,
			      random);

	if (length < 0 || (size_t)length >= sizeof(destination->temporary))
		return too_long(process);
	destination->descriptor = open(destination->temporary,
				       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (destination->descriptor < 0)
		return heap_error_create_system("%s", destination->path);
	return NULL;
}

struct heap_error *destination_rewind(const struct destination *destination)
{
	if (ftruncate(destination->descriptor, 0) != 0 ||
	    lseek(destination->descriptor, 0, SEEK_SET) != 0)
		return heap_error_create_system("going back to its start");
	return NULL;
}

// Gives the file its name if that is free. @return 0, EEXIST, or why it cannot be done
static int try_name(struct destination *destination)
{
	if (renameat2(AT_FDCWD, destination->temporary, AT_FDCWD, destination->path,
		      RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return errno;
	// A file system without that: a link does not replace either.
	if (link(destination->temporary, destination->path) != 0)
		return errno;
	unlink(destination->temporary);
	return 0;
}

struct heap_error *destination_commit(struct destination *destination,
				      const struct heapsnap_process *process)
{
	unsigned serial = process->first_number;

	if (fsync(destination->descriptor) != 0)
		return heap_error_create_system("%s", destination->path);
	for (; serial < MAX_SERIAL; serial++) {
		if (!destination_expand(process, process->pattern, serial, destination->path,
					sizeof(destination->path)))
			return too_long(process);

		int result = try_name(destination);

		if (result == 0) {
			destination->temporary[0] = '\0';
			destination->number = serial;
			return NULL;
		}
		errno = result;
		if (result != EEXIST || !has_serial(process->pattern))
			return heap_error_create_system("%s", destination->path);
	}
	return heap_error_create(HEAP_ERROR_ARGUMENT, "%s: all serial numbers are taken",
				 destination->path);
}

void destination_deinit(struct destination *destination)
{
	if (destination->descriptor >= 0) {
		close(destination->descriptor);
		if (destination->temporary[0])
			unlink(destination->temporary);
	}
}
