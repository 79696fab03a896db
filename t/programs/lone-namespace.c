// SPDX-License-Identifier: GPL-3.0-or-later
// Asks the kernel for a namespace of users, which only a program of one thread gets: by unshare() or by
// syscall(), as the first argument says. Allocates before and after that.
// CFLAGS: -D_GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void allocate_before(void)
{
	for (int i = 0; i < 20000; i++)
		free(malloc((size_t)i % 3000));
}

static void allocate_after(void)
{
	for (int i = 0; i < 20000; i++)
		free(malloc((size_t)i % 3000));
}

int main(int argc, char **argv)
{
	long result;

	usleep(200000); // until threads of the library's run
	allocate_before();
	result = argc > 1 && strcmp(argv[1], "syscall") == 0 ? syscall(SYS_unshare, CLONE_NEWUSER)
							     : unshare(CLONE_NEWUSER);
	printf("%ld %d\n", result, result ? errno : 0);
	allocate_after();
	return 0;
}
