// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CONTAINER_H
#define CONTAINER_H

/**
 * The standard library's containers as people think of them: a vector by its elements, a
 * string by its text, a map by its pairs.
 *
 *	items = std::vector of 3 (capacity 4) {        name = "a text"
 *	  [0] = {                                      owner = struct item at 0x5f0010
 *	    number = 7                                 ages = std::map of 2 {
 *	  }                                              ["Ada"] = 36
 *	  …                                            }
 *
 * libstdc++ and libc++ are known, by the names of their classes and members. What does not
 * look as it should (a count that no object has room for, a node outside the heap) is left
 * to be printed member by member. How elements are found is container_walk.h's.
 */

#include "shell/print/value.h"

/**
 * Prints a value of @p type at @p offset if that is a container.
 *
 * @return false if it is none, or damaged: then nothing was printed
 */
bool container_print(struct session *session, const struct value *value, heap_type_id type,
		     uint64_t offset, const char *name, int indent, enum value_limit limit);

/** A container in a few words: a string's text, "std::vector of 3"; "" if it is none. */
const char *container_describe(struct session *session, const struct value *value,
			       heap_type_id type, uint64_t offset);

#endif
