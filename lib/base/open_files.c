// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/open_files.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	COUNT_MAX = 64,
};

// Descriptors that the process was started with count, too; they are found by trying.
static bool has_room(unsigned count)
{
	int descriptors[COUNT_MAX];
	unsigned made = 0;
	int first = memfd_create("room", MFD_CLOEXEC);

	while (first >= 0 && made + 1 < count && made < COUNT_MAX &&
	       (descriptors[made] = fcntl(first, F_DUPFD_CLOEXEC, 0)) >= 0)
		made++;
	for (unsigned i = 0; i < made; i++)
		close(descriptors[i]);
	if (first < 0)
		return false;
	close(first);
	return made + 1 >= count || made == COUNT_MAX;
}

struct heap_error *heap_open_files_reserve(unsigned count)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return heap_error_create_system("RLIMIT_NOFILE");
	limit.rlim_cur = limit.rlim_max;
	// Else it stays as it is.
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	if (has_room(count))
		return NULL;
	return heap_error_create(
		HEAP_ERROR_SYSTEM,
		"too few files may be open at once, %llu (ulimit -n): there must be room "
		"for %u more",
		(unsigned long long)limit.rlim_max, count);
}
