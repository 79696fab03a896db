// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/host/signals.h"

#include "dumper/host/announce.h"
#include "dumper/host/go_runtime.h"
#include "dumper/heapsnap.h"
#include "dumper/base/process.h"
#include "dumper/base/report.h"
#include "dumper/host/next_function.h"
#include "dumper/host/sandbox.h"
#include "dumper/base/settings.h"
#include "dumper/base/signal_names.h"
#include "dumper/base/system.h"
#include "dumper/base/owner.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/signalfd.h>
#include <ucontext.h>

typedef void (*simple_handler)(int number);

// Not every libc declares these.
int __sigaction(int number, const struct sigaction *action, struct sigaction *before);
simple_handler bsd_signal(int number, simple_handler handler);
simple_handler ssignal(int number, simple_handler handler);
simple_handler sysv_signal(int number, simple_handler handler);
simple_handler __sysv_signal(int number, simple_handler handler);
simple_handler sigset(int number, simple_handler handler);
int sigignore(int number);

static const simple_handler HOLD = (simple_handler)2; // SIG_HOLD: sigset() blocks the signal

static struct claim {
	heapsnap_signal_handler *handler; // ours; NULL: the signal is not claimed
	struct sigaction seen;            // by the program while ours stands
	bool asked_for_default;           // by the program
} claims[NSIG];

static bool is_waited_for;

// libc's functions, or those of a library between us and libc.
static struct {
	int (*sigaction)(int, const struct sigaction *, struct sigaction *);
	simple_handler (*signal)(int, simple_handler);
	simple_handler (*sysv_signal)(int, simple_handler);
	simple_handler (*sigset)(int, simple_handler);
	int (*sigwait)(const sigset_t *, int *);
	int (*sigwaitinfo)(const sigset_t *, siginfo_t *);
	int (*sigtimedwait)(const sigset_t *, siginfo_t *, const struct timespec *);
	int (*signalfd)(int, const sigset_t *, int);
} next;

void heapsnap_signals_init(void)
{
	if (next.signalfd)
		return;
	heapsnap_find_next(&next.sigaction, "sigaction");
	heapsnap_find_next(&next.signal, "signal");
	heapsnap_find_next(&next.sysv_signal, "__sysv_signal");
	heapsnap_find_next(&next.sigset, "sigset");
	heapsnap_find_next(&next.sigwait, "sigwait");
	heapsnap_find_next(&next.sigwaitinfo, "sigwaitinfo");
	heapsnap_find_next(&next.sigtimedwait, "sigtimedwait");
	heapsnap_find_next(&next.signalfd, "signalfd");
}

// NULL if the signal is not claimed.
static struct claim *find_claim(int number)
{
	if (number <= 0 || number >= NSIG ||
	    !__atomic_load_n(&claims[number].handler, __ATOMIC_ACQUIRE))
		return NULL;
	return &claims[number];
}

// --- what the library does itself ----------------------------------------------------

/*
 * By system call: a sanitizer's runtime, or libjsig, has a sigaction() that tells another truth than
 * the kernel's.
 */

// The kernel's struct sigaction.
struct kernel_action {
	heapsnap_signal_handler *handler;
	unsigned long flags;
	void (*restorer)(void);
	heapsnap_signals mask;
};

#if defined(__x86_64__)
enum {
	RESTORER = 0x04000000, // SA_RESTORER
};

void heapsnap_restorer(void);

// As libc's, byte by byte: debuggers and unwinders know the frame of a signal by these.
__asm__(".text\n"
	".balign 16\n\t"
	"nop\n" // unwinders look for the function of the byte before a return address
	".hidden heapsnap_restorer\n"
	".globl heapsnap_restorer\n"
	".type heapsnap_restorer, @function\n"
	"heapsnap_restorer:\n\t"
	"mov $15, %rax\n\t" // SYS_rt_sigreturn
	"syscall\n"
	".size heapsnap_restorer, . - heapsnap_restorer\n");
#else
enum {
	RESTORER = 0, // the vDSO has it
};

