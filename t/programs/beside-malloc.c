// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A list whose nodes come from a function that only one allocator has, beside blocks of malloc:
 *
 *	beside-malloc ALLOCATE FREE     mallocx dallocx, mi_malloc mi_free, tc_malloc tc_free
 *
 * A third of the nodes is freed, before others are allocated: their memory is used again, or lies in a cache.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	NODES = 3000,
	NAMES = 100,
};

struct visit {
	struct visit *next;
	char *name;
	long number;
	char text[64];
};

// Those of jemalloc take flags, too.
typedef void *allocate_function(size_t size, int flags);
typedef void free_function(void *block, int flags);

static struct visit *visits;
static void *nodes[NODES];

static void add_visit(struct visit *visit, long number)
{
	char name[32];

	memset(visit, 0, sizeof(*visit));
	snprintf(name, sizeof(name), "visitor %ld", number);
	visit->name = number < NAMES ? strdup(name) : NULL;
	visit->number = number;
	visit->next = visits;
	visits = visit;
}

int main(int argc, char **argv)
{
	allocate_function *allocate = NULL;
	free_function *release = NULL;

	if (argc == 3) {
		*(void **)&allocate = dlsym(RTLD_DEFAULT, argv[1]);
		*(void **)&release = dlsym(RTLD_DEFAULT, argv[2]);
	}
	if (!allocate || !release)
		return 3;
	for (long i = 0; i < NODES; i++)
		nodes[i] = allocate(sizeof(struct visit), 0);
	for (long i = 0; i < NODES; i++) {
		if (i % 3 == 0)
			release(nodes[i], 0);
		else
			add_visit(nodes[i], i);
		nodes[i] = NULL;
	}
	puts("ready");
	fflush(stdout);
	(void)getchar();
	return 0;
}
