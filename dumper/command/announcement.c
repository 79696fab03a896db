// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/announcement.h"

#include "dumper/command/library.h"
#include "lib/base/cleanup.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
	NOTE_WITHIN = 4096, // bytes from the library's beginning
};

// --- our own libraries -------------------------------------------------------

// The mapping of this process that begins at an address.
static bool find_own_mapping(const void *start, struct file_identity *result)
{
	CLEANUP_FILE FILE *maps = fopen("/proc/self/maps", "re");
	CLEANUP_FREE char *line = NULL;
	size_t size = 0;

	while (maps && getline(&line, &size, maps) > 0) {
		struct mapping mapping;

		if (!mapping_parse(line, &mapping) || mapping.start != (uintptr_t)start)
			continue;
		*result = (struct file_identity){ mapping.major, mapping.minor, mapping.inode };
		return true;
	}
	return false;
}

// Maps the file to see how the kernel lists it.
static void identify_library(const char *name, struct file_identity *result)
{
	CLEANUP_FREE char *path = NULL;
	struct heap_error *error = library_find(name, &path);
	CLEANUP_CLOSE int file = error ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	void *page = file < 0 ? MAP_FAILED : mmap(NULL, 1, PROT_READ, MAP_PRIVATE, file, 0);

	memset(result, 0, sizeof(*result));
	heap_error_destroy(error);
	if (page == MAP_FAILED)
		return;
	find_own_mapping(page, result);
	munmap(page, 1);
}

void own_libraries_find(struct own_libraries *result)
{
	identify_library(LIBRARY_NAME, &result->snapshots);
	identify_library(LIBRARY_TRACE_NAME, &result->trace);
}

static bool is_file(const struct mapping *mapping, const struct file_identity *file)
{
	return file->inode != 0 && mapping->inode == file->inode && mapping->major == file->major &&
	       mapping->minor == file->minor;
}

// --- the library in the process ----------------------------------------------

static bool is_named_so(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && strncmp(slash + 1, "libheapsnap", strlen("libheapsnap")) == 0;
}

