// SPDX-License-Identifier: GPL-3.0-or-later
// CFLAGS: -O2 -fno-builtin
/*
 * For libheapsnap-trace.so, one part per argument: what the program sees of its blocks and of
 * SIGQUIT, what calls of the library say, and blocks that threads hand to each other.
 */
#include "dumper/heapsnap.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	THREADS = 4,
	ROUNDS = 4000,
	PLACES = 64,
};

#define APART __attribute__((noinline, noclone))

// --- what there is of each block ----------------------------------------------------

static void tell(const char *what, void *block)
{
	static unsigned char zeros[8192];
	size_t usable = malloc_usable_size(block);

	// A bare program's blocks lie elsewhere, but as well.
	printf("%s %zu %u%s\n", what, usable, (unsigned)((uintptr_t)block % 64),
	       strcmp(what, "calloc") == 0 && memcmp(block, zeros, usable) != 0 ? " not zeros"
										: "");
	free(block);
}

static void sizes(void)
{
	void *kept[400];
	void *block;

	for (size_t size = 0; size < 5000; size += 7) {
		tell("malloc", malloc(size));
		tell("calloc", calloc(size, 1));
		tell("realloc", realloc(malloc(size), size * 2 + 1));
		tell("shrunk", realloc(malloc(size + 1), size / 2 + 1));
		tell("aligned_alloc", aligned_alloc(64, size));
		tell("memalign", memalign(4096, size));
		if (posix_memalign(&block, 32, size) == 0)
			tell("posix_memalign", block);
		tell("valloc", valloc(size));
#if defined(__GLIBC__)
		tell("pvalloc", pvalloc(size));
#endif
		tell("reallocarray", reallocarray(NULL, size, 3));
	}
	for (size_t size = 100000; size < 20000000; size *= 3)
		tell("large", realloc(malloc(size), size * 2));
	// The addresses, as distances: nothing lies between blocks that does not without us.
	for (int i = 0; i < 400; i++)
		kept[i] = malloc(24);
	for (int i = 1; i < 400; i++)
		printf("%td ", (char *)kept[i] - (char *)kept[i - 1]);
	putchar('\n');
	errno = 0;
	block = malloc(PTRDIFF_MAX);
	printf("%s %d\n", block ? "too much" : "refused", errno == ENOMEM);
	errno = 0;
	block = calloc(PTRDIFF_MAX, 1);
	printf("%s %d\n", block ? "too much" : "refused", errno == ENOMEM);
}

// --- signals and calls --------------------------------------------------------------

static void quits(void)
{
	struct sigaction action;
	pid_t child;
	int status;

	sigaction(SIGQUIT, NULL, &action);
	printf("handler %d\n", action.sa_handler != SIG_DFL);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		raise(SIGQUIT);
		_exit(0);
	}
	waitpid(child, &status, 0);
	printf("child dies of %d\n", WTERMSIG(status));
}

static void calls(void)
{
	static long piece[4];
	void *block = malloc(100);

	printf("dump %d\n", heapsnap_dump(NULL) == -ENOTSUP);
	printf("dump as %d\n", heapsnap_dump("x.snap") == -ENOTSUP);
	printf("wait %d\n", heapsnap_wait() == -ENOENT);
	printf("set_type %d\n", heapsnap_set_type(block, "struct x") == -ENOTSUP);
	printf("every %d\n", heapsnap_set("HEAPSNAP_EVERY", "1s") == -ENOTSUP);
	printf("growth %d\n", heapsnap_set("HEAPSNAP_GROWTH", "1M") == -ENOTSUP);
	printf("at exit %d\n", heapsnap_set("HEAPSNAP_AT_EXIT", "all") == -ENOTSUP);
	printf("no longer at exit %d\n", heapsnap_set("HEAPSNAP_AT_EXIT", "0"));
	printf("report %d\n", heapsnap_set("HEAPSNAP_REPORT", "1") == -ENOTSUP);
	printf("unknown %d\n", heapsnap_set("HEAPSNAP_MISSING", "1") == -ENOENT);
	printf("track %d\n", heapsnap_track(piece, sizeof(piece)));
	printf("untrack %d\n", heapsnap_untrack(piece));
	printf("checkpoint %d\n", heapsnap_checkpoint());
	free(block);
}

// --- threads --------------------------------------------------------------------------

static char *places[PLACES];

// It chooses the size, so that it is no wrapper.
APART static char *make_one(unsigned *seed)
{
	size_t size = (size_t)rand_r(seed) % 3000 + 50;
	char *block = malloc(size);

	memset(block, 1, size);
	return block;
}

APART static char *resize_one(char *block, size_t size)
{
	block = realloc(block, size);
	memset(block, 2, size);
	return block;
}

static void *exchange(void *number)
{
	unsigned seed = (unsigned)(uintptr_t)number;

	for (int i = 0; i < ROUNDS; i++) {
		char *mine = make_one(&seed);
		char *others = __atomic_exchange_n(&places[rand_r(&seed) % PLACES], mine,
						   __ATOMIC_ACQ_REL);

		if (others && i % 4 == 0)
			others = resize_one(others, (size_t)rand_r(&seed) % 6000 + 50);
		if (others && i % 16 == 0 && realloc(others, PTRDIFF_MAX))
			abort();
		free(others);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t all[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&all[i], NULL, exchange, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		pthread_join(all[i], NULL);
	for (int i = 0; i < PLACES; i++)
		free(places[i]);
	printf("made %d\n", THREADS * ROUNDS);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "sizes") == 0)
		sizes();
	else if (argc > 1 && strcmp(argv[1], "quits") == 0)
		quits();
	else if (argc > 1 && strcmp(argv[1], "calls") == 0)
		calls();
	else
		threads();
	return 0;
}
