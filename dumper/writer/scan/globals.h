// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef GLOBALS_H
#define GLOBALS_H

/**
 * Roots that are not on a stack: variables of modules, thread-locals, other memory.
 *
 * Variables have their names and types from debug information; the remaining memory is named by ELF
 * symbols, if it holds pointers at all. Words that belong to no variable are gathered per segment
 * and per mapping, once the variables on stacks are known.
 *
 * The allocator's own bookkeeping is not a root. Its bins point to free chunks, and such pointers
 * seem to lead into the ends of the live blocks before them. So among the unnamed words of libc
 * only those count that point to a block's start.
 */

#include "dumper/writer/scan/capture.h"

/** Global, static and thread-local variables. */
HEAP_MUST_CHECK
struct heap_error *globals_gather_variables(struct capture *capture);

/** Unnamed words in the threads' own storage (static TLS, thread control block). */
HEAP_MUST_CHECK
struct heap_error *globals_gather_thread_storage(struct capture *capture);

/** The name of the roots that globals_gather_thread_storage() adds. */
#define GLOBALS_THREAD_STORAGE "thread storage"

/** The thread pointer of such a root's thread; 0: the memory behind it ends too early to tell. */
uint64_t globals_thread_pointer(const struct heap_root *storage);

/** Unnamed words in the modules' data, and in writable mappings without blocks. */
HEAP_MUST_CHECK
struct heap_error *globals_gather_rest(struct capture *capture);

#endif
