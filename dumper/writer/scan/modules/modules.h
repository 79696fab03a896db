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

#include "dumper/writer/scan/image/image.h"
#include "dumper/writer/base/strings.h"
#include "lib/dwarf/dwarf_info.h"
#include "lib/dwarf/elf_file.h"
#include "lib/dwarf/dwarf_answers.h"
#include "lib/dwarf/dwarf_locals.h"
#include "lib/dwarf/dwarf_site_types.h"
#include "lib/dwarf/dwarf_unwind.h"
#include "lib/snapshot/snapshot.h"

struct module_types;

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
	struct heap_dwarf_answers
		*answers; /**< the cache of what was looked up; NULL without one */
	struct heap_dwarf_unwinder *unwinder;
	bool unwinder_tried;
	struct module_types *type_lookup; /**< module_types.h; NULL until a type is looked up */
	char *note;                       /**< what was missed, for people; or NULL */
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

/** Caches what was looked up. A cache that cannot be written costs time, nothing else. */
void modules_store_answers(const struct modules *modules);

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
	bool is_wrapper; /**< inlined, and passes on memory that it allocates */
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
 * The locals of a frame whose code is the module's, which has debug information. Damage of this, or a lack of
 * memory, costs the locals.
 *
 * @param result  heap_dwarf_locals_deinit() frees them
 */
void module_locals(struct module *module, const struct heap_dwarf_locals_frame *frame,
		   struct heap_dwarf_locals *result);

/**
 * Where the next call behind a return address returns to, both as addresses in the file: 0 if debug
 * information tells of none.
 */
uint64_t module_next_call(struct module *module, uint64_t return_pc);

/** Tells people of an error that costs the module something; takes the error. */
void module_note_error(struct module *module, struct heap_error *error);

#endif
