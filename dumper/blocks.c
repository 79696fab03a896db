// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/blocks.h"

#include "dumper/system.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>

enum {
	ARENA_SIZE = 65536,
};

struct heapsnap_allocator heapsnap_below;
__thread int64_t heapsnap_bytes_left = HEAPSNAP_CLOCK_BYTES;

// What the dynamic linker allocates while it looks for malloc; never freed.
static struct {
	char bytes[ARENA_SIZE];
	size_t used;
} arena __attribute__((aligned(16)));

static bool is_in_arena(const void *block)
{
	return (const char *)block >= arena.bytes && (const char *)block < arena.bytes + ARENA_SIZE;
}

// Zeros, with the size 16 bytes before.
static void *allocate_in_arena(size_t size)
{
	size_t bytes = (size + 31) & ~(size_t)15;

	if (size > ARENA_SIZE || bytes > ARENA_SIZE - arena.used) {
		errno = ENOMEM;
		return NULL;
	}

	char *block = arena.bytes + arena.used + 16;

	memcpy(block - 16, &size, sizeof(size));
	arena.used += bytes;
	return block;
}

static uint64_t make_secret(void)
{
	uint64_t secret = 0;

	if (heapsnap_system(SYS_getrandom, (long)&secret, sizeof(secret), GRND_NONBLOCK, 0, 0, 0) !=
	    sizeof(secret))
		secret = heapsnap_monotonic_ns() * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)&secret;
	return secret;
}

void heapsnap_blocks_init(void)
{
	static bool resolving;
	struct heapsnap_allocator below;

	if (heapsnap_below.malloc || resolving)
		return;
	resolving = true;
	heapsnap_process.secret = make_secret();
	below.calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
	below.realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
	below.memalign = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "memalign");
	if (!below.memalign)
		below.memalign = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "aligned_alloc");
	below.free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	below.usable_size = (size_t(*)(void *))dlsym(RTLD_NEXT, "malloc_usable_size");
	below.malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	heapsnap_below = below;
	resolving = false;
}

void heapsnap_blocks_tick(void)
{
	static uint64_t epoch_start_ns; // on the monotonic clock
	static uint64_t first_ns;
	uint64_t now = heapsnap_monotonic_ns();
	uint64_t start = __atomic_load_n(&epoch_start_ns, __ATOMIC_RELAXED);

	heapsnap_bytes_left = HEAPSNAP_CLOCK_BYTES;
	if (first_ns == 0)
		first_ns = now;
	// Epochs grow with the program's age, so that 65536 of them last for ever.
	if (now - start < 1000000000u || now - start < (now - first_ns) / 1024 ||
	    !__atomic_compare_exchange_n(&epoch_start_ns, &start, now, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return;
	heapsnap_begin_epoch(heapsnap_realtime_ns());
}

void *heapsnap_allocate_slow(size_t size, uint64_t site, unsigned flags)
{
	if (size > HEAPSNAP_SIZE_MAX) {
		errno = ENOMEM;
		return NULL;
	}
	heapsnap_blocks_init();
	if (!heapsnap_below.malloc)
		return allocate_in_arena(size);
	return heapsnap_allocate(size, site, flags);
}

void *heapsnap_allocate_zeros(size_t size, uint64_t site)
{
	if (size > HEAPSNAP_SIZE_MAX) {
		errno = ENOMEM;
		return NULL;
	}
	heapsnap_blocks_init();
	if (!heapsnap_below.malloc)
		return allocate_in_arena(size);

	char *base = heapsnap_below.calloc(1, size + HEAPSNAP_HEADER_SIZE);

	if (!base)
		return NULL;
	heapsnap_count(size);
	heapsnap_sign(base + HEAPSNAP_HEADER_SIZE, heapsnap_extent(size, heapsnap_birth(), 0, 0),
		      site);
	return base + HEAPSNAP_HEADER_SIZE;
}

void *heapsnap_allocate_aligned(size_t alignment, size_t size, uint64_t site, unsigned flags)
{
	if (alignment <= HEAPSNAP_HEADER_SIZE)
		return heapsnap_allocate(size, site, flags);
	if (size > HEAPSNAP_SIZE_MAX || alignment >= (size_t)1 << 31) {
		errno = ENOMEM;
		return NULL;
	}
	heapsnap_blocks_init();

	// A whole alignment before the block, of which the header takes the last 16 bytes.
	char *base = heapsnap_below.memalign(alignment, size + alignment);

	if (!base)
		return NULL;
	heapsnap_count(size);
	heapsnap_sign(base + alignment,
		      heapsnap_extent(size, heapsnap_birth(), (unsigned)__builtin_ctzll(alignment),
				      flags),
		      site);
	return base + alignment;
}

void heapsnap_release_other(void *block)
{
	if (is_in_arena(block))
		return;
	heapsnap_blocks_init();
	// The word before a block that never was ours is libc's size of it. Upper bits that no
	// size has mean a header of ours, wiped or damaged: then libc's block begins before
	// the header, and libc says of it what it would have said without us.
	if (heapsnap_header_of(block)->origin >> HEAPSNAP_SITE_BITS)
		heapsnap_below.free((char *)block - HEAPSNAP_HEADER_SIZE);
	else
		heapsnap_below.free(block);
}

// To a new block by copying, where the allocator below cannot do it in place.
static void *move_block(void *block, size_t old_size, size_t size, uint64_t site)
{
	void *moved = heapsnap_allocate(size, site, 0);

	if (!moved)
		return NULL;
	memcpy(moved, block, old_size < size ? old_size : size);
	heapsnap_release(block);
	return moved;
}

void *heapsnap_reallocate(void *block, size_t size, uint64_t site)
{
	struct heapsnap_header *header = heapsnap_header_of(block);

	if (is_in_arena(block)) {
		size_t old_size;

		memcpy(&old_size, (char *)block - 16, sizeof(old_size));
		return move_block(block, old_size, size, site);
	}
	heapsnap_blocks_init();
	if (!heapsnap_is_live(block)) {
		if (header->origin >> HEAPSNAP_SITE_BITS)
			return heapsnap_below.realloc(header, size); // damaged: libc complains
		return heapsnap_below.realloc(block, size);
	}
	if (size > HEAPSNAP_SIZE_MAX) {
		errno = ENOMEM;
		return NULL;
	}

	struct heapsnap_header before = *header;

	if (heapsnap_extent_alignment(before.extent))
		return move_block(block, heapsnap_extent_size(before.extent), size, site);
	heapsnap_wipe(block);

	char *base = heapsnap_below.realloc(header, size + HEAPSNAP_HEADER_SIZE);

	if (!base) {
		__atomic_store_n(&header->origin, before.origin, __ATOMIC_RELAXED);
		return NULL;
	}
	heapsnap_count(size);
	heapsnap_sign(base + HEAPSNAP_HEADER_SIZE, heapsnap_extent(size, heapsnap_birth(), 0, 0),
		      site);
	return base + HEAPSNAP_HEADER_SIZE;
}
