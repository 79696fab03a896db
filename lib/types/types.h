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
 * Type 0 is always "unknown"; a pointer to it is a void *. A table does not depend on its source: the
 * same structure describes a compilation unit, a module (its units, merged by heap_types_merge()), a
 * process, or a snapshot.
 */

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t heap_type_id;

/** No type is known; as the target of a pointer: void. */
#define HEAP_NO_TYPE ((heap_type_id)0)

/** The values are stored in snapshots and caches: add at the end, never renumber. */
enum heap_type_kind {
	HEAP_TYPE_UNKNOWN,
	HEAP_TYPE_BASE, /**< int, double, char...; flags tell how to read it */
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
	HEAP_TYPE_FUNCTION, /**< only as the target of a pointer; target: the type it returns */
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
	/** another type of that kind and name has another layout; file and line distinguish them */
	HEAP_TYPE_AMBIGUOUS = 1 << 7,
};

enum heap_member_flags {
	HEAP_MEMBER_BASE = 1 << 0,         /**< a C++ base class; the name is its type's */
	HEAP_MEMBER_VIRTUAL_BASE = 1 << 1, /**< its offset is in the vtable only */
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
	/** Finds equal types while tables are merged, and equal strings while they grow. */
	struct heap_types_index *index;
	heap_type_id *aliases; /**< [alias_count] see heap_types_name_unnamed(); NULL: none */
	uint32_t alias_count;
};

/** Makes a table that holds only type 0. @return NULL or HEAP_ERROR_MEMORY */
HEAP_MUST_CHECK
struct heap_error *heap_types_init(struct heap_types *result);

void heap_types_deinit(struct heap_types *types);

/** Adds a string, unless it is there. @param result  gets its offset */
HEAP_MUST_CHECK
struct heap_error *heap_types_add_string(struct heap_types *types, const char *string,
					 uint32_t *result);

/** Appends a type without looking for an equal one. */
HEAP_MUST_CHECK
struct heap_error *heap_types_add(struct heap_types *types, const struct heap_type *type,
				  heap_type_id *result);

/** Appends a member; the members of a type must be added one after the other. */
HEAP_MUST_CHECK
struct heap_error *heap_types_add_member(struct heap_types *types,
					 const struct heap_member *member);

/** Appends an enumerator; those of a type must be added one after the other. */
HEAP_MUST_CHECK
struct heap_error *heap_types_add_enumerator(struct heap_types *types,
					     const struct heap_enumerator *enumerator);

/**
 * Adds all types of @p from to @p types, except those that are there.
 *
 * Types are equal if their kind, name, size and layout are: their members' names, offsets and types. A
 * pointer to a named type counts by that name alone, since one unit may see the definition and another
 * only a declaration. Two structs of one name with different layouts stay two. A definition replaces a
 * declaration.
 *
 * @param map  [from->count] gets the id in @p types of each type of @p from
 */
HEAP_MUST_CHECK
struct heap_error *heap_types_merge(struct heap_types *types, const struct heap_types *from,
				    heap_type_id *map);

/**
 * Turns pointers to declarations into pointers to the definition of that name, if the table has
 * exactly one. To be called after all tables have been merged.
 */
void heap_types_resolve(struct heap_types *types);

/**
 * Finds aliases for structs, unions and enums without a name: their typedefs, if these all have one
 * name. To be called when the table is complete and checked. Types with the same alias become
 * ambiguous.
 */
HEAP_MUST_CHECK
struct heap_error *heap_types_name_unnamed(struct heap_types *types);

/** The typedef that names a type without a name, or HEAP_NO_TYPE. */
static inline heap_type_id heap_types_alias(const struct heap_types *types, heap_type_id type)
{
	return type < types->alias_count ? types->aliases[type] : HEAP_NO_TYPE;
}

/**
 * Checks a table that comes from a file, before anything else uses it: every id, range and string
 * offset is in bounds, no type contains itself, sizes do not overflow.
 *
 * @return NULL, or HEAP_ERROR_FORMAT, which tells what is wrong
 */
HEAP_MUST_CHECK
struct heap_error *heap_types_check(const struct heap_types *types);

static inline const char *heap_types_string(const struct heap_types *types, uint32_t offset)
{
	return types->strings + offset;
}

