// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CONTAINER_H
#define CONTAINER_H

/**
 * Displays the standard library's containers by their contents: a vector by its elements, a string
 * by its text, a map by its pairs.
 *
 *	items = std::vector of 3 (capacity 4) {        name = "a text"
 *	  [0] = {                                      owner = struct item at 0x5f0010
 *	    number = 7                                 ages = std::map of 2 {
 *	  }                                              ["Ada"] = 36
 *	  …                                            }
 *
 * Containers of libstdc++ and libc++ are recognized by the names of their classes and members. An
 * inconsistent one (a count that no object has room for, a node outside the heap) is printed member
 * by member instead. container_walk.h finds the elements.
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
