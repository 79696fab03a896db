// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_TEMPLATES_H
#define HEAP_TEMPLATES_H

/**
 * Parses the names of C++ template instances. Debug information has no other link from a container to
 * its nodes, or from a buffer to the type that is constructed in it.
 *
 *	std::_Rb_tree_impl<…> : std::allocator<std::_Rb_tree_node<int> >
 *	                                       └── a mention ───────┘
 */

#include "lib/types/types.h"

/**
 * True if a name is that of an instance of a template of the C++ standard library, in whatever
 * namespace its version is.
 *
 * @param template  its name and "<", such as "vector<", and the first arguments if they matter
 */
bool heap_template_is_standard(const char *name, const char *template);

/** The length of "name<…>" at the start of @p name; 0 if its brackets do not close. */
size_t heap_template_length(const char *name);

/** True for the name of an instance of a template, "name<…>", and not of something inside of it. */
bool heap_template_is_instance(const char *name);

/**
 * The @p index'th argument of a name that ends in "<…>", without spaces around it.
 *
 * @param length  gets its length
 * @return its first character; NULL if there are not that many arguments
 */
const char *heap_template_argument(const char *name, unsigned index, size_t *length);

/** The first arguments of a name. */
struct heap_template_arguments {
	unsigned count;
	struct heap_template_text {
		const char *text;
		size_t length;
	} list[8];
};

/**
 * Lists them, where each is asked for more than once. A name that is longer than any spelling (spelling.h) has none: types
 * may share it, and all of them together take no longer than it would take to read it for one.
 */
void heap_template_list(const char *name, struct heap_template_arguments *arguments);

/**
 * Finds a template instance among the names of a type, its members and its bases, at any depth.
 *
 * @param name    of the template, up to its "<"
 * @param length  gets the instance's length
 * @return the first instance, in types->strings, or NULL
 */
const char *heap_template_mention(const struct heap_types *types, heap_type_id type,
				  const char *name, size_t *length);

#endif
