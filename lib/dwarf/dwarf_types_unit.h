// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_TYPES_UNIT_H
#define HEAP_DWARF_TYPES_UNIT_H

/**
 * The types and variables of one unit by its DIEs, before references are resolved; for the readers
 * of debug information only.
 *
 * Types have numbers that are local to the unit. References are still places of DIEs.
 */

#include "lib/base/array.h"
#include "lib/dwarf/dwarf_dies.h"
#include "lib/dwarf/dwarf_file_names.h"
#include "lib/types/types.h"

/** Stands in `types` for the type that its `targets` says; to be looked through. */
#define HEAP_TYPE_ALIAS HEAP_TYPE_KINDS

/** A namespace, class or function, and which DIEs are in it. */
struct heap_unit_scope {
	uint64_t start, end; /**< places */
	uint32_t parent;     /**< in scopes; 0 is the whole unit */
	uint32_t name;       /**< qualified; 0: what is inside is not qualified by it */
};

struct heap_unit_frame {
	uint8_t kind;              /**< enum frame_kind */
	heap_type_id type;         /**< that the children belong to */
	uint32_t scope;            /**< of the children */
	uint32_t first;            /**< in pending or dimensions: of the type's own */
	bool is_type_scope;        /**< it opened a scope */
	heap_type_id discriminant; /**< of a union of variants: what tells them apart */
	bool has_value;            /**< a variant's: */
	int64_t value;             /**< of the discriminant */
};

struct heap_unit_member {
	struct heap_member member;
	uint64_t type; /**< place */
	uint32_t order;
};

struct heap_unit_dimension {
	uint64_t count;
	bool flexible;
};

struct heap_unit_variable {
	uint64_t place;
	uint64_t type;          /**< place */
	uint64_t specification; /**< place of what it completes */
	uint64_t address;
	uint32_t name; /**< 0: that of what it completes */
	uint32_t file, line;
	bool external, thread_local;
	uint64_t piece_start, piece_size; /**< the part of it that is there; size 0: all of it */
};

struct heap_unit_entry {
	uint64_t place;
	heap_type_id type;
};

/** A pool's offsets of strings of the debug sections, so that each is hashed once. */
struct heap_unit_strings {
	struct heap_types *pool;
	struct {
		const char *text;
		uint32_t offset;
	} * slots; /**< [HEAP_UNIT_STRING_SLOTS] the last that fell there */
};

#define HEAP_UNIT_STRING_SLOTS ((size_t)1 << 14)

/** The scopes of a unit, in the order of their starts; the first is the whole unit. Empty: not known yet. */
struct heap_unit_scope_table {
	struct HEAP_ARRAY(struct heap_unit_scope) scopes;
};

/**
 * The scopes of units that others refer into, so that each unit is gone through once. With link-time
 * optimization most variables say their names in other units than their places.
 */
struct heap_unit_scopes {
	struct heap_unit_scope_table *tables; /**< [units->count] */
	size_t unit_count;
	size_t held; /**< scopes in all tables */
};

/** May read one unit after the other. */
struct heap_unit_reader {
	const struct heap_dwarf_units *units;
	const struct heap_dwarf_unit *unit;
	struct heap_unit_strings *strings;
	struct heap_unit_scopes *elsewhere;
	bool all_references; /**< note the types that locals and parameters refer to */

	struct heap_dwarf_dies entries;
	struct heap_dwarf_dies others; /**< of another unit that is looked into */
	struct heap_dwarf_file_names files;
	struct heap_dwarf_file_names other_files;
	const struct heap_dwarf_unit *other_files_unit; /**< whose they are */

	struct heap_types types; /**< its strings are those of strings->pool */
	uint64_t *targets;       /**< [types.count] places; parallel to types.types */
	uint64_t *member_types;  /**< [types.member_count] places */
	uint32_t target_capacity, member_type_capacity;

	struct heap_unit_entry *found; /**< [found_count] which DIEs became which types */
	uint32_t found_count, found_capacity;
	uint32_t *slots; /**< [slot_mask + 1] in found, + 1, by place */
	uint32_t slot_mask;

	struct heap_unit_scope *scopes;
	uint32_t scope_count, scope_capacity;
	struct heap_unit_frame *frames;
	uint32_t frame_count, frame_capacity;
	struct heap_unit_member *pending;
	uint32_t pending_count, pending_capacity;
	struct heap_unit_dimension *dimensions;
	uint32_t dimension_count, dimension_capacity;
	struct heap_unit_variable *variables;
	uint32_t variable_count, variable_capacity;
	uint64_t *references; /**< into other units, that no type or variable makes */
	uint32_t reference_count, reference_capacity;

	char *text; /**< where qualified names are put together */
	uint32_t text_capacity;
	uint64_t position; /**< how far the unit was read */
	uint64_t dies;
	bool is_elsewhere; /**< the unit stands for one in another file (.dwo) */
};

