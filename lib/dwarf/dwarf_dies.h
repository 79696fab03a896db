// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_DIES_H
#define HEAP_DWARF_DIES_H

/**
 * The DIEs of one unit, in the order of the file.
 *
 * (DWARF 5, sections 7.5.2 to 7.5.6.) A DIE's children follow it, up to a DIE with tag 0. Only
 * attributes that describe types and variables are kept.
 */

#include "lib/dwarf/dwarf_file_names.h"

struct heap_dwarf_abbreviation {
	uint64_t code;
	uint16_t tag;
	bool children;
	bool wanted;         /**< the attributes are worth reading */
	uint32_t attributes; /**< first in heap_dwarf_dies.attributes */
	uint32_t count;
	int32_t size; /**< of the attributes in bytes; -1 if it varies */
};

struct heap_dwarf_attribute {
	uint16_t name;
	uint16_t form;
	int64_t implicit;
};

/** A reader of one unit. May be given one unit after the other. */
struct heap_dwarf_dies {
	const struct heap_dwarf_units *units;
	const struct heap_dwarf_unit *unit;
	const struct heap_dwarf_sections *sections;
	struct heap_dwarf_bytes section; /**< that the unit is in */

	struct heap_dwarf_abbreviation *abbreviations; /**< [count] by code */
	size_t count, capacity;
	struct heap_dwarf_attribute *attributes;
	size_t attribute_count, attribute_capacity;
	bool in_order; /**< abbreviation n is the nth */

	struct heap_dwarf_bases bases;
	uint64_t language;                 /**< of the unit: DW_LANG_...; 0: not said */
	struct heap_dwarf_bytes addresses; /**< .debug_addr, for split units the skeleton's */
};

enum heap_dwarf_value_kind {
	HEAP_DWARF_OTHER_VALUE,
	HEAP_DWARF_NUMBER_VALUE, /**< a constant, a flag, or an offset in some section */
	HEAP_DWARF_ADDRESS_VALUE,
	HEAP_DWARF_INDEX_VALUE, /**< of an address or a list of ranges or locations */
	HEAP_DWARF_STRING_VALUE,
	HEAP_DWARF_REFERENCE_VALUE, /**< number: a place */
	HEAP_DWARF_BLOCK_VALUE,     /**< bytes, number: how many */
};

struct heap_dwarf_value {
	uint8_t kind; /**< enum heap_dwarf_value_kind */
	uint64_t number;
	union {
		const uint8_t *bytes;
		const char *text;
	};
};

enum heap_dwarf_has {
	HEAP_DWARF_HAS_SIZE = 1 << 0,
	HEAP_DWARF_HAS_LOCATION = 1 << 1,    /**< a member's offset, or a location expression */
	HEAP_DWARF_HAS_BIT_OFFSET = 1 << 2,  /**< from the most significant bit, DWARF 2 and 3 */
	HEAP_DWARF_HAS_DATA_BITS = 1 << 3,   /**< from the struct's start, DWARF 4 and 5 */
	HEAP_DWARF_HAS_UPPER_BOUND = 1 << 4, /**< a constant */
	HEAP_DWARF_HAS_COUNT = 1 << 5,       /**< a constant */
	HEAP_DWARF_IS_DECLARATION = 1 << 6,
	HEAP_DWARF_IS_EXTERNAL = 1 << 7,
	HEAP_DWARF_IS_VIRTUAL = 1 << 8,       /**< DW_AT_virtuality */
	HEAP_DWARF_IS_CONTAINING = 1 << 9,    /**< DW_AT_containing_type */
	HEAP_DWARF_HAS_LOWER_BOUND = 1 << 10, /**< a constant */
	HEAP_DWARF_IS_ARTIFICIAL = 1 << 11,
	HEAP_DWARF_HAS_VALUE = 1 << 12,         /**< DW_AT_const_value or discr_value, a constant */
	HEAP_DWARF_IS_DWO = 1 << 13,            /**< the unit's DIEs are in another file */
	HEAP_DWARF_HAS_DATA_LOCATION = 1 << 15, /**< an array's: `location` leads to the elements */
	HEAP_DWARF_IS_DYNAMIC = 1 << 14, /**< DW_AT_lower_bound, but known at run time only */
};

struct heap_dwarf_die {
	uint64_t place;
	uint16_t tag; /**< 0: no DIE, the end of some children */
	bool children;
	bool wanted;            /**< false: nothing of what follows was read */
	uint32_t has;           /**< enum heap_dwarf_has */
	const char *name;       /**< NULL if there is none */
	uint64_t type;          /**< place; HEAP_DWARF_NOWHERE if there is none, and so on */
	uint64_t specification; /**< or abstract origin */
	uint64_t signature;     /**< place of what DW_AT_signature refers to */
	uint64_t import;        /**< place of the unit that DW_TAG_imported_unit refers to */
	uint64_t size;
	uint64_t offset;         /**< of a member, in bytes */
	const uint8_t *location; /**< [location_size] an expression, if it is one */
	uint64_t location_size;
	uint64_t bit_size;
	int64_t bit_offset;
	uint64_t data_bits;
	int64_t upper_bound, lower_bound;
	uint64_t array_count;
	int64_t value;
	uint64_t encoding;
	uint64_t language; /**< of a unit: DW_LANG_...; 0: not said */
	uint64_t file, line;
};

void heap_dwarf_dies_deinit(struct heap_dwarf_dies *dies);

/**
 * Turns to a unit: reads its abbreviations and first DIE.
 *
 * @param dies  zeroed, or used for another unit before
 * @return NULL, HEAP_ERROR_FORMAT or HEAP_ERROR_MEMORY
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_dies_begin(struct heap_dwarf_dies *dies,
					 const struct heap_dwarf_units *units,
					 const struct heap_dwarf_unit *unit,
					 struct heap_dwarf_die *first);

/**
 * Reads the DIE at @p place and gives the place after it.
 *
 * @param any  read the attributes of all tags, not only of those about types and variables
 * @return NULL or HEAP_ERROR_FORMAT
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_dies_read(const struct heap_dwarf_dies *dies, uint64_t place,
					bool any, struct heap_dwarf_die *result, uint64_t *next);

/** Called with each attribute of a DIE. */
typedef void heap_dwarf_attribute_visitor(void *context, uint16_t name,
					  const struct heap_dwarf_value *value);

/** The visitor of those who want the tag alone. */
static inline void heap_dwarf_ignore_attribute(void *context, uint16_t name,
					       const struct heap_dwarf_value *value)
{
	(void)context;
	(void)name;
	(void)value;
}

/**
 * As heap_dwarf_dies_read(), for those who want other attributes.
 *
 * @param tag       gets the DIE's tag, 0 at the end of some children: then nothing is visited
 * @param children  gets whether it has any
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_dies_visit(const struct heap_dwarf_dies *dies, uint64_t place,
					 heap_dwarf_attribute_visitor *visit, void *context,
					 uint16_t *tag, bool *children, uint64_t *next);

/** The names of the files that the unit's DIEs count in. */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_dies_files(const struct heap_dwarf_dies *dies,
					 struct heap_dwarf_file_names *result);

/** An address of .debug_addr. @return false if it is outside */
bool heap_dwarf_dies_address(const struct heap_dwarf_dies *dies, uint64_t index, uint64_t *result);

#endif
