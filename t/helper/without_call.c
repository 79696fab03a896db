// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Runs a command without a system call, which fails: PAGEMAP_SCAN, as on a kernel before Linux 6.7, or
 * rt_sigprocmask, as in a sandbox.
 *
 *	build/t/helper/without_call PAGEMAP_SCAN|rt_sigprocmask COMMAND...
 */
#include "dumper/base/page_scan.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void fill_filter(struct sock_filter filter[6], const char *name)
{
	const struct sock_filter page_scan[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)HEAPSNAP_PAGE_SCAN, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTTY),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	memcpy(filter, page_scan, sizeof(page_scan));
	if (strcmp(name, "PAGEMAP_SCAN") == 0)
		return;
	// Any request of that call.
	filter[1] =
		(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 2, 3);
	filter[4] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
}

int main(int count, char **arguments)
{
	struct sock_filter filter[6];
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (count < 3)
		return 2;
	fill_filter(filter, arguments[1]);
	// Where it suffices to be root, the command may gain privileges.
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0 &&
	    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	     prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)) {
		perror("seccomp");
		return 2;
	}
	execvp(arguments[2], arguments + 2);
	perror(arguments[2]);
	return 127;
}