#define heapsnap_restorer NULL
#endif

static const heapsnap_signals ALL_SIGNALS = ~UINT64_C(0);

static bool kernel_action(int number, const struct kernel_action *action,
			  struct kernel_action *before)
{
	return HEAPSNAP_SYSTEM_4(SYS_rt_sigaction, number, action, before,
				 sizeof(heapsnap_signals)) == 0;
}

static bool install(int number, heapsnap_signal_handler *handler, heapsnap_signals mask)
{
	struct kernel_action action = { .handler = handler,
					.flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK | RESTORER,
					.restorer = heapsnap_restorer,
					.mask = mask };

	return kernel_action(number, &action, NULL);
}

bool heapsnap_signals_claim(int number, heapsnap_signal_handler *handler, bool over_ignored)
{
	struct claim *claim = &claims[number];
	struct kernel_action present;

	if (!kernel_action(number, NULL, &present))
		return false;
	if (present.handler == handler)
		return true;
	if (present.handler != (void *)SIG_DFL &&
	    !(over_ignored && present.handler == (void *)SIG_IGN))
		return false;
	memset(&claim->seen, 0, sizeof(claim->seen));
	claim->seen.sa_sigaction = present.handler;
	claim->seen.sa_flags = (int)(present.flags & ~(unsigned long)RESTORER);
	memcpy(&claim->seen.sa_mask, &present.mask, sizeof(present.mask));
	__atomic_store_n(&claim->asked_for_default, false, __ATOMIC_RELAXED);
	__atomic_store_n(&claim->handler, handler, __ATOMIC_RELEASE);
	return install(number, handler, ALL_SIGNALS);
}

void heapsnap_signals_drop(int number)
{
	struct kernel_action action = { .handler = (void *)SIG_DFL };

	kernel_action(number, &action, NULL);
}

static bool does_nothing_by_default(int number)
{
	return number == SIGCHLD || number == SIGCONT || number == SIGURG || number == SIGWINCH;
}

heapsnap_signals heapsnap_signals_ignored(void)
{
	heapsnap_signals ignored = 0;
	struct kernel_action present;

	for (int number = 1; number < NSIG; number++) {
		if (kernel_action(number, NULL, &present) &&
		    (present.handler == (void *)SIG_IGN ||
		     (present.handler == (void *)SIG_DFL && does_nothing_by_default(number))))
			ignored |= UINT64_C(1) << (number - 1);
	}
	return ignored;
}

void heapsnap_signals_block(heapsnap_signals *before)
{
	heapsnap_signals mask = ~heapsnap_signals_ignored();

	HEAPSNAP_SYSTEM_4(SYS_rt_sigprocmask, SIG_BLOCK, &mask, before, sizeof(mask));
}

void heapsnap_signals_let_ignored(const void *context)
{
	heapsnap_signals mask;

	memcpy(&mask, &((const ucontext_t *)context)->uc_sigmask, sizeof(mask));
	mask |= ~heapsnap_signals_ignored();
	heapsnap_restore_signals(&mask);
}

void heapsnap_signals_open(int number)
{
	const struct claim *claim = find_claim(number);

	if (claim)
		install(number, claim->handler, ~heapsnap_signals_ignored());
}

// True if the process has sent itself a signal, or arranged for it: a timer, a queue of messages, input.
static bool is_by_itself(const siginfo_t *info, long pid)
{
	switch (info->si_code) {
	case SI_USER:
	case SI_TKILL:
	case SI_QUEUE:
		return info->si_pid == (int)pid;
	case SI_TIMER:
	case SI_MESGQ:
	case SI_ASYNCIO:
	case SI_SIGIO:
		return true;
	default:
		return false;
	}
}

