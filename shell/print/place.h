// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef PLACE_H
#define PLACE_H

/**
 * A value inside another one, found by the names of members, and followed through pointers.
 *
 *	place_find(&map, "_M_t._M_impl._M_node_count", &count)
 *	place_follow(session, &map, node, type, &found)
 *
 * Members of base classes and unnamed members are found, too, as in C++. The snapshot is not
 * trusted: a place that is not wholly inside an object is not found.
 */

#include "shell/print/value.h"

struct place {
	const struct value *value;
	uint64_t offset; /**< bytes from the value's start */
	heap_type_id type;
};

/** @param path  names separated by dots @return whether there is such a member */
bool place_find(const struct session *session, const struct place *place, const char *path,
		struct place *result);

/** The first of several paths that there is, as versions of a library differ. @param paths  NULL at the end */
bool place_find_first(const struct session *session, const struct place *place,
		      const char *const *paths, struct place *result);

/** The first base class, at any depth, whose name without `std::` begins so. */
bool place_find_base(const struct session *session, const struct place *place, const char *begin,
		     struct place *result);

/** Its pointer. @return false if it is none, or was not kept */
bool place_pointer(const struct session *session, const struct place *place, uint64_t *result);

/** Its number, of 1 to 8 bytes. @return false if it is none, or was not kept */
bool place_number(const struct session *session, const struct place *place, uint64_t *result);

/** The pointer of a member: both in one. */
bool place_find_pointer(const struct session *session, const struct place *place, const char *path,
			uint64_t *result);

/** The number of a member: both in one. */
bool place_find_number(const struct session *session, const struct place *place, const char *path,
		       uint64_t *result);

/** Where it is in the program's memory; 0 if that is not known. */
uint64_t place_address(const struct place *place);

/** The type that a pointer of that place points to, stripped; HEAP_NO_TYPE if it is none. */
heap_type_id place_pointee(const struct session *session, const struct place *place);

/**
 * Finds the value at an address. It lives until the session's texts are released.
 *
 * @param from   what holds the pointer: the new value is one container deeper
 * @param bytes  how many of them there must be in one object
 * @return false if no object has them all, or memory is short
 */
bool place_follow(struct session *session, const struct place *from, uint64_t address,
		  uint64_t bytes, struct place *result);

/** The same for a text, whose bytes are loaded however many they are. */
bool place_follow_whole(struct session *session, const struct place *from, uint64_t address,
			uint64_t bytes, struct place *result);

/**
 * Loads the bytes of an object, or of a variable, until the session's texts are released.
 *
 * @param root  where @p object is HEAP_NO_OBJECT
 */
HEAP_MUST_CHECK
struct heap_error *place_load(struct session *session, heap_object_id object, heap_root_id root,
			      struct value *result);

/**
 * What follows `std::` in a name, and the namespaces that only tell versions, std::__1, std::__cxx11...; or Rust's
 * modules. NULL if it is not of the standard library.
 */
const char *place_skip_standard(const char *name);

/**
 * The class in a type's name, without arguments, `std::` and inline namespaces of versions:
 * "vector" of "std::__1::vector<int>"; "" if it is not of the standard library. It ends where
 * *length says.
 */
const char *place_standard_name(const struct session *session, heap_type_id type, size_t *length);

/**
 * The type with the name that a container's own type mentions, such as its nodes'
 * "std::_Rb_tree_node<…>" in that of its allocator. HEAP_NO_TYPE if nothing has that type.
 *
 * @param name  up to its first "<"
 */
heap_type_id place_mentioned_type(struct session *session, heap_type_id type, const char *name);

#endif
