// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/trigger.h"

#include "dumper/announce.h"
#include "dumper/freeze.h"
#include "dumper/frozen.h"
#include "dumper/heapsnap.h"
#include "dumper/process.h"
#include "dumper/report.h"
#include "dumper/settings.h"
#include "dumper/system.h"
#include "dumper/waiter.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

static uint32_t busy;             // futex: 1 while a snapshot is being taken or written
static uint32_t waiting;          // signals that came meanwhile
static int last_result = -ENOENT; // of the last snapshot: 0 or -errno
static long frozen;               // pid of the frozen copy that is being read
static long unreaped;             // of one that nobody could wait for

static struct heapsnap_shared *shared(void)
{
	return (struct heapsnap_shared *)heapsnap_process.shared;
}

static long map_shared(void)
{
	long result = heapsnap_system(SYS_mmap, 0, sizeof(struct heapsnap_shared),
				      PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (result < 0 && result > -4096)
		return result;
	heapsnap_process.shared = (uint64_t)result;
	return 0;
}

// What a child inherits of a snapshot that its parent was taking is not its own.
static void check_fork(void)
{
	if (!heapsnap_process_check_fork())
		return;
	busy = 0;
	waiting = 0;
	last_result = -ENOENT;
	unreaped = 0;
	heapsnap_process.shared = 0;
	heapsnap_waiter_forget();
	map_shared();
}

static bool begin(void)
{
	return __atomic_exchange_n(&busy, 1, __ATOMIC_ACQ_REL) == 0;
}

static void finish(int result)
{
	last_result = result;
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
	heapsnap_futex_wake(&busy);
}

static void reap(long pid)
{
	int status;

	while (HEAPSNAP_SYSTEM_4(SYS_wait4, pid, &status, __WCLONE, NULL) == -EINTR)
		;
}

static bool take_waiting(void)
{
	uint32_t count = __atomic_load_n(&waiting, __ATOMIC_ACQUIRE);

	while (count > 0) {
		if (__atomic_compare_exchange_n(&waiting, &count, count - 1, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return true;
	}
	return false;
}

static void set_pattern(const char *pattern)
{
	heapsnap_format_text(heapsnap_process.pattern,
			     heapsnap_process.pattern + sizeof(heapsnap_process.pattern), pattern);
}

static int freeze(const heapsnap_context *context)
{
	frozen = heapsnap_freeze(context);
	if (frozen < 0) {
		heapsnap_report("no snapshot", heapsnap_error_text((int)-frozen),
				"; the program goes on");
		return (int)frozen;
	}
	heapsnap_process.serial++;
	return 0;
}

// Waits for the writer, and tells how it went. @return 0 or -errno
static int await(void)
{
	reap(frozen);
	if (shared()->status != 0) {
		heapsnap_report(NULL, shared()->message, "; the program goes on");
		return -EIO;
	}
	if (heapsnap_settings.verbose)
		heapsnap_report(NULL, "wrote ", shared()->message);
	return 0;
}

// The waiting thread: this snapshot, and those that are asked for until it is written.
static void wait_for_writers(void)
{
	int result = await();

	for (;;) {
		while (take_waiting()) {
			set_pattern(heapsnap_settings.file);
			result = freeze(NULL);
			if (result == 0)
				result = await();
		}
		finish(result);
		// A signal may have come between the last look and the end.
		if (__atomic_load_n(&waiting, __ATOMIC_ACQUIRE) == 0 || !begin())
			return;
	}
}

// Begins a snapshot. @return 0 or -errno
static int take(const char *pattern, const heapsnap_context *context)
{
	long result = shared() ? 0 : -ENOMEM;

	if (unreaped && HEAPSNAP_SYSTEM_4(SYS_wait4, unreaped, NULL, __WCLONE | WNOHANG, NULL) != 0)
		unreaped = 0;
	set_pattern(pattern);
	if (result == 0)
		result = freeze(context);
	if (result == 0 && heapsnap_waiter_start(wait_for_writers) == 0)
		return 0;
	// Without a waiting thread the snapshot is written all the same, and its frozen copy
	// reaped at the next trigger.
	if (result == 0)
		unreaped = frozen;
	finish((int)result);
	return (int)result;
}

static void triggered(int number, siginfo_t *info, void *context)
{
	int before = errno;

	(void)number;
	(void)info;
	check_fork();
	if (begin())
		take(heapsnap_settings.file, context);
	else
		__atomic_add_fetch(&waiting, 1, __ATOMIC_ACQ_REL);
	errno = before;
}

void heapsnap_trigger_init(void)
{
	struct sigaction action = { .sa_sigaction = triggered,
				    .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
	struct sigaction present;
	int taken = 0;

	if (map_shared() != 0 || heapsnap_waiter_init() != 0) {
		heapsnap_report(NULL, "out of memory", "; no snapshots can be taken");
		return;
	}
	// Also where it was ignored: shells do that to SIGQUIT for what runs in the background.
	memset(&action.sa_mask, 0xff, sizeof(action.sa_mask));
	if (heapsnap_settings.signal != 0 &&
	    sigaction(heapsnap_settings.signal, NULL, &present) == 0 &&
	    (present.sa_handler == SIG_DFL || present.sa_handler == SIG_IGN) &&
	    sigaction(heapsnap_settings.signal, &action, NULL) == 0)
		taken = heapsnap_settings.signal;
	heapsnap_announce(taken);
}

static int request(const char *name, const heapsnap_context *context)
{
	heapsnap_signals mask;
	int before = errno;
	int result = -EAGAIN;

	if (name && (!*name || strlen(name) >= HEAPSNAP_PATH_MAX))
		return -EINVAL;
	heapsnap_block_signals(&mask);
	check_fork();
	if (begin())
		result = take(name ? name : heapsnap_settings.file, context);
	heapsnap_restore_signals(&mask);
	errno = before;
	return result;
}

HEAPSNAP_API int heapsnap_dump(const char *name)
{
	ucontext_t context;

	getcontext(&context);
	return request(name, &context);
}

HEAPSNAP_API int heapsnap_wait(void)
{
	uint32_t value;

	check_fork();
	while ((value = __atomic_load_n(&busy, __ATOMIC_ACQUIRE)) != 0)
		heapsnap_futex_wait(&busy, value, 0);
	return last_result;
}
