// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_COMMAND_PROCESS_H
#define HEAPSNAP_COMMAND_PROCESS_H

/**
 * Another process, which may be hostile, and may end at any time.
 *
 * It is accessed by descriptors that stay with this very process: once its pid belongs to another,
 * reading and signalling fail.
 */

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct process {
	pid_t pid;
	int handle; /**< of pidfd_open(2); -1 if the kernel has none */
	int folder; /**< /proc/PID */
	int memory; /**< /proc/PID/mem; -1 while that has not been opened */
};

/** The fields of /proc/PID/status. Signal N is bit N - 1. */
struct process_status {
	char state; /**< a letter: R, S, D, T, Z... */
	pid_t parent;
	pid_t own_pid;              /**< in its own pid namespace */
	pid_t tracer;               /**< 0: it is not traced */
	uid_t user, effective_user; /**< as this user namespace sees them */
	bool has_memory;            /**< false of the kernel's threads, and while it ends */
	uint64_t pending, ignored, caught;
};

/** @return NULL, or HEAP_ERROR_ABSENT: there is no such process */
HEAP_MUST_CHECK
struct heap_error *process_open(pid_t pid, struct process *result);

/** A process that has not been opened is fine, if all is 0. */
void process_close(struct process *process);

bool process_has_ended(const struct process *process);

/** Opens a file of /proc/PID. @return NULL and errno */
FILE *process_file(const struct process *process, const char *name);

/** @return false if it has ended, or may not be examined */
bool process_read_status(const struct process *process, struct process_status *result);

/** @return whether the system calls of one of its threads are filtered, by seccomp(2): each has its own filters */
bool process_filters_thread(const struct process *process, pid_t tid);

/**
 * @return whether a child of that thread would be in another namespace of processes than itself, after unshare(2) or
 * setns(2): the first one there is its init, and with it the namespace ends
 */
bool process_parts_with_children(const struct process *process, pid_t tid);

/**
 * Reads memory, always of the program that ran at the first such call: after an exec() nothing can
 * be read.
 *
 * @return false unless all of it can be read
 */
bool process_read(struct process *process, uint64_t address, void *buffer, size_t size);

/** Has process_read() read memory of the program that runs now. */
void process_forget_memory(struct process *process);

/**
 * A number for the program that the process runs: another one after each exec().
 *
 * @return 0 while it ends, and of the kernel's threads
 */
uint64_t process_program(const struct process *process);

/** When it was started, in ticks since boot. */
uint64_t process_start_ticks(const struct process *process);

/** True for a thread of the kernel. */
bool process_is_of_kernel(const struct process *process);

/** Writes memory of a process that is traced. @return false unless all of it can be written */
bool process_write(const struct process *process, uint64_t address, const void *buffer,
		   size_t size);

/** The name of its main thread, "" if that is unknown. @param size  at least 1 */
void process_comm(const struct process *process, char *buffer, size_t size);

/** The name of one of its threads, "" if that is unknown. @param size  at least 1 */
void process_thread_comm(const struct process *process, pid_t tid, char *buffer, size_t size);

/**
 * The name that it was started by if that is one of its executable, or else the file name of the executable, or
 * the name of its main thread.
 */
void process_name(const struct process *process, char *buffer, size_t size);

/** True if one of its threads has that name. */
bool process_has_thread(const struct process *process, const char *name);

/** @return false and errno */
bool process_send(const struct process *process, int signal);

/** The pids that /proc lists, in ascending order. @param pids  malloc'd */
HEAP_MUST_CHECK
struct heap_error *process_list(pid_t **pids, size_t *count);

/** Parses a pid in decimal digits. @return 0 if it is no pid */
pid_t process_parse_pid(const char *text);

#endif
