// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/capture/frozen.h"

#include "dumper/base/process.h"
#include "dumper/base/report.h"
#include "dumper/base/system.h"
#include "dumper/capture/divide.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	MAX_DESCRIPTORS = 65536,
};

static const uint64_t READY_WAIT_NS = 1000000000;
static const time_t LINGER_S = 1;

// The program's files, sockets and pipes must close when the program closes them; all but its
// standard error, if that is to get a report.
static void close_descriptors(void)
{
	int kept = -1;

	if (heapsnap_process.report == HEAPSNAP_REPORT_STANDARD_ERROR)
		kept = (int)HEAPSNAP_SYSTEM_3(SYS_dup3, STDERR_FILENO, HEAPSNAP_REPORT_DESCRIPTOR,
					      0);
	if ((kept < 0 || HEAPSNAP_SYSTEM_3(SYS_close_range, 0, kept - 1, 0) == 0) &&
	    HEAPSNAP_SYSTEM_3(SYS_close_range, kept + 1, ~0u, 0) == 0)
		return;
	for (int i = 0; i < MAX_DESCRIPTORS; i++) {
		if (i != kept)
			HEAPSNAP_SYSTEM_1(SYS_close, i);
	}
}

__attribute__((noreturn)) static void end(int status)
{
	for (;;)
		HEAPSNAP_SYSTEM_1(SYS_exit_group, status);
}

// The errno by which the writer could not be started, or 0.
static int exec_error;