/** @param strings, elsewhere  must live as long */
HEAP_MUST_CHECK
struct heap_error *heap_unit_reader_init(struct heap_unit_reader *reader,
					 const struct heap_dwarf_units *units,
					 struct heap_unit_strings *strings,
					 struct heap_unit_scopes *elsewhere);

void heap_unit_reader_deinit(struct heap_unit_reader *reader);

/** @return NULL, HEAP_ERROR_FORMAT if the unit is damaged, or HEAP_ERROR_MEMORY */
HEAP_MUST_CHECK
struct heap_error *heap_unit_reader_read(struct heap_unit_reader *reader,
					 const struct heap_dwarf_unit *unit);

/** The type that a DIE became, or HEAP_NO_TYPE. */
heap_type_id heap_unit_reader_find(const struct heap_unit_reader *reader, uint64_t place);

/** Notes that the DIE at @p place is that type. */
HEAP_MUST_CHECK
struct heap_error *heap_unit_reader_note(struct heap_unit_reader *reader, uint64_t place,
					 heap_type_id type);

/** Adds a type, noted for @p place; what it refers to is at @p target. */
HEAP_MUST_CHECK
struct heap_error *heap_unit_reader_add(struct heap_unit_reader *reader, uint64_t place,
					const struct heap_type *type, uint64_t target,
					heap_type_id *result);

/** Reads any DIE, of this unit or another; with tag 0 if there is none. */
HEAP_MUST_CHECK
struct heap_error *heap_unit_reader_entry(struct heap_unit_reader *reader, uint64_t place,
					  struct heap_dwarf_die *result);

/** The qualified name of a DIE, of this unit or another; 0 if it has none. */
HEAP_MUST_CHECK
struct heap_error *heap_unit_reader_name(struct heap_unit_reader *reader, uint64_t place,
					 uint32_t *result);

/** The name of the file that a DIE, of this unit or another, was declared in. */
HEAP_MUST_CHECK
struct heap_error *heap_unit_reader_file(struct heap_unit_reader *reader,
					 const struct heap_dwarf_die *entry, uint32_t *result);

/**
 * Makes of a DIE of another unit, which cannot be read now, as much of a type as it
 * says by itself: structs are declarations.
 */
HEAP_MUST_CHECK
struct heap_error *heap_unit_reader_stub(struct heap_unit_reader *reader, uint64_t place,
					 heap_type_id *result);

/** Adds the text to the pool. NULL is "". */
HEAP_MUST_CHECK
struct heap_error *heap_unit_strings_add(struct heap_unit_strings *strings, const char *text,
					 uint32_t *result);

/** @param scopes  zeroed */
HEAP_MUST_CHECK
struct heap_error *heap_unit_scopes_init(struct heap_unit_scopes *scopes, size_t unit_count);

void heap_unit_scopes_deinit(struct heap_unit_scopes *scopes);

/** "scope::name", or the name alone. @param scope  offset in the pool; 0: none */
HEAP_MUST_CHECK
struct heap_error *heap_unit_qualify(struct heap_unit_reader *reader, uint32_t scope,
				     const char *name, uint32_t *result);

/** "scope::work.Frame", the frame of a coroutine. @param function  place of work() */
HEAP_MUST_CHECK
struct heap_error *heap_unit_frame_name(struct heap_unit_reader *reader, uint64_t function,
					uint32_t *result);

/** The prefix that a namespace or class gives the names in it; NULL for none. */
const char *heap_unit_scope_text(const struct heap_dwarf_die *entry);

/* --- what single DIEs say (dwarf_types_entry.c) --- */

/** The type of a DW_TAG_..._type DIE but for its members; kind UNKNOWN if it is none. */
struct heap_type heap_unit_type(const struct heap_unit_reader *reader,
				const struct heap_dwarf_die *entry);

/** A member or base class but for its name and type. @return false if it is to be left out */
HEAP_MUST_CHECK
struct heap_error *heap_unit_place_member(struct heap_unit_reader *reader,
					  const struct heap_dwarf_die *entry,
					  struct heap_member *result, bool *is_placed);

/** DW_TAG_structure_type and the like. */
bool heap_unit_is_aggregate(uint16_t tag);

/** A dimension of an array. */
struct heap_unit_dimension heap_unit_dimension(const struct heap_unit_reader *reader,
					       const struct heap_dwarf_die *entry);

/** True if the DIE's location is an address, which @p result gets. */
bool heap_unit_locate(const struct heap_unit_reader *reader, const struct heap_dwarf_die *entry,
		      struct heap_unit_variable *result);

/**
 * Finds the next part of a variable that the compiler has split (DWARF 5, 2.6.1.2): a static struct or array
 * may become a variable per member.
 *
 * @param cursor  in the DIE's location
 * @param result  of the part before, or with a piece of no size; gets this one's address and piece
 * @return false if there is no further one
 */
bool heap_unit_next_piece(const struct heap_unit_reader *reader, struct heap_dwarf_cursor *cursor,
			  struct heap_unit_variable *result);

#endif
