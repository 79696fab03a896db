// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_ANSWERS_H
#define HEAP_DWARF_ANSWERS_H

/**
 * Answers about addresses and DIEs that debug information gave before, cached by build id
 * (dwarf_cache_file.h).
 *
 * Successive captures ask much the same of a module, even for different programs: the lines of callers
 * of main(), the variables of the functions that threads sleep in, the types at an allocation site of libc.
 * For the first question, the sections of the whole file are decompressed; with the cache, they often
 * need not be read at all.
 *
 *	question: kind, place, context ──▶ answer: numbers, some of them offsets of strings
 *
 * The caller defines the meaning of the numbers: dwarf_line_cache.h, dwarf_layout.h, dwarf_site_types.h.
 *
 * A cache has at most 65,536 answers, 786,432 numbers and 4 MiB of strings.
 */

#include "lib/base/array.h"
#include "lib/base/error.h"
#include "lib/dwarf/dwarf_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The values are stored: add at the end, never renumber. */
enum heap_dwarf_question_kind {
	HEAP_DWARF_QUESTION_LINES,
	HEAP_DWARF_QUESTION_LAYOUT,
	HEAP_DWARF_QUESTION_SITE_TYPES,
	HEAP_DWARF_QUESTION_NEXT_CALL,
	HEAP_DWARF_QUESTION_TYPE,
	HEAP_DWARF_QUESTION_CASTS,
	HEAP_DWARF_QUESTION_ARGUMENTS,
	HEAP_DWARF_QUESTION_KINDS,
};

struct heap_dwarf_question {
	enum heap_dwarf_question_kind kind;
	uint64_t place;   /**< address in the file, or place of a DIE */
	uint64_t context; /**< whatever else the answer depends on; 0: nothing */
};

struct heap_dwarf_answers;

/**
 * Opens the cache of a file; nothing is read before the first question.
 *
 * @param directory, build_id  copied; as for heap_dwarf_info_load()
 * @param source               the file with the debug information; copied
 * @param type_count           of what heap_dwarf_info_read() finds in it
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_answers_create(const char *directory, const char *build_id,
					     const struct heap_dwarf_source *source,
					     uint64_t type_count,
					     struct heap_dwarf_answers **result);

/** NULL is fine. */
void heap_dwarf_answers_destroy(struct heap_dwarf_answers *answers);

/** Stores them if some were added. */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_answers_store(struct heap_dwarf_answers *answers);

/** Reads a cache from the bytes of its file: for tests and fuzzing. */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_answers_load_memory(struct heap_dwarf_answers *answers,
						  const uint8_t *bytes, size_t size);

/** An answer that is being read; reading beyond its end gives zeros. Valid until another is added. */
struct heap_dwarf_answer {
	const struct heap_dwarf_answers *answers;
	const uint64_t *numbers; /**< [count] */
	size_t count, at;
	bool is_bad; /**< there were too few numbers, or some were out of range */
};

/**
 * Finds what was answered before. A cache that is not there, is damaged or cannot be trusted is an empty
 * one; so is NULL.
 *
 * @return false if it is not known
 */
bool heap_dwarf_answers_find(struct heap_dwarf_answers *answers,
			     const struct heap_dwarf_question *question,
			     struct heap_dwarf_answer *result);

/** The next number. */
uint64_t heap_dwarf_answer_next(struct heap_dwarf_answer *answer);

/** The next number, at most @p max: a count of things, each followed by at least one number of its own. */
uint64_t heap_dwarf_answer_next_count(struct heap_dwarf_answer *answer, uint64_t max);

/** The string that the next number is the offset of; "" if it is out of range. The cache's. */
const char *heap_dwarf_answer_next_string(struct heap_dwarf_answer *answer);

/** True if all was read, and nothing is amiss. */
bool heap_dwarf_answer_is_good(const struct heap_dwarf_answer *answer);

/** An answer that is being written. Zeros, and the cache that it is for; NULL: for none. */
struct heap_dwarf_answer_writer {
	struct heap_dwarf_answers *answers;
	struct HEAP_ARRAY(uint64_t) numbers;
	bool has_failed; /**< no memory, or no room in the cache */
};

/** Appends a number, or a string, to be read in the same order. */
void heap_dwarf_answer_put(struct heap_dwarf_answer_writer *writer, uint64_t number);
void heap_dwarf_answer_put_string(struct heap_dwarf_answer_writer *writer, const char *string);

/** Adds it to the cache, if there is room. A question that was answered before is not to be asked again. */
void heap_dwarf_answer_add(struct heap_dwarf_answer_writer *writer,
			   const struct heap_dwarf_question *question);

#endif
