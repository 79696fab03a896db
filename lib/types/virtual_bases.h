// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_VIRTUAL_BASES_H
#define HEAP_VIRTUAL_BASES_H

/**
 * The places of virtual base classes, which debug information leaves to the vtable.
 *
 *	struct node { virtual ~node(); int tag; };
 *	struct left : virtual node {};  struct right : virtual node {};
 *	struct both : left, right { int z; };        left at 0, right at 8, z at 16, node at 24
 *
 * They lie behind all else, in an order that the ABI sets (Itanium C++ ABI, section 2.4, "Allocation of Members
 * Other Than Virtual Bases" and "Allocation of Virtual Bases"). Where they are in a base class depends on the
 * class that is derived from it: in a table that says one thing of each class, only classes that nothing is
 * derived from can have them.
 */

#include "lib/types/types.h"

enum {
	HEAP_VIRTUAL_BASES = 32, /**< of one class; more are not placed */
};

struct heap_virtual_base {
	heap_type_id type; /**< stripped */
	uint64_t offset;   /**< bytes from the start of the whole object */
};

/**
 * Computes where the virtual bases of an object of a class are that is no base of another one.
 *
 * @param result  [HEAP_VIRTUAL_BASES]
 * @return how many; 0 if there are none, or the class has not the size that it would have
 */
size_t heap_virtual_bases_find(const struct heap_types *types, heap_type_id type,
			       struct heap_virtual_base *result);

/**
 * Makes the virtual bases of all classes that nothing is derived from bases at their places. To be called when
 * the table is complete: after heap_types_resolve().
 */
HEAP_MUST_CHECK
struct heap_error *heap_virtual_bases_place(struct heap_types *types);

#endif
