// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_TYPES_H
#define HEAP_TYPES_H

/**
 * The type table: C and C++ types as debug information describes them.
 *
 * One flat array of types that refer to each other by id, one of members and one of
 * enumerators that the types own ranges of, and one pool of strings:
 *
 *	struct session { int id; struct session *next; };
 *
 *	types    1: struct session, 16 bytes, members 0..1      members  0: id   → type 2, at 0
 *	         2: base int, 4 bytes                                    1: next → type 3, at 8
 *	         3: pointer → type 1
 *
 * Type 0 is always "unknown"; a pointer to it is a void *. A table knows nothing of where
 * it came from: the same structure describes one compilation unit, one module (all its
 * units merged by heap_types_merge()), one process and one snapshot.
 */

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t heap_type_id;

/** No type is known; as the target of a pointer: void. */
#define HEAP_NO_TYPE ((heap_type_id)0)

/** The values stand in snapshots and caches: add at the end, never renumber. */
enum heap_type_kind {
	HEAP_TYPE_UNKNOWN,
	HEAP_TYPE_BASE, /**< int, double, char...; flags say how to read it */
	HEAP_TYPE_STRUCT,
	HEAP_TYPE_CLASS,
	HEAP_TYPE_UNION,
	HEAP_TYPE_ENUM, /**< target: the base type it is stored as, if known */
	HEAP_TYPE_POINTER,
	HEAP_TYPE_REFERENCE, /**< C++ & and && */
	HEAP_TYPE_ARRAY,     /**< one dimension; count elements of target */
	HEAP_TYPE_TYPEDEF,
	HEAP_TYPE_CONST,
	HEAP_TYPE_VOLATILE,
	HEAP_TYPE_ATOMIC,
	HEAP_TYPE_FUNCTION,       /**< only ever behind a pointer; target: what it returns */
	HEAP_TYPE_MEMBER_POINTER, /**< C++ pointer to member: not an address */
	HEAP_TYPE_KINDS,
};

enum heap_type_flags {
	HEAP_TYPE_DECLARATION = 1 << 0, /**< only declared: size and members unknown */
	HEAP_TYPE_SIGNED = 1 << 1,      /**< base: two's complement */
	HEAP_TYPE_FLOAT = 1 << 2,       /**< base: IEEE, or x87 if the size is 16 or 12 */
	HEAP_TYPE_BOOLEAN = 1 << 3,     /**< base */
	HEAP_TYPE_CHARACTER = 1 << 4,   /**< base: char, signed char, unsigned char, char16_t... */
	HEAP_TYPE_FLEXIBLE = 1 << 5,    /**< array of unknown length, as a flexible member has */
	HEAP_TYPE_POLYMORPHIC = 1 << 6, /**< class with a vtable pointer */
	/** another of that kind and name has another layout; file and line tell them apart */
	HEAP_TYPE_AMBIGUOUS = 1 << 7,
};

enum heap_member_flags {
	HEAP_MEMBER_BASE = 1 << 0,         /**< a C++ base class; the name is its type's */
	HEAP_MEMBER_VIRTUAL_BASE = 1 << 1, /**< at an offset that only the vtable knows */
	HEAP_MEMBER_VTABLE = 1 << 2,       /**< the vtable pointer */
	HEAP_MEMBER_BIT_FIELD = 1 << 3,    /**< bit_offset and bit_size count */
};

struct heap_type {
	uint8_t kind;          /**< enum heap_type_kind */
	uint8_t flags;         /**< enum heap_type_flags */
	uint32_t name;         /**< offset in strings; 0 is "" for the unnamed */
	uint64_t size;         /**< bytes; 0 if unknown or incomplete */
	heap_type_id target;   /**< pointee, element, aliased or returned type */
	uint64_t count;        /**< arrays: elements */
	uint32_t first_member; /**< structs, unions: in members; enums: in enumerators */
	uint32_t members;      /**< how many */
	uint32_t file;         /**< where it was declared: offset in strings, 0 if unknown */
	uint32_t line;
};

struct heap_member {
	uint32_t name; /**< offset in strings; 0 for an anonymous struct or union */
	heap_type_id type;
	uint64_t offset;    /**< bytes from the start of the struct */
	uint8_t flags;      /**< enum heap_member_flags */
	uint8_t bit_offset; /**< bit fields: bits above `offset`, from the least significant */
	uint8_t bit_size;
};

struct heap_enumerator {
	uint32_t name;
	int64_t value;
};

struct heap_types {
	struct heap_type *types; /**< [count]; [0] is HEAP_TYPE_UNKNOWN */
	uint32_t count;
	struct heap_member *members; /**< [member_count] by type, by offset */
	uint32_t member_count;
	struct heap_enumerator *enumerators; /**< [enumerator_count] by type, as declared */
	uint32_t enumerator_count;
	char *strings; /**< [string_size] NUL-terminated, one after the other; [0] is "" */
	uint32_t string_size;

	uint32_t type_capacity, member_capacity, enumerator_capacity, string_capacity;
	/** Finds a type by signature while tables are merged, a string while they grow. */
	struct heap_types_index *index;
	heap_type_id *aliases; /**< [alias_count] see heap_types_name_unnamed(); NULL: none */
	uint32_t alias_count;
};

/** Makes a table that holds only type 0. @return NULL or HEAP_ERROR_MEMORY */
HEAP_MUST_CHECK
struct heap_error *heap_types_init(struct heap_types *result);

void heap_types_deinit(struct heap_types *types);