bool heapsnap_signals_take_default(int number, const siginfo_t *info)
{
	const struct claim *claim = find_claim(number);
	long pid = heapsnap_system(SYS_getpid, 0, 0, 0, 0, 0, 0);

	if (!claim || !__atomic_load_n(&claim->asked_for_default, __ATOMIC_RELAXED) ||
	    !is_by_itself(info, pid))
		return false;
	if (does_nothing_by_default(number))
		return true;
	// Blocked as long as the handler runs.
	heapsnap_signals_drop(number);
	HEAPSNAP_SYSTEM_4(SYS_rt_tgsigqueueinfo, pid, heapsnap_system(SYS_gettid, 0, 0, 0, 0, 0, 0),
			  number, info);
	return true;
}

// --- telling -------------------------------------------------------------------------

static void say(enum heapsnap_handler handler)
{
	static bool has_said;
	char text[96];
	char *at = text;
	const char *end = text + sizeof(text);

	if ((handler != HEAPSNAP_HANDLER_REPLACED && handler != HEAPSNAP_HANDLER_WAITED) ||
	    __atomic_exchange_n(&has_said, true, __ATOMIC_RELAXED) ||
	    !heapsnap_settings.tells_handlers || heapsnap_is_sandboxed() || heapsnap_is_go() ||
	    heapsnap_report_would_disturb())
		return;
	at = heapsnap_format_text(at, end,
				  handler == HEAPSNAP_HANDLER_WAITED
					  ? "the program waits itself for "
					  : "the program has installed a handler of its own for ");
	heapsnap_format_signal(at, end, heapsnap_settings.signal);
	heapsnap_report(NULL, text,
			"; for snapshots by signal start it with --signal and another one");
}

static void announce(enum heapsnap_handler handler)
{
	if (heapsnap_sandbox_forbids_snapshots())
		return; // this has been announced
	if (handler == HEAPSNAP_HANDLER_OURS && __atomic_load_n(&is_waited_for, __ATOMIC_RELAXED))
		handler = HEAPSNAP_HANDLER_WAITED;
	// Its runtime sets itself up after the library, and may do so at any time. The answer is the
	// same before and after.
	if ((handler == HEAPSNAP_HANDLER_OURS || handler == HEAPSNAP_HANDLER_REPLACED) &&
	    heapsnap_go_takes(heapsnap_settings.signal))
		handler = HEAPSNAP_HANDLER_UNSURE;
	heapsnap_announce_handler(handler);
	say(handler);
}

void heapsnap_signals_look(void)
{
	int number = heapsnap_settings.signal;
	const struct claim *claim = find_claim(number);
	struct kernel_action present;

	if (!heapsnap_freezes() || !claim || !kernel_action(number, NULL, &present))
		return;
	if (present.handler == claim->handler)
		announce(HEAPSNAP_HANDLER_OURS);
	else if (present.handler == (void *)SIG_IGN)
		announce(HEAPSNAP_HANDLER_IGNORED);
	else if (present.handler == (void *)SIG_DFL)
		announce(HEAPSNAP_HANDLER_DEFAULT);
	else
		announce(HEAPSNAP_HANDLER_REPLACED);
}

// --- what the program does -----------------------------------------------------------

// Asks the kernel, which a sandbox may not allow.
static bool is_own_process(void)
{
	return !heapsnap_sandbox_forbids_snapshots() && heapsnap_is_owner();
}

void heapsnap_signals_changed(int number)
{
	if (number == heapsnap_settings.signal && is_own_process())
		heapsnap_signals_look();
}

// The action that the program is shown where the kernel has @p action.
static void translate(const struct claim *claim, struct sigaction *action)
{
	if (action->sa_sigaction == claim->handler)
		*action = claim->seen;
}

// True if the program's request for SIG_DFL is answered by our handler. A child of vfork() has its
// own actions, but our memory is its parent's.
static bool takes_back(const struct sigaction *action)
{
	return action->sa_handler == SIG_DFL && is_own_process();
}

static int set_default(int number, struct claim *claim, const struct sigaction *action)
{
	claim->seen = *action;
	__atomic_store_n(&claim->asked_for_default, true, __ATOMIC_RELAXED);
	return install(number, claim->handler, ALL_SIGNALS) ? 0 : -1;
}

