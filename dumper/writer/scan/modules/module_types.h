// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef MODULE_TYPES_H
#define MODULE_TYPES_H

/**
 * The types that DIEs of a module are, in the snapshot's table, and those that the code at a site handles.
 *
 * A DIE is looked up among those that were looked up before, then in the cache (dwarf_answers.h), then in
 * the debug information, of which a whole unit is read.
 */

#include "dumper/writer/scan/modules/modules.h"

/** Frees what was read of all modules, which modules_deinit() then closes. */
void module_types_deinit(struct modules *modules);

/**
 * The type in the snapshot's table that an entry of the debug information is.
 *
 * @param place  as struct heap_dwarf_local has it
 */
heap_type_id module_type(struct module *module, uint64_t place, struct heap_types *types);

/**
 * The number of a type of the snapshot's in the module's own table, module->debug.types; 0: it is not there.
 * module->type_map leads back.
 */
uint32_t module_type_number(struct module *module, heap_type_id type,
			    const struct heap_types *types);

/** A type that the code at an allocation site may mean. */
struct module_site_type {
	heap_type_id pointee; /**< as declared: typedefs and qualifiers are still there */
	uint8_t depth; /**< 0: innermost inlined function at the pc, 1: the one it is inlined into */
	uint8_t kind;  /**< enum heap_dwarf_site_type_kind */
	uint32_t line; /**< of the declaration */
};

/**
 * The types that the code at an allocation site may mean: pointees of pointers that are
 * variables, parameters and results of the functions at a pc.
 *
 * All variables of the functions count, not only those that live at the pc. Pointers to
 * void say nothing and are left out, except as results: there they say that it is a pointer. A unit is read
 * for the first site in it.
 *
 * @param lookup_pc  in memory: a return address minus 1
 * @param types      the snapshot's; may grow
 * @param result     [*count] malloc'd; innermost function first
 */
HEAP_MUST_CHECK
struct heap_error *module_site_types(struct module *module, uint64_t lookup_pc,
				     struct heap_types *types, struct module_site_type **result,
				     size_t *count);

/**
 * Among the types at a function's entry, the one of its receiver: the first parameter that is a pointer of the
 * function itself, not of one that is inlined there. NULL: it has none.
 */
const struct module_site_type *module_site_receiver(const struct module_site_type *types,
						    size_t count);

/**
 * The frame of a coroutine that a function gets, as those do that the compiler makes to resume and to destroy it.
 * HEAP_NO_TYPE: it is another function.
 *
 * @param pc  in memory
 */
heap_type_id module_frame_type(struct module *module, uint64_t pc, struct heap_types *types);

/** The debug information about a function that allocates. */
enum module_passing {
	MODULE_PASSING_UNKNOWN,
	MODULE_PASSES_ON, /**< it may only pass on what others ask for: its result has no type */
	MODULE_KEEPS,     /**< it returns no block, or one of a type that it knows */
};

/**
 * True if the function at a pc, into which others may be inlined there, can be one like
 * xmalloc(). That is a property of the code, the same in each run: it returns a void *, or a
 * char * and is told a number first, or it has a place to put a pointer into.
 *
 * @param kept  what it returns a pointer to, if it keeps; HEAP_NO_TYPE: to nothing
 */
enum module_passing module_passing(struct module *module, uint64_t lookup_pc,
				   struct heap_types *types, heap_type_id *kept);

#endif