/** Adds @p text to the strings unless it is there. */
HEAP_MUST_CHECK
struct heap_error *heap_types_add_string(struct heap_types *types, const char *text,
					 uint32_t *result);

/** Appends a type as it is, without looking for an equal one. */
HEAP_MUST_CHECK
struct heap_error *heap_types_add(struct heap_types *types, const struct heap_type *type,
				  heap_type_id *result);

/** Appends a member; a type's members must be added one right after the other. */
HEAP_MUST_CHECK
struct heap_error *heap_types_add_member(struct heap_types *types,
					 const struct heap_member *member);

HEAP_MUST_CHECK
struct heap_error *heap_types_add_enumerator(struct heap_types *types,
					     const struct heap_enumerator *enumerator);

/**
 * Adds all types of @p from to @p types, each only once.
 *
 * Two types are one when their kind, name, size and layout agree: members by name, offset
 * and type, where a pointer to a named type counts by that name alone (one unit may see
 * the definition and another only a declaration). Two structs of one name with different
 * layouts stay two. A declaration becomes the definition as soon as there is one.
 *
 * @param map  [from->count] filled: where each type of @p from is now in @p types
 */
HEAP_MUST_CHECK
struct heap_error *heap_types_merge(struct heap_types *types, const struct heap_types *from,
				    heap_type_id *map);

/**
 * Turns pointers to declarations into pointers to the definition of that name, where the
 * table has exactly one. To be called when all is merged.
 */
void heap_types_resolve(struct heap_types *types);

/**
 * Lets each struct, union and enum without a name be known by its typedef's, where all of its
 * typedefs have one name. To be called when the table is complete and sound; of two that
 * are known by one name file and line tell.
 */
HEAP_MUST_CHECK
struct heap_error *heap_types_name_unnamed(struct heap_types *types);

/** The typedef that a type without a name is known by, or HEAP_NO_TYPE. */
static inline heap_type_id heap_types_alias(const struct heap_types *types, heap_type_id type)
{
	return type < types->alias_count ? types->aliases[type] : HEAP_NO_TYPE;
}

/**
 * Whether the table is sound: every id, range and string offset inside, no type that
 * contains itself, sizes that do not overflow. What is read from a file must pass this
 * before anything else looks at it. @return NULL or HEAP_ERROR_FORMAT, which says what is not
 */
HEAP_MUST_CHECK
struct heap_error *heap_types_check(const struct heap_types *types);

static inline const char *heap_types_string(const struct heap_types *types, uint32_t offset)
{
	return types->strings + offset;
}

/** True if a type is a struct, union, class or enum that has a name. */
static inline bool heap_types_is_named(const struct heap_type *type)
{
	return type->name && type->kind >= HEAP_TYPE_STRUCT && type->kind <= HEAP_TYPE_ENUM;
}

/** True if a type is a struct, a class or a union. */
static inline bool heap_types_has_members(const struct heap_type *type)
{
	return type->kind >= HEAP_TYPE_STRUCT && type->kind <= HEAP_TYPE_UNION;
}

/** The type behind typedefs, const, volatile and atomic. */
heap_type_id heap_types_strip(const struct heap_types *types, heap_type_id type);

/** Bytes of one value of the type, through typedefs and arrays; 0 if unknown. */
uint64_t heap_types_size(const struct heap_types *types, heap_type_id type);

/**
 * Writes the type's name as C has it ("struct session *[12]", "unsigned int") as snprintf
 * would. An unnamed struct is known by its typedef, or is "struct {…} (file.c:12)"; file and
 * line also follow the name of an ambiguous one. @return the length of the whole name
 */
size_t heap_types_format(const struct heap_types *types, heap_type_id type, char *buffer,
			 size_t size);

/**
 * The types of that name: "struct session", "session" (any kind of that name), "session_t",
 * "char *". Unequal definitions of one name all count.
 *
 * @param name  exact, or a glob when it holds *, ? or [, other than as in "char *[12]"
 * @param next  where to go on: 0, or the last result + 1
 * @return the first at or after @p next, or HEAP_NO_TYPE
 */
heap_type_id heap_types_find(const struct heap_types *types, const char *name, heap_type_id next);

/**
 * Calls @p visit for every pointer slot inside one value of @p type (nested structs,
 * arrays, unions and bases included), in no order. Slots of unions are all visited.
 *
 * @param visit  gets the byte offset and the pointer's (stripped) type; false stops
 * @return whether it went through to the end
 */
bool heap_types_visit_pointers(const struct heap_types *types, heap_type_id type,
			       bool (*visit)(void *context, uint64_t offset, heap_type_id pointer),
			       void *context);

/**
 * Whether a struct ends in a flexible array: a last member without length, or of length 0
 * or 1, as it was written before C99; also inside a last member that is a struct itself.
 *
 * @param offset   gets where the array begins; may be NULL
 * @param element  gets its elements' type; may be NULL
 */
bool heap_types_flexible(const struct heap_types *types, heap_type_id type, uint64_t *offset,
			 heap_type_id *element);

/**
 * What C++ makes for `new T[n]` if T has a destructor: elements behind their number (Itanium C++
 * ABI, "Array Operator new Cookies"). It has no name: a struct of a number, and of a flexible
 * array that is a member without a name, which no program can declare.
 *
 * @return the elements' type; HEAP_NO_TYPE if it is another type
 */
heap_type_id heap_types_counted(const struct heap_types *types, heap_type_id type);

#endif
