// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/host/sandbox.h"

#include "dumper/host/announce.h"
#include "dumper/host/filter.h"
#include "dumper/base/owner.h"
#include "dumper/base/reserve.h"
#include "dumper/base/system.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
	STATUS_BYTES = 8192,
	MAX_HOOKS = 3,
	RESTRICTED = 1 << 30, // in `forbidden`: there is a filter
	ALL_NEEDS = HEAPSNAP_NEED_SNAPSHOT | HEAPSNAP_NEED_CLOCK | HEAPSNAP_NEED_WAKING |
		    HEAPSNAP_NEED_PROBE | HEAPSNAP_NEED_THREADS,
	ANY_FILE = 1000, // a descriptor of ours
};

static const uint64_t LOOK_NS = 1000000;
static const uint64_t PATIENCE_NS =
	1000000000; // a handler may install one while its own thread has entered

static uint32_t forbidden; // enum heapsnap_need
// How often threads have entered: once there is memory for it, in a page that a fork clears, also by clone(2).
static uint32_t unwiped, *inside = &unwiped;
static void (*hooks[MAX_HOOKS])(void);

void heapsnap_sandbox_init(void)
{
	uint32_t *page = heapsnap_reserve_own(sizeof(*page));

	if (page)
		inside = page;
}

bool heapsnap_is_sandboxed(void)
{
	return heapsnap_sandbox_forbids(RESTRICTED);
}

bool heapsnap_sandbox_forbids(uint32_t needs)
{
	return __atomic_load_n(&forbidden, __ATOMIC_ACQUIRE) & needs;
}

bool heapsnap_sandbox_forbids_snapshots(void)
{
	return heapsnap_sandbox_forbids(HEAPSNAP_NEED_SNAPSHOT);
}

// Who enters writes `inside` and then reads `forbidden`; who installs a filter writes `forbidden` and then
// reads `inside`. These are in one order for all threads, so that one of the two sees the other.
bool heapsnap_sandbox_enter(uint32_t needs)
{
	__atomic_add_fetch(inside, 1, __ATOMIC_SEQ_CST);
	if (!(__atomic_load_n(&forbidden, __ATOMIC_SEQ_CST) & needs))
		return true;
	heapsnap_sandbox_leave();
	return false;
}

void heapsnap_sandbox_leave(void)
{
	__atomic_sub_fetch(inside, 1, __ATOMIC_SEQ_CST);
}

void heapsnap_sandbox_begin_child(void)
{
	__atomic_store_n(inside, 0, __ATOMIC_SEQ_CST);
}

void heapsnap_sandbox_add_hook(void (*hook)(void))
{
	for (int i = 0; i < MAX_HOOKS; i++) {
		if (!hooks[i] || hooks[i] == hook) {
			hooks[i] = hook;
			return;
		}
	}
}

// --- what a filter forbids -----------------------------------------------------------

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#else
#define MACHINE AUDIT_ARCH_AARCH64
#endif

// System calls that the threads of the program and our own make, and what for.
#define SNAPSHOT HEAPSNAP_NEED_SNAPSHOT
#define WAKING HEAPSNAP_NEED_WAKING
#define PROBE HEAPSNAP_NEED_PROBE
#define CLOCK HEAPSNAP_NEED_CLOCK
#define THREADS HEAPSNAP_NEED_THREADS
static const struct call {
	uint32_t needs;
	struct seccomp_data data;
} calls[] = {
	{ SNAPSHOT, { .nr = SYS_getpid } },
	{ SNAPSHOT, { .nr = SYS_getppid } },
	{ SNAPSHOT, { .nr = SYS_gettid } },
	{ SNAPSHOT, { .nr = SYS_kcmp } },
	{ SNAPSHOT,
	  { .nr = SYS_mmap,
	    .args = { 0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS } } },
	{ SNAPSHOT, { .nr = SYS_clone } },
	{ SNAPSHOT | WAKING | THREADS, { .nr = SYS_futex } },
	{ SNAPSHOT, { .nr = SYS_prctl, .args = { PR_SET_NAME } } },
	{ SNAPSHOT, { .nr = SYS_close_range, .args = { 3 } } },
	{ SNAPSHOT | THREADS, { .nr = SYS_close } },
	{ SNAPSHOT, { .nr = SYS_rt_sigaction, .args = { SIGQUIT } } },
	{ SNAPSHOT | PROBE, { .nr = SYS_rt_sigprocmask } },
	{ SNAPSHOT, { .nr = SYS_rt_sigreturn } },
	{ SNAPSHOT, { .nr = SYS_rt_tgsigqueueinfo } },
	{ SNAPSHOT, { .nr = SYS_tgkill } },
	{ SNAPSHOT | THREADS, { .nr = SYS_openat, .args = { (uint32_t)AT_FDCWD } } },
	{ SNAPSHOT, { .nr = SYS_getdents64 } },
	{ SNAPSHOT, { .nr = SYS_lseek } },
	{ SNAPSHOT | THREADS, { .nr = SYS_read } },
	{ SNAPSHOT, { .nr = SYS_fstat } },
	{ SNAPSHOT, { .nr = SYS_newfstatat, .args = { (uint32_t)AT_FDCWD } } },
	{ SNAPSHOT, { .nr = SYS_mprotect } },
	{ SNAPSHOT, { .nr = SYS_fcntl } },
	{ SNAPSHOT, { .nr = SYS_ppoll } },
	{ SNAPSHOT, { .nr = SYS_rt_sigtimedwait } },
	{ SNAPSHOT, { .nr = SYS_write, .args = { STDERR_FILENO } } },
	{ SNAPSHOT, { .nr = SYS_wait4 } },
	{ SNAPSHOT | THREADS, { .nr = SYS_exit } },
#if defined(__x86_64__)
	{ SNAPSHOT, { .nr = SYS_arch_prctl } },
#endif
	{ PROBE, { .nr = SYS_sigaltstack } },
	{ CLOCK, { .nr = SYS_clock_gettime, .args = { CLOCK_THREAD_CPUTIME_ID } } },
	{ THREADS, { .nr = SYS_write, .args = { ANY_FILE } } },
};

