// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef THREAD_STORAGE_H
#define THREAD_STORAGE_H

/**
 * Finds the thread-local storage of modules in a process without libheapsnap.so, for attach and
 * core files. The library asks the dynamic linker; here the contents of memory have to tell:
 *
 *	the program     its block ends at the thread pointer (x86-64), or begins behind the control
 *	                block there (aarch64)
 *	a library       its own relocated words have the offset of a variable, or its number in each
 *	                thread's table of blocks (the dtv of glibc)
 *
 * Libraries that were loaded by dlopen(3) have blocks at another place in each thread, in malloc's
 * memory, once the thread has used them: thread by thread, the table has them.
 */

#include "dumper/writer/scan/capture.h"

/** Where a module has its blocks: at an offset from each thread pointer, or in threads' tables. */
struct thread_storage {
	bool is_known;
	int64_t offset;
	uint64_t number; /**< in the tables; 0: the offset counts */
};

/** Notes where modules have their blocks, in capture->process.tls_modules, unless they are known. */
void thread_storage_note_modules(struct capture *capture);

/** After thread_storage_note_modules(). */
struct thread_storage thread_storage_find(const struct capture *capture,
					  const struct module *module);

/** The address of a module's block in a thread; 0: it has none, or that is not known. */
uint64_t thread_storage_block(const struct capture *capture, const struct thread_storage *storage,
			      uint32_t thread);

#endif