static int set_action(int number, const struct sigaction *action, struct sigaction *before)
{
	struct claim *claim = find_claim(number);
	struct sigaction present;
	int result;

	if (!next.sigaction)
		heapsnap_signals_init();
	if (!claim)
		return next.sigaction(number, action, before);
	if (!action || takes_back(action)) {
		if (next.sigaction(number, NULL, &present) != 0)
			return -1;
		translate(claim, &present);
		result = action ? set_default(number, claim, action) : 0;
	} else {
		result = next.sigaction(number, action, &present);
		if (result == 0)
			translate(claim, &present);
	}
	if (result == 0 && before)
		*before = present;
	if (action)
		heapsnap_signals_changed(number);
	return result;
}

// By a function that takes a handler alone.
static simple_handler set_handler(int number, simple_handler handler, int flags,
				  simple_handler (*function)(int, simple_handler))
{
	struct claim *claim = find_claim(number);
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags }, before;
	simple_handler result;

	if (claim && handler == SIG_DFL)
		return set_action(number, &action, &before) == 0 ? before.sa_handler : SIG_ERR;
	result = function(number, handler);
	if (!claim)
		return result;
	if ((void *)result == (void *)claim->handler)
		result = claim->seen.sa_handler;
	heapsnap_signals_changed(number);
	return result;
}

HEAPSNAP_API int sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
	return set_action(number, action, before);
}

HEAPSNAP_API int __sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
	return set_action(number, action, before);
}

HEAPSNAP_API simple_handler signal(int number, simple_handler handler)
{
	heapsnap_signals_init();
	return set_handler(number, handler, SA_RESTART, next.signal);
}

HEAPSNAP_API simple_handler bsd_signal(int number, simple_handler handler)
{
	return signal(number, handler);
}

HEAPSNAP_API simple_handler ssignal(int number, simple_handler handler)
{
	return signal(number, handler);
}

HEAPSNAP_API simple_handler sysv_signal(int number, simple_handler handler)
{
	heapsnap_signals_init();
	return set_handler(number, handler, (int)(SA_RESETHAND | SA_NODEFER), next.sysv_signal);
}

HEAPSNAP_API simple_handler __sysv_signal(int number, simple_handler handler)
{
	return sysv_signal(number, handler);
}

// Besides it unblocks the signal, and says if it was blocked.
HEAPSNAP_API simple_handler sigset(int number, simple_handler handler)
{
	sigset_t one, before;
	simple_handler result;

	heapsnap_signals_init();
	if (handler != SIG_DFL || !find_claim(number))
		return set_handler(number, handler, 0, next.sigset);
	result = set_handler(number, handler, 0, next.sigset);
	sigemptyset(&one);
	sigaddset(&one, number);
	if (result == SIG_ERR || sigprocmask(SIG_UNBLOCK, &one, &before) != 0)
		return SIG_ERR;
	return sigismember(&before, number) ? HOLD : result;
}

HEAPSNAP_API int sigignore(int number)
{
	struct sigaction action = { .sa_handler = SIG_IGN };

	return set_action(number, &action, NULL);
}

// --- receiving signals without a handler ---------------------------------------------

static void note_wait(const sigset_t *set)
{
	int number = heapsnap_settings.signal;
	int before = errno;

	heapsnap_signals_init();
	if (!__atomic_load_n(&is_waited_for, __ATOMIC_RELAXED) && find_claim(number) && set &&
	    sigismember(set, number) == 1 && is_own_process()) {
		__atomic_store_n(&is_waited_for, true, __ATOMIC_RELAXED);
		heapsnap_signals_look();
	}
	errno = before;
}

HEAPSNAP_API int sigwait(const sigset_t *set, int *number)
{
	note_wait(set);
	return next.sigwait(set, number);
}

HEAPSNAP_API int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	note_wait(set);
	return next.sigwaitinfo(set, info);
}

HEAPSNAP_API int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	note_wait(set);
	return next.sigtimedwait(set, info, timeout);
}

HEAPSNAP_API int signalfd(int descriptor, const sigset_t *set, int flags)
{
	note_wait(set);
	return next.signalfd(descriptor, set, flags);
}