// Opens the file of a mapping. The process may have put anything in its place since, a device for
// one, whose opening alone may have effects: so the file is examined before it is opened. Where
// stat() shows another device than maps (overlayfs, subvolumes of btrfs), it is not trusted.
// @return a descriptor, or -1
static int open_mapped(const struct process *process, const struct mapping *mapping)
{
	char path[PATH_MAX + sizeof("root")];
	struct stat status;
	int length = snprintf(path, sizeof(path), "root%s", mapping->path);

	if (mapping->path[0] != '/' || length < 0 || (size_t)length >= sizeof(path))
		return -1;

	CLEANUP_CLOSE int place = openat(process->folder, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (place < 0 || fstat(place, &status) != 0 || !S_ISREG(status.st_mode) ||
	    status.st_ino != mapping->inode || major(status.st_dev) != mapping->major ||
	    minor(status.st_dev) != mapping->minor)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

// From the file, which the process sees: for a user who may not read the memory of processes of
// his own. @return how many bytes
static size_t read_file_start(const struct process *process, const struct mapping *mapping,
			      uint8_t *buffer, size_t size)
{
	CLEANUP_CLOSE int file = open_mapped(process, mapping);
	ssize_t length = file < 0 ? -1 : pread(file, buffer, size, 0);

	return length < 0 ? 0 : (size_t)length;
}

// Recognises the library by its note. @return false if the mapping is not of one of ours
static bool read_library(struct process *process, const struct mapping *mapping,
			 struct announcement *result)
{
	uint8_t start[NOTE_WITHIN];
	size_t size = sizeof(start), at;
	bool is_memory = process_read(process, mapping->start, start, size);
	struct heapsnap_note note;

	if (!is_memory)
		size = read_file_start(process, mapping, start, size);
	if (!library_read_note(start, size, &note, &at))
		return false;
	result->has_library = true;
	result->takes_snapshots = note.takes_snapshots;
	if (is_memory)
		result->address = mapping->start + at +
				  offsetof(struct heapsnap_note, announcement) +
				  (uint64_t)note.announcement;
	return true;
}

static void look_at_library(struct process *process, const struct mapping *mapping,
			    const struct own_libraries *own, struct announcement *result)
{
	bool takes_snapshots = is_file(mapping, &own->snapshots);

	if (mapping->offset != 0 || result->has_library)
		return;
	if (!takes_snapshots && !is_file(mapping, &own->trace)) {
		if (is_named_so(mapping->path))
			read_library(process, mapping, result);
		return;
	}
	if (!read_library(process, mapping, result)) {
		result->has_library = true;
		result->takes_snapshots = takes_snapshots;
	}
}

// --- its announcement --------------------------------------------------------

// A signal that a library of ours may have set.
static bool is_signal(uint64_t number)
{
	return number > 0 && number < 64 && number != SIGKILL && number != SIGSTOP;
}

bool announcement_parse_name(const char *name, struct announcement *result)
{
	static const char start[] = "heapsnap ";
	const char *at = name + strlen(start);
	unsigned number = 0, digits = 0;

	if (strncmp(name, start, strlen(start)) != 0)
		return false;
	for (; *at >= '0' && *at <= '9' && digits < 3; at++, digits++)
		number = number * 10 + (unsigned)(*at - '0');
	if (digits == 0 || *at != ' ' || (number != 0 && !is_signal(number)) ||
	    (at[1] != '/' && at[1] != '\0'))
		return false;

	char *pattern = at[1] ? strdup(at + 1) : NULL;

	free(result->pattern);
	result->pattern = pattern;
	result->signal = (int)number;
	result->handler = number == 0 ? HEAPSNAP_HANDLER_NONE : HEAPSNAP_HANDLER_OURS;
	result->is_known = true;
	return true;
}

bool announcement_parse_details(struct heapsnap_announcement *details, uint64_t address,
				struct announcement *result)
{
	details->pattern[sizeof(details->pattern) - 1] = '\0';
	if (details->magic != HEAPSNAP_ANNOUNCEMENT_MAGIC ||
	    details->version != HEAPSNAP_ANNOUNCEMENT_VERSION ||
	    details->bytes != sizeof(*details) || details->address != address)
		return false;

	bool has_signal = is_signal(details->signal);
	char *pattern = details->pattern[0] == '/' ? strdup(details->pattern) : NULL;

	free(result->pattern);
	result->pattern = pattern;
	result->takes_snapshots = details->takes_snapshots;
	result->signal = has_signal ? (int)details->signal : 0;
	result->handler = has_signal ? details->handler : HEAPSNAP_HANDLER_NONE;
	result->is_known = true;
	return true;
}

// The only sign for those who may not read memory.
static void look_at_name(const struct mapping *mapping, char *name, struct announcement *result)
{
	static const char start[] = "/memfd:";

	if (strncmp(name, start, strlen(start)) != 0 || !mapping_strip_deleted(name) ||
	    !announcement_parse_name(name + strlen(start), result))
		return;
	if (mapping->is_accessible && result->handler == HEAPSNAP_HANDLER_OURS)
		result->handler = HEAPSNAP_HANDLER_REPLACED;
}

// The library's own word, where its memory may be read.
static void read_details(struct process *process, struct announcement *result)
{
	CLEANUP_FREE struct heapsnap_announcement *details = malloc(sizeof(*details));

	if (!details || result->address == 0 ||
	    !process_read(process, result->address, details, sizeof(*details)) ||
	    !announcement_parse_details(details, result->address, result))
		result->address = 0;
}

struct heap_error *announcement_read(struct process *process, const struct own_libraries *own,
				     struct announcement *result)
{
	CLEANUP_FILE FILE *maps = process_file(process, "maps");
	CLEANUP_FREE char *line = NULL;
	size_t size = 0;

	memset(result, 0, sizeof(*result));
	if (!maps)
		return heap_error_create(HEAP_ERROR_SYSTEM, "%d: permission denied",
					 (int)process->pid);
	while (getline(&line, &size, maps) > 0) {
		struct mapping mapping;

		if (!mapping_parse(line, &mapping))
			continue;
		look_at_library(process, &mapping, own, result);
		look_at_name(&mapping, line + (mapping.path - line), result);
	}
	if (!result->has_library)
		result->is_known = false;
	read_details(process, result);
	return NULL;
}

void announcement_deinit(struct announcement *announcement)
{
	free(announcement->pattern);
	announcement->pattern = NULL;
}
