// SPDX-License-Identifier: GPL-3.0-or-later
// CFLAGS: -O2 -fno-builtin-malloc
/*
 * Allocates along a known history, one per argument, and prints what there was of it exactly:
 * "NAME FIGURE" lines.
 */
#include "dumper/heapsnap.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))
#define STAY() __asm__ volatile("" ::: "memory")

enum {
	MANY = 40000,
};

static char *blocks[MANY];
static struct timespec start;

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start.tv_sec) * 1e3 +
	       (double)(now.tv_nsec - start.tv_nsec) / 1e6;
}

static double later(double first, double second)
{
	return first > second ? first : second;
}

// --- allocating -----------------------------------------------------------------

APART char *make_small(void)
{
	char *block = malloc(100);

	STAY();
	return block;
}

APART char *make_medium(void)
{
	char *block = malloc(3000);

	STAY();
	return block;
}

APART char *make_large(void)
{
	char *block = malloc(100000);

	STAY();
	return block;
}

// Each block dies before the next is born.
static void steady(void)
{
	for (int i = 0; i < MANY; i++) {
		free(make_small());
		if (i % 10 == 0)
			free(make_medium());
		if (i % 1000 == 0)
			free(make_large());
	}
	printf("make_small %d\nmake_medium %d\nmake_large %d\n", MANY * 100, MANY / 10 * 3000,
	       MANY / 1000 * 100000);
}

static void leak(void)
{
	for (int i = 0; i < MANY / 4; i++)
		blocks[i] = i % 2 ? make_small() : make_medium();
	for (int i = 1; i < MANY / 4; i += 2)
		free(blocks[i]);
	printf("leaked %d\n", MANY / 8 * 3000);
}

// 300 blocks of 100000 bytes are there in the middle, and at the end a tenth of them.
static void peak(void)
{
	for (int i = 0; i < 300; i++)
		blocks[i] = make_large();
	usleep(100000);
	blocks[300] = make_large();
	printf("peak_ms %.0f\n", now_ms());
	usleep(100000);
	for (int i = 30; i <= 300; i++)
		free(blocks[i]);
	usleep(100000);
	printf("peak %d\nend %d\n", 301 * 100000, 30 * 100000);
}

// A queue that is emptied half as fast as it is filled.
static void backlog(void)
{
	const char *wanted = getenv("PACE_MS");
	unsigned pace_ms = wanted ? (unsigned)atoi(wanted) : 1;
	int head = 0, tail = 0;
	double step = now_ms(), late = 0;

	while (head < 2000) {
		blocks[head++] = make_medium();
		if (head % 2 == 0)
			free(blocks[tail++]);
		if (head % 10 == 0) {
			usleep(pace_ms * 1000);
			late = later(late, now_ms() - step - pace_ms);
			step = now_ms();
		}
	}
	while (tail < head)
		free(blocks[tail++]);
	printf("make_medium %d\nlate_ms %.0f\n", 2000 * 3000, late);
}

APART void *grow(void *block, size_t size)
{
	void *grown = realloc(block, size);

	STAY();
	return grown;
}

static void doubling(void)
{
	size_t total = 0;

	for (int i = 0; i < 50; i++) {
		void *block = NULL;

		for (size_t size = 1000; size <= 1024000; size *= 2) {
			block = grow(block, size);
			total += size;
		}
		blocks[i] = block;
	}
	printf("grow %zu\nend %d\n", total, 50 * 1024000);
}

static void *consume(void *unused)
{
	for (int i = 0; i < MANY / 4; i++)
		free(blocks[i]);
	return unused;
}

static void across(void)
{
	pthread_t thread;

	for (int i = 0; i < MANY / 4; i++)
		blocks[i] = make_medium();
	pthread_create(&thread, NULL, consume, NULL);
	pthread_join(thread, NULL);
	printf("make_medium %d\n", MANY / 4 * 3000);
}

static void forked(void)
{
	pid_t child;

	for (int i = 0; i < 1000; i++)
		blocks[i] = make_medium();
	fflush(stdout);
	child = fork();
	for (int i = 0; i < 1000; i++) {
		free(blocks[i]);
		if (child == 0)
			blocks[i] = make_small();
	}
	if (child == 0)
		exit(0);
	waitpid(child, NULL, 0);
	printf("make_medium %d\nchild %d\n", 1000 * 3000, (int)child);
}

// The thread that writes waits for an event without a limit of time: it has written all that were.
// Without a block, which would be another one.
static bool is_written(DIR *tasks)
{
	const struct dirent *task;

	rewinddir(tasks);
	while ((task = readdir(tasks))) {
		char path[sizeof(task->d_name) + 16], text[256] = "";
		unsigned long limit;
		long number;
		int file;

		snprintf(path, sizeof(path), "%s/syscall", task->d_name);
		file = openat(dirfd(tasks), path, O_RDONLY | O_CLOEXEC);
		if (file < 0)
			continue;

		ssize_t length = read(file, text, sizeof(text) - 1);

		close(file);
		if (length > 0 && sscanf(text, "%ld %*x %*x %*x %lx", &number, &limit) == 2 &&
		    number == SYS_futex && limit == 0)
			return true;
	}
	return false;
}

