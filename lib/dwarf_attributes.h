// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_ATTRIBUTES_H
#define HEAP_DWARF_ATTRIBUTES_H

/**
 * Attributes of one debugging information entry, through libdwarf.
 *
 * For those who look at few entries (lines, locals). An attribute that is absent and one
 * that cannot be read are the same to them: false, NULL or 0.
 *
 * Dwarf_Die results are the caller's, who ends them with dwarf_dealloc_die(); strings are
 * the file's.
 */

#include "lib/cleanup.h"
#include "lib/dwarf_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Ends a Dwarf_Die variable, which may be NULL, when its block is left. */
#define CLEANUP_DIE CLEANUP(heap_dwarf_cleanup_die)

static inline void heap_dwarf_cleanup_die(Dwarf_Die *die)
{
	if (*die)
		dwarf_dealloc_die(*die);
}

/** DW_TAG_..., 0 if it cannot be read. */
Dwarf_Half heap_dwarf_tag(struct heap_dwarf_file *file, Dwarf_Die die);

/** Offset in .debug_info (or .debug_types), 0 if it cannot be had. */
uint64_t heap_dwarf_offset(struct heap_dwarf_file *file, Dwarf_Die die);

/** Offset of the DIE of the unit that @p die is in, 0 if it cannot be had. */
uint64_t heap_dwarf_unit_offset(struct heap_dwarf_file *file, Dwarf_Die die);

/** The entry at an offset in .debug_info, or NULL. */
Dwarf_Die heap_dwarf_at(struct heap_dwarf_file *file, uint64_t offset);

/** Its first child, or NULL. */
Dwarf_Die heap_dwarf_child(struct heap_dwarf_file *file, Dwarf_Die die);

/** The entry after it under the same parent, or NULL. */
Dwarf_Die heap_dwarf_sibling(struct heap_dwarf_file *file, Dwarf_Die die);

/** To be ended with dwarf_dealloc_attribute(). @return false if there is none */
bool heap_dwarf_attribute(struct heap_dwarf_file *file, Dwarf_Die die, Dwarf_Half attribute,
			  Dwarf_Attribute *result);

/** A constant, whichever form it has; negative ones as two's complement. */
bool heap_dwarf_unsigned(struct heap_dwarf_file *file, Dwarf_Die die, Dwarf_Half attribute,
			 uint64_t *result);

bool heap_dwarf_flag(struct heap_dwarf_file *file, Dwarf_Die die, Dwarf_Half attribute);

/** DW_AT_low_pc, DW_AT_entry_pc... */
bool heap_dwarf_address(struct heap_dwarf_file *file, Dwarf_Die die, Dwarf_Half attribute,
			uint64_t *result);

/** A string attribute, or NULL. */
const char *heap_dwarf_text(struct heap_dwarf_file *file, Dwarf_Die die, Dwarf_Half attribute);

/** The offset in .debug_info of what a reference refers to. @return false, also for a signature */
bool heap_dwarf_reference_offset(struct heap_dwarf_file *file, Dwarf_Die die, Dwarf_Half attribute,
				 uint64_t *result);

/** What a reference refers to, in this unit, another, or a type unit; or NULL. */
Dwarf_Die heap_dwarf_reference(struct heap_dwarf_file *file, Dwarf_Die die, Dwarf_Half attribute);

/** What the entry completes (DW_AT_abstract_origin, else DW_AT_specification), or NULL. */
Dwarf_Die heap_dwarf_origin(struct heap_dwarf_file *file, Dwarf_Die die);

/** DW_AT_name, its own or that of what it completes; "" if there is none. */
const char *heap_dwarf_name(struct heap_dwarf_file *file, Dwarf_Die die);

/** DW_AT_linkage_name (or the old DW_AT_MIPS_linkage_name) likewise; "" if there is none. */
const char *heap_dwarf_linkage_name(struct heap_dwarf_file *file, Dwarf_Die die);

/** As heap_dwarf_unsigned(), also of what the entry completes: DW_AT_decl_line, ... */
bool heap_dwarf_inherited_unsigned(struct heap_dwarf_file *file, Dwarf_Die die,
				   Dwarf_Half attribute, uint64_t *result);

/** As heap_dwarf_reference_offset(), also of what the entry completes: DW_AT_type, ... */
bool heap_dwarf_inherited_reference_offset(struct heap_dwarf_file *file, Dwarf_Die die,
					   Dwarf_Half attribute, uint64_t *result);

/** Whether one of the entry's ranges of code holds @p pc. */
bool heap_dwarf_covers(struct heap_dwarf_file *file, Dwarf_Die unit, Dwarf_Die die, uint64_t pc);

/** The files that a unit's DW_AT_decl_file and DW_AT_call_file count in. */
struct heap_dwarf_files {
	char **paths; /**< [count] */
	size_t count;
	size_t first; /**< number of paths[0]: 1, in DWARF 5 0 */
	Dwarf_Debug debug;
};

/** Finds none if the unit has no line table, or an unreadable one. */
void heap_dwarf_files_read(struct heap_dwarf_file *file, Dwarf_Die unit,
			   struct heap_dwarf_files *result);

void heap_dwarf_files_deinit(struct heap_dwarf_files *files);

/** The name of file @p number without its directory; "" if there is none such. */
const char *heap_dwarf_files_name(const struct heap_dwarf_files *files, uint64_t number);

#endif
