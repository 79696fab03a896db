// SPDX-License-Identifier: GPL-3.0-or-later
/**
 * Wrappers of malloc() as headers have them, which compilers inline into their callers; functions that are inlined
 * and are no wrappers. Writes a snapshot to its argument.
 */
#include "dumper/heapsnap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define ALONE static __attribute__((noinline))

typedef unsigned long bytes;
typedef void *memory;

struct node {
	struct node *next;
	long numbers[15];
};

INLINE void *xmalloc(size_t size, const char *file, int line)
{
	void *result = malloc(size);

	if (!result) {
		fprintf(stderr, "%s:%d: no memory\n", file, line);
		exit(1);
	}
	return result;
}

INLINE memory xzalloc(const bytes size)
{
	return memset(xmalloc(size, __FILE__, __LINE__), 0, size);
}

INLINE void *xrealloc(void *old, int size)
{
	void *result = realloc(old, size);

	if (!result)
		abort();
	return result;
}

// It knows what it makes.
INLINE struct node *make_node(size_t number)
{
	struct node *node = malloc(sizeof(*node));

	if (!node)
		abort();
	node->numbers[0] = (long)number;
	return node;
}

// It is told no number.
INLINE void *make_block(const void *old)
{
	void *result = malloc(200);

	if (!result)
		abort();
	return memcpy(result, old, 16);
}

static void *kept[16];
static int count;

ALONE void keep(void *block)
{
	kept[count++] = block;
}

ALONE void make_plain(void)
{
	keep(xmalloc(1000, __FILE__, __LINE__));
}

ALONE void make_twice(void)
{
	keep(xmalloc(1010, __FILE__, __LINE__));
	keep(xmalloc(1020, __FILE__, __LINE__));
}

ALONE void make_zeroed(void)
{
	keep(xzalloc(1030));
}

ALONE void make_larger(void)
{
	keep(xrealloc(NULL, 1040));
}

ALONE void make_known(void)
{
	keep(make_node(7));
}

ALONE void make_copy(void)
{
	keep(make_block("sixteen bytes of"));
}

int main(int argc, char **argv)
{
	make_plain();
	make_twice();
	make_zeroed();
	make_larger();
	make_known();
	make_copy();
	if (argc > 1 && heapsnap_dump(argv[1]) | heapsnap_wait())
		return 1;
	for (int i = 0; i < count; i++)
		free(kept[i]);
	return 0;
}
