// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef PROMOTED_H
#define PROMOTED_H

/**
 * Static memory that clang has put in place of a block. Where the program keeps but one block in a static pointer, an
 * optimized program has neither: its symbol alone tells what it is, and debug information has the pointer, without
 * an address.
 *
 *	static struct cache *cache;		cache = malloc(sizeof(*cache));
 *
 *	symbol cache.body		a struct cache
 *	symbols cache.body.0, .1	its members, apart: in their order, without those that nobody uses
 *	symbol state.2.body		what a member of the struct state leads to
 *
 * (LLVM, lib/Transforms/IPO/GlobalOpt.cpp)
 */

#include "dumper/writer/scan/modules/modules.h"

/** The meaning of a symbol. */
struct promoted {
	const struct heap_dwarf_variable
		*variable; /**< the pointer, or the struct that had it; NULL: none */
	heap_type_id type; /**< of one value, in module->debug.types */
};

/** Tells what a symbol stands for by its name, its size and the symbols beside it. */
struct promoted promoted_find(const struct module *module, const struct heap_symbol *symbol);

/** The variable of a name that debug information does not locate, or NULL. */
const struct heap_dwarf_variable *promoted_find_unlocated(const struct module *module,
							  const char *name);

#endif
