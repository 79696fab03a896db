// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef LIBRARY_RULES_H
#define LIBRARY_RULES_H

/**
 * The types that functions of the standard libraries allocate, by the names of the functions.
 *
 *	std::_Rb_tree<int, std::pair<int const, Order*>, …>::_M_insert_     one std::_Rb_tree_node<…>
 *	std::vector<Order*, …>::_M_realloc_insert<…>                        an array of Order *
 */

#include <stdbool.h>
#include <stddef.h>

enum library_form {
	LIBRARY_ONE,
	LIBRARY_ARRAY,
	LIBRARY_DEQUE, /**< of a deque: elements, or the map of pointers to them */
};

struct library_rule {
	const char *template; /**< name up to its "<" */
	const char *method;   /**< beginning of the function's name in it; "": any */
	const char *made;     /**< see library_types_substitute() */
	enum library_form form;
};

/** A function of a standard library, and what it makes. */
struct library_match {
	const struct library_rule *rule;
	const char *instance; /**< of the rule's template, in the function's name */
	size_t length;
};

/** @return false if no rule has the function */
bool library_rules_find(const char *function, struct library_match *match);

/** The rule for the nodes of the container that a function is a method of, whatever the function makes itself. */
bool library_rules_find_node(const char *function, struct library_match *match);

/** Writes the name of the type that is made. @return its length; 0: there is no such name */
size_t library_rules_made(const struct library_match *match, char *name, size_t size);

#endif
