// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CONTENT_H
#define CONTENT_H

/**
 * Content: scores how well a block's words fit a type. It chooses among candidates, and alone never
 * names a type.
 */

#include "dumper/writer/infer/layout.h"
#include "dumper/writer/scan/image/page_cache.h"

struct inference;
struct pointer;

enum {
	CONTENT_WORDS = 512, /**< of a block, read at most */
};

/** A block's contents, read once and compared with several types. */
struct content {
	heap_object_id object;
	uint64_t *words; /**< [count] */
	size_t count;
	uint64_t start; /**< of these words in the block, behind its prefix: 0, or that of a part */
};

/**
 * Scores a block's words for a type: below 0 if more of them contradict.
 *
 * @param elements  of the type, as in the capture's column of that name
 */
int content_score(const struct inference *inference, const struct content *content,
		  heap_type_id type, uint64_t elements);

/** The verdict of contents on one value of a type: content_score() and content_contradicts(), of one visit. */
struct content_verdict {
	int score;
	bool contradicts;
};

struct content_verdict content_judge(const struct inference *inference,
				     const struct content *content, heap_type_id type);

/** True if all words at an offset are zeros. No edge lies on them, so all such values of a type score alike. */
bool content_is_zero(const struct content *content, uint64_t offset, uint64_t size);

/**
 * True if a member of one value of a type cannot have the word that lies there, however much of the rest agrees. In a
 * few blocks of the type that may be so, too: they have members that are not set yet.
 */
bool content_contradicts(const struct inference *inference, const struct content *content,
			 heap_type_id type);

/**
 * Scores a block's words for one value of a struct whose enums the program may never have set, so that old bytes are
 * there: several pointers have to agree, and nothing else may contradict. Below 0 otherwise.
 */
int content_score_unset(const struct inference *inference, const struct content *content,
			heap_type_id type);

/** Reads a block's first words. @param words  [CONTENT_WORDS + 1] the caller's */
void content_read(const struct inference *inference, heap_object_id object, uint64_t *words,
		  struct content *result);

/** The same with the caller's own pages, for use by several threads. */
void content_read_from(const struct inference *inference, struct pages *pages,
		       heap_object_id object, uint64_t *words, struct content *result);

/** Reads the first words of a part of a block, which has @p size bytes from @p start on. */
void content_read_part(const struct inference *inference, heap_object_id object, uint64_t start,
		       uint64_t size, uint64_t *words, struct content *result);

/**
 * Reads what would be one value of a type at a place of an object.
 *
 * @param words  [CONTENT_WORDS + 1] the caller's
 * @return false: there is no room for it
 */
bool content_read_value(const struct inference *inference, heap_object_id object, uint64_t offset,
			heap_type_id type, uint64_t *words, struct content *result);

/**
 * True for a string in a small block that has older contents behind it, such as pointers: where it is not known how
 * many bytes of the block were asked for. The string's NUL may have become the lowest byte of a pointer.
 */
bool content_is_text_and_rest(const struct inference *inference, const struct content *content,
			      uint64_t size);

/** True for a word that is a double as programs have them, neither very large nor very small: whole numbers and pointers are none. */
bool content_is_fraction(uint64_t word);

/** True for a string: text up to a NUL, and only NULs or leftovers after it. */
bool content_is_text(const struct inference *inference, const struct content *content,
		     uint64_t size);

/**
 * Likewise, if nearly all of it is UTF-8, too. Many numbers read like text of any other encoding, hardly any like this: where
 * another member of a union may hold one, no other text counts.
 */
bool content_is_sure_text(const struct inference *inference, const struct content *content,
			  uint64_t size);

/** True for a string of wide characters (UTF-16 or UTF-32): read as bytes it would be one of a single letter. */
bool content_is_wide_text(const struct content *content, uint64_t size);

#endif
