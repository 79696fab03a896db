// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/bounds.h"

#include "lib/cleanup.h"

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

// The number after the first @p key of a file; of a whole file with "".
static bool read_number(const char *path, const char *key, uint64_t *result)
{
	char text[8192];
	CLEANUP_CLOSE int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = file < 0 ? -1 : read(file, text, sizeof(text) - 1);

	if (length < 0)
		return false;
	text[length] = '\0';

	const char *at = strstr(text, key);

	return at && sscanf(at + strlen(key), "%" SCNu64, result) == 1;
}

// --- cgroups -----------------------------------------------------------------------

struct controller {
	const char *root;
	const char *limit;
	const char *usage;
	const char *cache; // in memory.stat: pages that the kernel gives up when asked for memory
};

static const struct controller version_1 = { "/sys/fs/cgroup/memory", "memory.limit_in_bytes",
					     "memory.usage_in_bytes", "\ntotal_inactive_file " };
static const struct controller version_2 = { "/sys/fs/cgroup", "memory.max", "memory.current",
					     "\ninactive_file " };

static bool read_controller(const char *directory, const char *name, const char *key,
			    uint64_t *result)
{
	char path[4096];

	return snprintf(path, sizeof(path), "%s/%s", directory, name) < (int)sizeof(path) &&
	       read_number(path, key, result);
}

// Of one cgroup. A limit of "max" is no number.
static uint64_t free_in(const struct controller *controller, const char *directory)
{
	uint64_t limit, usage, cache = 0;

	if (!read_controller(directory, controller->limit, "", &limit) ||
	    !read_controller(directory, controller->usage, "", &usage))
		return UINT64_MAX;
	read_controller(directory, "memory.stat", controller->cache, &cache);
	usage -= cache < usage ? cache : usage;
	return limit > usage ? limit - usage : 0;
}

// Of a cgroup and all those that it is in.
static uint64_t free_in_tree(const struct controller *controller, const char *path)
{
	char directory[4096];
	uint64_t least = UINT64_MAX;

	if (snprintf(directory, sizeof(directory), "%s%s", controller->root, path) >=
	    (int)sizeof(directory))
		return least;
	while (strlen(directory) >= strlen(controller->root)) {
		uint64_t here = free_in(controller, directory);

		least = here < least ? here : least;
		*strrchr(directory, '/') = '\0';
	}
	return least;
}

// Lines of /proc/self/cgroup: "0::/path", "4:memory:/path" (cgroups(7)).
static uint64_t free_in_cgroups(void)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[4096];
	uint64_t least = UINT64_MAX;

	while (file && fgets(line, sizeof(line), file)) {
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(controllers + 1, ':') : NULL;
		uint64_t here = UINT64_MAX;

		if (!path)
			continue;
		*path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		if (controllers[1] == '\0')
			here = free_in_tree(&version_2, path);
		else if (strstr(controllers, "memory"))
			here = free_in_tree(&version_1, path);
		least = here < least ? here : least;
	}
	if (file)
		fclose(file);
	return least;
}

uint64_t bounds_free_memory(void)
{
	uint64_t least = free_in_cgroups(), machine;

	if (!read_number("/proc/meminfo", "MemAvailable:", &machine))
		return least;
	machine *= 1024;
	return machine < least ? machine : least;
}

uint64_t bounds_memory(const struct heapsnap_process *process)
{
	uint64_t room = bounds_free_memory();

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
	char path[64];
	uint64_t clean, dirty;

	if (kill(program, 0) != 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)frozen);
	if (!read_number(path, "Private_Clean:", &clean) ||
	    !read_number(path, "Private_Dirty:", &dirty))
		return 0;
	return (clean + dirty) * 1024;
}
