// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/own_proc.h"

#include <stdlib.h>
#include <unistd.h>

struct heap_error *heap_own_proc_check(void)
{
	char number[32];
	ssize_t length = readlink("/proc/self", number, sizeof(number) - 1);

	if (length <= 0)
		return NULL;
	number[length] = '\0';
	if (atol(number) == (long)getpid())
		return NULL;
	return heap_error_create(HEAP_ERROR_SYSTEM,
				 "/proc is of another namespace of processes: mount it anew "
				 "(unshare --mount-proc, bwrap --proc /proc)");
}