struct request {
	const struct sock_fprog *filter; // NULL: only read(), write() and exit() are left
	bool is_of_all;                  // threads
	bool gives_descriptor;
	bool is_dispatch; // of this thread's calls to a handler of SIGSYS, while a byte says so
};

static bool is_request(long number, const long *arguments, struct request *request)
{
	bool is_prctl = number == SYS_prctl && arguments[0] == PR_SET_SECCOMP;
	bool is_seccomp = number == SYS_seccomp;
	long flags = is_seccomp ? arguments[1] : 0;

	*request = (struct request){
		.is_of_all = flags & SECCOMP_FILTER_FLAG_TSYNC,
		.gives_descriptor = flags & SECCOMP_FILTER_FLAG_NEW_LISTENER,
	};
	if ((is_prctl && arguments[1] == SECCOMP_MODE_STRICT) ||
	    (is_seccomp && arguments[0] == SECCOMP_SET_MODE_STRICT))
		return true;
	request->is_dispatch = number == SYS_prctl && arguments[0] == PR_SET_SYSCALL_USER_DISPATCH;
	if (request->is_dispatch)
		return arguments[1] == PR_SYS_DISPATCH_ON;
	request->filter = (const struct sock_fprog *)arguments[2];
	return request->filter && ((is_prctl && arguments[1] == SECCOMP_MODE_FILTER) ||
				   (is_seccomp && arguments[0] == SECCOMP_SET_MODE_FILTER));
}

// An error is fine: then there is no snapshot, and a line says why.
static bool is_allowed(const struct sock_fprog *filter, struct seccomp_data call)
{
	uint32_t action;

	call.arch = MACHINE;
	action = heapsnap_filter_run(filter, &call) & SECCOMP_RET_ACTION_FULL;
	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_ERRNO ||
	       action == SECCOMP_RET_LOG;
}

// True if the program can end by its last thread alone, so that none of ours may be left.
static bool ends_by_thread(const struct request *request)
{
	return !request->filter ||
	       !is_allowed(request->filter, (struct seccomp_data){ .nr = SYS_exit_group });
}

// @return enum heapsnap_need. The filter can be read
static uint32_t judge(const struct request *request)
{
	uint32_t needs = request->filter ? 0 : ALL_NEEDS;

	// The byte may change at any time, and a call of ours in a handler, where SIGSYS is blocked, would be the end.
	if (request->is_dispatch)
		return needs & ~(uint32_t)HEAPSNAP_NEED_THREADS;
	for (size_t i = 0; request->filter && i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (!is_allowed(request->filter, calls[i].data))
			needs |= calls[i].needs;
	}
	if (ends_by_thread(request))
		return needs | HEAPSNAP_NEED_THREADS;
	return request->is_of_all ? needs : needs & ~(uint32_t)HEAPSNAP_NEED_THREADS;
}

// The kernel will say what is wrong with one that cannot be read.
static bool can_be_read(const struct sock_fprog *filter)
{
	return heapsnap_is_readable(filter, sizeof(*filter)) &&
	       heapsnap_is_readable(filter->filter, filter->len * sizeof(*filter->filter));
}

