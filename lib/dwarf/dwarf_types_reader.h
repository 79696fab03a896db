// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_TYPES_READER_H
#define HEAP_DWARF_TYPES_READER_H

/**
 * Reads units into one merged type table, with whatever other units they refer to.
 *
 *	unit ──read──▶ types of its own, places ──resolve──▶ ids ──merge──▶ the table
 *	                                            │
 *	                                            └─▶ another unit: read it first
 *
 * A unit that others refer to keeps the map from its DIEs to types of the table. Two
 * units that refer to each other cannot both be first: the second sees declarations of
 * the first's structs, which become definitions when that is merged.
 */

#include "lib/base/array.h"
#include "lib/dwarf/dwarf_file.h"
#include "lib/dwarf/dwarf_info_table.h"
#include "lib/dwarf/dwarf_pieces.h"
#include "lib/dwarf/dwarf_types_unit.h"

struct heap_types_reader_unit {
	uint8_t state;                 /**< enum unit_state */
	struct heap_unit_entry *found; /**< [count] by place; NULL unless kept */
	uint32_t count;
};

struct heap_types_reader {
	const struct heap_dwarf_units *units;
	struct heap_types types;
	struct heap_unit_strings strings;
	struct heap_unit_scopes scopes;
	struct heap_types_reader_unit *states; /**< [units->count] */
	struct heap_dwarf_variable *variables; /**< in no order, some of them several times */
	uint32_t variable_count, variable_capacity;
	struct HEAP_ARRAY(struct heap_dwarf_piece) pieces; /**< of variables, in their order */
	bool wants_variables;
	bool all_references;
	unsigned depth; /**< of units that are being read because others refer to them */
	struct heap_unit_reader *free_reader; /**< of the unit read last */
	uint64_t dies;
	uint64_t elsewhere; /**< units whose DIEs are in another file */
};

/** heap_types_reader_deinit() frees the reader, also after an error. */
HEAP_MUST_CHECK
struct heap_error *heap_types_reader_init(struct heap_types_reader *reader,
					  struct heap_dwarf_file *file);

void heap_types_reader_deinit(struct heap_types_reader *reader);

/**
 * Reads the unit unless it was read.
 *
 * @param keep  keep which DIE became which type
 * @return NULL; HEAP_ERROR_FORMAT if the unit is damaged (nothing of it is then in the
 *         table); HEAP_ERROR_MEMORY
 */
HEAP_MUST_CHECK
struct heap_error *heap_types_reader_read(struct heap_types_reader *reader,
					  const struct heap_dwarf_unit *unit, bool keep);

#endif
