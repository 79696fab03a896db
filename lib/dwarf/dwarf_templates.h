// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_TEMPLATES_H
#define HEAP_DWARF_TEMPLATES_H

/**
 * The type arguments of the template instances of one unit: its classes and functions, which lie inside each other.
 *
 *	template <class T> struct manager { static void destroy(void *value); };	manager<image>::destroy: image
 *
 * (DWARF 5, section 2.23.)
 */

#include "lib/dwarf/dwarf_dies.h"

#include "lib/base/array.h"

struct heap_dwarf_template_argument {
	uint64_t start, end; /**< places of the instance's DIE, and behind those in it */
	uint64_t
		type; /**< place of the argument; or of a type unit's DIE that this one stands for, with its arguments */
	bool is_elsewhere; /**< that */
	uint32_t outer;    /**< the first argument of the instance that it is in; or count: none */
};

struct heap_dwarf_templates {
	struct HEAP_ARRAY(struct heap_dwarf_template_argument) list; /**< by start */
};

/** Reads a unit. Damage costs what lies behind it. @param templates  zeros; deinit frees it, also after an error */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_templates_read(struct heap_dwarf_templates *templates,
					     const struct heap_dwarf_dies *dies);

void heap_dwarf_templates_deinit(struct heap_dwarf_templates *templates);

/**
 * The first argument of the innermost instance that a DIE is, or is in.
 *
 * Those of one instance have one start and lie one behind the other; `outer` leads on.
 *
 * @return its number in the list; as many as there are: none
 */
uint32_t heap_dwarf_templates_find(const struct heap_dwarf_templates *templates, uint64_t place);

#endif
