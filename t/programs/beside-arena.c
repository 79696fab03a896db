// SPDX-License-Identifier: GPL-3.0-or-later
// A thread's arena of glibc directly behind a file that is mapped writable, as if it were a module's data.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	BLOCKS = 100
};

static const uintptr_t heap_bytes = UINT64_C(64) << 20;
static char *blocks[2][BLOCKS];

static void *allocate(void *context)
{
	char **list = context;

	for (int i = 0; i < BLOCKS; i++)
		list[i] = calloc(1, 200);
	return NULL;
}

int main(void)
{
	char name[] = "/tmp/heapsnap-beside-XXXXXX";
	const long page = sysconf(_SC_PAGESIZE);
	int file = mkstemp(name);
	pthread_t thread;
	char *heap;

	unlink(name);
	allocate(blocks[0]);
	pthread_create(&thread, NULL, allocate, blocks[1]);
	pthread_join(thread, NULL);
	heap = (char *)((uintptr_t)blocks[1][0] & ~(heap_bytes - 1));
	if (file < 0 || ftruncate(file, page) != 0 ||
	    mmap(heap - page, (size_t)page, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_FIXED_NOREPLACE, file, 0) != heap - page)
		return 77;
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
