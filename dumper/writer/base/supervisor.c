// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/base/supervisor.h"

#include "dumper/writer/base/bounds.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	MAX_LEFT_OUT = 8, // modules, one by one; then all of them
	REASON_SIZE = 128,
	PATIENCE = 5, // seconds that a worker may stand still when its time is over
};

static const uint64_t SECOND = 1000000000, LOOK_NS = 100000000; // ns

struct left_out {
	uint64_t module;
	char reason[REASON_SIZE];
};

// Memory that the supervisor and the worker share.
struct page {
	uint64_t suspect;
	uint64_t beats;                        // of the worker's, while it goes on
	struct left_out modules[MAX_LEFT_OUT]; // [count]
	uint32_t count;
	char all[REASON_SIZE]; // why all symbols are left out; "" if they are not
	bool has_failed;
	enum heap_error_code code;
	char message[HEAPSNAP_PATH_MAX];
};

static struct page *page;   // NULL where there is no supervisor
static bool is_interrupted; // the supervisor, by SIGTERM

// The supervisor waits for its worker, and for somebody who no longer wants the snapshot.
static sigset_t awaited_signals(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGTERM);
	return signals;
}

// --- in the worker -------------------------------------------------------------------

void isolation_suspect(uint64_t module)
{
	if (page)
		__atomic_store_n(&page->suspect, module, __ATOMIC_RELAXED);
}

void isolation_beat(void)
{
	if (page)
		__atomic_add_fetch(&page->beats, 1, __ATOMIC_RELAXED);
}

const char *isolation_reason(uint64_t module)
{
	if (!page)
		return NULL;
	for (uint32_t i = 0; i < page->count; i++) {
		if (page->modules[i].module == module)
			return page->modules[i].reason;
	}
	return page->all[0] ? page->all : NULL;
}

__attribute__((noreturn)) static void be_worker(isolation_work *work, void *context)
{
	sigset_t signals = awaited_signals();

	sigprocmask(SIG_UNBLOCK, &signals, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);

	struct heap_error *error = work(context);

	if (error) {
		page->has_failed = true;
		page->code = heap_error_code(error);
		snprintf(page->message, sizeof(page->message), "%s", heap_error_message(error));
		heap_error_destroy(error);
	}
	exit(0);
}

// --- in the supervisor ---------------------------------------------------------------

struct supervision {
	const struct heapsnap_process *process;
	uint64_t deadline_ns;  // UINT64_MAX: none
	uint64_t memory;       // bytes that the worker may use
	const char *memory_by; // whose limit that is, behind the number
};

static int end_worker(pid_t worker)
{
	int status = 0;

	kill(worker, SIGKILL);
	waitpid(worker, &status, 0);
	return status;
}

// Waits for a worker up to a time; awaited_signals() are blocked. By SIGTERM it ends the worker. Where a sandbox lets
// nothing be blocked, no signal tells of the worker's end: it looks.
// @return false if it goes on
static bool await(pid_t worker, uint64_t until_ns, int *status)
{
	sigset_t signals = awaited_signals();

	for (;;) {
		uint64_t now = heap_monotonic_ns();
		uint64_t left = until_ns > now ? until_ns - now : 0;
		struct timespec wait = { 0, LOOK_NS };

		if (waitpid(worker, status, WNOHANG) == worker)
			return true;
		if (left == 0)
			return false;
		if (left < LOOK_NS)
			wait.tv_nsec = (long)left;
		if (sigtimedwait(&signals, NULL, &wait) == SIGTERM) {
			*status = end_worker(worker);
			is_interrupted = true;
			return true;
		}
	}
}

__attribute__((format(printf, 2, 3))) static void leave_out(uint64_t module, const char *format,
							    ...)
{
	struct left_out *entry = &page->modules[page->count];
	char *reason = page->all;
	va_list arguments;

	if (module != 0 && page->count < MAX_LEFT_OUT) {
		entry->module = module;
		reason = entry->reason;
		page->count++;
	}
	va_start(arguments, format);
	vsnprintf(reason, REASON_SIZE, format, arguments);
	va_end(arguments);
}

HEAP_MAKES_ERROR
static struct heap_error *too_late(const struct heapsnap_process *process)
{
	return heap_error_create(HEAP_ERROR_SYSTEM, "not written within %.1f s",
				 (double)process->writer_time_ns / 1e9);
}

HEAP_MAKES_ERROR
static struct heap_error *too_much(const struct supervision *supervision)
{
	return heap_error_create(HEAP_ERROR_MEMORY,
				 "out of memory: heapsnap-writer may use %.1f MiB%s",
				 (double)supervision->memory / 1048576, supervision->memory_by);
}

// True if the data that a worker read may have ended it.
static bool is_crash(int status)
{
	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status) != 0;
	switch (WTERMSIG(status)) {
	case SIGSEGV:
	case SIGBUS:
	case SIGABRT:
	case SIGFPE:
	case SIGILL:
	case SIGTRAP:
		return true;
	default:
		return false;
	}
}

