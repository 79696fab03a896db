// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/tasks.h"

#include "dumper/system.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>

enum {
	MAX_STATUS = 4096,
	ARGUMENTS = 6,
};

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
	tasks->directory = HEAPSNAP_SYSTEM_4(SYS_openat, AT_FDCWD, "/proc/self/task",
					     O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	tasks->at = tasks->end = 0;
	return tasks->directory < 0 ? tasks->directory : 0;
}

void heapsnap_tasks_rewind(struct heapsnap_tasks *tasks)
{
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

void heapsnap_tasks_close(struct heapsnap_tasks *tasks)
{
	HEAPSNAP_SYSTEM_1(SYS_close, tasks->directory);
}

// --- one thread --------------------------------------------------------------

static long read_task_file(uint32_t tid, const char *file, char *buffer, size_t size)
{
	char path[64];
	const char *end = path + sizeof(path);
	char *at = heapsnap_format_text(path, end, "/proc/self/task/");

	at = heapsnap_format_number(at, end, tid, 10);
	heapsnap_format_text(at, end, file);
	return heapsnap_read_file(path, buffer, size);
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

/*
 * Calls that a handled signal ends with EINTR in spite of SA_RESTART (signal(7)). Those on
 * sockets restart unless a timeout has been set on the socket, which one cannot see from
 * here. Starting a process: the thread waits for a child that shares its memory, and
 * handles no signal until that is over.
 */
static bool is_fragile(uint64_t call, const uint64_t argument[ARGUMENTS])
{
	switch (call) {
#if defined(__x86_64__)
	case SYS_poll:
	case SYS_select:
	case SYS_epoll_wait:
	case SYS_pause:
	case SYS_vfork:
#endif
	case SYS_ppoll:
	case SYS_pselect6:
	case SYS_epoll_pwait:
#ifdef SYS_epoll_pwait2
	case SYS_epoll_pwait2:
#endif
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_rt_sigsuspend:
	case SYS_rt_sigtimedwait:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_io_getevents:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_accept:
	case SYS_accept4:
	case SYS_connect:
	case SYS_clone:
#ifdef SYS_clone3
	case SYS_clone3:
#endif
		return true;
	case SYS_futex: // waits with a timeout alone: the fourth argument
		return argument[3] != 0;
	default:
		return false;
	}
}

// "NUMBER ARGUMENT×6 SP PC", "-1 SP PC" outside of a call, or "running" (proc(5)).
static void look_at_call(const char *text, struct heapsnap_task *task)
{
	uint64_t call = 0, argument[ARGUMENTS] = { 0 };

	if (text[0] >= '0' && text[0] <= '9') {
		text = parse_number(text, 10, &call);
		for (int i = 0; i < ARGUMENTS; i++)
			text = parse_number(text, 16, &argument[i]);
		task->fragile = is_fragile(call, argument);
	} else if (text[0] == '-' && text[1] == '1') {
		text += 2;
	} else {
		return;
	}
	text = parse_number(text, 16, &task->sp);
	parse_number(text, 16, &task->pc);
	task->sleeps = task->sp != 0;
}

static const char *find_line(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (; *text; text++) {
		if (strncmp(text, name, length) == 0)
			return text + length;
		while (*text && *text != '\n')
			text++;
		if (!*text)
			break;
	}
	return NULL;
}

static bool has_signal(const char *text, const char *set, int signal)
{
	const char *found = find_line(text, set);
	uint64_t mask = 0;

	if (found)
		parse_number(found, 16, &mask);
	return mask >> (signal - 1) & 1;
}

static void look_at_status(const char *text, int signal, struct heapsnap_task *task)
{
	const char *state = find_line(text, "State:\t");

	task->gone = state && (*state == 'Z' || *state == 'X');
	task->blocked = has_signal(text, "SigBlk:\t", signal);
	task->pending = has_signal(text, "SigPnd:\t", signal);
}

void heapsnap_task_look(uint32_t tid, int signal, struct heapsnap_task *result)
{
	char text[MAX_STATUS];

	memset(result, 0, sizeof(*result));
	if (read_task_file(tid, "/status", text, sizeof(text)) <= 0) {
		result->gone = true;
		return;
	}
	look_at_status(text, signal, result);
	if (!result->gone && read_task_file(tid, "/syscall", text, sizeof(text)) > 0)
		look_at_call(text, result);
}

uint64_t heapsnap_task_runs(uint32_t tid)
{
	char text[256];
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	// Time on a processor, time in a queue, times it was put on one.
	if (read_task_file(tid, "/schedstat", text, sizeof(text)) <= 0 &&
	    read_task_file(tid, "/syscall", text, sizeof(text)) <= 0)
		return 0;
	for (const char *at = text; *at; at++)
		hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
	return hash;
}
