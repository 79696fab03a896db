// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * C++'s operator new and delete in all their forms, so that the site of a block is the
 * caller of new and not libstdc++. Written in C under the names of the Itanium C++ ABI:
 * the library must load into programs that have no C++ runtime.
 */
#include "dumper/heapsnap.h"

#include "dumper/blocks.h"

#include <stdlib.h>

// Of the C++ runtime, if there is one.
typedef void new_handler(void);
extern new_handler *_ZSt15get_new_handlerv(void) __attribute__((weak));
extern void _ZSt17__throw_bad_allocv(void) __attribute__((weak, noreturn));

enum failure {
	THROWS,
	NOTHROW,
};

static __attribute__((noinline)) void *allocate_hard(size_t alignment, size_t size, uint64_t site,
						     unsigned flags, enum failure failure)
{
	for (;;) {
		new_handler *handler = _ZSt15get_new_handlerv ? _ZSt15get_new_handlerv() : NULL;
		void *block;

		if (!handler)
			break;
		handler();
		block = heapsnap_allocate_aligned(alignment, size, site, flags);
		if (block)
			return block;
	}
	if (failure == THROWS) {
		if (_ZSt17__throw_bad_allocv)
			_ZSt17__throw_bad_allocv();
		abort();
	}
	return NULL;
}

static inline __attribute__((always_inline)) void *allocate(size_t size, uint64_t site,
							    unsigned flags, enum failure failure)
{
	void *block = heapsnap_allocate(size, site, flags);

	if (HEAPSNAP_UNLIKELY(!block))
		return allocate_hard(HEAPSNAP_HEADER_SIZE, size, site, flags, failure);
	return block;
}

static void *allocate_aligned(size_t size, size_t alignment, uint64_t site, unsigned flags,
			      enum failure failure)
{
	void *block = heapsnap_allocate_aligned(alignment, size, site, flags);

	return block ? block : allocate_hard(alignment, size, site, flags, failure);
}

#define SITE ((uint64_t)__builtin_return_address(0))
#define ONE HEAPSNAP_BLOCK_NEW
#define ARRAY HEAPSNAP_BLOCK_NEW_ARRAY

#define NEW(symbol, flags, failure, ...) \
	HEAPSNAP_API void *symbol(size_t size, ##__VA_ARGS__); \
	HEAPSNAP_API void *symbol(size_t size, ##__VA_ARGS__) \
	{ \
		return allocate(size, SITE, flags, failure); \
	}

#define NEW_ALIGNED(symbol, flags, failure, ...) \
	HEAPSNAP_API void *symbol(size_t size, size_t alignment, ##__VA_ARGS__); \
	HEAPSNAP_API void *symbol(size_t size, size_t alignment, ##__VA_ARGS__) \
	{ \
		return allocate_aligned(size, alignment, SITE, flags, failure); \
	}

// The size, the alignment and nothrow that some forms get are not needed: the header knows.
#define DELETE(symbol) \
	HEAPSNAP_API void symbol(void *block); \
	HEAPSNAP_API void symbol(void *block) \
	{ \
		heapsnap_release(block); \
	}

NEW(_Znwm, ONE, THROWS)
NEW(_Znam, ARRAY, THROWS)
NEW(_ZnwmRKSt9nothrow_t, ONE, NOTHROW, const void *nothrow __attribute__((unused)))
NEW(_ZnamRKSt9nothrow_t, ARRAY, NOTHROW, const void *nothrow __attribute__((unused)))
NEW_ALIGNED(_ZnwmSt11align_val_t, ONE, THROWS)
NEW_ALIGNED(_ZnamSt11align_val_t, ARRAY, THROWS)
NEW_ALIGNED(_ZnwmSt11align_val_tRKSt9nothrow_t, ONE, NOTHROW,
	    const void *nothrow __attribute__((unused)))
NEW_ALIGNED(_ZnamSt11align_val_tRKSt9nothrow_t, ARRAY, NOTHROW,
	    const void *nothrow __attribute__((unused)))

DELETE(_ZdlPv)
DELETE(_ZdaPv)
DELETE(_ZdlPvm)
DELETE(_ZdaPvm)
DELETE(_ZdlPvRKSt9nothrow_t)
DELETE(_ZdaPvRKSt9nothrow_t)
DELETE(_ZdlPvSt11align_val_t)
DELETE(_ZdaPvSt11align_val_t)
DELETE(_ZdlPvmSt11align_val_t)
DELETE(_ZdaPvmSt11align_val_t)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t)
