// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef MODULES_H
#define MODULES_H

/**
 * The executable and the shared libraries of the frozen copy, and the symbols in their files.
 *
 * A module's file is used only if its build id is that of the mapped module: a library that was
 * replaced on disk since it was loaded would give wrong names everywhere. Failures cost names,
 * never the snapshot, and the module's note tells of them.
 */

#include "dumper/writer/scan/image.h"
#include "dumper/writer/base/strings.h"
#include "lib/dwarf/dwarf_info.h"
#include "lib/dwarf/elf_file.h"
#include "lib/dwarf/dwarf_line_cache.h"
#include "lib/dwarf/dwarf_site_types.h"
#include "lib/dwarf/dwarf_unwind.h"
#include "lib/snapshot/snapshot.h"

/** Types of one unit, kept because locals of its functions need them. */
struct module_unit;

struct module {
	const char *path;
	uint64_t start; /**< of the first mapping */
	uint64_t end;
	uint64_t bias; /**< address in memory minus address in the file */
	struct heap_build_id build_id;
	struct heap_elf_file *elf;     /**< NULL if the file could not be used */
	char *debug_path;              /**< where debug information came from, or NULL */
	struct heap_dwarf_file *dwarf; /**< NULL without debug information */
	struct heap_dwarf_info debug;  /**< types and variables; empty if there are none */
	bool has_debug;
	heap_type_id *type_map;               /**< [debug.types.count] in the snapshot's table */
	struct heap_dwarf_line_finder *lines; /**< NULL until the cache lacks an address */
	bool lines_tried;
	struct heap_dwarf_line_cache *line_cache; /**< NULL without a cache */
	struct heap_dwarf_unwinder *unwinder;
	bool unwinder_tried;
	struct module_unit **units; /**< [unit_count] NULL until one is needed */
	size_t unit_count;
	char *note; /**< what was missed, for people; or NULL */
};

struct modules {
	struct module *modules; /**< [count] by address */
	size_t count;
	const struct image *image;
	struct module
		vdso; /**< the kernel's own object, vdso(7): names code, is none of the list */
	bool vdso_tried;
};

/**
 * Opens all modules, and merges the types of their debug information into @p types.
 *
 * @param cache  directory for parsed debug information, or NULL
 */
HEAP_MUST_CHECK
struct heap_error *modules_init(struct modules *modules, const struct image *image,
				const char *cache, struct heap_types *types);

/**
 * The same of a snapshot, whose image has no code. Files that are not there now cost the names of their
 * modules.
 */
HEAP_MUST_CHECK
struct heap_error *modules_init_snapshot(struct modules *modules, const struct image *image,
					 const char *cache, struct heap_types *types,
					 const struct heap_snapshot *snapshot);

/** Caches the lines that were looked up. A cache that cannot be written costs time, nothing else. */
void modules_store_lines(const struct modules *modules);

void modules_deinit(struct modules *modules);

/** The module whose mappings hold @p address, or NULL: the vdso is none. */
struct module *modules_find(const struct modules *modules, uint64_t address);

/** As modules_find(), and the vdso, which has symbols and call frame information only. */
struct module *modules_find_code(struct modules *modules, uint64_t pc);

/** @return the index in the list; HEAP_NO_INDEX of NULL and of the vdso */
uint32_t modules_index(const struct modules *modules, const struct module *module);

/** A place in the code. */
struct code_place {
	uint32_t function; /**< in strings */
	uint64_t offset;   /**< in that function, if the symbol table knows it */
	uint32_t file;
	uint32_t line;
};

/**
 * Names the code at @p address, innermost inlined function first.
 *
 * @param lookup  address to look lines up by: a return address minus 1
 * @param places  [max] the caller's
 * @return how many were filled, at least 1 if the module is known
 */
size_t module_describe(struct module *module, uint64_t address, uint64_t lookup,
		       struct strings *strings, struct code_place *places, size_t max);

/** For unwinding; NULL if the module has nothing to unwind by. */
struct heap_dwarf_unwinder *module_unwinder(struct module *module);

/**
 * The type in the snapshot's table that an entry of the debug information is.
 *
 * @param place  as struct heap_dwarf_local has it
 */
heap_type_id module_type(struct module *module, uint64_t place, struct heap_types *types);

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
