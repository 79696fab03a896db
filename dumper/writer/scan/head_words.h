// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAD_WORDS_H
#define HEAD_WORDS_H

/**
 * Words at the beginnings of blocks that lead into modules, and blocks that hold pointers to code.
 *
 * Both are candidates for method tables (dumper/writer/infer/tags/method_tables.h). They are collected while
 * the memory is scanned for edges, since reading all blocks once more takes as long as that scan.
 */

#include "dumper/writer/scan/objects.h"

#include "lib/base/array.h"
#include "lib/base/bits.h"
#include "lib/base/hash_table.h"

enum {
	HEAD_WORDS = 16, /**< of a block, its head */
};

struct head_word {
	uint64_t word;
	uint32_t count; /**< heads that have it */
};

struct head_words {
	struct HEAP_ARRAY(struct head_word) list; /**< in the order of their first blocks */
	struct heap_hash_table by_word;
	uint8_t *with_code; /**< a bit per object, see heap_bit_get(): it holds a pointer to code */
	bool has_code;      /**< any of them does */
};

/** @return NULL, HEAP_ERROR_MEMORY; head_words_deinit() frees it, also after an error */
HEAP_MUST_CHECK
struct heap_error *head_words_init(struct head_words *heads, heap_object_id objects);

void head_words_deinit(struct head_words *heads);

/** Counts a word. Beyond a million different ones, no new ones are counted. */
HEAP_MUST_CHECK
struct heap_error *head_words_count(struct head_words *heads, uint64_t word);

/** Notes that an object holds a pointer to code. */
static inline void head_words_note_code(struct head_words *heads, heap_object_id object)
{
	heap_bit_set(heads->with_code, object);
	heads->has_code = true;
}

/** The first object from one on, before @p end, that holds a pointer to code; @p end if there is none. */
heap_object_id head_words_next_with_code(const struct head_words *heads, heap_object_id object,
					 heap_object_id end);

#endif
