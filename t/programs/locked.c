// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Prints how much address space it has, in KiB, then locks all of its memory under the limit that most systems
 * have, and prints the outcome. With an argument it has itself captured before that, and again at the end.
 */
#include "dumper/heapsnap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	LIMIT = 8 << 20, // bytes
	NOBODY = 65534,
};

static void capture(bool wanted)
{
	if (wanted && heapsnap_dump(NULL) == 0)
		heapsnap_wait();
}

int main(int count, char **arguments)
{
	struct rlimit limit = { LIMIT, LIMIT };
	long pages = 0;
	FILE *file;
	int result;

	capture(count > 1);
	file = fopen("/proc/self/statm", "r");
	if (!file || fscanf(file, "%ld", &pages) != 1)
		return 1;
	fclose(file);
	setrlimit(RLIMIT_MEMLOCK, &limit);
	// There is no limit for root.
	if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
		return 1;
	result = mlockall(MCL_CURRENT | MCL_FUTURE);
	printf("%ld\n%d %d %s\n", pages * (getpagesize() / 1024), result, result ? errno : 0,
	       malloc(100000) ? "allocates" : "cannot allocate");
	fflush(stdout);
	capture(count > 1);
	return 0;
}
