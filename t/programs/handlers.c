// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Programs with a mind of their own about SIGQUIT, each by the name that t/capture/handlers.t
 * gives. All output must be the same with and without the library, but for lines of "state:",
 * which only the library's announcement gives.
 */
// CFLAGS: -D_GNU_SOURCE -Wno-deprecated-declarations
#include "dumper/host/announce.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void (*simple_handler)(int number);

simple_handler bsd_signal(int number, simple_handler handler);
simple_handler ssignal(int number, simple_handler handler);
simple_handler sysv_signal(int number, simple_handler handler);
simple_handler __sysv_signal(int number, simple_handler handler);
int __sigaction(int number, const struct sigaction *action, struct sigaction *before);

static int got;

static void state(void)
{
	static const char *const words[] = { "none",    "ours",    "earlier", "replaced",
					     "ignored", "default", "waited",  "unsure" };
	const struct heapsnap_announcement *all = dlsym(RTLD_DEFAULT, "heapsnap_announcement");

	if (all)
		printf("state: %s%s\n", words[all->handler],
		       all->pid == (uint32_t)getpid() ? "" : ", of another process");
	fflush(stdout);
}

static void own(int number)
{
	got = number;
}

static const char *name(simple_handler handler)
{
	return handler == SIG_DFL   ? "default"
	       : handler == SIG_IGN ? "ignored"
	       : handler == SIG_ERR ? "error"
	       : handler == own     ? "own"
				    : "another";
}

static void show(const char *what, simple_handler handler)
{
	printf("%s: %s\n", what, name(handler));
	fflush(stdout);
}

static void look(const char *what)
{
	struct sigaction action;

	memset(&action, 0xee, sizeof(action));
	sigaction(SIGQUIT, NULL, &action);
	printf("%s: %s, flags %x, blocks %d\n", what, name(action.sa_handler),
	       (unsigned)action.sa_flags & ~0x04000000u, sigismember(&action.sa_mask, SIGUSR1));
	fflush(stdout);
}

static void raise_it(void)
{
	got = 0;
	raise(SIGQUIT);
	printf("got %d\n", got);
	fflush(stdout);
}

// Installs a handler, looks, uses it, and restores what was there.
static void by(const char *what, simple_handler (*function)(int, simple_handler))
{
	simple_handler before = function(SIGQUIT, own);

	show(what, before);
	look("now");
	state();
	raise_it();
	show("ignoring", function(SIGQUIT, SIG_IGN));
	state();
	raise_it();
	show("restoring", function(SIGQUIT, before));
	look("now");
	state();
}

static void by_functions(void)
{
	by("signal", signal);
	by("bsd_signal", bsd_signal);
	by("ssignal", ssignal);
	by("sysv_signal", sysv_signal);
	by("__sysv_signal", __sysv_signal);
	by("sigset", sigset);
}

static void by_sigaction(int (*function)(int, const struct sigaction *, struct sigaction *))
{
	struct sigaction action = { .sa_handler = own, .sa_flags = SA_NODEFER }, before, second;

	sigaddset(&action.sa_mask, SIGUSR1);
	look("first");
	function(SIGQUIT, &action, &before);
	show("before", before.sa_handler);
	look("now");
	state();
	raise_it();
	function(SIGQUIT, &before, &second);
	show("second", second.sa_handler);
	look("now");
	state();
}

static void by_sigactions(void)
{
	by_sigaction(sigaction);
	by_sigaction(__sigaction);
}

// As most programs have it: a shell has signals ignored in the background.
static void unless_ignored(void)
{
	if (signal(SIGQUIT, SIG_IGN) != SIG_IGN)
		signal(SIGQUIT, own);
	look("now");
	state();
}

static void if_default(void)
{
	struct sigaction present;

	sigaction(SIGQUIT, NULL, &present);
	if (present.sa_handler == SIG_DFL)
		signal(SIGQUIT, own);
	look("now");
	state();
}

static void sigignore_it(void)
{
	sigignore(SIGQUIT);
	look("now");
	state();
	raise_it();
}

// Blocked by sigset(), which says so.
static void hold(void)
{
	show("hold", sigset(SIGQUIT, SIG_HOLD));
	show("release", sigset(SIGQUIT, SIG_DFL));
	show("again", sigset(SIGQUIT, SIG_DFL));
	state();
}

static void one_shot(void)
{
	sysv_signal(SIGQUIT, own);
	raise_it();
	look("now");
}

static void wrong(void)
{
	struct sigaction action = { .sa_handler = own };

	printf("%d %d\n", sigaction(0, &action, NULL), errno);
	printf("%d %d\n", sigaction(99, &action, NULL), errno);
	printf("%d %d\n", sigaction(SIGKILL, &action, NULL), errno);
	show("signal", signal(99, own));
	show("signal", signal(SIGQUIT, SIG_ERR));
	state();
}

// All signals back to what they were, as daemons do first.
static void reset_all(void)
{
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	look("now");
	state();
}

