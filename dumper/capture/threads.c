// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/capture/threads.h"

#include "dumper/base/system.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/time_types.h>
#include <string.h>
#include <sys/stat.h>

enum {
	MAX_STATUS = 4096,
	CALLS_TO_READ = 3, // open, read, close
};

uint64_t heapsnap_tasks_calls;

struct directory_entry {
	uint64_t inode;
	int64_t offset;
	uint16_t length;
	uint8_t type;
	char name[];
};

// --- the list ----------------------------------------------------------------

long heapsnap_tasks_open(struct heapsnap_tasks *tasks)
{
	heapsnap_tasks_calls++;
	tasks->directory = HEAPSNAP_SYSTEM_4(SYS_openat, AT_FDCWD, "/proc/self/task",
					     O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	tasks->at = tasks->end = 0;
	return tasks->directory < 0 ? tasks->directory : 0;
}

void heapsnap_tasks_rewind(struct heapsnap_tasks *tasks)
{
	heapsnap_tasks_calls++;
	HEAPSNAP_SYSTEM_3(SYS_lseek, tasks->directory, 0, 0);
	tasks->at = tasks->end = 0;
}

static uint32_t parse_tid(const char *name)
{
	uint32_t tid = 0;

	for (; *name >= '0' && *name <= '9'; name++)
		tid = tid * 10 + (uint32_t)(*name - '0');
	return tid;
}

uint32_t heapsnap_tasks_next(struct heapsnap_tasks *tasks)
{
	for (;;) {
		if (tasks->at >= tasks->end) {
			tasks->at = 0;
			heapsnap_tasks_calls++;
			tasks->end = HEAPSNAP_SYSTEM_3(SYS_getdents64, tasks->directory,
						       tasks->buffer, sizeof(tasks->buffer));
			if (tasks->end <= 0)
				return 0;
		}

		struct directory_entry *entry =
			(struct directory_entry *)(tasks->buffer + tasks->at);
		uint32_t tid = parse_tid(entry->name);

		tasks->at += entry->length;
		if (tid)
			return tid;
	}
}

// The directory has a link for each thread, beside its own two.
uint32_t heapsnap_tasks_count(const struct heapsnap_tasks *tasks)
{
	struct stat status;

	heapsnap_tasks_calls++;
	if (HEAPSNAP_SYSTEM_2(SYS_fstat, tasks->directory, &status) != 0 || status.st_nlink < 3)
		return 0;
	return (uint32_t)status.st_nlink - 2;
}

void heapsnap_tasks_close(struct heapsnap_tasks *tasks)
{
	heapsnap_tasks_calls++;
	HEAPSNAP_SYSTEM_1(SYS_close, tasks->directory);
}

// --- one thread --------------------------------------------------------------

// The name of a thread's file, relative to the list's directory.
static void name_file(char path[64], uint32_t tid, const char *file)
{
	char *at = heapsnap_format_number(path, path + 64, tid, 10);

	heapsnap_format_text(at, path + 64, file);
}

static long read_file(const struct heapsnap_tasks *tasks, uint32_t tid, const char *file,
		      char *buffer, size_t size)
{
	char path[64];

	name_file(path, tid, file);
	heapsnap_tasks_calls += CALLS_TO_READ;
	return heapsnap_read_file_at((int)tasks->directory, path, buffer, size);
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

// Skips blanks and 0x. @return behind the number
static const char *parse_number(const char *at, int base, uint64_t *result)
{
	uint64_t value = 0;

	while (*at == ' ' || *at == '\t')
		at++;
	if (base == 16 && at[0] == '0' && at[1] == 'x')
		at += 2;
	for (; digit_value(*at) < base; at++)
		value = value * (uint64_t)base + (uint64_t)digit_value(*at);
	*result = value;
	return at;
}

// True if a futex call waits. With a timeout (the fourth argument) it ends at a signal.
static enum heapsnap_call classify_futex(const uint64_t argument[])
{
	switch (argument[1] & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_LOCK_PI:
		return argument[3] ? HEAPSNAP_CALL_TRACEABLE : HEAPSNAP_CALL_RESTARTED;
	default:
		return HEAPSNAP_CALL_FRAGILE;
	}
}

// A call that returns EINTR even after a tracer's stop, which a tracer then repairs.
static enum heapsnap_call repaired_if(bool condition)
{
#if defined(__x86_64__)
	return condition ? HEAPSNAP_CALL_REPAIRED : HEAPSNAP_CALL_FRAGILE;
#else
	(void)condition;
	return HEAPSNAP_CALL_FRAGILE;
#endif
}

static enum heapsnap_call traceable_if(bool condition)
{
	return condition ? HEAPSNAP_CALL_TRACEABLE : HEAPSNAP_CALL_FRAGILE;
}

/*
 * How calls take a stop: signal(7), and trials for tracers. Left alone is what would lose its
 * timeout (select, ppoll), what may have transferred a part already (write, send), what
 * waits for a child that shares its memory (vfork), and what is not known here. A socket may
 * have a timeout of its own, which one cannot see from here (read, recv, accept).
 */
static enum heapsnap_call classify_call(uint64_t call, const uint64_t argument[])
{
	switch (call) {
	case SYS_futex:
		return classify_futex(argument);
	case SYS_wait4:
	case SYS_waitid:
	case SYS_flock:
		return HEAPSNAP_CALL_RESTARTED;
#if defined(__x86_64__)
	case SYS_poll:
	case SYS_pause:
#endif
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_restart_syscall: // what these, poll and futex are once they have been restarted
	case SYS_rt_sigsuspend:
	case SYS_msgrcv:
		return HEAPSNAP_CALL_TRACEABLE;
#if defined(__x86_64__)
	case SYS_select:
#endif
	case SYS_pselect6:
		return traceable_if(argument[4] == 0);
	case SYS_ppoll:
		return traceable_if(argument[2] == 0);
#if defined(__x86_64__)
	case SYS_epoll_wait:
#endif
	case SYS_epoll_pwait:
		return repaired_if((int32_t)argument[3] < 0);
#ifdef SYS_epoll_pwait2
	case SYS_epoll_pwait2:
		return repaired_if(argument[3] == 0);
#endif
	case SYS_rt_sigtimedwait:
		return repaired_if(argument[2] == 0);
	case SYS_semop:
		return repaired_if(true);
	case SYS_semtimedop:
		return repaired_if(argument[3] == 0);
	case SYS_io_getevents:
		return repaired_if(argument[4] == 0);
	default:
		return HEAPSNAP_CALL_FRAGILE;
	}
}

// Calls that restart unless they are on a socket, which may have a timeout of its own.
static bool reads_file(uint64_t call)
{
	return call == SYS_read || call == SYS_readv;
}

// True if a descriptor of the thread's is a pipe.
static bool is_pipe(const struct heapsnap_tasks *tasks, uint32_t tid, uint64_t descriptor)
{
	char file[32] = "/fd/", path[64], target[16];

	heapsnap_format_number(file + 4, file + sizeof(file), descriptor, 10);
	name_file(path, tid, file);
	heapsnap_tasks_calls++;

	long length =
		HEAPSNAP_SYSTEM_4(SYS_readlinkat, tasks->directory, path, target, sizeof(target));

	return length > 5 && memcmp(target, "pipe:", 5) == 0;
}

// "NUMBER ARGUMENT×6 SP PC", "-1 SP PC" outside of a call, or "running" (proc(5)).
static void look_at_call(const struct heapsnap_tasks *tasks, uint32_t tid, const char *text,
			 struct heapsnap_task *task)
{
	uint64_t call = 0;

	if (text[0] >= '0' && text[0] <= '9') {
		text = parse_number(text, 10, &call);
		for (int i = 0; i < HEAPSNAP_TASK_ARGUMENTS; i++)
			text = parse_number(text, 16, &task->argument[i]);
		task->has_arguments = true;
		task->number = (uint32_t)call;
		task->call = classify_call(call, task->argument);
		if (reads_file(call) && is_pipe(tasks, tid, task->argument[0]))
			task->call = HEAPSNAP_CALL_RESTARTED;
	} else if (text[0] == '-' && text[1] == '1') {
		text += 2;
	} else {
		return;
	}
	text = parse_number(text, 16, &task->sp);
	parse_number(text, 16, &task->pc);
	task->sleeps = task->sp != 0;
}

static bool has_signal(const char *text, const char *set, int signal)
{
	const char *found = heapsnap_find_line(text, set);
	uint64_t mask = 0;

	if (found)
		parse_number(found, 16, &mask);
	return mask >> (signal - 1) & 1;
}

void heapsnap_task_look(const struct heapsnap_tasks *tasks, uint32_t tid,
			struct heapsnap_task *result)
{
	char text[256];

	memset(result, 0, sizeof(*result));
	if (read_file(tasks, tid, "/syscall", text, sizeof(text)) > 0)
		look_at_call(tasks, tid, text, result);
	else
		result->gone = heapsnap_task_time(tid) == 0;
}

void heapsnap_task_look_signal(const struct heapsnap_tasks *tasks, uint32_t tid, int signal,
			       struct heapsnap_task_signal *result)
{
	char text[MAX_STATUS];
	const char *state;

	memset(result, 0, sizeof(*result));
	result->gone = read_file(tasks, tid, "/status", text, sizeof(text)) <= 0;
	if (result->gone)
		return;
	state = heapsnap_find_line(text, "State:\t");
	result->gone = state && (*state == 'Z' || *state == 'X');
	result->blocked = has_signal(text, "SigBlk:\t", signal);
	result->pending = has_signal(text, "SigPnd:\t", signal);
}

// The number of a thread's clock: clock_getcpuclockid(3), and MAKE_THREAD_CPUCLOCK in the
// kernel's include/linux/posix-timers_types.h.
uint64_t heapsnap_task_time(uint32_t tid)
{
	enum {
		OF_A_THREAD = 4,
		SCHEDULED = 2,
	};
	struct __kernel_timespec time;
	int32_t clock = (int32_t)(~tid << 3 | OF_A_THREAD | SCHEDULED);

	heapsnap_tasks_calls++;
	if (HEAPSNAP_SYSTEM_2(SYS_clock_gettime, clock, &time) != 0)
		return 0;
	return ((uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec) | 1;
}
