// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/memory_left.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

// The first number after @p key in a file of /proc or /sys. @return UINT64_MAX if there is none
static uint64_t read_number(const char *path, const char *key)
{
	FILE *file = fopen(path, "re");
	uint64_t number = UINT64_MAX;
	char line[256];

	if (!file)
		return UINT64_MAX;
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, strlen(key)) != 0)
			continue;
		if (sscanf(line + strlen(key), "%lu", &number) != 1)
			number = UINT64_MAX; // "max"
		break;
	}
	fclose(file);
	return number;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

// The files of a control group, by version.
struct controller {
	const char *root, *limit, *usage;
	const char *cache; // in memory.stat: pages that the kernel reclaims when memory is short
};

static const struct controller version_1 = { "/sys/fs/cgroup/memory", "memory.limit_in_bytes",
					     "memory.usage_in_bytes", "total_inactive_file " };
static const struct controller version_2 = { "/sys/fs/cgroup", "memory.max", "memory.current",
					     "inactive_file " };

static uint64_t read_controller(const char *directory, const char *name, const char *key)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return read_number(path, key);
}

// The memory left to a group; UINT64_MAX: it has no limit.
static uint64_t left_in(const struct controller *controller, const char *directory)
{
	uint64_t limit = read_controller(directory, controller->limit, "");
	uint64_t usage = read_controller(directory, controller->usage, "");
	uint64_t cache = read_controller(directory, "memory.stat", controller->cache);

	if (limit == UINT64_MAX || usage == UINT64_MAX)
		return limit;
	usage -= cache == UINT64_MAX ? 0 : least(cache, usage);
	return limit > usage ? limit - usage : 0;
}

// The least memory left to a group and its ancestors. @param path  of the group, from /
static uint64_t left_above(const struct controller *controller, const char *path)
{
	uint64_t left = UINT64_MAX;
	char directory[4096];

	if (snprintf(directory, sizeof(directory), "%s%s", controller->root, path) >=
	    (int)sizeof(directory))
		return left;
	while (strlen(directory) >= strlen(controller->root)) {
		left = least(left, left_in(controller, directory));
		*strrchr(directory, '/') = '\0';
	}
	return left;
}

// The memory left to this process's control group. Lines of /proc/self/cgroup are "0::/path" or
// "4:memory:/path" (cgroups(7)). In containers, the group may be mounted as the root, whatever its path.
static uint64_t left_in_groups(void)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	uint64_t left = UINT64_MAX;
	char line[4096];

	while (file && fgets(line, sizeof(line), file)) {
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		if (controllers[1] == '\0')
			left = least(left, left_above(&version_2, path));
		else if (strstr(controllers, "memory"))
			left = least(left, left_above(&version_1, path));
	}
	if (file)
		fclose(file);
	return left;
}

uint64_t heap_memory_left(void)
{
	uint64_t available = read_number("/proc/meminfo", "MemAvailable:");

	available = available < UINT64_MAX / 1024 ? available * 1024 : UINT64_C(1) << 30;
	return least(available, left_in_groups());
}

uint64_t heap_memory_budget(void)
{
	// A group's limit includes pages of files. Some must stay, or each access to a column in a
	// file would evict the pages of another one.
	uint64_t available = heap_memory_left() / 4 * 3;
	struct rlimit limit;

	// These limits include memory of malloc(), which columns must leave room for.
	if (getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		available = least(available, limit.rlim_cur / 2);
	if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		available = least(available, limit.rlim_cur / 2);
	return available;
}
