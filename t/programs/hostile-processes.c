// SPDX-License-Identifier: GPL-3.0-or-later
// CFLAGS: -D_GNU_SOURCE
/*
 * Processes that change what they are, or may do little. See hostile.h.
 */
#include "t/programs/hostile.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static void plainly(void)
{
	capture();
}

// Twice, since the second meets what the first has left.
static void as_daemon(void)
{
	int pipes[2];
	char answer[16] = "";

	if (pipe(pipes) != 0)
		return;
	fflush(stdout);
	if (fork() == 0) {
		setsid();
		if (fork() != 0)
			_exit(0);
		if (chdir("/") != 0)
			_exit(1);
		for (int i = 0; i < 64; i++) {
			if (i != pipes[1])
				close(i);
		}
		capture();
		capture();
		if (write(pipes[1], "captured", 8) != 8)
			_exit(1);
		_exit(0);
	}
	close(pipes[1]);
	wait(NULL);
	if (read(pipes[0], answer, 8) == 8)
		puts(answer);
	close(pipes[0]);
}

static void in_a_fork_storm(void)
{
	for (int i = 0; i < 200; i++) {
		if (fork() == 0) {
			free(malloc(100));
			_exit(0);
		}
		if (is_captured() && i % 20 == 0)
			raise(SIGQUIT);
	}
	for (int i = 0; i < 200; i++)
		expect("a child", wait(NULL) > 0, true);
	expect("no child", wait(NULL), -1);
	await_capture();
	expect("no child after it", wait(NULL), -1);
}

static void as_another_user(void)
{
	expect("setgid", setgid(65534), 0);
	expect("setuid", setuid(65534), 0);
	capture();
	expect("dumpable", prctl(PR_GET_DUMPABLE), 0);
}

// As servers of names and time do: another user, with one of root's rights.
static void with_a_capability(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct sets[2] = { 0 };

	sets[0].effective = sets[0].permitted = 1u << CAP_NET_BIND_SERVICE;
	expect("prctl", prctl(PR_SET_KEEPCAPS, 1), 0);
	expect("setgid", setgid(65534), 0);
	expect("setuid", setuid(65534), 0);
	expect("capset", syscall(SYS_capset, &header, sets), 0);
	capture();
	expect("capget", syscall(SYS_capget, &header, sets), 0);
	expect("capability", sets[0].effective, 1u << CAP_NET_BIND_SERVICE);
}

// All of them, until the next exec.
static void in_a_user_namespace(void)
{
	expect("unshare", unshare(CLONE_NEWUSER), 0);
	capture();
}

// As root whose children shall have less.
static void with_a_bounding_set(void)
{
	expect("prctl", prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN), 0);
	capture();
}

// As file servers do: root, set aside for a while.
static void as_effective_user(void)
{
	expect("setegid", setegid(65534), 0);
	expect("seteuid", seteuid(65534), 0);
	capture();
	expect("dumpable", prctl(PR_GET_DUMPABLE), 0);
	expect("user", geteuid(), 65534);
	expect("seteuid back", seteuid(0), 0);
}

static void not_dumpable(void)
{
	expect("prctl", prctl(PR_SET_DUMPABLE, 0), 0);
	capture();
	expect("dumpable", prctl(PR_GET_DUMPABLE), 0);
}

static void in_a_changed_root(void)
{
	char directory[] = "/tmp/heapsh-root-XXXXXX";

	if (!mkdtemp(directory) || chroot(directory) != 0 || chdir("/") != 0)
		puts("no chroot");
	if (is_captured())
		raise(SIGQUIT);
	printf("%s\n",
	       is_captured() && heapsnap_wait() != -EIO ? "captured without a writer" : "went on");
	if (chroot("../../..") != 0) // root may: the directory of the process is beyond it
		puts("no way back");
	rmdir(directory);
}