// --- installing one --------------------------------------------------------------------

// A child of vfork() has the memory of its parent, which goes on without the filter. Where a snapshot
// is forbidden already there is nothing to be noted of the filter.
static bool is_of_vfork_child(void)
{
	return !heapsnap_sandbox_forbids_snapshots() && heapsnap_owner_pid() != 0 &&
	       !heapsnap_is_owner();
}

// Waits until no thread is in the midst of what is forbidden from now on.
static void await_others(void)
{
	uint64_t until = heapsnap_monotonic_ns() + PATIENCE_NS;
	uint32_t count;

	while ((count = __atomic_load_n(inside, __ATOMIC_SEQ_CST)) != 0 &&
	       heapsnap_monotonic_ns() < until)
		heapsnap_futex_wait(inside, count, LOOK_NS);
}

// Before the filter is installed: other threads may be bound by it before this one goes on, and those that take a snapshot
// have this one make calls in a handler.
// @return needs that were not forbidden before
static uint32_t note(uint32_t needs)
{
	uint32_t before = __atomic_fetch_or(&forbidden, needs, __ATOMIC_SEQ_CST);
	uint32_t added = needs & ~before;

	if (added != 0 && heapsnap_owner_pid() != 0)
		await_others();
	if (added & HEAPSNAP_NEED_SNAPSHOT && heapsnap_owner_pid() != 0)
		heapsnap_announce_sandbox();
	for (int i = 0; i < MAX_HOOKS && hooks[i] && added != 0; i++)
		hooks[i]();
	return added;
}

static bool is_installed(const struct request *request, long result)
{
	// With SECCOMP_FILTER_FLAG_TSYNC a thread that stands in the way is the answer.
	return request->gives_descriptor ? result >= 0 : result == 0;
}

static long call_next(heapsnap_system_call *next, long number, const long *a)
{
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

long heapsnap_sandbox_call(heapsnap_system_call *next, long number, const long *arguments)
{
	struct request request;
	uint32_t needs = ALL_NEEDS, added;
	enum heapsnap_handler handler = heapsnap_announcement.handler;
	long result;

	if (!is_request(number, arguments, &request))
		return call_next(next, number, arguments);
	if (!heapsnap_sandbox_forbids(HEAPSNAP_NEED_PROBE)) {
		if ((request.filter && !can_be_read(request.filter)) || is_of_vfork_child())
			return call_next(next, number, arguments);
		needs = judge(&request);
	}
	added = note(needs | RESTRICTED);
	result = call_next(next, number, arguments);
	if (!is_installed(&request, result)) {
		__atomic_and_fetch(&forbidden, ~added, __ATOMIC_ACQ_REL);
		if (added & HEAPSNAP_NEED_SNAPSHOT)
			heapsnap_announce_handler(handler);
	}
	return result;
}

// --- inheriting one ----------------------------------------------------------------------

static uint64_t number_in(const char *text, const char *name, uint64_t otherwise)
{
	const char *value = heapsnap_find_line(text, name);

	while (value && (*value == ' ' || *value == '\t'))
		value++;
	return value ? heapsnap_parse_decimal(value) : otherwise;
}

// @return UINT64_MAX if that cannot be known
static uint64_t count_filters(const char *status)
{
	uint64_t mode = number_in(status, "Seccomp:", UINT64_MAX);

	if (mode == 0 || mode == UINT64_MAX)
		return mode;
	return number_in(status, "Seccomp_filters:", 1); // from Linux 5.9
}

// The last number of a line.
static uint32_t last_number(const char *line)
{
	uint64_t value = 0;

	for (; line && *line && *line != '\n'; line++) {
		if (*line >= '0' && *line <= '9')
			value = value * 10 + (uint64_t)(*line - '0');
		else
			value = 0;
	}
	return (uint32_t)value;
}

bool heapsnap_sandbox_inherit(uint32_t *pid)
{
	// The filters that bind heapsnap run as well, and with it a whole container or service.
	const char *usual = getenv("HEAPSNAP_RUN_FILTERS");
	char text[STATUS_BYTES];
	uint64_t count;

	if (!usual || heapsnap_read_file("/proc/self/status", text, sizeof(text)) <= 0)
		return false;
	*pid = last_number(heapsnap_find_line(text, "NSpid:"));
	count = count_filters(text);
	if (count == 0 || count == UINT64_MAX || count <= heapsnap_parse_decimal(usual))
		return false;
	__atomic_fetch_or(&forbidden, ALL_NEEDS | RESTRICTED, __ATOMIC_ACQ_REL);
	return true;
}
