// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SYMBOL_TYPES_H
#define SYMBOL_TYPES_H

/**
 * The types that functions allocate, by symbols, where there is no debug information. A constructor
 * that the code calls on a new block names its class (constructors.h). In the standard library, the name of
 * an instance of a template says what it is an instance for.
 *
 *	std::vector<Order*, …>::_M_realloc_insert<Order* const&>     an array of Order *
 *	std::_Rb_tree<int, std::pair<int const, Order*>, …>::…       a node of that pair
 *	std::__cxx11::basic_string<char, …>::_M_create               text
 *
 * Where these are inlined, or stripped, the containers in memory tell their nodes (container_nodes.h).
 *
 * Pointers in what is named so lead to more: the sizes of the program's classes are those of the
 * blocks that pointers to them lead to, if these agree.
 */

#include "dumper/writer/infer/claims.h"
#include "dumper/writer/scan/objects.h"

struct capture;

/** The type of the blocks of a kind. */
struct symbol_type {
	heap_type_id type; /**< HEAP_NO_TYPE: not known */
	uint64_t elements;
	uint8_t evidence; /**< enum heap_evidence */
	uint8_t rank;     /**< enum rank */
};

struct symbol_types {
	struct symbol_type *of; /**< [kinds of objects]; NULL: no symbol says anything */
};

/**
 * Finds what symbols say of all kinds of objects, which may add types to the capture's.
 *
 * @param classes  [objects] the class of each block's vtable, or HEAP_NO_TYPE
 */
HEAP_MUST_CHECK
struct heap_error *symbol_types_init(struct symbol_types *symbols, struct capture *capture,
				     const heap_type_id *classes);

void symbol_types_deinit(struct symbol_types *symbols);

/** Claims the blocks of these kinds. */
HEAP_MUST_CHECK
struct heap_error *symbol_types_claim(const struct symbol_types *symbols,
				      const struct objects *objects, struct claims *claims);

#endif