// In the child that shares the frozen copy's memory until it execs.
__attribute__((noreturn)) static void exec_writer(const int pipe[2], char **arguments)
{
	HEAPSNAP_SYSTEM_3(SYS_dup3, pipe[1], 1, 0);
	exec_error = -(int)HEAPSNAP_SYSTEM_3(SYS_execve, heapsnap_writer_path, arguments,
					     heapsnap_writer_environment);
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

// "wrote NUMBER PATH": leaves the path.
static void note_file(struct heapsnap_shared *shared)
{
	const char *at = shared->message + strlen("wrote ");

	shared->number = 0;
	for (; *at >= '0' && *at <= '9'; at++)
		shared->number = shared->number * 10 + (uint32_t)(*at - '0');
	at += *at == ' ';
	memmove(shared->message, at, strlen(at) + 1);
	shared->status = 0;
}

static void judge(struct heapsnap_shared *shared, int status)
{
	char *message = shared->message;
	const char *limit = message + sizeof(shared->message);
	char *at;

	if (WIFSIGNALED(status)) {
		at = heapsnap_format_text(message, limit, "heapsnap-writer was ended by signal ");
		heapsnap_format_number(at, limit, (uint64_t)WTERMSIG(status), 10);
		return;
	}
	if (memcmp(message, "wrote ", 6) == 0 && status == 0) {
		note_file(shared);
	} else if (memcmp(message, "failed ", 7) == 0) {
		memmove(message, message + 7, strlen(message + 7) + 1);
	} else {
		at = heapsnap_format_text(message, limit, heapsnap_writer_path);
		if (exec_error) {
			at = heapsnap_format_text(at, limit, " could not be started: ");
			heapsnap_format_text(at, limit, heapsnap_error_text(exec_error));
		} else { // 127 when its libraries are missing, for one
			at = heapsnap_format_text(at, limit, " ended with status ");
			heapsnap_format_number(at, limit, (uint64_t)WEXITSTATUS(status), 10);
		}
	}
}

static void note_phase(struct heapsnap_shared *shared, enum heapsnap_phase phase)
{
	uint64_t now = heapsnap_monotonic_ns();

	if (shared->progress.start_ns == 0)
		shared->progress.start_ns = now;
	shared->progress.phase_ns = now;
	__atomic_store_n(&shared->progress.phase, phase, __ATOMIC_RELEASE);
}

// Adds facts that the program's thread learnt after the clone, and this copy therefore lacks.
static void complete_threads(struct heapsnap_shared *shared)
{
	struct heapsnap_thread *threads = (struct heapsnap_thread *)heapsnap_process.threads;
	struct timespec wait = { (time_t)(READY_WAIT_NS / 1000000000), 0 };
	uint32_t count = 0;

	// Not a private futex: the word is shared between two processes.
	if (__atomic_load_n(&shared->ready, __ATOMIC_ACQUIRE) == 0)
		HEAPSNAP_SYSTEM_4(SYS_futex, &shared->ready, FUTEX_WAIT, 0, &wait);
	for (uint32_t i = 0; i < heapsnap_process.thread_count; i++) {
		if (shared->moved[i / 8] >> i % 8 & 1 &&
		    threads[i].state == HEAPSNAP_THREAD_SLEEPING)
			threads[i].state = HEAPSNAP_THREAD_ASKED;
		// Those that have ended leave no gap.
		if (threads[i].state != HEAPSNAP_THREAD_EMPTY)
			threads[count++] = threads[i];
	}
	heapsnap_process.thread_count = count;
}

static void set_limit(int resource, bool raise)
{
	struct rlimit64 limit = { 0, 0 };

	HEAPSNAP_SYSTEM_4(SYS_prlimit64, 0, resource, NULL, &limit);
	limit.rlim_cur = raise ? limit.rlim_max : 0;
	HEAPSNAP_SYSTEM_4(SYS_prlimit64, 0, resource, &limit, NULL);
}

static void set_action(int signal, void (*handler)(int))
{
	// The kernel's struct sigaction: handler, flags, restorer, mask.
	uint64_t action[4] = { (uint64_t)handler, 0, 0, 0 };

	HEAPSNAP_SYSTEM_4(SYS_rt_sigaction, signal, action, NULL, sizeof(heapsnap_signals));
}

// A program that has set root aside for a while, as file servers do, is root's all the same: its effective
// user may neither read this copy nor get the file.
static void take_root_back(void)
{
	uint32_t user, effective, saved;

	if (HEAPSNAP_SYSTEM_3(SYS_getresuid, &user, &effective, &saved) == 0 && effective != 0 &&
	    (user == 0 || saved == 0))
		HEAPSNAP_SYSTEM_3(SYS_setresuid, 0, 0, 0);
}

// True if the writer has a capability once it has been started, if this copy has it (capabilities(7)).
static bool stays_at_exec(int capability, bool is_root)
{
	return is_root ? HEAPSNAP_SYSTEM_2(SYS_prctl, PR_CAPBSET_READ, capability) == 1
		       : HEAPSNAP_SYSTEM_5(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET,
					   capability, 0, 0) == 1;
}

// A daemon may keep some of root's capabilities as another user, and who enters a user namespace has all in
// there. They end with exec, and who has fewer than this copy may not read it (ptrace(2)).
static void leave_capabilities(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
	long bits = HEAPSNAP_SYSTEM_1(SYS_prctl, PR_GET_SECUREBITS);
	bool is_root =
		heapsnap_system(SYS_geteuid, 0, 0, 0, 0, 0, 0) == 0 && !(bits & SECBIT_NOROOT);

	if (HEAPSNAP_SYSTEM_2(SYS_capget, &header, sets) != 0)
		return;
	for (int i = 0; i < 32 * _LINUX_CAPABILITY_U32S_3; i++) {
		uint32_t bit = UINT32_C(1) << i % 32;

		if ((sets[i / 32].permitted & bit) && !stays_at_exec(i, is_root))
			sets[i / 32].permitted &= ~bit;
	}
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		sets[i].effective &= sets[i].permitted;
	HEAPSNAP_SYSTEM_2(SYS_capset, &header, sets);
}

// At the priority of a real-time program the writer would take its processor for as long as it works.
static void leave_priority(void)
{
	const struct sched_param ordinary = { 0 };
	long policy = HEAPSNAP_SYSTEM_1(SYS_sched_getscheduler, 0);

	if (policy == SCHED_FIFO || policy == SCHED_RR)
		HEAPSNAP_SYSTEM_3(SYS_sched_setscheduler, 0, SCHED_OTHER, &ordinary);
	// The kernel tells 20 less the nice value.
	if (HEAPSNAP_SYSTEM_2(SYS_getpriority, PRIO_PROCESS, 0) > 20)
		HEAPSNAP_SYSTEM_3(SYS_setpriority, PRIO_PROCESS, 0, 0);
}

// Limits that the program has set for itself must not hinder the writer, and what befalls the
// writer must not befall the program.
static void set_terms(void)
{
	static const char first_to_go[] = "1000";
	long file;

	leave_priority();
	take_root_back();
	leave_capabilities();
	// Whatever uid the program runs as, the writer must be able to read this copy.
	HEAPSNAP_SYSTEM_5(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
	HEAPSNAP_SYSTEM_5(SYS_prctl, PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	HEAPSNAP_SYSTEM_5(SYS_prctl, PR_SET_NAME, "heapsnap-frozen", 0, 0, 0);
	heapsnap_system(SYS_setsid, 0, 0, 0, 0, 0, 0);
	// Ignored it would have the writer reaped before its status is known.
	set_action(SIGCHLD, SIG_DFL);
	// A limit on the size of files is an error of write(), not the end.
	set_action(SIGXFSZ, SIG_IGN);
	set_limit(RLIMIT_CORE, false);
	set_limit(RLIMIT_AS, true);
	set_limit(RLIMIT_DATA, true);
	set_limit(RLIMIT_NOFILE, true);
	file = HEAPSNAP_SYSTEM_4(SYS_openat, AT_FDCWD, "/proc/self/oom_score_adj",
				 O_WRONLY | O_CLOEXEC, 0);
	if (file >= 0) {
		HEAPSNAP_SYSTEM_3(SYS_write, file, first_to_go, sizeof(first_to_go) - 1);
		HEAPSNAP_SYSTEM_1(SYS_close, file);
	}
}

// 0 to 2 are taken, so that nothing the writer opens gets such a number.
static void open_standard(const int pipe[2])
{
	long null = HEAPSNAP_SYSTEM_4(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC, 0);

	if (null < 0)
		null = pipe[0]; // a changed root without devices: gives nothing, takes nothing
	HEAPSNAP_SYSTEM_3(SYS_dup3, null, 0, 0);
	HEAPSNAP_SYSTEM_3(SYS_dup3, null, 2, 0);
}

// Beyond 0 to 2, which are free.
static long open_pipe(int pipe[2])
{
	int low[2];
	long result = HEAPSNAP_SYSTEM_2(SYS_pipe2, low, O_CLOEXEC);

	if (result < 0)
		return result;
	for (int i = 0; i < 2; i++) {
		result = HEAPSNAP_SYSTEM_3(SYS_fcntl, low[i], F_DUPFD_CLOEXEC, 3);
		if (result < 0)
			return result;
		pipe[i] = (int)result;
	}
	HEAPSNAP_SYSTEM_1(SYS_close, low[0]);
	HEAPSNAP_SYSTEM_1(SYS_close, low[1]);
	return 0;
}

// The thread of the program that waits for this copy, and says how it went, ends with the program,
// and with its exec.
static bool is_awaited(uint32_t waiter)
{
	return HEAPSNAP_SYSTEM_3(SYS_tgkill, heapsnap_process.pid, waiter, 0) != -ESRCH;
}

static void report_for_program(const struct heapsnap_shared *shared, uint32_t waiter)
{
	bool is_alone = heapsnap_system(SYS_getppid, 0, 0, 0, 0, 0, 0) != heapsnap_process.pid;

	if (shared->status == 0 || is_awaited(waiter))
		return;
	heapsnap_report_by_name(shared->message,
				is_alone ? "; the program has ended" : "; the program goes on");
}

// If no process waits, heapsnap capture reads the result from this memory alone. On a busy machine a
// process may not run for half a second.
static void linger(uint32_t waiter)
{
	struct timespec time = { LINGER_S, 0 };

	if (!is_awaited(waiter))
		HEAPSNAP_SYSTEM_2(SYS_nanosleep, &time, NULL);
}

void heapsnap_frozen(uint32_t waiter)
{
	struct heapsnap_shared *shared = (struct heapsnap_shared *)heapsnap_process.shared;
	int pipe[2], status = -1;

	note_phase(shared, HEAPSNAP_PHASE_STARTING);
	complete_threads(shared);
	heapsnap_report_note_name();
	close_descriptors();
	set_terms();
	if (open_pipe(pipe) < 0) {
		set_message(shared, "no pipe for heapsnap-writer");
		report_for_program(shared, waiter);
		end(1);
	}
	open_standard(pipe);
	heapsnap_divide_vast();

	long writer = start_writer(pipe);

	HEAPSNAP_SYSTEM_1(SYS_close, pipe[1]);
	if (writer < 0) {
		set_message(shared, "no process for heapsnap-writer");
		report_for_program(shared, waiter);
		end(1);
	}
	read_answer(pipe[0], shared);
	while (HEAPSNAP_SYSTEM_4(SYS_wait4, writer, &status, __WALL, NULL) == -EINTR)
		;
	judge(shared, status);
	note_phase(shared, HEAPSNAP_PHASE_NONE);
	report_for_program(shared, waiter);
	linger(waiter);
	end(0);
}
