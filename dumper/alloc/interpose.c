// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The malloc family, as the program sees it. What a block is, blocks.h knows.
 */
#include "dumper/heapsnap.h"

#include "dumper/alloc/blocks.h"
#include "dumper/host/first.h"
#include "dumper/stacks/closing.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

void *pvalloc(size_t size); // musl has none
void cfree(void *block);
void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t alignment, size_t size);

HEAPSNAP_API void *malloc(size_t size)
{
	return heapsnap_allocate(size, 0);
}

HEAPSNAP_API void free(void *block)
{
	heapsnap_release(block);
}

// For what the allocator that comes first may not have.
static void release(void *block)
{
	if (heapsnap_first_is_other())
		heapsnap_first_free(block);
	else
		heapsnap_release(block);
}

HEAPSNAP_API void cfree(void *block)
{
	release(block);
}

// C23.
HEAPSNAP_API void free_sized(void *block, size_t size)
{
	(void)size;
	release(block);
}

HEAPSNAP_API void free_aligned_sized(void *block, size_t alignment, size_t size)
{
	(void)alignment;
	(void)size;
	release(block);
}

HEAPSNAP_API void *calloc(size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return heapsnap_allocate_zeros(bytes, HEAPSNAP_SITE);
}

// As glibc has it: no bytes are a free.
static void *reallocate(void *block, size_t size, uint64_t site)
{
	if (!block)
		return heapsnap_allocate_aligned(1, size, site, 0);
	if (size == 0) {
		heapsnap_release(block);
		return NULL;
	}
	return heapsnap_reallocate(block, size, site);
}

HEAPSNAP_API void *realloc(void *block, size_t size)
{
	// Some programs have nothing but realloc(), as Lua.
	if (!block)
		return heapsnap_allocate(size, 0);
	return reallocate(block, size, HEAPSNAP_SITE);
}

HEAPSNAP_API void *reallocarray(void *block, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	// An allocator that comes before ours may not have this function, as jemalloc.
	if (heapsnap_first_is_other())
		return heapsnap_first_realloc(block, bytes);
	return reallocate(block, bytes, HEAPSNAP_SITE);
}

// As glibc has it: an alignment that is no power of two becomes the next one.
static size_t round_alignment(size_t alignment)
{
	size_t power = HEAPSNAP_HEADER_SIZE;

	while (power < alignment && power < (size_t)1 << 62)
		power *= 2;
	return power;
}

static void *allocate_rounded(size_t alignment, size_t size, uint64_t site)
{
	if (alignment > SIZE_MAX / 2 + 1) {
		errno = EINVAL; // there is no next power
		return NULL;
	}
	return heapsnap_allocate_aligned(round_alignment(alignment), size, site, 0);
}

HEAPSNAP_API void *memalign(size_t alignment, size_t size)
{
	return allocate_rounded(alignment, size, HEAPSNAP_SITE);
}

HEAPSNAP_API void *aligned_alloc(size_t alignment, size_t size)
{
	return allocate_rounded(alignment, size, HEAPSNAP_SITE);
}

HEAPSNAP_API int posix_memalign(void **result, size_t alignment, size_t size)
{
	int before = errno;
	void *block;

	if (alignment < sizeof(void *) || (alignment & (alignment - 1)))
		return EINVAL;
	block = heapsnap_allocate_aligned(round_alignment(alignment), size, HEAPSNAP_SITE, 0);
	if (!block) {
		errno = before;
		return ENOMEM;
	}
	*result = block;
	return 0;
}

HEAPSNAP_API void *valloc(size_t size)
{
	return heapsnap_allocate_aligned((size_t)getpagesize(), size, HEAPSNAP_SITE, 0);
}

HEAPSNAP_API void *pvalloc(size_t size)
{
	size_t page = (size_t)getpagesize();

	if (size > HEAPSNAP_SIZE_MAX) {
		errno = ENOMEM;
		return NULL;
	}
	return heapsnap_allocate_aligned(page, (size + page - 1) & ~(page - 1), HEAPSNAP_SITE, 0);
}

// Facts about the code that it unmaps do not hold for code that is mapped there next.
HEAPSNAP_API int dlclose(void *handle)
{
	static int (*next)(void *);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "dlclose");

	struct heapsnap_closing closing = heapsnap_closing_begin(handle);
	int result = next(handle);

	heapsnap_closing_end(&closing);
	return result;
}

HEAPSNAP_API size_t malloc_usable_size(void *block)
{
	return heapsnap_usable_size(block);
}
