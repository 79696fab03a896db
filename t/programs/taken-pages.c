// SPDX-License-Identifier: GPL-3.0-or-later
// Keeps the only pointers to its blocks in huge pages, and writes to all of these until it gets a line:
//
//	taken-pages PAGES
#define _GNU_SOURCE
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MAP_HUGETLB
#define MAP_HUGETLB 0x40000
#endif

enum {
	HUGE_PAGE = 2 << 20,
	BLOCKS = 10000,
};

int main(int argc, char **argv)
{
	size_t pages = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	size_t words = pages * HUGE_PAGE / sizeof(uintptr_t);
	uintptr_t *memory = mmap(NULL, pages * HUGE_PAGE, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	struct pollfd input = { STDIN_FILENO, POLLIN, 0 };

	if (memory == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < pages; i++)
		memory[i * (HUGE_PAGE / sizeof(*memory))] = 1;
	for (size_t i = 0; i < BLOCKS; i++)
		memory[words / BLOCKS * i + 1] = (uintptr_t)malloc(100);
	puts("ready");
	fflush(stdout);
	for (uintptr_t round = 1; poll(&input, 1, 1) <= 0; round++) {
		for (size_t i = 0; i < pages; i++)
			memory[i * (HUGE_PAGE / sizeof(*memory))] = round;
	}
	return 0;
}
