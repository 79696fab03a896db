// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/alloc/next_allocator.h"

#include "dumper/base/hash.h"
#include "dumper/alloc/blocks.h"
#include "dumper/alloc/operators.h"
#include "dumper/base/process.h"
#include "dumper/base/system.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>

enum {
	ARENA_SIZE = 65536,
};

static void *first_malloc(size_t size);
static void first_free(void *block);
static void *first_calloc(size_t count, size_t size);

struct heapsnap_hot heapsnap_hot __attribute__((aligned(64))) = {
	.malloc = first_malloc,
	.free = first_free,
	.mark = HEAPSNAP_MARKS, // no block that is signed before one is chosen will look plain
};
struct heapsnap_allocator heapsnap_next = { .calloc = first_calloc };

// glibc's malloc by an internal name, which no other library replaces.
extern void *__libc_malloc(size_t size) __attribute__((weak));

// Memory that the dynamic linker allocates while it looks for malloc; never freed.
static struct {
	char bytes[ARENA_SIZE];
	size_t used;
} arena __attribute__((aligned(16)));

bool heapsnap_is_in_arena(const void *block)
{
	return (const char *)block >= arena.bytes && (const char *)block < arena.bytes + ARENA_SIZE;
}

const char *heapsnap_arena(size_t *size)
{
	*size = arena.used;
	return arena.bytes;
}

// Zeros.
static void *allocate_in_arena(size_t size)
{
	size_t bytes = (size + 15) & ~(size_t)15;
	char *block = arena.bytes + arena.used;

	if (size > ARENA_SIZE || bytes > ARENA_SIZE - arena.used) {
		errno = ENOMEM;
		return NULL;
	}
	arena.used += bytes;
	return block;
}

bool heapsnap_is_found(void)
{
	return heapsnap_hot.malloc != first_malloc;
}

bool heapsnap_next_is_glibc(void)
{
	return heapsnap_is_found() && heapsnap_hot.malloc == __libc_malloc;
}

// Stands for malloc until the next allocator is found.
static void *first_malloc(size_t size)
{
	heapsnap_next_init();
	return heapsnap_is_found() ? heapsnap_hot.malloc(size) : allocate_in_arena(size);
}

static void *first_calloc(size_t count, size_t size)
{
	heapsnap_next_init();
	return heapsnap_is_found() ? heapsnap_next.calloc(count, size)
				   : allocate_in_arena(count * size); // count is 1
}

// Allocates from the arena.
static void first_free(void *block)
{
	(void)block;
}

// Takes the random bytes that the kernel gives each program: this comes before it is known which
// system calls are allowed.
static uint64_t make_secret(void)
{
	const uint64_t *random = (const uint64_t *)getauxval(AT_RANDOM);
	uint64_t secret = 0;

	if (random)
		return heapsnap_scatter(heapsnap_scatter(random[0]) ^ random[1]) | 1;

	if (heapsnap_system(SYS_getrandom, (long)&secret, sizeof(secret), GRND_NONBLOCK, 0, 0, 0) !=
	    sizeof(secret))
		secret = heapsnap_scatter(heapsnap_monotonic_ns() ^ (uint64_t)&secret);
	return secret | 1;
}

#if !defined(__GLIBC__)

// musl's own calloc calls whatever malloc the program has, and its memalign whatever aligned_alloc:
// ours.
#define MEMALIGN "aligned_alloc"

static void *clear(size_t count, size_t size)
{
	void *block = heapsnap_hot.malloc(count * size); // count is 1

	return block ? memset(block, 0, count * size) : NULL;
}

#else
#define MEMALIGN "memalign"
#endif

void heapsnap_next_init(void)
{
	static bool begun;
	struct heapsnap_allocator next;
	void *(*next_malloc)(size_t);
	void (*next_free)(void *);

	if (begun)
		return;
	begun = true;
	heapsnap_hot.secret = heapsnap_process.secret = make_secret();
#if defined(__GLIBC__)
	next.calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
#else
	next.calloc = clear;
#endif
	next.realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
	next.memalign = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, MEMALIGN);
	if (!next.memalign)
		next.memalign = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "aligned_alloc");
	next.usable_size = (size_t(*)(void *))dlsym(RTLD_NEXT, "malloc_usable_size");
	next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	// All at once: what the linker has from the arena is not for them to free.
	heapsnap_next = next;
	heapsnap_hot.free = next_free;
	heapsnap_hot.malloc = next_malloc;
	heapsnap_blocks_begin();
	heapsnap_operators_init();
}