static void die(void)
{
	signal(SIGQUIT, SIG_DFL);
	raise(SIGQUIT);
	printf("lives\n");
}

static void own_and_die(int number)
{
	signal(number, SIG_DFL);
	kill(getpid(), number);
}

static void die_in_handler(void)
{
	signal(SIGQUIT, own_and_die);
	raise(SIGQUIT);
	printf("lives\n");
}

static void *kill_thread(void *thread)
{
	pthread_kill(*(pthread_t *)thread, SIGQUIT);
	return NULL;
}

static void die_of_thread(void)
{
	pthread_t self = pthread_self(), other;

	signal(SIGQUIT, SIG_DFL);
	pthread_create(&other, NULL, kill_thread, &self);
	pthread_join(other, NULL);
	printf("lives\n");
}

// By an order of its own, which comes back as a signal.
static void die_of_queue(void)
{
	signal(SIGQUIT, SIG_DFL);
	sigqueue(getpid(), SIGQUIT, (union sigval){ .sival_int = 5 });
	printf("lives\n");
}

static void die_of_timer(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGQUIT };
	struct itimerspec soon = { .it_value = { .tv_nsec = 10000000 } };
	timer_t timer;

	signal(SIGQUIT, SIG_DFL);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &soon, NULL);
	for (int i = 0; i < 20; i++)
		usleep(100000);
	printf("lives\n");
}

static void forked(void)
{
	int status;

	signal(SIGQUIT, own);
	fflush(stdout);
	if (fork() == 0) {
		state();
		show("child's", signal(SIGQUIT, SIG_DFL));
		state();
		exit(0);
	}
	wait(&status);
	look("parent's");
	state();
}

static void vforked(void)
{
	pid_t child = vfork();
	int status;

	if (child == 0) {
		signal(SIGQUIT, SIG_DFL);
		raise(SIGQUIT);
		_exit(1);
	}
	waitpid(child, &status, 0);
	printf("child died of %d\n", WTERMSIG(status));
	look("parent's");
	state();
	child = vfork();
	if (child == 0) {
		signal(SIGQUIT, SIG_IGN);
		raise(SIGQUIT);
		_exit(1);
	}
	waitpid(child, &status, 0);
	printf("child ended with %d\n", WEXITSTATUS(status));
	look("parent's");
	state();
}

static void waits(void)
{
	struct timespec none = { 0, 0 };
	sigset_t set;
	int number = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	printf("%d\n", sigtimedwait(&set, NULL, &none));
	state();
	sigaddset(&set, SIGQUIT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGQUIT);
	sigwait(&set, &number);
	printf("waited for %d\n", number);
	state();
}

static void reads_signals(void)
{
	struct signalfd_siginfo info = { 0 };
	sigset_t set;
	int file;

	sigemptyset(&set);
	sigaddset(&set, SIGQUIT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	file = signalfd(-1, &set, 0);
	raise(SIGQUIT);
	printf("%zd %u\n", read(file, &info, sizeof(info)), info.ssi_signo);
	state();
}

// Past libc: seen at the library's next look.
static void raw(void)
{
	struct {
		simple_handler handler;
		unsigned long flags;
		void *restorer;
		unsigned long mask;
	} action = { .handler = SIG_IGN };

	syscall(SYS_rt_sigaction, SIGQUIT, &action, NULL, 8);
	for (int i = 0; i < 100; i++) {
		free(malloc(100000));
		usleep(1000);
	}
	look("now");
	state();
	raise_it();
}

static void other_signals(void)
{
	show("SEGV", signal(SIGSEGV, SIG_DFL));
	show("TERM", signal(SIGTERM, own));
	show("TERM", signal(SIGTERM, SIG_DFL));
	show("60", signal(60, own));
	show("60", signal(60, SIG_DFL));
	state();
}

static void sleeps(void)
{
	signal(SIGQUIT, own);
	state();
	printf("ready\n");
	fflush(stdout);
	for (;;)
		pause();
}

static const struct {
	const char *name;
	void (*function)(void);
} ways[] = {
	{ "functions", by_functions },
	{ "sigaction", by_sigactions },
	{ "unless-ignored", unless_ignored },
	{ "if-default", if_default },
	{ "sigignore", sigignore_it },
	{ "hold", hold },
	{ "one-shot", one_shot },
	{ "wrong", wrong },
	{ "reset-all", reset_all },
	{ "die", die },
	{ "die-in-handler", die_in_handler },
	{ "die-of-thread", die_of_thread },
	{ "die-of-queue", die_of_queue },
	{ "die-of-timer", die_of_timer },
	{ "fork", forked },
	{ "vfork", vforked },
	{ "wait", waits },
	{ "signalfd", reads_signals },
	{ "raw", raw },
	{ "other", other_signals },
	{ "sleep", sleeps },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (argc > 1 && strcmp(argv[1], ways[i].name) == 0)
			ways[i].function();
	}
	return 0;
}
