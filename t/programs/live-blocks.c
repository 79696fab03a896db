// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Knows exactly which blocks are live, in many threads and by all ways that malloc gets memory.
 *
 *	live-blocks FILE THREADS BLOCKS [foreign|small|crossed|apart]
 *
 * Writes their addresses and sizes to FILE, in hex, a line each; says "ready", and waits for its
 * standard input to end. foreign: takes memory by sbrk(2) in between. small: little ones only.
 * crossed: each thread frees blocks of the next one, some are of up to 60 MiB, and the last thread ends.
 * apart: the main thread waits for a socket, where nobody may interrupt it.
 * The blocks that libc makes for itself are among them: it is malloc itself, in front of glibc's;
 * but not in live-blocks-explicit, which takes any malloc.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// --- what is live -------------------------------------------------------------

enum {
	SLOTS = 1 << 22
};

#define MASK UINT64_C(0x5555555555555555) // so that the table holds no pointers

static struct {
	uint64_t address, size;
} live[SLOTS];
static atomic_flag lock = ATOMIC_FLAG_INIT;

static uint32_t slot_of(uint64_t address)
{
	uint32_t at = (uint32_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 42);

	while (live[at].address != 0 && live[at].address != (address ^ MASK))
		at = (at + 1) % SLOTS;
	return at;
}

static void note(void *block, size_t size)
{
	uint32_t at;

	if (!block)
		return;
	while (atomic_flag_test_and_set(&lock))
		;
	at = slot_of((uint64_t)block);
	live[at].address = (uint64_t)block ^ MASK;
	live[at].size = (size ^ MASK) | 1ull << 63;
	atomic_flag_clear(&lock);
}

static void forget(void *block)
{
	if (!block)
		return;
	while (atomic_flag_test_and_set(&lock))
		;
	live[slot_of((uint64_t)block)].size = 0;
	atomic_flag_clear(&lock);
}

static void dump(const char *path)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	char line[64];

	for (uint32_t i = 0; i < SLOTS; i++) {
		uint64_t address = live[i].address ^ MASK, size = live[i].size;

		if (size == 0)
			continue;
		// Without stdio, which allocates.
		int length = 0;

		for (int shift = 60; shift >= 0; shift -= 4)
			line[length++] = "0123456789abcdef"[address >> shift & 15];
		line[length++] = ' ';
		size = (size ^ MASK) & ~(1ull << 63);
		for (int shift = 44; shift >= 0; shift -= 4)
			line[length++] = "0123456789abcdef"[size >> shift & 15];
		line[length++] = '\n';
		if (write(file, line, (size_t)length) != length)
			_exit(1);
	}
	close(file);
}

#if defined(__GLIBC__) && !defined(LIVE_BLOCKS_EXPLICIT)
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

void *malloc(size_t size)
{
	void *block = __libc_malloc(size);

	note(block, size);
	return block;
}

void *calloc(size_t count, size_t size)
{
	void *block = __libc_calloc(count, size);

	note(block, count * size);
	return block;
}

void *realloc(void *block, size_t size)
{
	forget(block);
	block = __libc_realloc(block, size);
	note(block, size);
	return block;
}

void *memalign(size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size)
{
	void *block = __libc_memalign(alignment, size);

	note(block, size);
	return block;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
	*block = memalign(alignment, size);
	return *block ? 0 : ENOMEM;
}

void free(void *block)
{
	forget(block);
	__libc_free(block);
}

#define get malloc
#define get_aligned memalign
#define change realloc
#define give_back free
#else
// Elsewhere blocks that libc makes for itself are not noted.
static void *get(size_t size)
{
	void *block = malloc(size);

	note(block, size);
	return block;
}

static void *get_aligned(size_t alignment, size_t size)
{
	void *block = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);

	note(block, (size + alignment - 1) / alignment * alignment);
	return block;
}

static void *change(void *block, size_t size)
{
	forget(block);
	block = realloc(block, size);
	note(block, size);
	return block;
}

static void give_back(void *block)
{
	forget(block);
	free(block);
}
#endif

// --- what is done ----------------------------------------------------------------

enum {
	MAX_BLOCKS = 1 << 20
};

static size_t blocks_each;
static bool is_foreign, is_small, is_crossed, is_apart;
static pthread_barrier_t made, done;
static size_t thread_count;
static void **all[256];

static uint32_t next(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(*state >> 33);
}

