// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The signal lands while a thread is busy in libc. See hostile.h.
 */
#include "t/programs/hostile.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdatomic.h>
#include <sys/resource.h>

enum {
	CAPTURES = 8,
};

static atomic_long rounds;
static atomic_int ready; // threads that have begun

// A thread that is busy begins. It leaves the processors to whoever writes the snapshots.
static void begin(void)
{
	setpriority(PRIO_PROCESS, 0, 19);
	ready++;
}

// Captures while threads run a function over and over, with the signal sent to one of them.
static void capture_during(void *(*function)(void *), int thread_count)
{
	pthread_t threads[4];

	for (int i = 0; i < thread_count; i++)
		pthread_create(&threads[i], NULL, function, NULL);
	while (ready < thread_count)
		usleep(100);
	for (int i = 0; i < CAPTURES; i++) {
		usleep(1000 + (unsigned)(i * 137));
		capture_in(threads[i % thread_count]);
	}
	stop = true;
	for (int i = 0; i < thread_count; i++)
		pthread_join(threads[i], NULL);
	expect("it went on", rounds > 0, true);
}

static void *allocate(void *unused)
{
	void *blocks[256] = { NULL };
	unsigned seed = 1;

	begin();
	while (!stop) {
		unsigned at = rand_r(&seed) % 256,
			 size = rand_r(&seed) % 2500 * 2 + 2; // no MARK_SIZE

		switch (rand_r(&seed) % 4) {
		case 0:
			free(blocks[at]);
			blocks[at] = malloc(size);
			break;
		case 1:
			blocks[at] = realloc(blocks[at], size);
			break;
		case 2:
			free(blocks[at]);
			blocks[at] = calloc(1, size);
			break;
		default:
			free(blocks[at]);
			blocks[at] = memalign(64, size);
		}
		memset(blocks[at], 0, 1);
		rounds++;
	}
	for (int i = 0; i < 256; i++)
		free(blocks[i]);
	return unused;
}

static void in_malloc(void)
{
	capture_during(allocate, 3);
}

// Each thread has one block of MOVED bytes or twice as many, which cannot grow where it lies.
enum {
	MOVED = 3000001,
	MOVERS = 3,
};

static void *move_about(void *unused)
{
	char *block = malloc(MOVED), *hindrance = NULL;

	begin();
	while (!stop) {
		block = realloc(block, 2 * MOVED);
		block = realloc(block, MOVED);
		free(hindrance);
		hindrance = malloc(MOVED / 2);
		rounds++;
	}
	free(block);
	free(hindrance);
	return unused;
}

static void in_realloc(void)
{
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	capture_during(move_about, MOVERS);
}

// By the kernel, which moves pages.
static void in_mremap(void)
{
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	capture_during(move_about, MOVERS);
}

static void *load(void *unused)
{
	begin();
	while (!stop) {
		void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);

		if (!library || !dlsym(library, "cos"))
			puts("no libm");
		dlclose(library);
		rounds++;
	}
	return unused;
}

static void in_dlopen(void)
{
	capture_during(load, 2);
}

static void *print(void *unused)
{
	FILE *file = tmpfile();
	long lines = 0, length;

	begin();
	while (!stop) {
		fprintf(file, "%09ld %-9s\n", lines++, "text");
		rounds++;
	}
	fflush(file);
	length = ftell(file);
	expect("bytes printed", length, lines * 20);
	fclose(file);
	return unused;
}

static void in_printf(void)
{
	capture_during(print, 2);
}

static void *fork_children(void *unused)
{
	begin();
	while (!stop) {
		int status = -1;
		pid_t child = fork();

		if (child == 0) {
			free(malloc(100));
			_exit(3);
		}
		expect("the child's pid", waitpid(child, &status, 0), child);
		expect("its status", status, 3 << 8);
		rounds++;
	}
	return unused;
}

static void in_fork(void)
{
	capture_during(fork_children, 1);
}

// --- storage of threads that end -------------------------------------------------

static pthread_key_t key;

static void destroy(void *block)
{
	free(block);
	raise(SIGQUIT);
	await_capture();
	free(malloc(200));
	rounds++;
}

static void *end_with_storage(void *unused)
{
	pthread_setspecific(key, malloc(300));
	return unused;
}

static void in_destructor(void)
{
	pthread_t thread;

	pthread_key_create(&key, destroy);
	if (!is_captured())
		signal(SIGQUIT, SIG_IGN);
	for (int i = 0; i < CAPTURES; i++) {
		pthread_create(&thread, NULL, end_with_storage, NULL);
		pthread_join(thread, NULL);
	}
	expect("destructors", rounds, CAPTURES);
}

// --- the end ---------------------------------------------------------------------

static pthread_t main_thread;

static void be_long(void)
{
	for (int i = 0; i < 1000; i++) {
		free(malloc((size_t)i));
		usleep(100);
	}
}

static void *capture_main(void *unused)
{
	usleep(20000);
	capture_in(main_thread);
	return unused;
}

static void in_exit(void)
{
	pthread_t thread;

	atexit(be_long);
	main_thread = pthread_self();
	pthread_create(&thread, NULL, capture_main, NULL);
	exit(7);
}

static void in_exec(void)
{
	char program[] = "/bin/echo", word[] = "after exec";
	char *arguments[] = { program, word, NULL };

	if (is_captured())
		raise(SIGQUIT);
	execv(program, arguments);
}

// --- several at once -------------------------------------------------------------

static pthread_barrier_t barrier;

static void *trigger(void *unused)
{
	pthread_barrier_wait(&barrier);
	if (is_captured())
		pthread_kill(pthread_self(), SIGQUIT);
	return unused;
}

static void two_at_once(void)
{
	pthread_t threads[2];

	pthread_barrier_init(&barrier, NULL, 2);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, trigger, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	await_capture();
}

// In a call of the kernel's that was entered without the C library.
static void *look_at_clock(void *unused)
{
	struct timespec now;

	begin();
	while (!stop) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		rounds++;
	}
	return unused;
}

static void in_vdso(void)
{
	capture_during(look_at_clock, 2);
}

static const struct way ways[] = {
	{ "malloc", in_malloc },         { "realloc", in_realloc }, { "mremap", in_mremap },
	{ "dlopen", in_dlopen },         { "printf", in_printf },   { "fork", in_fork },
	{ "destructor", in_destructor }, { "exit", in_exit },       { "exec", in_exec },
	{ "two", two_at_once },          { "vdso", in_vdso },
};

int main(int argc, char **argv)
{
	return run_way(ways, sizeof(ways) / sizeof(ways[0]), argc, argv);
}
