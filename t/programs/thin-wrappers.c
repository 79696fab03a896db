// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Allocators of many forms, each called once from two places: nothing tells that they are wrappers
 * but their code. And functions that look similar, which are none.
 *
 * Sizes: 1000 + 10 * form + 1 or 2. make_* is the site of what a thin wrapper makes.
 */
#include "dumper/heapsnap.h"

#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline)) static
#define KEEP(block) (kept[count++] = (block), (void)kept_at(count))

void *kept[200];
static int count;
static size_t total, limit = SIZE_MAX;
static volatile int failures, depth;

APART int kept_at(int at)
{
	__asm__ volatile("" ::: "memory");
	return at;
}

APART void out_of_memory(size_t size)
{
	fprintf(stderr, "out of memory: %zu bytes\n", size);
	abort();
}

// --- thin wrappers ---

APART void *checked(size_t size)
{
	void *block = malloc(size);

	if (!block)
		abort();
	return block;
}

APART void *explained(size_t size)
{
	void *block = malloc(size ? size : 1);

	if (!block)
		out_of_memory(size);
	return block;
}

APART void *zeroed(size_t size)
{
	void *block = calloc(1, size);

	if (!block)
		out_of_memory(size);
	return block;
}

APART void *array(size_t number, size_t size)
{
	void *block = calloc(number, size);

	if (!block)
		out_of_memory(size);
	return block;
}

APART void *multiplied(size_t number, size_t size)
{
	size_t bytes;
	void *block;

	if (__builtin_mul_overflow(number, size, &bytes))
		return NULL;
	block = malloc(bytes);
	if (!block)
		out_of_memory(bytes);
	return block;
}

APART void *resized(void *old, size_t size)
{
	void *block = realloc(old, size);

	if (!block && size)
		out_of_memory(size);
	return block;
}

// Keeps the size before the block.
APART void *prefixed(size_t size)
{
	size_t *block = malloc(size + sizeof(size_t));

	if (!block)
		return NULL;
	*block = size;
	return block + 1;
}

APART void *counted(size_t size)
{
	void *block;

	if (total + size > limit)
		return NULL;
	block = malloc((size + 7) & ~(size_t)7);
	if (block)
		__atomic_add_fetch(&total, size, __ATOMIC_RELAXED);
	else
		failures++;
	return block;
}

struct context {
	void *(*allocate)(struct context *context, size_t size);
	size_t bytes;
};

APART void *allocate_default(struct context *context, size_t size)
{
	void *block = malloc(size);

	if (block)
		context->bytes += size;
	return block;
}

APART void *by_pointer(struct context *context, size_t size)
{
	void *block = context->allocate(context, size);

	if (!block)
		failures++;
	return block;
}

APART void *nested(struct context *context, size_t size)
{
	void *block = by_pointer(context, size);

	if (!block)
		out_of_memory(size);
	return block;
}

APART void *cleared(unsigned size)
{
	void *block = checked(size);

	memset(block, 0, size);
	return block;
}

// Hides from the compiler how large the block is.
__attribute__((noinline)) void *extended(void *block, size_t size)
{
	(void)size;
	return block;
}

__attribute__((always_inline)) static inline void *try_usable(size_t size, size_t *usable)
{
	void *block = size < SIZE_MAX / 2 ? malloc(size ? size : sizeof(long)) : NULL;

	if (block)
		__atomic_add_fetch(&total, *usable = malloc_usable_size(block), __ATOMIC_RELAXED);
	return block;
}

// Tells its caller more than was asked for.
APART void *usable(size_t size, size_t *usable)
{
	size_t bytes = 0;
	void *block = extended(try_usable(size, &bytes), bytes);

	if (usable)
		*usable = bytes;
	return block;
}

__attribute__((always_inline)) static inline void *try_regrown(void *old, size_t size,
							       size_t *bytes)
{
	size_t before;
	void *block;

	if (size == 0 && old) {
		__atomic_sub_fetch(&total, malloc_usable_size(old), __ATOMIC_RELAXED);
		free(old);
		return NULL;
	}
	if (!old)
		return usable(size, bytes);
	before = malloc_usable_size(old);
	block = realloc(old, size);
	if (!block)
		return NULL;
	__atomic_sub_fetch(&total, before, __ATOMIC_RELAXED);
	__atomic_add_fetch(&total, *bytes = malloc_usable_size(block), __ATOMIC_RELAXED);
	return extended(block, *bytes);
}

APART void *regrown(void *old, size_t size, size_t *usable)
{
	size_t bytes = 0;
	void *block = try_regrown(old, size, &bytes);

	if (!block && size)
		out_of_memory(size);
	block = extended(block, bytes);
	if (usable)
		*usable = bytes;
	return block;
}

