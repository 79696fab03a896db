// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/process.h"

#include "dumper/command/maps.h"
#include "lib/base/array.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	STAT_FLAGS = 9,
	STAT_START_TIME = 22,
	STAT_START_STACK = 28
}; // proc(5)

#define PF_KTHREAD 0x00200000 // include/linux/sched.h

// A main thread that has ended before the others is a zombie until they have ended, too. Then /proc
// shows the process's memory by way of any other thread: /proc/TID, which readdir(3) does not list.
static void open_living_thread(struct process *process)
{
	int descriptor = openat(process->folder, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *tasks = descriptor < 0 ? NULL : fdopendir(descriptor);
	struct dirent *entry;

	if (!tasks)
		cleanup_close(&descriptor);
	while (tasks && (entry = readdir(tasks))) {
		pid_t tid = process_parse_pid(entry->d_name);
		char path[32];
		int folder;

		if (tid == 0 || tid == process->pid)
			continue;
		snprintf(path, sizeof(path), "/proc/%d", (int)tid);
		folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (folder >= 0) {
			close(process->folder);
			process->folder = folder;
			break;
		}
	}
	if (tasks)
		closedir(tasks);
}

struct heap_error *process_open(pid_t pid, struct process *result)
{
	struct process_status status;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	result->pid = pid;
	result->memory = -1;
	result->handle = (int)syscall(SYS_pidfd_open, pid, 0);
	// Opened second: while the handle's process lives, /proc/PID is the same one's.
	// Where the kernel, or a filter of system calls, has no handles, the pid has to do.
	result->folder = result->handle >= 0 || (errno != ESRCH && errno != EINVAL)
				 ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
				 : -1;
	if (result->folder >= 0 && !process_has_ended(result)) {
		if (process_read_status(result, &status) && status.state == 'Z')
			open_living_thread(result);
		return NULL;
	}

	// One that has ended stays there until its parent has been told.
	const char *why = result->folder >= 0 ? " has ended" : ": no such process";

	process_close(result);
	return heap_error_create(HEAP_ERROR_ABSENT, "%d%s", (int)pid, why);
}

void process_close(struct process *process)
{
	if (process->pid == 0)
		return;
	cleanup_close(&process->memory);
	cleanup_close(&process->folder);
	cleanup_close(&process->handle);
	memset(process, 0, sizeof(*process));
}

bool process_has_ended(const struct process *process)
{
	struct pollfd handle = { .fd = process->handle, .events = POLLIN };

	if (process->handle >= 0)
		return poll(&handle, 1, 0) > 0;
	return process->folder < 0 || faccessat(process->folder, "status", F_OK, 0) != 0;
}

FILE *process_file(const struct process *process, const char *name)
{
	int descriptor = openat(process->folder, name, O_RDONLY | O_CLOEXEC);
	FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "r");

	if (!file)
		cleanup_close(&descriptor);
	return file;
}

bool process_read_status(const struct process *process, struct process_status *result)
{
	CLEANUP_FILE FILE *file = process_file(process, "status");
	CLEANUP_FREE char *line = NULL;
	size_t size = 0;

	memset(result, 0, sizeof(*result));
	result->own_pid = process->pid;
	while (file && getline(&line, &size, file) > 0) {
		char *value = line + strcspn(line, "\t"), *last = strrchr(line, '\t');

		if (strncmp(line, "State:\t", 7) == 0)
			result->state = *(value + 1);
		else if (strncmp(line, "PPid:\t", 6) == 0)
			result->parent = atoi(value);
		else if (strncmp(line, "TracerPid:\t", 11) == 0)
			result->tracer = atoi(value);
		else if (sscanf(line, "Uid:\t%u\t%u", &result->user, &result->effective_user) == 2)
			continue;
		else if (strncmp(line, "VmSize:\t", 8) == 0)
			result->has_memory = true;
		// Not NSpid: that is the thread's where the main thread has ended.
		else if (strncmp(line, "NStgid:\t", 8) == 0)
			result->own_pid = atoi(last);
		else if (strncmp(line, "ShdPnd:\t", 8) == 0)
			result->pending = strtoull(value, NULL, 16);
		else if (strncmp(line, "SigIgn:\t", 8) == 0)
			result->ignored = strtoull(value, NULL, 16);
		else if (strncmp(line, "SigCgt:\t", 8) == 0)
			result->caught = strtoull(value, NULL, 16);
	}
	return result->state != '\0';
}

