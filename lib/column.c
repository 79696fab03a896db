// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/column.h"

#include "lib/cleanup.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum {
	SMALL = 1 << 20, // bytes up to which a column is malloc's, whatever the budget
};

// Columns that are mappings of their own.
struct mapping {
	struct mapping *next;
	void *start;
	size_t size;
	size_t charged; // of the budget
};

// Columns may be made by several threads.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct mapping *mappings;
static uint64_t budget;
static bool budget_known;

// --- the budget --------------------------------------------------------------

// The first number behind @p key in a file of /proc or /sys. @return UINT64_MAX if there is none
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
	const char *cache; // in memory.stat: pages that the kernel takes away when memory is short
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

// What is left of one group's limit; UINT64_MAX: it has none.
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

// The least that is left of a group and of those above it. @param path  of it, from /
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

// What is left of this process's control group. Lines of /proc/self/cgroup: "0::/path",
// "4:memory:/path" (cgroups(7)). In containers the group itself may be mounted as the root,
// whatever its path.
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

static uint64_t find_budget(void)
{
	uint64_t available = read_number("/proc/meminfo", "MemAvailable:");
	uint64_t left = left_in_groups();
	struct rlimit limit;

	available = available < UINT64_MAX / 1024 ? available * 1024 : UINT64_C(1) << 30;
	if (getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		available = least(available, limit.rlim_cur);
	if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		available = least(available, limit.rlim_cur);
	// A group counts pages of files as well: some of them must stay, or each look at a column
	// that is in a file takes another one's pages away.
	return least(available, left) / 4 * 3;
}

void heap_column_limit(uint64_t bytes)
{
	pthread_mutex_lock(&mutex);
	budget = bytes;
	for (const struct mapping *mapping = mappings; mapping; mapping = mapping->next)
		budget -= least(budget, mapping->charged);
	budget_known = true;
	pthread_mutex_unlock(&mutex);
}

// Takes bytes off the budget, if there are as many.
static bool charge(size_t bytes)
{
	bool enough;

	pthread_mutex_lock(&mutex);
	if (!budget_known)
		budget = find_budget();
	budget_known = true;
	enough = bytes <= budget;
	if (enough)
		budget -= bytes;
	pthread_mutex_unlock(&mutex);
	return enough;
}

static void give_back(size_t bytes)
{
	pthread_mutex_lock(&mutex);
	budget += bytes;
	pthread_mutex_unlock(&mutex);
}

// --- columns -----------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *map_file(size_t size, void **start)
{
	const char *directory = getenv("TMPDIR");

	if (!directory || !*directory)
		directory = "/var/tmp";

	CLEANUP_CLOSE int descriptor = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (descriptor < 0) {
		// Not all file systems can make files without a name.
		CLEANUP_FREE char *path = NULL;

		if (asprintf(&path, "%s/heapsh-XXXXXX", directory) < 0) {
			path = NULL;
			return heap_error_out_of_memory();
		}
		descriptor = mkostemp(path, O_CLOEXEC);
		if (descriptor < 0)
			return heap_error_create_system("%s: no temporary file", directory);
		unlink(path);
	}

	int problem = posix_fallocate(descriptor, 0, (off_t)size);

	if (problem)
		return heap_error_create(HEAP_ERROR_SYSTEM,
					 "%s: no room for a temporary file of %zu MiB: %s",
					 directory, size >> 20, strerror(problem));
	*start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
	if (*start == MAP_FAILED)
		return heap_error_create_system("%s: a temporary file cannot be mapped", directory);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *map_memory(size_t size, void **start)
{
	*start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (*start == MAP_FAILED)
		return heap_error_out_of_memory();
	// Columns are gone through at random: with huge pages that costs half.
	madvise(*start, size, MADV_HUGEPAGE);
	return NULL;
}

static void add_mapping(struct mapping *mapping)
{
	pthread_mutex_lock(&mutex);
	mapping->next = mappings;
	mappings = mapping;
	pthread_mutex_unlock(&mutex);
}

struct heap_error *heap_column_create(size_t count, size_t width, void *column)
{
	size_t size;
	void *start;

	if (__builtin_mul_overflow(count, width, &size) || size > PTRDIFF_MAX)
		return heap_error_out_of_memory();
	if (size <= SMALL) {
		start = calloc(1, size ? size : 1);
		if (!start)
			return heap_error_out_of_memory();
		*(void **)column = start;
		return NULL;
	}

	CLEANUP_FREE struct mapping *mapping = calloc(1, sizeof(*mapping));

	if (!mapping)
		return heap_error_out_of_memory();
	mapping->size = size;
	mapping->charged = charge(size) ? size : 0;

	struct heap_error *error = mapping->charged ? map_memory(size, &mapping->start) : NULL;

	if (error) {
		heap_error_destroy(error);
		mapping->charged = 0;
		mapping->start = NULL;
	}
	error = mapping->charged ? NULL : map_file(size, &mapping->start);
	if (error)
		return error;
	*(void **)column = mapping->start;
	add_mapping(keep(mapping));
	return NULL;
}

// Takes a column out of the list. @return NULL if it is malloc's
static struct mapping *take_mapping(const void *column)
{
	struct mapping **place = &mappings, *found;

	pthread_mutex_lock(&mutex);
	while (*place && (*place)->start != column)
		place = &(*place)->next;
	found = *place;
	if (found)
		*place = found->next;
	pthread_mutex_unlock(&mutex);
	return found;
}

// Ordinary memory can grow where it is, without a copy.
static bool grow_memory(struct mapping *mapping, size_t size)
{
	if (!mapping->charged || size < mapping->size || !charge(size - mapping->size))
		return false;

	void *start = mremap(mapping->start, mapping->size, size, MREMAP_MAYMOVE);

	if (start == MAP_FAILED) {
		give_back(size - mapping->size);
		return false;
	}
	madvise(start, size, MADV_HUGEPAGE);
	mapping->start = start;
	mapping->size = mapping->charged = size;
	return true;
}

struct heap_error *heap_column_resize(size_t bytes, void *column)
{
	void **place = column, *old = *place, *larger;
	struct mapping *mapping = old ? take_mapping(old) : NULL;
	bool is_done = mapping && grow_memory(mapping, bytes);
	size_t kept = mapping ? mapping->size : old ? malloc_usable_size(old) : 0;

	if (is_done)
		*place = mapping->start;
	if (mapping)
		add_mapping(mapping);
	if (is_done)
		return NULL;

	struct heap_error *error = heap_column_create(bytes, 1, &larger);

	if (error)
		return error;
	if (kept > 0)
		memcpy(larger, old, kept < bytes ? kept : bytes);
	heap_column_destroy(old);
	*place = larger;
	return NULL;
}

bool heap_column_is_mapped(const void *column)
{
	const struct mapping *mapping;

	pthread_mutex_lock(&mutex);
	mapping = mappings;
	while (mapping && mapping->start != column)
		mapping = mapping->next;
	pthread_mutex_unlock(&mutex);
	return mapping;
}

void heap_column_destroy(void *column)
{
	struct mapping *found = column ? take_mapping(column) : NULL;

	if (found)
		give_back(found->charged);
	if (found)
		munmap(found->start, found->size);
	else
		free(column);
	free(found);
}
