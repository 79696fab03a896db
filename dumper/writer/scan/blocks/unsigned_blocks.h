// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef UNSIGNED_BLOCKS_H
#define UNSIGNED_BLOCKS_H

/**
 * The blocks of a program with the library that were not allocated by malloc, and so have no header: by functions
 * that only one allocator has (mallocx() of jemalloc, mi_malloc(), tc_malloc()), or by an allocator that is
 * part of the program under names of its own (je_malloc, the global allocators of Rust). Or
 * they are glibc's, past malloc: by __libc_malloc(), by another malloc that comes before the library's, or from a
 * second libc (dlmopen()).
 *
 * They are found by the allocator's structures, as in a process without the library. These also list the
 * blocks that the library got from the allocator, and put headers into: those are left out.
 *
 *	allocators' blocks ──▶ without those whose header verifies, or was wiped ──▶ unsigned blocks
 */

#include "dumper/base/protocol.h"
#include "dumper/writer/scan/blocks/blocks.h"

/**
 * Finds them. The list is empty where they are so few that they may be blocks which are free: in threads' caches
 * that are not known, or just being freed.
 *
 * @param is_glibc_called  its blocks are looked at, too: a walk through all of the heap
 */
HEAP_MUST_CHECK
struct heap_error *unsigned_blocks_find(struct blocks *blocks, const struct image *image,
					const struct block_threads *threads,
					const struct heapsnap_process *process,
					bool is_glibc_called);

#endif
