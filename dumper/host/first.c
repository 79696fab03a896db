// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/host/first.h"

#include "dumper/heapsnap.h"
#include "dumper/base/process.h"
#include "dumper/base/report.h"
#include "dumper/base/settings.h"
#include "dumper/base/system.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

static enum heapsnap_whose_malloc first;

static void *(*first_realloc)(void *block, size_t size);
static void (*first_free)(void *block);

enum heapsnap_whose_malloc heapsnap_first(void)
{
	return first;
}

bool heapsnap_first_is_other(void)
{
	return first_realloc != NULL && first_free != NULL;
}

void *heapsnap_first_realloc(void *block, size_t size)
{
	return first_realloc(block, size);
}

void heapsnap_first_free(void *block)
{
	first_free(block);
}

// Functions of runtimes that must see each allocation unchanged, and that interpose signals. Weak references: dlsym()
// would allocate a message for each that is not there, and leave the heap another than it was.
void __asan_init(void) __attribute__((weak));
void __tsan_init(void) __attribute__((weak));
void __msan_init(void) __attribute__((weak));
void __hwasan_init(void) __attribute__((weak));

static const char *find_sanitizer(void)
{
	return __asan_init     ? "AddressSanitizer"
	       : __tsan_init   ? "ThreadSanitizer"
	       : __msan_init   ? "MemorySanitizer"
	       : __hwasan_init ? "HWAddressSanitizer"
			       : NULL;
}

static const char *file_of(const void *function)
{
	Dl_info info;

	return dladdr(function, &info) && info.dli_fname && *info.dli_fname ? info.dli_fname
									    : "another library";
}

/*
 * True if a function is where its module only calls another's: in an executable that is not
 * position-independent and takes the function's address, that is its entry of the procedure linkage
 * table, for all modules. CPython is such a program.
 */
static bool is_call_of_another(const void *function)
{
#ifdef __GLIBC__
	Dl_info info;
	const ElfW(Sym) *symbol = NULL;

	return dladdr1(function, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol &&
	       symbol->st_shndx == SHN_UNDEF;
#else
	(void)function;
	return false;
#endif
}

// Sets where the program's malloc is. @return false if it is ours
static bool find_other(const char **file)
{
	Dl_info info;
	void *function = dlsym(RTLD_DEFAULT, "malloc");

	if (!function || !dladdr(function, &info) || info.dli_fbase == heapsnap_library_base() ||
	    is_call_of_another(function))
		return false;
	*(void **)&first_realloc = dlsym(RTLD_DEFAULT, "realloc");
	*(void **)&first_free = dlsym(RTLD_DEFAULT, "free");
	*file = file_of(function);
	return heapsnap_first_is_other();
}

void heapsnap_first_init(void)
{
	const char *file = NULL, *sanitizer = find_sanitizer();
	char *copy = heapsnap_process.other_malloc;

	if (find_other(&file)) {
		first = HEAPSNAP_ALLOCATOR_OTHER;
		heapsnap_format_text(copy, copy + sizeof(heapsnap_process.other_malloc), file);
	}
	if (sanitizer)
		first = HEAPSNAP_ALLOCATOR_SANITIZER;
	if (!heapsnap_settings.tells_handlers)
		return;
	if (sanitizer)
		heapsnap_report(
			NULL, sanitizer,
			" is in the program: the library stays out of it, and takes no snapshots");
	else if (first == HEAPSNAP_ALLOCATOR_OTHER)
		heapsnap_report("malloc", file,
				" comes before libheapsnap.so: only what it passes on is tracked");
}
