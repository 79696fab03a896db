// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Restricts its own system calls, and goes on allocating for 1.5 seconds. Arguments: prctl or syscall,
 * by which the filter is installed; then
 *
 *	malloc  only what malloc calls is allowed; anything else ends it
 *	ptrace  only ptrace() ends it
 *	errors  clone() gives an error
 *	fork    only kcmp() ends it, or its child
 *
 * and then a file of two ints: it counts its rounds in the first, and ends when the second is not 0.
 * It reads and writes them without a system call.
 */
// CFLAGS: -D_GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct sock_filter rules[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_brk, 7, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 6, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 5, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_munmap, 4, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 3, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static const struct sock_filter no_ptrace[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static const struct sock_filter no_clone[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1), // EPERM
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static const struct sock_filter no_kcmp[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_kcmp, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

struct control {
	atomic_int rounds, over;
};

static void *blocks[1000];

static void allocate(void)
{
	for (int i = 0; i < 1000; i++) {
		free(blocks[i]);
		blocks[i] = malloc(16 + (size_t)i * 37 % 900);
	}
}

static double now(void)
{
	struct timespec clock;

	clock_gettime(CLOCK_MONOTONIC, &clock);
	return (double)clock.tv_sec + (double)clock.tv_nsec / 1e9;
}

static struct control *map_control(const char *path)
{
	int file = open(path, O_RDWR);
	void *mapped =
		mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	if (mapped == MAP_FAILED)
		_exit(1);
	close(file);
	return mapped;
}

int main(int argc, char **argv)
{
	struct sock_fprog program = { sizeof(rules) / sizeof(rules[0]),
				      (struct sock_filter *)rules };
	const char *how = argc > 1 ? argv[1] : "", *what = argc > 2 ? argv[2] : "";
	struct control *control = argc > 3 ? map_control(argv[3]) : NULL;
	double end = now() + 1.5;

	if (strcmp(what, "ptrace") == 0)
		program = (struct sock_fprog){ 4, (struct sock_filter *)no_ptrace };
	else if (strcmp(what, "fork") == 0)
		program = (struct sock_fprog){ 4, (struct sock_filter *)no_kcmp };
	else if (strcmp(what, "errors") == 0)
		program = (struct sock_fprog){ 4, (struct sock_filter *)no_clone };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (strcmp(how, "prctl") == 0)
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
	else if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
		return 1;
	if (strcmp(what, "fork") == 0) {
		int status = 0;

		if (fork() == 0) {
			signal(SIGQUIT, SIG_DFL);
			allocate();
			_exit(7);
		}
		wait(&status);
		if (WEXITSTATUS(status) != 7)
			return 1;
	}
	write(1, "ready\n", 6);
	do {
		allocate();
		if (control)
			control->rounds++;
	} while (control ? !control->over : now() < end);
	write(1, "went on\n", 8);
	syscall(SYS_exit, 0);
}
