// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Looks like a program in Go that does not use cgo: it has Go's note, and installs a handler without
 * libc when it starts. Then it sleeps.
 */
#include "dumper/host/announce.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

__asm__(".pushsection .note.go.buildid, \"a\", %note\n"
	".balign 4\n"
	".long 4, 8, 4\n"
	".asciz \"Go\"\n"
	".balign 4\n"
	".ascii \"an/id/ab\"\n"
	".popsection\n");

static void handle(int number)
{
	_exit(number);
}

int main(void)
{
	const struct heapsnap_announcement *all = dlsym(RTLD_DEFAULT, "heapsnap_announcement");
	unsigned long action[4] = { (unsigned long)handle, 0, 0, 0 };

	syscall(SYS_rt_sigaction, SIGQUIT, action, NULL, 8);
	printf("%d\n", all ? (int)all->handler : -1);
	fflush(stdout);
	sleep(100);
	return 0;
}
