// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Operator new and delete in all their forms, so that the site of a block is the caller of
 * new and not libstdc++. Written in C under the names of the Itanium C++ ABI: the library
 * must load into programs that have no C++ runtime.
 */
#include "dumper/alloc/operators.h"

#include "dumper/alloc/blocks.h"
#include "dumper/heapsnap.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>

static bool steps_back;

// The C++ runtime's function of that name, if there is a C++ runtime.
static void *find_next(const char *name)
{
	static const char *const runtimes[] = { "libstdc++.so.6", "libc++abi.so.1", "libc++.so.1" };
	void *next = dlsym(RTLD_NEXT, name);

	// A plugin may have brought it, out of everybody else's sight.
	for (size_t i = 0; !next && i < sizeof(runtimes) / sizeof(runtimes[0]); i++) {
		void *runtime = dlopen(runtimes[i], RTLD_LAZY | RTLD_NOLOAD);

		if (runtime) {
			next = dlsym(runtime, name);
			dlclose(runtime);
		}
	}
	return next;
}

// --- new ---------------------------------------------------------------------------

typedef void *new_function(size_t size, uintptr_t second, uintptr_t third);

/*
 * The runtime's own: asks the new handler, throws, or returns NULL as its form demands. No
 * form has more than three parameters, and they are all words.
 */
static __attribute__((noinline)) void *pass_new(const char *name, size_t size, uintptr_t second,
						uintptr_t third)
{
	new_function *next = (new_function *)find_next(name);

	if (!next)
		abort(); // none that could throw
	return next(size, second, third);
}

static __attribute__((noinline)) void *pass_new_nothrow(const char *name, size_t size,
							uintptr_t second, uintptr_t third)
{
	new_function *next = (new_function *)find_next(name);

	return next ? next(size, second, third) : NULL;
}

#ifndef HEAPSNAP_UNTRACKED

// Which std::nothrow it is makes no difference.
static const char nothrow_tag;

