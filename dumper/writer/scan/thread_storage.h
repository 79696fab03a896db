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
 * Libraries that were loaded by dlopen(3) have blocks at another place in each thread, and are left
 * out unless they use the storage of the program's start.
 */

#include "dumper/writer/scan/capture.h"

/** Notes where modules have their blocks, in capture->process.tls_modules, unless they are known. */
void thread_storage_note_modules(struct capture *capture);

#endif
