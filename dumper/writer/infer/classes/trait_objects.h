// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef TRAIT_OBJECTS_H
#define TRAIT_OBJECTS_H

/**
 * Trait objects of Rust: a pointer that only names a trait, and beside it one to the table of the type's functions. Debug
 * information has a variable for each table, which has the type's name:
 *
 *	struct Box<dyn Shape> {
 *		pointer: *mut dyn Shape,	──▶ Circle
 *		vtable,				──▶ <shop::Circle as shop::Shape>::{vtable}
 *	}
 */

#include "dumper/writer/scan/capture.h"
#include "lib/base/array.h"
#include "lib/base/hash_table.h"

struct trait_table {
	uint64_t address;
	heap_type_id
		type; /**< whose functions it has; HEAP_NO_TYPE: it is no table, or the type is not known */
};

struct trait_objects {
	struct HEAP_ARRAY(struct trait_table) tables; /**< that were looked up */
	struct heap_hash_table by_address;
};

/** True if a pointer to a type has a table beside it. Thread-safe. */
bool trait_objects_concern(const struct heap_types *types, heap_type_id pointee);

/** The type whose functions a table has, or HEAP_NO_TYPE. */
HEAP_MUST_CHECK
struct heap_error *trait_objects_find(struct trait_objects *objects, const struct capture *capture,
				      uint64_t table, heap_type_id *result);

void trait_objects_deinit(struct trait_objects *objects);

#endif
