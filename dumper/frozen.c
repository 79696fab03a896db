// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/frozen.h"

#include "dumper/process.h"
#include "dumper/system.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum {
	MAX_DESCRIPTORS = 65536,
};

// The program's files, sockets and pipes must close when the program closes them.
static void close_descriptors(void)
{
	if (HEAPSNAP_SYSTEM_3(SYS_close_range, 0, ~0u, 0) == 0)
		return;
	for (int i = 0; i < MAX_DESCRIPTORS; i++)
		HEAPSNAP_SYSTEM_1(SYS_close, i);
}

__attribute__((noreturn)) static void end(int status)
{
	for (;;)
		HEAPSNAP_SYSTEM_1(SYS_exit_group, status);
}

// In the child that shares the frozen copy's memory until it execs.
__attribute__((noreturn)) static void exec_writer(const int pipe[2], char **arguments)
{
	HEAPSNAP_SYSTEM_3(SYS_dup3, pipe[1], 1, 0);
	HEAPSNAP_SYSTEM_3(SYS_execve, heapsnap_writer_path, arguments, heapsnap_writer_environment);
	end(127);
}

static long start_writer(const int pipe[2])
{
	char pid[24], address[24];
	static char name[] = "heapsnap-writer";
	char *arguments[] = { name, pid, address, NULL };
	heapsnap_signals none = 0;

	heapsnap_format_number(pid, pid + sizeof(pid),
			       (uint64_t)heapsnap_system(SYS_getpid, 0, 0, 0, 0, 0, 0), 10);
	heapsnap_format_number(address, address + sizeof(address), (uint64_t)&heapsnap_process, 16);

	// As vfork(): no second copy of the page tables.
#if defined(__x86_64__)
	long child = heapsnap_system(SYS_vfork, 0, 0, 0, 0, 0, 0);
#else
	long child = HEAPSNAP_SYSTEM_5(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);
#endif
	if (child == 0) {
		heapsnap_restore_signals(&none);
		exec_writer(pipe, arguments);
	}
	return child;
}

static void set_message(struct heapsnap_shared *shared, const char *text)
{
	heapsnap_format_text(shared->message, shared->message + sizeof(shared->message), text);
}

// Reads the writer's one line.
static void read_answer(int descriptor, struct heapsnap_shared *shared)
{
	size_t length = 0;
	long got;

	while ((got = HEAPSNAP_SYSTEM_3(SYS_read, descriptor, shared->message + length,
					sizeof(shared->message) - 1 - length)) > 0 ||
	       got == -EINTR) {
		if (got > 0)
			length += (size_t)got;
	}
	shared->message[length] = '\0';
	while (length > 0 && shared->message[length - 1] == '\n')
		shared->message[--length] = '\0';
}

static void judge(struct heapsnap_shared *shared, int status)
{
	char *message = shared->message;

	if (WIFSIGNALED(status)) {
		char *at = heapsnap_format_text(message, message + sizeof(shared->message),
						"heapsnap-writer was ended by signal ");

		heapsnap_format_number(at, message + sizeof(shared->message),
				       (uint64_t)WTERMSIG(status), 10);
		return;
	}
	if (memcmp(message, "wrote ", 6) == 0 && status == 0) {
		memmove(message, message + 6, strlen(message + 6) + 1);
		shared->status = 0;
	} else if (memcmp(message, "failed ", 7) == 0) {
		memmove(message, message + 7, strlen(message + 7) + 1);
	} else {
		set_message(shared, "heapsnap-writer could not be started");
	}
}

void heapsnap_frozen(void)
{
	struct heapsnap_shared *shared = (struct heapsnap_shared *)heapsnap_process.shared;
	int pipe[2], status = -1;

	shared->status = -EIO;
	set_message(shared, "the frozen copy ended early");
	close_descriptors();
	// Descriptors 0 and 2, so that no pipe of the writer's gets such a number.
	HEAPSNAP_SYSTEM_4(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);
	HEAPSNAP_SYSTEM_3(SYS_dup3, 0, 2, 0);
	// Whatever uid the program runs as, the writer must be able to read this copy.
	HEAPSNAP_SYSTEM_5(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
	HEAPSNAP_SYSTEM_5(SYS_prctl, PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	HEAPSNAP_SYSTEM_5(SYS_prctl, PR_SET_NAME, "heapsnap-frozen", 0, 0, 0);
	if (HEAPSNAP_SYSTEM_2(SYS_pipe2, pipe, O_CLOEXEC) < 0) {
		set_message(shared, "no pipe for heapsnap-writer");
		end(1);
	}

	long writer = start_writer(pipe);

	HEAPSNAP_SYSTEM_1(SYS_close, pipe[1]);
	if (writer < 0) {
		set_message(shared, "no process for heapsnap-writer");
		end(1);
	}
	read_answer(pipe[0], shared);
	while (HEAPSNAP_SYSTEM_4(SYS_wait4, writer, &status, __WALL, NULL) == -EINTR)
		;
	judge(shared, status);
	end(0);
}