HEAP_MUST_CHECK
static struct heap_error *judge(const struct supervision *supervision, int status, bool *again)
{
	bool last = page->all[0] != '\0';

	if (is_interrupted) {
		*again = false;
		return heap_error_create(HEAP_ERROR_INTERRUPTED, "interrupted");
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		if (!page->has_failed)
			return NULL;
		if (page->code != HEAP_ERROR_MEMORY)
			return heap_error_create(page->code, "%s", page->message);
		*again = !last;
		leave_out(0, "not read: heapsnap-writer may use %.1f MiB%s",
			  (double)supervision->memory / 1048576, supervision->memory_by);
		return *again ? NULL : too_much(supervision);
	}
	*again = is_crash(status) && !last;
	if (!*again && WIFSIGNALED(status))
		return heap_error_create(
			HEAP_ERROR_SYSTEM, "heapsnap-writer was ended by signal %d%s",
			WTERMSIG(status), WTERMSIG(status) == SIGKILL ? "; is memory short?" : "");
	if (!*again)
		return heap_error_create(HEAP_ERROR_SYSTEM, "heapsnap-writer failed");
	leave_out(page->suspect, "not read: heapsnap-writer crashed by it (%s %d)",
		  WIFSIGNALED(status) ? "signal" : "status",
		  WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return NULL;
}

// Waits for a worker whose time is over, but which may have much to write. @return false if it
// has stood still for a while
static bool await_last(const struct supervision *supervision, pid_t worker, int *status)
{
	uint64_t time_ns = supervision->process->writer_time_ns;
	uint64_t patience = time_ns > PATIENCE * SECOND ? time_ns : PATIENCE * SECOND;
	uint64_t beats;

	do {
		beats = __atomic_load_n(&page->beats, __ATOMIC_RELAXED);
		if (await(worker, heap_monotonic_ns() + patience, status))
			return true;
	} while (__atomic_load_n(&page->beats, __ATOMIC_RELAXED) != beats);
	return false;
}

// One attempt. @param again  set to whether another one is worth it
HEAP_MUST_CHECK
static struct heap_error *supervise(const struct supervision *supervision, pid_t worker,
				    bool *again)
{
	uint64_t deadline = supervision->deadline_ns, now = heap_monotonic_ns();
	uint64_t half = deadline == UINT64_MAX ? deadline : now + (deadline - now) / 2;
	int status;

	*again = false;
	if (now < deadline && await(worker, half, &status))
		return judge(supervision, status, again);
	// A file that takes half of the time has had its share.
	if (page->suspect != 0 && page->all[0] == '\0' && now < deadline) {
		end_worker(worker);
		*again = true;
		leave_out(page->suspect, "not read: that took more than %.1f s",
			  (double)(half - now) / 1e9);
		return NULL;
	}
	if (await(worker, deadline, &status))
		return judge(supervision, status, again);
	// Symbols are for types, most of all.
	if (page->suspect != 0 && page->all[0] == '\0') {
		end_worker(worker);
		*again = true;
		leave_out(0, "not read: %.1f s were over",
			  (double)supervision->process->writer_time_ns / 1e9);
		return NULL;
	}
	if (await_last(supervision, worker, &status))
		return judge(supervision, status, again);
	end_worker(worker);
	return too_late(supervision->process);
}

// Notes how much malloc() in the worker may have at most.
static void note_memory(struct supervision *supervision)
{
	struct rlimit data = { RLIM_INFINITY, RLIM_INFINITY }, addresses = data;

	getrlimit(RLIMIT_DATA, &data);
	getrlimit(RLIMIT_AS, &addresses);
	supervision->memory = data.rlim_cur;
	supervision->memory_by = "";
	if (addresses.rlim_cur < data.rlim_cur) {
		supervision->memory = addresses.rlim_cur;
		supervision->memory_by = " of address space (ulimit -v)";
	}
}

struct heap_error *isolation_run(const struct heapsnap_process *process, isolation_work *work,
				 void *context)
{
	uint64_t time_ns = process->writer_time_ns;
	struct supervision supervision = {
		.process = process,
		.deadline_ns = time_ns ? heap_monotonic_ns() + time_ns : UINT64_MAX,
	};
	struct heap_error *error = NULL;
	bool again = true;
	sigset_t signals = awaited_signals();

	note_memory(&supervision);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		page = NULL;
	while (again && !error) {
		pid_t worker = page ? fork() : -1;

		if (worker < 0) {
			sigprocmask(SIG_UNBLOCK, &signals, NULL);
			return work(context);
		}
		if (worker == 0)
			be_worker(work, context);
		error = supervise(&supervision, worker, &again);
		page->suspect = 0;
		page->has_failed = false;
	}
	return error;
}
