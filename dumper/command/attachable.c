// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/attachable.h"

#include "dumper/command/executable.h"
#include "dumper/command/permission.h"
#include "lib/base/cleanup.h"
#include "lib/base/escape.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

// Anonymous memory, of which the heap is most. @return bytes
static uint64_t read_memory(const struct process *process)
{
	CLEANUP_FILE FILE *file = process_file(process, "status");
	CLEANUP_FREE char *line = NULL;
	size_t size = 0;
	unsigned long long kib = 0;

	while (file && getline(&line, &size, file) > 0) {
		if (sscanf(line, "RssAnon: %llu", &kib) == 1)
			break;
	}
	return kib * 1024;
}

// The allocator of a process, by the libraries that are mapped; those that replace malloc first.
static const char *find_allocator(const struct process *process)
{
	static const struct {
		const char *file, *name;
	} known[] = {
		{ "/libasan.so", "AddressSanitizer" },
		{ "/libtsan.so", "ThreadSanitizer" },
		{ "/libjemalloc", "jemalloc" },
		{ "/libtcmalloc", "tcmalloc" },
		{ "/libmimalloc", "mimalloc" },
		{ "/ld-musl-", "musl" },
		{ "/libc.so.6", "glibc" },
		{ "/libc-2.", "glibc" },
	};
	const size_t count = sizeof(known) / sizeof(known[0]);
	CLEANUP_FILE FILE *file = process_file(process, "maps");
	CLEANUP_FREE char *line = NULL;
	size_t size = 0, best = count;

	while (file && getline(&line, &size, file) > 0) {
		for (size_t i = 0; i < best; i++) {
			if (strstr(line, known[i].file))
				best = i;
		}
	}
	return best < count ? known[best].name : "static";
}

static void format_user(const struct process *process, char *buffer, size_t size)
{
	struct stat status;

	buffer[0] = '\0';
	if (fstat(process->folder, &status) == 0)
		permission_user_name(status.st_uid, buffer, size);
}

static void format_memory(uint64_t bytes, char *buffer, size_t size)
{
	static const char units[] = "KMGT";
	double value = (double)bytes / 1024;
	size_t unit = 0;

	for (; value >= 1024 && unit + 1 < strlen(units); unit++)
		value /= 1024;
	snprintf(buffer, size, "%.1f %ciB", value, units[unit]);
}

static bool may_be_attached(const struct process *process)
{
	struct process_status status;
	int memory;

	if (!process_read_status(process, &status) || !status.has_memory || status.tracer != 0 ||
	    status.state == 'Z' || process->pid == getpid() ||
	    executable_kind_of(process) != EXECUTABLE_OWN)
		return false;
	memory = openat(process->folder, "mem", O_RDONLY | O_CLOEXEC);
	if (memory >= 0)
		close(memory);
	return memory >= 0;
}

void attachable_print_heading(void)
{
	heap_print(stdout, "%7s %-8s %10s %-8s %-8s %s\n", "PID", "USER", "MEMORY", "MALLOC", "",
		   "PROGRAM");
}

bool attachable_print(pid_t pid, const struct own_libraries *own)
{
	CLEANUP(process_close) struct process process = { 0 };
	CLEANUP(announcement_deinit) struct announcement announcement = { 0 };
	char name[NAME_MAX + 1], user[64], memory[32];
	struct heap_error *error = process_open(pid, &process);

	if (!error && !may_be_attached(&process))
		return false;
	if (!error)
		error = announcement_read(&process, own, &announcement);
	if (error) {
		heap_error_destroy(error);
		return false;
	}
	process_name(&process, name, sizeof(name));
	format_user(&process, user, sizeof(user));
	format_memory(read_memory(&process), memory, sizeof(memory));
	heap_print(stdout, "%7d %-8s %10s %-8s %-8s %s\n", (int)pid, user, memory,
		   find_allocator(&process), announcement.takes_snapshots ? "prepared" : "", name);
	return true;
}