// The block comes by way of a variable, whose address the allocator gets.
APART void *aligned(size_t alignment, size_t size, struct context *log)
{
	void *block;
	int error = posix_memalign(&block, alignment, size);

	if (error) {
		fprintf(stderr, "%zu, %zu: %d\n", alignment, size, error);
		block = NULL;
	}
	if (log->bytes > 1 << 20)
		fprintf(stderr, "%p: %zu\n", block, size);
	return block;
}

// --- not thin: they know what they make, or do more ---

struct node {
	struct node *next;
	char room[1200];
};

APART void *new_node(int number)
{
	struct node *node = malloc(sizeof(*node));

	if (!node)
		abort();
	node->room[0] = (char)number;
	return node;
}

APART void *new_doubles(size_t number)
{
	void *block = malloc(number * sizeof(double));

	if (!block)
		abort();
	return block;
}

APART void *new_nodes(size_t number)
{
	void *block = calloc(number, 16);

	if (!block)
		abort();
	return block;
}

APART void *copy(const char *text)
{
	size_t size = strlen(text) + 1;
	char *block = malloc(size);

	if (!block)
		abort();
	memcpy(block, text, size);
	return block;
}

APART void *checked_node(struct context *context, int number)
{
	struct node *node = context->allocate(context, sizeof(*node) + 100);

	if (!node)
		abort();
	node->room[0] = (char)number;
	return node;
}

APART int keeps(size_t size)
{
	void *block = malloc(size);

	if (!block)
		abort();
	KEEP(block);
	return count;
}

APART int keeps_aligned(size_t size)
{
	if (posix_memalign(&kept[count++], 32, size))
		abort();
	return count;
}

APART void *recursive(size_t size, int depth)
{
	void *block;

	if (depth > 0)
		KEEP(recursive(size, depth - 1));
	block = malloc(size);
	if (!block)
		abort();
	return block;
}

// --- callers ---

static struct context context = { allocate_default, 0 };
static size_t unused;

#define MAKERS(name, first, second) \
	APART void make_##name##_1(void) \
	{ \
		KEEP(first); \
	} \
	APART void make_##name##_2(void) \
	{ \
		KEEP(second); \
	}

MAKERS(checked, checked(1001), checked(1002))
MAKERS(explained, explained(1011), explained(1012))
MAKERS(zeroed, zeroed(1021), zeroed(1022))
MAKERS(array, array(1, 1031), array(8, 129))
MAKERS(multiplied, multiplied(1, 1041), multiplied(2, 521))
MAKERS(resized, resized(NULL, 1051), resized(NULL, 1052))
MAKERS(prefixed, prefixed(1061 - 8), prefixed(1062 - 8))
MAKERS(counted, counted(1072), counted(1080))
MAKERS(by_pointer, by_pointer(&context, 1081), by_pointer(&context, 1082))
MAKERS(nested, nested(&context, 1091), nested(&context, 1092))
MAKERS(cleared, cleared(1101), cleared(1102))
MAKERS(usable, usable(1171, NULL), usable(1172, &unused))
MAKERS(regrown, regrown(malloc(400), 1181, NULL), regrown(malloc(400), 1182, &unused))
MAKERS(grown, regrown(NULL, 1191, NULL), regrown(NULL, 1192, &unused))
MAKERS(aligned, aligned(16, 1201, &context), aligned(64, 1202, &context))
MAKERS(doubles, new_doubles(140), new_doubles(141))
MAKERS(nodes, new_nodes(71), new_nodes(72))
MAKERS(recursive, recursive(1151, depth), recursive(1152, depth))

int main(int argc, char **argv)
{
	make_checked_1(), make_checked_2();
	make_explained_1(), make_explained_2();
	make_zeroed_1(), make_zeroed_2();
	make_array_1(), make_array_2();
	make_multiplied_1(), make_multiplied_2();
	make_resized_1(), make_resized_2();
	make_prefixed_1(), make_prefixed_2();
	make_counted_1(), make_counted_2();
	make_by_pointer_1(), make_by_pointer_2();
	make_nested_1(), make_nested_2();
	make_cleared_1(), make_cleared_2();
	make_usable_1(), make_usable_2();
	make_regrown_1(), make_regrown_2();
	make_grown_1(), make_grown_2();
	make_aligned_1(), make_aligned_2();
	make_doubles_1(), make_doubles_2();
	make_nodes_1(), make_nodes_2();
	make_recursive_1(), make_recursive_2();
	KEEP(new_node(argc));
	KEEP(checked_node(&context, argc));
	KEEP(copy("text"));
	keeps(1161);
	keeps_aligned(1211);
	return argc > 1 ? heapsnap_dump(argv[1]) | heapsnap_wait() : 2;
}