bool process_filters_thread(const struct process *process, pid_t tid)
{
	CLEANUP_FREE char *line = NULL;
	size_t size = 0;
	char path[64];
	int mode = 0;

	snprintf(path, sizeof(path), "task/%d/status", (int)tid);

	CLEANUP_FILE FILE *file = process_file(process, path);

	while (file && getline(&line, &size, file) > 0) {
		if (sscanf(line, "Seccomp: %d", &mode) == 1)
			break;
	}
	return mode != 0;
}

// @return length, or -errno
static ssize_t read_namespace(const struct process *process, pid_t tid, const char *kind,
			      char *name, size_t size)
{
	char path[64];
	ssize_t length;

	snprintf(path, sizeof(path), "task/%d/ns/%s", (int)tid, kind);
	length = readlinkat(process->folder, path, name, size - 1);
	name[length > 0 ? length : 0] = '\0';
	return length < 0 ? -errno : length;
}

bool process_parts_with_children(const struct process *process, pid_t tid)
{
	char own[64], next[64];
	ssize_t length;

	if (read_namespace(process, tid, "pid", own, sizeof(own)) < 0)
		return false;
	length = read_namespace(process, tid, "pid_for_children", next, sizeof(next));
	// A namespace without any process yet. Before Linux 4.12 there was no such link.
	if (length == -ENOENT)
		return access("/proc/self/ns/pid_for_children", F_OK) == 0;
	return length > 0 && strcmp(own, next) != 0;
}

bool process_read(struct process *process, uint64_t address, void *buffer, size_t size)
{
	if (process->memory < 0)
		process->memory = openat(process->folder, "mem", O_RDONLY | O_CLOEXEC);
	return process->memory >= 0 && address <= (uint64_t)INT64_MAX - size &&
	       pread(process->memory, buffer, size, (off_t)address) == (ssize_t)size;
}

void process_forget_memory(struct process *process)
{
	cleanup_close(&process->memory);
	process->memory = -1;
}

