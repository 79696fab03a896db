// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_SNAPSHOT_TABLES_H
#define HEAP_SNAPSHOT_TABLES_H

/**
 * Descriptions of a snapshot's tables, for writing, reading and checking them.
 *
 * A table is a section with a row per structure and a value per field. A field's description tells
 * which values it may hold (a string's offset, a type's id, an index of another table), so no reader
 * can forget to check it.
 */

#include "lib/file/file.h"
#include "lib/snapshot/snapshot.h"

enum heap_field_kind {
	HEAP_FIELD_NUMBER,
	HEAP_FIELD_SIGNED,      /**< zigzag */
	HEAP_FIELD_STRING,      /**< offset in the snapshot's strings */
	HEAP_FIELD_TYPE_STRING, /**< offset in the types' strings */
	HEAP_FIELD_TYPE,        /**< id */
	HEAP_FIELD_MODULE,      /**< index + 1, or 0 for HEAP_NO_INDEX; as the next two */
	HEAP_FIELD_THREAD,
	HEAP_FIELD_FRAME,
	HEAP_FIELD_ROOT,   /**< id */
	HEAP_FIELD_OBJECT, /**< id */
	HEAP_FIELD_CALL,   /**< index */
};

struct heap_field {
	uint16_t offset; /**< in the structure */
	uint8_t size;    /**< bytes: 1, 2, 4 or 8 */
	uint8_t kind;    /**< enum heap_field_kind */
};

struct heap_table {
	uint32_t tag;
	const struct heap_field *fields; /**< [field_count] */
	uint16_t field_count;
	uint16_t added_fields; /**< the last ones, which older snapshots lack: 0 there */
	uint16_t row_size;     /**< sizeof the structure */
	uint16_t array_offset; /**< of the pointer to the rows in struct heap_snapshot */
	uint16_t count_offset; /**< of the number of rows there */
	uint8_t count_size;    /**< 4 or 8 */
	uint8_t since;         /**< enum heap_section_age */
};

/** The version that a section came with: in older snapshots it is empty, or all zeros. */
enum heap_section_age {
	HEAP_SINCE_FIRST,
	HEAP_SINCE_BACKTRACES,
	HEAP_SINCE_SAMPLES,
	HEAP_SINCE_TAGS,
	HEAP_SINCE_SLABS,
};

/** All tables, in an order in which each refers only to those before it. */
extern const struct heap_table heap_tables[];
extern const size_t heap_table_count;

/** Parts: loaded on demand, since there may be many. */
extern const struct heap_table heap_parts_table;

/** A column with a value per object. */
struct heap_object_column {
	uint32_t tag;
	uint8_t encoding;      /**< enum heap_encoding */
	uint8_t width;         /**< bytes of an element in memory: 1, 4 or 8 */
	uint16_t array_offset; /**< of the pointer in struct heap_snapshot */
	uint8_t since;         /**< enum heap_section_age */
};

enum {
	HEAP_OBJECT_COLUMNS = 11,
};

/** In the order of enum heap_columns. */
extern const struct heap_object_column heap_object_columns[HEAP_OBJECT_COLUMNS];

enum {
	HEAP_TAG_TYPES = HEAP_TAG('t', 'y', 'p', 'e'),
	HEAP_TAG_MEMBERS = HEAP_TAG('m', 'e', 'm', 'b'),
	HEAP_TAG_ENUMERATORS = HEAP_TAG('e', 'n', 'u', 'm'),
	HEAP_TAG_MODULES = HEAP_TAG('m', 'o', 'd', 'l'),
	HEAP_TAG_SITES = HEAP_TAG('s', 'i', 't', 'e'),
	HEAP_TAG_CALLS = HEAP_TAG('c', 'a', 'l', 'l'),
	HEAP_TAG_STEPS = HEAP_TAG('s', 't', 'e', 'p'),
	HEAP_TAG_FUNCTIONS = HEAP_TAG('f', 'u', 'n', 'c'),
	HEAP_TAG_PARTS = HEAP_TAG('p', 'a', 'r', 't'),
	HEAP_TAG_FRAMES = HEAP_TAG('f', 'r', 'a', 'm'),
	HEAP_TAG_THREADS = HEAP_TAG('t', 'h', 'r', 'd'),
	HEAP_TAG_ROOTS = HEAP_TAG('r', 'o', 'o', 't'),
	HEAP_TAG_ROOT_EDGES = HEAP_TAG('r', 'e', 'd', 'g'),
	HEAP_TAG_MAPPINGS = HEAP_TAG('m', 'a', 'p', 's'),
	HEAP_TAG_DAMAGES = HEAP_TAG('d', 'a', 'm', 'g'),
	HEAP_TAG_SAMPLES = HEAP_TAG('s', 'm', 'p', 'l'),
	HEAP_TAG_TAGS = HEAP_TAG('t', 'a', 'g', 's'),
	HEAP_TAG_SLABS = HEAP_TAG('s', 'l', 'a', 'b'),
	HEAP_TAG_ADDRESSES = HEAP_TAG('o', 'a', 'd', 'r'),
	HEAP_TAG_SIZES = HEAP_TAG('o', 's', 'i', 'z'),
	HEAP_TAG_OBJECT_TYPES = HEAP_TAG('o', 't', 'y', 'p'),
	HEAP_TAG_ELEMENTS = HEAP_TAG('o', 'c', 'n', 't'),
	HEAP_TAG_EVIDENCE = HEAP_TAG('o', 'e', 'v', 'i'),
	HEAP_TAG_OBJECT_SITES = HEAP_TAG('o', 's', 'i', 't'),
	HEAP_TAG_BIRTHS = HEAP_TAG('o', 'b', 'i', 'r'),
	HEAP_TAG_BACKTRACES = HEAP_TAG('o', 'b', 't', 'r'),
	HEAP_TAG_CONFLICT_TYPES = HEAP_TAG('o', 'r', 'i', 'v'),
	HEAP_TAG_CONFLICTS = HEAP_TAG('o', 'r', 'i', 'n'),
	HEAP_TAG_OBJECT_TAGS = HEAP_TAG('o', 't', 'a', 'g'),
	HEAP_TAG_INFO = HEAP_TAG('i', 'n', 'f', 'o'),
	HEAP_TAG_STRINGS = HEAP_TAG('s', 't', 'r', 's'),
	HEAP_TAG_TYPE_STRINGS = HEAP_TAG('t', 's', 't', 'r'),
	HEAP_TAG_EPOCHS = HEAP_TAG('e', 'p', 'o', 'c'),
	HEAP_TAG_ROOT_CONTENT = HEAP_TAG('r', 'c', 'o', 'n'),
	HEAP_TAG_EDGE_COUNTS = HEAP_TAG('e', 'c', 'n', 't'),
	HEAP_TAG_EDGE_SLOTS = HEAP_TAG('e', 's', 'l', 'o'),
	HEAP_TAG_EDGE_TARGETS = HEAP_TAG('e', 't', 'g', 't'),
	HEAP_TAG_EDGE_INTERIORS = HEAP_TAG('e', 'i', 'n', 't'),
	HEAP_TAG_EDGE_FLAGS = HEAP_TAG('e', 'f', 'l', 'g'),
	HEAP_TAG_CONTENT = HEAP_TAG('c', 'o', 'n', 't'),
};

#endif