/** The name of a type itself, as debug information has it; "" for the unnamed. */
static inline const char *heap_types_name(const struct heap_types *types, heap_type_id type)
{
	return heap_types_string(types, types->types[type].name);
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

/** Removes typedefs, const, volatile and atomic from a type. */
heap_type_id heap_types_strip(const struct heap_types *types, heap_type_id type);

/** True for pointers and references, whatever their names. */
bool heap_types_is_pointer(const struct heap_types *types, heap_type_id type);

/** The type that such a type leads to, as declared; HEAP_NO_TYPE: it is none, or leads to void. */
heap_type_id heap_types_pointee(const struct heap_types *types, heap_type_id type);

/** True for a pointer, and no reference, to a type, whatever the names and qualifiers of both are. */
bool heap_types_leads_to(const struct heap_types *types, heap_type_id pointer, heap_type_id target);

/** Bytes of one value of the type, through typedefs and arrays; 0 if unknown. */
uint64_t heap_types_size(const struct heap_types *types, heap_type_id type);

/**
 * Formats a type's name in C's syntax ("struct session *[12]", "unsigned int"), as snprintf() does. An
 * unnamed struct has the name of its typedef, or is "struct {…} (file.c:12)"; file and line also follow
 * an ambiguous name. Names of C++ are short (short_name.h). @return the length of the whole name
 */
size_t heap_types_format(const struct heap_types *types, heap_type_id type, char *buffer,
			 size_t size);

/**
 * Finds types by name: "struct session", "session" (of any kind), "session_t", "char *". All
 * definitions of a name are found. Names of the C++ library match in their long and in their short form
 * (short_name.h). If there is no type of that name, it may be one of any namespace or class: "Product"
 * for shop::Product; or spelled in another way (spelling.h): "list<unsigned>" for list<unsigned int>.
 *
 * @param name  exact, or a glob if it contains *, ? or [, except as in "char *[12]"
 * @param next  0, or the last result + 1 to continue
 * @return the first at or after @p next, or HEAP_NO_TYPE
 */
heap_type_id heap_types_find(const struct heap_types *types, const char *name, heap_type_id next);

/**
 * Calls @p visit for every pointer inside one value of @p type, including those of nested structs,
 * arrays, unions and bases, in no order.
 *
 * @param visit  gets the byte offset and the pointer's (stripped) type; returns false to stop
 * @return false if it was stopped
 */
bool heap_types_visit_pointers(const struct heap_types *types, heap_type_id type,
			       bool (*visit)(void *context, uint64_t offset, heap_type_id pointer),
			       void *context);

/** True if such a pointer is inside one value of a type. */
bool heap_types_has_pointers(const struct heap_types *types, heap_type_id type);

/** A pointer inside a type. */
struct heap_pointer_place {
	uint64_t offset;
	heap_type_id pointer; /**< its (stripped) type */
	bool beside_bytes; /**< a member of a union whose other members include a longer array of numbers */
};

/** Like heap_types_visit_pointers(), and tells more of each. */
bool heap_types_visit_places(const struct heap_types *types, heap_type_id type,
			     bool (*visit)(void *context, const struct heap_pointer_place *place),
			     void *context);

/**
 * True if a struct ends in a flexible array: the last member is an array without length, or of length
 * 0 or 1, as before C99, or of more than 1 GiB, which no block has; or a union of such arrays, which has the
 * smallest of their elements; or a struct that ends in one.
 *
 * @param offset   gets the array's offset; may be NULL
 * @param element  gets its elements' type; may be NULL
 */
bool heap_types_flexible(const struct heap_types *types, heap_type_id type, uint64_t *offset,
			 heap_type_id *element);

/**
 * Bytes of an object behind a type that covers at most half of it, so that it is a header only; else 0.
 *
 * @param elements  of the type, in the object
 * @param size      of the object, in bytes
 */
uint64_t heap_types_uncovered(const struct heap_types *types, heap_type_id type, uint64_t elements,
			      uint64_t size);

/**
 * Recognizes the layout of `new T[n]` for a T with a destructor: a count, then the elements (Itanium
 * C++ ABI, "Array Operator new Cookies"). Its type is an unnamed struct of a number and an unnamed
 * flexible array, which no program can declare.
 *
 * @return the elements' type; HEAP_NO_TYPE for other types
 */
heap_type_id heap_types_counted(const struct heap_types *types, heap_type_id type);

/** The name of the first member of a prefixed type. */
#define HEAP_TYPES_PREFIX_MEMBER "prefix"

/**
 * Recognizes a T behind a prefix of a runtime, such as the links of a collector or the length of a
 * string. Its type is an unnamed struct of an array of characters named "prefix", and of a T that is a
 * member without a name. Several Ts are a flexible array: heap_types_counted() knows them, too.
 *
 * @param bytes  gets the size of the prefix; may be NULL
 * @return T; HEAP_NO_TYPE if it is another type
 */
heap_type_id heap_types_prefixed(const struct heap_types *types, heap_type_id type,
				 uint64_t *bytes);

/** True if nothing of a value lies in its first word but empty classes: that which compares for a std::map, and padding. */
bool heap_types_begins_with_hole(const struct heap_types *types, heap_type_id type);

/**
 * Recognizes the block that std::make_shared() makes for a T: reference counts, then the T
 * (std::_Sp_counted_ptr_inplace of libstdc++, std::__shared_ptr_emplace of libc++).
 *
 * @param offset  gets the bytes before the T; may be NULL
 * @return T; HEAP_NO_TYPE if it is another type
 */
heap_type_id heap_types_shared(const struct heap_types *types, heap_type_id type, uint64_t *offset);

/** Follows the name of T where the type of such a block is printed, or searched for. */
#define HEAP_TYPES_SHARED_SUFFIX " (make_shared)"

#endif
