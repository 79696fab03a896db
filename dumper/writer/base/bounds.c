// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/base/bounds.h"

#include "lib/base/cleanup.h"
#include "lib/base/memory_left.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__has_feature)
#define HAS_SANITIZER (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#else
#define HAS_SANITIZER 0
#endif

enum {
	LEAST_PRIORITY = 19,
	IDLE_DISK = 3 << 13, // ioprio_set(2): class 3, IDLE
	WHO_PROCESS = 1,
};

// Reads the beginning of a file: an empty text if that fails.
static void read_text(const char *path, char *text, size_t size)
{
	CLEANUP_CLOSE int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = file < 0 ? -1 : read(file, text, size - 1);

	text[length < 0 ? 0 : length] = '\0';
}

// The number after the first @p key of a text.
static bool find_number(const char *text, const char *key, uint64_t *result)
{
	const char *at = strstr(text, key);

	return at && sscanf(at + strlen(key), "%" SCNu64, result) == 1;
}

uint64_t bounds_memory(const struct heapsnap_process *process)
{
	uint64_t room = heap_memory_left();

	// The program goes on, and what it writes to costs memory too.
	room -= room / 4;
	return process->writer_memory != 0 && process->writer_memory < room ? process->writer_memory
									    : room;
}

void bounds_apply(const struct heapsnap_process *process)
{
	struct rlimit limit;

	if (process->writer_nice) {
		setpriority(PRIO_PROCESS, 0, LEAST_PRIORITY);
		syscall(SYS_ioprio_set, WHO_PROCESS, 0, IDLE_DISK);
	}
	// A sanitizer's own tables are larger than any limit.
	if (HAS_SANITIZER || getrlimit(RLIMIT_DATA, &limit) != 0)
		return;

	uint64_t memory = bounds_memory(process);

	if (memory < limit.rlim_cur) {
		limit.rlim_cur = memory;
		setrlimit(RLIMIT_DATA, &limit);
	}
}

uint64_t bounds_copied(pid_t frozen, pid_t program)
{
	char path[64], text[8192];
	uint64_t clean, dirty;

	if (kill(program, 0) != 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)frozen);
	// Once: the kernel looks at each page of the process.
	read_text(path, text, sizeof(text));
	if (!find_number(text, "Private_Clean:", &clean) ||
	    !find_number(text, "Private_Dirty:", &dirty))
		return 0;
	return (clean + dirty) * 1024;
}