// The slow path is a function for each form: malloc's knows of no C++ runtime, and one that is
// called, rather than jumped to, does not know its caller's frame.
#define NEW(symbol, flags, pass, second, ...) \
	static __attribute__((noinline)) void *symbol##_slowly(char *base, size_t size, \
							       uint64_t site) \
	{ \
		uintptr_t nothrow = (uintptr_t)&nothrow_tag; \
		void *block = heapsnap_adopt_at(base, size, site, flags, HEAPSNAP_FRAME_AT(site)); \
\
		(void)nothrow; \
		return HEAPSNAP_LIKELY(block) ? block : pass(#symbol, size, second, 0); \
	} \
\
	static __attribute__((noinline)) void *symbol##_in_wrapper(char *base, size_t size, \
								   uint64_t site) \
	{ \
		return heapsnap_adopt_or(base, size, site, flags, symbol##_slowly); \
	} \
\
	HEAPSNAP_API void *symbol(size_t size, ##__VA_ARGS__); \
	HEAPSNAP_API void *symbol(size_t size, ##__VA_ARGS__) \
	{ \
		if (HEAPSNAP_UNLIKELY(steps_back)) \
			return pass(#symbol, size, second, 0); \
		return heapsnap_allocate_or(size, flags, symbol##_in_wrapper, symbol##_slowly); \
	}

#else

#define NEW(symbol, flags, pass, second, ...) \
	HEAPSNAP_API void *symbol(size_t size, ##__VA_ARGS__); \
	HEAPSNAP_API void *symbol(size_t size, ##__VA_ARGS__) \
	{ \
		if (HEAPSNAP_UNLIKELY(steps_back)) \
			return pass(#symbol, size, second, 0); \
\
		void *block = heapsnap_allocate(size, flags); \
\
		return HEAPSNAP_LIKELY(block) ? block : pass(#symbol, size, second, 0); \
	}

#endif

#define NEW_ALIGNED(symbol, flags, pass, third, ...) \
	HEAPSNAP_API void *symbol(size_t size, size_t alignment, ##__VA_ARGS__); \
	HEAPSNAP_API void *symbol(size_t size, size_t alignment, ##__VA_ARGS__) \
	{ \
		void *block = NULL; \
\
		/* The runtime knows what to say of another alignment. */ \
		if (!steps_back && alignment != 0 && (alignment & (alignment - 1)) == 0) \
			block = heapsnap_allocate_aligned(alignment, size, HEAPSNAP_SITE, flags); \
		return block ? block : pass(#symbol, size, alignment, third); \
	}

#define ONE HEAPSNAP_BLOCK_NEW
#define ARRAY HEAPSNAP_BLOCK_NEW_ARRAY

NEW(_Znwm, ONE, pass_new, 0)
NEW(_Znam, ARRAY, pass_new, 0)
NEW(_ZnwmRKSt9nothrow_t, ONE, pass_new_nothrow, nothrow, uintptr_t nothrow)
NEW(_ZnamRKSt9nothrow_t, ARRAY, pass_new_nothrow, nothrow, uintptr_t nothrow)
NEW_ALIGNED(_ZnwmSt11align_val_t, ONE, pass_new, 0)
NEW_ALIGNED(_ZnamSt11align_val_t, ARRAY, pass_new, 0)
NEW_ALIGNED(_ZnwmSt11align_val_tRKSt9nothrow_t, ONE, pass_new_nothrow, nothrow, uintptr_t nothrow)
NEW_ALIGNED(_ZnamSt11align_val_tRKSt9nothrow_t, ARRAY, pass_new_nothrow, nothrow, uintptr_t nothrow)

// --- delete ------------------------------------------------------------------------

typedef void delete_function(void *block, uintptr_t second, uintptr_t third);

static __attribute__((noinline)) void pass_delete(const char *name, void *block, uintptr_t second,
						  uintptr_t third)
{
	delete_function *next = (delete_function *)find_next(name);

	if (next)
		next(block, second, third);
	else
		heapsnap_release(block);
}

// The size, the alignment and nothrow that some forms get are not needed: the header knows.
#define DELETE(symbol, second, third, ...) \
	HEAPSNAP_API void symbol(void *block, ##__VA_ARGS__); \
	HEAPSNAP_API void symbol(void *block, ##__VA_ARGS__) \
	{ \
		if (HEAPSNAP_UNLIKELY(steps_back)) \
			pass_delete(#symbol, block, second, third); \
		else \
			heapsnap_release(block); \
	}

DELETE(_ZdlPv, 0, 0)
DELETE(_ZdaPv, 0, 0)
DELETE(_ZdlPvm, size, 0, uintptr_t size)
DELETE(_ZdaPvm, size, 0, uintptr_t size)
DELETE(_ZdlPvRKSt9nothrow_t, nothrow, 0, uintptr_t nothrow)
DELETE(_ZdaPvRKSt9nothrow_t, nothrow, 0, uintptr_t nothrow)
DELETE(_ZdlPvSt11align_val_t, alignment, 0, uintptr_t alignment)
DELETE(_ZdaPvSt11align_val_t, alignment, 0, uintptr_t alignment)
DELETE(_ZdlPvmSt11align_val_t, size, alignment, uintptr_t size, uintptr_t alignment)
DELETE(_ZdaPvmSt11align_val_t, size, alignment, uintptr_t size, uintptr_t alignment)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, alignment, nothrow, uintptr_t alignment,
       uintptr_t nothrow)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, alignment, nothrow, uintptr_t alignment,
       uintptr_t nothrow)

// --- who else ------------------------------------------------------------------------

// True if the program's calls of that name reach another module's function, not ours.
static bool is_replaced(const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);
	Dl_info theirs, ours;

	if (!found || !dladdr(&steps_back, &ours))
		return false;
#if !defined(RTLD_DL_SYMENT)
	return dladdr(found, &theirs) && theirs.dli_fbase != ours.dli_fbase;
#else
	ElfW(Sym) *symbol = NULL;

	if (!dladdr1(found, &theirs, (void **)&symbol, RTLD_DL_SYMENT))
		return false;
	// A program that was linked for a fixed address and takes the address of the function
	// has it in its own linkage table, under a symbol that it does not define.
	return theirs.dli_fbase != ours.dli_fbase && symbol && symbol->st_shndx != SHN_UNDEF;
#endif
}

void heapsnap_operators_init(void)
{
	static const char *const bases[] = {
		"malloc",
		"_Znwm",
		"_Znam",
		"_ZdlPv",
		"_ZdaPv",
		"_ZnwmSt11align_val_t",
		"_ZdlPvSt11align_val_t",
	};

	for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++)
		steps_back = steps_back || is_replaced(bases[i]);
}
