// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SHAPE_FIELDS_H
#define SHAPE_FIELDS_H

/**
 * The fields of blocks whose type has no name, by their words: a word of a field is of the same class in nearly all
 * blocks.
 *
 *	0x55d0c0a8  0x1f  "Berlin\0"       ptr, long, char[8]
 *
 * Some blocks of a kind are read into a tally of their words, from which the classes of the fields are chosen.
 */

#include "dumper/writer/infer/symbols/library_values.h"

enum {
	SHAPE_SAMPLES = 64,   /**< blocks of a kind that are read */
	SHAPE_WORDS = 64,     /**< of a block that are examined */
	SHAPE_FIELDS = 12,    /**< at most; what follows is bytes */
	SHAPE_AGREEMENT = 90, /**< per cent of the words of a field that hold anything */
};

enum field_class {
	FIELD_NOTHING, /**< always 0 */
	FIELD_POINTER,
	FIELD_TEXT_POINTER, /**< to a block of characters */
	FIELD_TEXT,         /**< characters in the block itself */
	FIELD_NUMBER,
	FIELD_LIBRARY, /**< and enum library_value: a value of C++, in several words */
	FIELD_NEXT =
		FIELD_LIBRARY +
		LIBRARY_VALUES, /**< pointers to blocks of the same kind, as links.h finds them */
	FIELD_PREVIOUS,
	FIELD_CHILD,
	FIELD_PARENT,
	FIELD_CLASSES,
};

/** Words of one class, one after the other. */
struct field {
	enum field_class class;
	uint64_t offset, words;
};

struct shape {
	struct field fields[SHAPE_FIELDS];
	uint32_t count;
	uint64_t size; /**< of the block */
	bool is_list, is_tree, is_element;
};

/** Reads the words of blocks. */
struct shape_reader {
	const struct capture *capture;
	struct pages *pages;
	heap_type_id character; /**< of the blocks that are texts */
	struct library_values values;
	size_t widths[LIBRARY_VALUES]; /**< in words */
};

/** The values of the library that begin at one word. */
struct word_found {
	uint32_t proven;
	bool refuted;
};

/** The words of some blocks of one type. */
struct word_tally {
	uint32_t counts[SHAPE_WORDS][FIELD_CLASSES];
	struct word_found found[LIBRARY_VALUES][SHAPE_WORDS];
	size_t words;    /**< of each block that are examined */
	uint32_t blocks; /**< that have been */
};

/** @param character  the type of texts. shape_reader_deinit() frees it, also after an error. */
HEAP_MUST_CHECK
struct heap_error *shape_reader_init(struct shape_reader *reader, const struct capture *capture,
				     heap_type_id character);

void shape_reader_deinit(struct shape_reader *reader);

/**
 * True for a string in a block of its own: letters up to a NUL, which fill a good part of the block.
 * An address is no text, though its bytes may read as letters.
 */
bool shape_is_text(const struct shape_reader *reader, heap_object_id object);

/** The same for one that fills its block, but for a few bytes to which its size is rounded up. */
bool shape_is_fitting_text(const struct shape_reader *reader, heap_object_id object);

/** An empty tally for blocks of a size in bytes. */
struct word_tally word_tally_start(uint64_t size);

/** Adds the words of the block at an address. */
void word_tally_add(const struct shape_reader *reader, uint64_t address, struct word_tally *tally);

/** The class of the field that begins at a word. */
enum field_class word_tally_choose(const struct word_tally *tally, size_t word);

/** True if fields of a class are values of the library. */
bool shape_field_is_library(enum field_class class);

/** Words of one field of a class. */
size_t shape_field_width(const struct shape_reader *reader, enum field_class class);

/** Finds the fields of a shape. @param roles  [words] enum link_role; NULL: there are no links */
void shape_find_fields(const struct shape_reader *reader, const struct word_tally *tally,
		       const uint8_t *roles, struct shape *shape);

/** Finds the shape of the blocks of one kind. @param members  [count] all of them, in ascending order */
HEAP_MUST_CHECK
struct heap_error *shape_find(const struct shape_reader *reader, const heap_object_id *members,
			      uint32_t count, struct shape *shape);

#endif
