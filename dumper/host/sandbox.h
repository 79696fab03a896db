// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_SANDBOX_H
#define HEAPSNAP_SANDBOX_H

/**
 * Programs that restrict their own system calls by seccomp(2). A filter may kill the program for a
 * call that is not on its list. So each filter is run for the calls of the library before it is
 * installed, and what it would kill the program for is not done from then on.
 *
 * A filter that the program was started with is unknown; heapsnap_sandbox_inherit() finds it.
 */

#include <stdbool.h>
#include <stdint.h>

// Headers of Linux before 5.11, and musl's, lack these.
#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_ON 1
#endif

/** The purposes for which the library makes system calls: bits. */
enum heapsnap_need {
	HEAPSNAP_NEED_SNAPSHOT = 1, /**< to take one, or to begin a thread */
	HEAPSNAP_NEED_CLOCK = 2,    /**< a thread's processor time */
	HEAPSNAP_NEED_WAKING = 4,   /**< to wake threads, and wait for them */
	HEAPSNAP_NEED_PROBE = 8,    /**< whether memory can be read */
	HEAPSNAP_NEED_THREADS =
		16, /**< what threads of the library do, if the filter is theirs, too */
};

/** libc's syscall(). */
typedef long heapsnap_system_call(long number, ...);

/**
 * Makes a call of the program's, which may install a filter.
 *
 * @param arguments  [6]
 * @return as syscall(2), with errno
 */
long heapsnap_sandbox_call(heapsnap_system_call *next, long number, const long *arguments);

/**
 * Looks for filters that the program was started with, by the calls that the dynamic linker has just
 * made itself. Those of `heapsnap run` are known to let the library work; others may kill the program for
 * anything. Without `heapsnap run` all are trusted.
 *
 * @param pid  gets the process's id in its own namespace
 * @return true if the library must make no system call in this process
 */
bool heapsnap_sandbox_inherit(uint32_t *pid);

/** Before any thread enters. Without memory, a child of clone(2) may take threads of its parent for its own. */
void heapsnap_sandbox_init(void);

/** Has a function called before a filter is installed, when its effect is known. At most 3. */
void heapsnap_sandbox_add_hook(void (*hook)(void));

/** True once the program has a seccomp filter that it has installed through libc. */
bool heapsnap_is_sandboxed(void);

/** True if a filter of the program would kill it for one of these needs. */
bool heapsnap_sandbox_forbids(uint32_t needs);

/**
 * To be called in a thread of the program before it makes system calls for these needs. Until it says
 * that it has made them, by heapsnap_sandbox_leave(), another thread that installs a filter waits.
 * May be nested. async-signal-safe.
 *
 * @return false: they are forbidden, and there is nothing to leave
 */
bool heapsnap_sandbox_enter(uint32_t needs);
void heapsnap_sandbox_leave(void);

/** To be called in a child of fork(): what other threads of its parent had entered is not its own. */
void heapsnap_sandbox_begin_child(void);

/** True if a filter of the program kills it for a system call that a snapshot needs. */
bool heapsnap_sandbox_forbids_snapshots(void);

#endif
