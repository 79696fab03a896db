// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SHAPE_TYPES_H
#define SHAPE_TYPES_H

/**
 * The structs of shapes, whose names show their fields:
 *
 *	struct list node {next, text, long[3]}
 */

#include "dumper/writer/infer/symbols/shape_fields.h"
#include "lib/base/hash_table.h"

enum {
	SHAPE_NAME_SIZE = 256,
};

struct shape_types {
	const struct shape_reader *reader;
	struct heap_types *types; /**< the capture's */
	heap_type_id text, pointer, number;
	heap_type_id library[LIBRARY_VALUES];
	struct heap_hash_table by_name; /**< private */
	heap_type_id *ids;              /**< private: [by_name.count] */
	uint32_t capacity;              /**< private */
};

/** Adds the types of fields. @param reader  must outlive it. shape_types_deinit() frees it, also after an error. */
HEAP_MUST_CHECK
struct heap_error *shape_types_init(struct shape_types *table, const struct shape_reader *reader,
				    struct heap_types *types);

void shape_types_deinit(struct shape_types *table);

/** Gives a struct or class the members of its shape: the last ones of the table. */
HEAP_MUST_CHECK
struct heap_error *shape_types_add_members(struct shape_types *table, const struct shape *shape,
					   heap_type_id id);

/** Writes the name of a shape: "{ptr, ptr, text, long[3]}", "list node {next, long}". */
void shape_types_describe(const struct shape_types *table, const struct shape *shape,
			  char name[SHAPE_NAME_SIZE]);

/** Finds the struct of a shape, or adds it: the same one for all kinds that look alike. */
HEAP_MUST_CHECK
struct heap_error *shape_types_find(struct shape_types *table, const struct shape *shape,
				    heap_type_id *result);

#endif