static size_t choose_size(uint64_t *state)
{
	uint32_t kind = next(state) % 1000;

	if (kind < 900 || is_small)
		return next(state) % 200;
	if (kind < 990)
		return next(state) % 5000;
	if (kind < 999)
		return next(state) % 100000;
	return 130000 + next(state) % 300000;
}

static void *make(uint64_t *state)
{
	size_t size = choose_size(state);

	if (next(state) % 50 == 0)
		return get_aligned((size_t)32 << next(state) % 9, size);
	return get(size);
}

static void work(uint64_t seed)
{
	void **blocks = all[seed];
	uint64_t state = seed * 77 + 1;

	for (size_t i = 0; i < blocks_each; i++) {
		blocks[i] = make(&state);
		if (is_foreign && seed == 0 && i % (blocks_each / 4 + 1) == blocks_each / 8)
			sbrk(4096 + 48);
	}
	for (size_t i = 0; i < blocks_each; i++) {
		size_t at = next(&state) % blocks_each;

		switch (next(&state) % 4) {
		case 0:
			give_back(blocks[at]);
			blocks[at] = NULL;
			break;
		case 1:
			give_back(blocks[at]);
			blocks[at] = make(&state);
			break;
		case 2:
			if (blocks[at])
				blocks[at] = change(blocks[at], choose_size(&state) + 1);
			break;
		}
	}
	// Leaves something in the caches.
	for (int i = 0; i < 5; i++) {
		give_back(blocks[i]);
		blocks[i] = NULL;
	}
}

// Frees blocks that another thread has made; of some pages of an allocator all, of others none.
static void cross(uint64_t seed)
{
	void **blocks = all[(seed + 1) % thread_count];
	uint64_t state = seed + 99;
	void **own = all[seed];

	for (size_t i = 0; i < 3; i++) {
		give_back(own[5 + i]);
		own[5 + i] = get(((size_t)20 << 20) * (i + 1));
	}
	pthread_barrier_wait(&made);
	for (size_t i = 10; i < blocks_each; i++) {
		if (i / 64 % 4 != 0 && next(&state) % 3 == 0) {
			give_back(blocks[i]);
			blocks[i] = NULL;
		}
	}
	give_back(blocks[5]);
	blocks[5] = NULL;
}

static void work_and_cross(uint64_t seed)
{
	work(seed);
	if (is_crossed)
		cross(seed);
}

static void *run(void *seed)
{
	work_and_cross((uint64_t)seed);
	if (is_crossed && (uint64_t)seed == thread_count - 1)
		return NULL; // its blocks stay
	pthread_barrier_wait(&done);
	pthread_barrier_wait(&done); // which never happens
	return NULL;
}

static int ends[2];

static void *await_end(void *unused)
{
	char byte;

	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	shutdown(ends[1], SHUT_RDWR);
	return unused;
}

int main(int argc, char **argv)
{
	static void *pointers[MAX_BLOCKS];
	size_t threads = argc > 3 ? strtoul(argv[2], NULL, 10) : 1;
	pthread_t ids[256];
	char byte;

	if (argc < 4 || threads < 1 || threads > 255)
		return 2;
	blocks_each = strtoul(argv[3], NULL, 10);
	is_foreign = argc > 4 && strcmp(argv[4], "foreign") == 0;
	is_small = argc > 4 && strcmp(argv[4], "small") == 0;
	is_crossed = argc > 4 && strcmp(argv[4], "crossed") == 0 && threads > 2;
	is_apart = argc > 4 && strcmp(argv[4], "apart") == 0;
	thread_count = threads;
	if (blocks_each * threads > MAX_BLOCKS)
		return 2;
	pthread_barrier_init(&made, NULL, (unsigned)threads);
	pthread_barrier_init(&done, NULL, (unsigned)threads - is_crossed);
	for (size_t i = 0; i < threads; i++)
		all[i] = pointers + i * blocks_each;
	for (size_t i = 1; i < threads; i++)
		pthread_create(&ids[i], NULL, run, (void *)i);
	work_and_cross(0);
	if (is_crossed)
		pthread_join(ids[threads - 1], NULL);
	pthread_barrier_wait(&done);
	if (is_apart && (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 ||
			 pthread_create(&ids[0], NULL, await_end, NULL) != 0))
		return 1;
	usleep(20000);
	dump(argv[1]);
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		return 1;
	if (is_apart) {
		recv(ends[0], &byte, 1, 0);
		return 0;
	}
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}
