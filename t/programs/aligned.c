// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Blocks at alignments beyond malloc's own. t/capture/aligned.t runs each of these ways:
 *
 *	space ALIGNMENT SIZE COUNT  what so many blocks take: libc's count of bytes for each, KiB of
 *	                            memory touched, KiB of data mapped
 *	known                       a heap that it logs: address and size of each block
 *	threads                     50 threads that keep KEPT blocks each, of a size of their own, and
 *	                            make and free others
 *	overrun                     a block that is overrun by a byte, and one that is whole
 *	neighbours BYTES MIXED      1000 blocks of 1 to 200 bytes that are all overrun by so many; if
 *	                            MIXED, with one of malloc's behind each. It logs how many of the
 *	                            aligned ones still have what describes them
 */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
	KNOWN = 3000,
	THREADS = 50,
	KEPT = 40,
	KEPT_SIZE = 5000,    // and the number of the thread
	PASSING_SIZE = 7777, // of one block at most in each thread
};

static void *blocks[1 << 20];
static size_t sizes[KNOWN];
static atomic_bool stop;

static long read_status(const char *key)
{
	char line[256];
	long value = -1;
	FILE *file = fopen("/proc/self/status", "r");

	while (file && value < 0 && fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, strlen(key)) == 0)
			value = atol(line + strlen(key) + 1);
	}
	if (file)
		fclose(file);
	return value;
}

static volatile size_t nothing; // or make() would pass on a size, and count for its callers

static void *make(size_t alignment, size_t size)
{
	void *block;

	if (posix_memalign(&block, alignment, size + nothing) != 0)
		abort();
	return memset(block, 'x', size);
}

static void use_space(size_t alignment, size_t size, size_t count)
{
	// Huge pages that the kernel chooses by itself would count for more than the blocks do.
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);

	long touched = read_status("VmRSS"), data = read_status("VmData");
	size_t used = mallinfo2().uordblks;

	for (size_t i = 0; i < count; i++)
		blocks[i] = make(alignment, size);
	printf("%zu %ld %ld\n", (mallinfo2().uordblks - used) / count,
	       read_status("VmRSS") - touched, read_status("VmData") - data);
}

static void wait_for_end(void)
{
	puts("ready");
	fflush(stdout);
	while (getchar() != '\n')
		;
}

// Sizes and alignments of all kinds, a third of them such that what describes the block lies on
// two pages; a third of the blocks freed again, a third reallocated.
static void keep_known(void)
{
	unsigned seed = 1;

	for (size_t i = 0; i < KNOWN; i++) {
		size_t alignment = i % 7 < 3 ? 4096 : (size_t)16 << i % 11;

		sizes[i] =
			i % 7 < 3 ? 4088 : (size_t)rand_r(&seed) % (i % 100 == 0 ? 400000 : 9000);
		blocks[i] = make(alignment, sizes[i]);
		// All that may be used is.
		memset(blocks[i], 'y', malloc_usable_size(blocks[i]));
	}
	for (size_t i = 0; i < KNOWN; i++) {
		size_t at = i * 7 % KNOWN;

		if (at % 3 == 0) {
			free(blocks[at]);
			blocks[at] = NULL;
		} else if (at % 3 == 1) {
			sizes[at] = sizes[at] / 2 + 100;
			blocks[at] = realloc(blocks[at], sizes[at]);
		}
	}
	puts("ready");
	for (size_t i = 0; i < KNOWN; i++) {
		if (blocks[i])
			printf("%#lx %zu\n", (unsigned long)blocks[i], sizes[i]);
	}
	fflush(stdout);
	while (getchar() != '\n')
		;
}

static pthread_barrier_t barrier;

static void *work(void *number)
{
	unsigned seed = (unsigned)(uintptr_t)number;
	void *kept[KEPT];

	for (size_t i = 0; i < KEPT; i++)
		kept[i] = make((size_t)32 << i % 8, KEPT_SIZE + seed);
	pthread_barrier_wait(&barrier);
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		size_t alignment = (size_t)32 << rand_r(&seed) % 8;

		free(make(alignment, PASSING_SIZE));
		free(make(alignment, (size_t)rand_r(&seed) % 3000));
	}
	for (size_t i = 0; i < KEPT; i++)
		free(kept[i]);
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[THREADS];

	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	pthread_barrier_wait(&barrier);
	wait_for_end();
	atomic_store(&stop, true);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void overrun(void)
{
	char *first = malloc(4070), *block = make(64, 4000), *whole = make(64, 4040);
	char *last = malloc(4080), *end;

	end = block + malloc_usable_size(block);
	__asm__("" : "+r"(end)); // what it points to is not for the compiler to know
	*end ^= 1;
	wait_for_end();
	*end ^= 1;
	free(first);
	free(block);
	free(whole);
	free(last);
}

// The description of a block lies in the last 16 bytes of its chunk that glibc does not use, in the 8
// before them is their distance, if there is room. The compiler must not know what is written to.
static void overrun_neighbours(size_t bytes, bool is_mixed)
{
	static unsigned char *aligned[1000], *plain[1000];
	int whole = 0;

	for (size_t i = 0; i < 1000; i++) {
		size_t size = 1 + i % 200;
		unsigned char before[24], *end;

		aligned[i] = make(64, size);
		if (is_mixed)
			plain[i] = malloc(24);
		// glibc's size of the chunk, without its flags, counts the word that holds it.
		end = aligned[i] + (((size_t *)aligned[i])[-1] & ~(size_t)7) - 8;
		__asm__("" : "+r"(end));
		memcpy(before, end - 24, 24);
		for (size_t at = 0; at < bytes; at++) {
			unsigned char *to = aligned[i] + size + at;

			__asm__("" : "+r"(to));
			*to = 'A';
		}
		// The 8 bytes before are padding if what was asked for reaches into them.
		whole += memcmp(before + 8, end - 16, 16) == 0 &&
			 (end - 24 < aligned[i] + size || memcmp(before, end - 24, 8) == 0);
	}
	printf("ready\n%d\n", whole);
	fflush(stdout);
	while (getchar() != '\n')
		;
}

int main(int argc, char **argv)
{
	// Buffers of streams would be blocks of whoever prints or reads first.
	static char buffer[BUFSIZ];

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	setvbuf(stdin, NULL, _IONBF, 0);
	if (argc > 4 && strcmp(argv[1], "space") == 0)
		use_space(strtoul(argv[2], NULL, 0), strtoul(argv[3], NULL, 0),
			  strtoul(argv[4], NULL, 0));
	else if (argc > 1 && strcmp(argv[1], "known") == 0)
		keep_known();
	else if (argc > 1 && strcmp(argv[1], "threads") == 0)
		run_threads();
	else if (argc > 1 && strcmp(argv[1], "overrun") == 0)
		overrun();
	else if (argc > 3 && strcmp(argv[1], "neighbours") == 0)
		overrun_neighbours(strtoul(argv[2], NULL, 0), atoi(argv[3]) != 0);
	return 0;
}