// Field `number` of /proc/PID/stat, proc(5), which must be one behind the name.
static unsigned long long read_stat(const struct process *process, int number)
{
	CLEANUP_CLOSE int file = openat(process->folder, "stat", O_RDONLY | O_CLOEXEC);
	char text[1024];
	ssize_t length = file < 0 ? 0 : read(file, text, sizeof(text) - 1);
	const char *at;

	text[length < 0 ? 0 : length] = '\0';
	at = strrchr(text, ')');
	for (int field = 2; at && field < number; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

uint64_t process_program(const struct process *process)
{
	// The kernel puts the stack elsewhere each time, and with it the arguments.
	return read_stat(process, STAT_START_STACK);
}

bool process_is_of_kernel(const struct process *process)
{
	return (read_stat(process, STAT_FLAGS) & PF_KTHREAD) != 0;
}

uint64_t process_start_ticks(const struct process *process)
{
	return read_stat(process, STAT_START_TIME);
}

bool process_write(const struct process *process, uint64_t address, const void *buffer, size_t size)
{
	CLEANUP_CLOSE int memory = openat(process->folder, "mem", O_WRONLY | O_CLOEXEC);

	return memory >= 0 && pwrite(memory, buffer, size, (off_t)address) == (ssize_t)size;
}

static void read_line(const struct process *process, const char *name, char *buffer, size_t size)
{
	CLEANUP_FILE FILE *file = process_file(process, name);
	// A name of a thread may hold newlines.
	size_t length = file ? fread(buffer, 1, size - 1, file) : 0;

	if (length > 0 && buffer[length - 1] == '\n')
		length--;
	buffer[length] = '\0';
}

void process_comm(const struct process *process, char *buffer, size_t size)
{
	read_line(process, "comm", buffer, size);
}

void process_thread_comm(const struct process *process, pid_t tid, char *buffer, size_t size)
{
	char path[40];

	snprintf(path, sizeof(path), "task/%d/comm", (int)tid);
	read_line(process, path, buffer, size);
}

// The path of the executable, as the kernel has it. @return false if it is not known
static bool read_executable(const struct process *process, char *path, size_t size)
{
	ssize_t length = readlinkat(process->folder, "exe", path, size - 1);
	struct stat status;

	if (length <= 0)
		return false;
	path[length] = '\0';
	// A file may be called so, too.
	if (fstatat(process->folder, "exe", &status, 0) != 0 || status.st_nlink == 0)
		mapping_strip_deleted(path);
	return true;
}

// True if a name beside the executable is another one of the same file, as redis-server is of redis-check-rdb.
static bool is_alias(const struct process *process, const char *executable, const char *name)
{
	char path[PATH_MAX + sizeof("root") + NAME_MAX];
	const char *slash = strrchr(executable, '/');
	struct stat other, own;

	if (name[0] == '\0' || name[0] == '.' || strchr(name, '/') || !slash)
		return false;
	snprintf(path, sizeof(path), "root%.*s/%.*s", (int)(slash - executable), executable,
		 NAME_MAX, name);
	return fstatat(process->folder, path, &other, 0) == 0 &&
	       fstatat(process->folder, "exe", &own, 0) == 0 && other.st_dev == own.st_dev &&
	       other.st_ino == own.st_ino;
}

// The name that the process was started by, which it may have put further words behind.
static void read_first_argument(const struct process *process, char *buffer, size_t size)
{
	char line[PATH_MAX];
	const char *slash;

	read_line(process, "cmdline", line, sizeof(line));
	line[strcspn(line, " :")] = '\0';
	slash = strrchr(line, '/');
	snprintf(buffer, size, "%s", slash ? slash + 1 : line);
}

void process_name(const struct process *process, char *buffer, size_t size)
{
	char path[PATH_MAX + sizeof(" (deleted)")];
	const char *slash;

	if (!read_executable(process, path, sizeof(path))) {
		process_comm(process, buffer, size);
		return;
	}
	read_first_argument(process, buffer, size);
	if (is_alias(process, path, buffer))
		return;
	slash = strrchr(path, '/');
	snprintf(buffer, size, "%s", slash ? slash + 1 : path);
}

bool process_has_thread(const struct process *process, const char *name)
{
	int descriptor = openat(process->folder, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *tasks = descriptor < 0 ? NULL : fdopendir(descriptor);
	bool found = false;
	struct dirent *entry;

	while (tasks && !found && (entry = readdir(tasks))) {
		char path[300], comm[32];

		snprintf(path, sizeof(path), "task/%s/comm", entry->d_name);
		read_line(process, path, comm, sizeof(comm));
		found = strcmp(comm, name) == 0;
	}
	if (tasks)
		closedir(tasks);
	else
		cleanup_close(&descriptor);
	return found;
}

bool process_send(const struct process *process, int signal)
{
	if (process->handle >= 0)
		return syscall(SYS_pidfd_send_signal, process->handle, signal, NULL, 0) == 0;
	return kill(process->pid, signal) == 0;
}

static int compare_pids(const void *left, const void *right)
{
	const pid_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

struct heap_error *process_list(pid_t **pids, size_t *count)
{
	CLEANUP_ARRAY struct HEAP_ARRAY(pid_t) list = { 0 };
	DIR *processes = opendir("/proc");
	struct heap_error *error = NULL;
	struct dirent *entry;

	*count = 0;
	if (!processes)
		return heap_error_create_system("/proc");
	while (!error && (entry = readdir(processes))) {
		pid_t pid = process_parse_pid(entry->d_name);

		if (pid == 0)
			continue;
		error = heap_array_append(&list, pid);
	}
	closedir(processes);
	if (error)
		return error;
	if (list.count > 0)
		qsort(list.items, list.count, sizeof(*list.items), compare_pids);
	*count = list.count;
	*pids = keep(list.items);
	return NULL;
}

pid_t process_parse_pid(const char *text)
{
	int64_t value = 0;

	for (const char *at = text; *at; at++) {
		if (*at < '0' || *at > '9')
			return 0;
		value = value * 10 + (*at - '0');
		if (value > INT32_MAX)
			return 0;
	}
	return (pid_t)value;
}
