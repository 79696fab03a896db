// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Stacks that are hard to walk: recursion, a callback from libc, an inlined function, a
 * frame of variable size, a signal handler, a thread that sleeps, one in a leaf function. Each
 * frame that matters holds a block that nothing else knows. t/end-to-end/stacks.t compiles it in many ways.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

struct main_block {
	int number;
};
struct recursion_block {
	int depth;
};
struct inlined_block {
	int number;
	double value;
};
struct handler_block {
	long number;
};
struct sleeper_block {
	char text[40];
};
struct spinner_block {
	long number[9];
};

static volatile int sink;
static volatile pid_t napping; // the thread that is about to sleep
static volatile unsigned long spins;
static volatile bool stop;     // never
static void *volatile escaped; // so that compilers cannot do without the blocks

static NOINLINE void *make(size_t size)
{
	void *block = malloc(size);

	escaped = block;
	escaped = NULL;
	return block;
}

static NOINLINE void wait_for_input(void)
{
	char byte;

	puts("ready");
	fflush(stdout);
	sink = (int)read(0, &byte, 1);
}

static void handle(int number)
{
	struct handler_block *in_handler = make(sizeof(*in_handler));

	in_handler->number = number;
	wait_for_input();
	sink = (int)in_handler->number;
	free(in_handler);
}

static inline __attribute__((always_inline)) int compare_inlined(const int *a, const int *b)
{
	struct inlined_block *in_inlined = make(sizeof(*in_inlined));
	static int once;
	int result = *a - *b;

	in_inlined->number = result;
	if (!once++)
		raise(SIGUSR1);
	result = in_inlined->number;
	free(in_inlined);
	return result;
}

static int compare(const void *a, const void *b)
{
	return compare_inlined(a, b);
}

static NOINLINE void sort(int size)
{
	int *numbers = alloca(size * sizeof(*numbers));

	for (int i = 0; i < size; i++)
		numbers[i] = size - i;
	qsort(numbers, size, sizeof(*numbers), compare);
	sink = numbers[0];
}

static NOINLINE void recurse(int depth)
{
	struct recursion_block *in_recursion = make(sizeof(*in_recursion));

	in_recursion->depth = depth;
	if (depth > 0)
		recurse(depth - 1);
	else
		sort(sink + 8);
	sink = in_recursion->depth;
	free(in_recursion);
}

static NOINLINE void nap(struct sleeper_block *in_nap)
{
	struct timespec long_time = { 1000, 0 };

	strcpy(in_nap->text, "asleep");
	napping = gettid();
	nanosleep(&long_time, NULL);
	sink = in_nap->text[0];
}

static void *sleep_for_ever(void *unused)
{
	struct sleeper_block *in_sleeper = make(sizeof(*in_sleeper));
	sigset_t all;

	sigfillset(&all);
	sigdelset(&all, SIGQUIT);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	nap(in_sleeper);
	free(in_sleeper);
	return unused;
}

// On aarch64 it needs no frame: its stack pointer is its caller's. To gcc that caller must not know
// which registers it leaves alone, or its variable is in one of those that calls lose.
#if __has_attribute(noipa)
__attribute__((noipa))
#else
NOINLINE
#endif
static void
spin(void)
{
	while (!stop)
		spins++;
}

static void *spin_for_ever(void *unused)
{
	struct spinner_block *in_spinner = make(sizeof(*in_spinner));

	in_spinner->number[0] = 1;
	spin();
	sink = (int)in_spinner->number[0];
	free(in_spinner);
	return unused;
}

// It blocks the signal that stops threads, so it must be asleep before anybody captures it.
static void wait_until_asleep(void)
{
	char path[64], state = 0;

	while (state != 'S') {
		FILE *file;

		usleep(1000);
		snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)napping);
		file = fopen(path, "r");
		if (file && fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
			state = 0;
		if (file)
			fclose(file);
	}
}

// The handler's stack, above or below that of the interrupted function.
static void install_handler(bool has_own_stack)
{
	struct sigaction action = { .sa_handler = handle };

	if (has_own_stack) {
		size_t size = 1 << 16;
		stack_t stack = { .ss_size = size };

		stack.ss_sp = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);
		sigaltstack(&stack, NULL);
		action.sa_flags = SA_ONSTACK;
	}
	sigaction(SIGUSR1, &action, NULL);
}

int main(int argc, char **argv)
{
	(void)argv;

	struct main_block *in_main = make(sizeof(*in_main));
	pthread_t thread;

	in_main->number = 1;
	setvbuf(stdout, NULL, _IONBF, 0);
	install_handler(argc > 1);
	pthread_create(&thread, NULL, sleep_for_ever, NULL);
	wait_until_asleep();
	pthread_create(&thread, NULL, spin_for_ever, NULL);
	while (spins == 0)
		usleep(1000);
	recurse(10);
	printf("done %d\n", in_main->number);
	free(in_main);
	return 0;
}