static void killed(void)
{
	DIR *tasks = opendir("/proc/self/task");

	for (int i = 0; i < 1000; i++)
		blocks[i] = make_medium();
	usleep(300000);
	for (int i = 0; tasks && i < 6000 && !is_written(tasks); i++)
		usleep(10000);
	printf("make_medium %d\n", 1000 * 3000);
	fflush(stdout);
	make_large();
	raise(SIGKILL);
}

// Traced between two calls only.
static void asked(void)
{
	blocks[0] = make_large();
	HEAPSNAP_CALL(heapsnap_set, "HEAPSNAP_TRACE", "asked.trace");
	free(blocks[0]);
	for (int i = 0; i < 1000; i++)
		blocks[i] = make_medium();
	HEAPSNAP_CALL(heapsnap_set, "HEAPSNAP_TRACE", "");
	for (int i = 0; i < 1000; i++)
		free(blocks[i]);
	printf("make_medium %d\n", 1000 * 3000);
}

// Traced between two signals, twice; what is left is freed in between, or never.
// Without a block: those would be traced. The thread that writes is the only other one.
static bool writer_has_ended(void)
{
	struct stat tasks;

	return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink <= 3;
}

// The thread that writes has made its file, or found that it cannot.
static void await_begin(const struct stat *before)
{
	struct stat now;

	while (stat(".", &now) == 0 && now.st_mtim.tv_sec == before->st_mtim.tv_sec &&
	       now.st_mtim.tv_nsec == before->st_mtim.tv_nsec && !writer_has_ended())
		usleep(1000);
}

static void await_end(void)
{
	while (!writer_has_ended())
		usleep(1000);
}

static void signalled(void)
{
	struct stat before;

	blocks[0] = make_large();
	for (int round = 0; round < 2; round++) {
		usleep(20000); // what changes in a directory soon after another thing has the same time
		stat(".", &before);
		raise(SIGUSR2);
		for (int i = 1; i <= 1000 * (round + 1); i++)
			blocks[i] = make_medium();
		free(blocks[1]);
		free(blocks[0]);
		blocks[0] = NULL;
		await_begin(&before);
		raise(SIGUSR2);
		for (int i = 2; i <= 1000 * (round + 1); i++)
			free(blocks[i]);
		for (int i = 1; i <= 1000; i++)
			make_small();
		await_end();
	}
}

APART void *xmalloc(size_t size)
{
	void *block = malloc(size);

	if (!block)
		abort();
	return block;
}

#define MAKER(name, size) \
	APART void name(void) \
	{ \
		blocks[block_count++] = xmalloc(size); \
		STAY(); \
	}

static int block_count;

MAKER(make_apple, 2001)
MAKER(make_pear, 2002)
MAKER(make_cherry, 2003)
MAKER(make_plum, 2004)
MAKER(make_fig, 2005)

// By a function whose callers choose the size.
static void wrapped(void)
{
	for (int i = 0; i < 100; i++) {
		make_apple();
		make_pear();
		make_cherry();
		make_plum();
		make_fig();
	}
}

static void *make_some(void *id)
{
	for (int i = 0; i < 30; i++)
		blocks[1000 + i] = make_small();
	*(long *)id = syscall(SYS_gettid);
	return NULL;
}

// At 0, 0.3 and 0.6 s; by two threads; freed at once, after 0.3 s, or never. Tells by how much it was
// late at most.
static void staged(void)
{
	const char *wanted = getenv("STAGE_MS");
	unsigned stage_ms = wanted ? (unsigned)atoi(wanted) : 300;
	pthread_t thread;
	long id;
	double late;

	for (int i = 0; i < 10; i++)
		blocks[i] = make_medium();
	late = now_ms();
	usleep(stage_ms * 1000);
	for (int i = 10; i < 30; i++)
		blocks[i] = make_medium();
	for (int i = 0; i < 5; i++)
		free(make_large());
	pthread_create(&thread, NULL, make_some, &id);
	pthread_join(thread, NULL);
	late = later(late, now_ms() - stage_ms);
	usleep(stage_ms * 1000);
	for (int i = 0; i < 20; i++)
		free(blocks[i]);
	blocks[30] = make_large();
	late = later(late, now_ms() - 2 * stage_ms);
	usleep(100000);
	late = later(late, now_ms() - 2 * stage_ms - 100);
	printf("thread %ld\nlate_ms %.0f\n", id, late);
}

static void *churn(void *unused)
{
	for (int i = 0; i < MANY; i++)
		free(make_small());
	return unused;
}

// Four threads that do nothing else: perhaps faster than the trace can be written.
static void flood(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, churn, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("make_small %d\n", 4 * MANY);
}

// More at a time than the library can keep samples of.
static void many(void)
{
	for (int i = 0; i < 5 * MANY; i++) {
		make_small();
		if (i % 1000 == 0)
			usleep(1000);
	}
	printf("make_small %d\n", 5 * MANY);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} histories[] = { { "steady", steady },     { "leak", leak },
			  { "peak", peak },         { "backlog", backlog },
			  { "doubling", doubling }, { "across", across },
			  { "forked", forked },     { "killed", killed },
			  { "asked", asked },       { "signalled", signalled },
			  { "wrapped", wrapped },   { "staged", staged },
			  { "flood", flood },       { "many", many } };

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (size_t i = 0; argc > 1 && i < sizeof(histories) / sizeof(histories[0]); i++) {
		if (strcmp(histories[i].name, argv[1]) == 0)
			histories[i].run();
	}
	return 0;
}
