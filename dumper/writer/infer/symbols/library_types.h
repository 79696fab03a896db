// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef LIBRARY_TYPES_H
#define LIBRARY_TYPES_H

/**
 * Types named in symbols, for code without debug information.
 *
 * The layouts of the standard libraries' containers and nodes are part of their ABIs, and are known
 * here. A class of the program is opaque: its name is known, its size at most from the blocks that
 * hold one.
 *
 *	std::_Rb_tree_node<std::pair<int const, Order*> >     a color, three pointers, int, Order *
 *	Order                                                 opaque, until library_types_set_size()
 */

#include "lib/types/types.h"

struct library_types;

/**
 * Completes classes of the standard library that are only declared, and defined nowhere. For a class whose
 * instances are in the library, as std::string, clang writes no more (-fno-standalone-debug).
 */
HEAP_MUST_CHECK
struct heap_error *library_types_define(struct heap_types *types);

/** @param types  the snapshot's, which grows; must outlive it */
HEAP_MUST_CHECK
struct heap_error *library_types_create(struct heap_types *types, struct library_types **result);

/** NULL is fine. */
void library_types_destroy(struct library_types *library);

/**
 * Finds the type of a name, or adds it.
 *
 * @param result  HEAP_NO_TYPE for void, and if the name is not that of a type
 */
HEAP_MUST_CHECK
struct heap_error *library_types_find(struct library_types *library, const char *name,
				      size_t length, heap_type_id *result);

/** Adds a type that is laid out, under its name. */
HEAP_MUST_CHECK
struct heap_error *library_types_add(struct library_types *library, const struct heap_type *type,
				     heap_type_id *result);

/** Adds the type of a pointer, unless that has been done. */
HEAP_MUST_CHECK
struct heap_error *library_types_add_pointer(struct library_types *library, heap_type_id target,
					     heap_type_id *result);

/** Adds the type of an array of unknown length. */
HEAP_MUST_CHECK
struct heap_error *library_types_add_array(struct library_types *library, heap_type_id element,
					   heap_type_id *result);

/** Lays out the types whose members' sizes have become known. */
HEAP_MUST_CHECK
struct heap_error *library_types_complete(struct library_types *library);

/** True for a class of the program of which nothing but the name is known. */
bool library_types_is_opaque(const struct library_types *library, heap_type_id type);

/**
 * Notes the size of a type whose layout is not known yet. If just one part of it is opaque, that part
 * gets what the others leave.
 */
HEAP_MUST_CHECK
struct heap_error *library_types_set_size(struct library_types *library, heap_type_id type,
					  uint64_t size);

/**
 * Replaces $0 to $9 in a pattern by the arguments of a template instance, $@ by the instance itself, $A
 * by the first argument of the first, and $C by whether a hash table caches hashes.
 *
 * @return the length of what was written to @p result; 0 if an argument is missing, or there is no room
 */
size_t library_types_substitute(const char *pattern, const char *instance, size_t length,
				char *result, size_t size);

#endif