// A user of its own, since the limit is the user's.
static void without_processes(void)
{
	struct rlimit none = { 0, 0 };

	expect("setrlimit", setrlimit(RLIMIT_NPROC, &none), 0);
	expect("setuid", setuid(54321), 0);
	if (is_captured())
		raise(SIGQUIT);
	expect("fork", fork(), -1);
	expect("waiting for a child", wait(NULL), -1);
	puts("went on");
}

static void with_limits(void)
{
	static const int limits[] = { RLIMIT_AS, RLIMIT_DATA, RLIMIT_STACK, RLIMIT_CORE };

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct rlimit limit;

		getrlimit(limits[i], &limit);
		limit.rlim_cur = 256 << 20;
		setrlimit(limits[i], &limit);
	}
	capture();
}

// --- system calls that fail ----------------------------------------------------------

// Fails the calls of @p numbers with an error; clone only when it makes a process.
static void forbid(const int *numbers, size_t count, int error)
{
	for (size_t i = 0; i < count; i++) {
		const unsigned flags = offsetof(struct seccomp_data, args);
		const bool process = numbers[i] == SYS_clone;
		struct sock_filter filter[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)numbers[i], 0, 3),
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, flags),
			BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, process ? 0x100 : 0, 1, 0), // CLONE_VM
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		};
		struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		expect("seccomp", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
	}
}

static void without_clone(int error)
{
	forbid((const int[]){ SYS_clone }, 1, error);
	if (is_captured())
		raise(SIGQUIT);
	expect("no child", wait(NULL), -1);
	puts("went on");
}

// The answer of a kernel that has no memory to spare, or is strict about it.
static void clone_without_memory(void)
{
	without_clone(ENOMEM);
}

static void clone_without_room(void)
{
	without_clone(EAGAIN);
}

// As containers forbid them.
static void in_a_sandbox(void)
{
	static const int numbers[] = { SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev,
				       SYS_kcmp,   SYS_perf_event_open,  SYS_userfaultfd };

	forbid(numbers, sizeof(numbers) / sizeof(numbers[0]), EPERM);
	capture();
}

static void in_an_old_kernel(void)
{
	static const int numbers[] = { SYS_close_range, SYS_renameat2 };

	forbid(numbers, sizeof(numbers) / sizeof(numbers[0]), ENOSYS);
	capture();
}

// --- signals and descriptors ---------------------------------------------------------

static void resetting_signals(void)
{
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	if (is_captured()) {
		expect("heapsnap_dump", heapsnap_dump(NULL), 0);
		await_capture();
	}
	struct sigaction action;

	sigaction(SIGQUIT, NULL, &action);
	expect("SIGQUIT is as it was set", action.sa_handler == SIG_DFL, true);
	puts("reset");
}

static void blocking_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (is_captured()) {
		expect("heapsnap_dump", heapsnap_dump(NULL), 0);
		await_capture();
	}
	puts("blocked");
}

static void closing_descriptors(void)
{
	for (int i = 3; i < 1024; i++)
		close(i);
	capture();
	expect("the next descriptor", open("/dev/null", O_RDONLY), 3);
	close(3);
	for (int i = 3; i < 1024; i++)
		close(i);
	capture();
}

static const struct way ways[] = {
	{ "plain", plainly },
	{ "daemon", as_daemon },
	{ "fork-storm", in_a_fork_storm },
	{ "another-user", as_another_user },
	{ "capability", with_a_capability },
	{ "user-namespace", in_a_user_namespace },
	{ "bounding-set", with_a_bounding_set },
	{ "effective-user", as_effective_user },
	{ "not-dumpable", not_dumpable },
	{ "changed-root", in_a_changed_root },
	{ "no-processes", without_processes },
	{ "limits", with_limits },
	{ "no-memory", clone_without_memory },
	{ "no-room", clone_without_room },
	{ "sandbox", in_a_sandbox },
	{ "old-kernel", in_an_old_kernel },
	{ "reset", resetting_signals },
	{ "blocked", blocking_signals },
	{ "closing", closing_descriptors },
};

int main(int argc, char **argv)
{
	return run_way(ways, sizeof(ways) / sizeof(ways[0]), argc, argv);
}
