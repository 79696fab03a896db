// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_LIBRARY_H
#define HEAP_DWARF_LIBRARY_H

/**
 * libdwarf's headers, and one name for what its versions call differently.
 *
 * Debian 12 has the release of May 2021, the last one whose version is a date. Since 0.3 (2022)
 * the header says its version, dwarf_object_init_b() takes another interface, and three
 * functions have new names. For the .c files of this room only.
 */

#include "lib/dwarf/dwarf_constants.h"

#include <stddef.h>

#if __has_include(<libdwarf/libdwarf.h>)
#include <libdwarf/libdwarf.h>
#else
#include <libdwarf.h>
#endif

// Before 0.5 a row of a DWARF 5 table whose sequence has set no file is said to be of file 0; it
// is of file 1 (DWARF 5, table 6.4), and gcc and gas rely on that.
#if !defined(DW_LIBDWARF_VERSION) || \
	(DW_LIBDWARF_VERSION_MAJOR == 0 && DW_LIBDWARF_VERSION_MINOR < 5)
#define HEAP_DWARF_FILE_IS_0_AT_FIRST 1
#else
#define HEAP_DWARF_FILE_IS_0_AT_FIRST 0
#endif

#ifdef DW_LIBDWARF_VERSION

typedef Dwarf_Obj_Access_Section_a heap_dwarf_access_section;
typedef Dwarf_Obj_Access_Methods_a heap_dwarf_access_methods;
typedef Dwarf_Obj_Access_Interface_a heap_dwarf_access;

#define heap_dwarf_dealloc_location_list dwarf_dealloc_loc_head_c

static inline void heap_dwarf_finish(Dwarf_Debug debug)
{
	dwarf_object_finish(debug);
}

/** The bytes of a register's rule that is an expression. @return NULL if there are none */
static inline const void *heap_dwarf_rule_block(const struct Dwarf_Regtable_Entry3_s *rule,
						Dwarf_Unsigned *size)
{
	*size = rule->dw_block.bl_len;
	return rule->dw_block.bl_data;
}

static inline Dwarf_Signed heap_dwarf_rule_offset(const struct Dwarf_Regtable_Entry3_s *rule)
{
	return (Dwarf_Signed)rule->dw_offset;
}

#else

typedef Dwarf_Obj_Access_Section heap_dwarf_access_section;
typedef Dwarf_Obj_Access_Methods heap_dwarf_access_methods;
typedef Dwarf_Obj_Access_Interface heap_dwarf_access;

#define heap_dwarf_dealloc_location_list dwarf_loc_head_c_dealloc

static inline void heap_dwarf_finish(Dwarf_Debug debug)
{
	dwarf_object_finish(debug, NULL);
}

static inline const void *heap_dwarf_rule_block(const struct Dwarf_Regtable_Entry3_s *rule,
						Dwarf_Unsigned *size)
{
	*size = rule->dw_offset_or_block_len;
	return rule->dw_block_ptr;
}

static inline Dwarf_Signed heap_dwarf_rule_offset(const struct Dwarf_Regtable_Entry3_s *rule)
{
	return (Dwarf_Signed)rule->dw_offset_or_block_len;
}

#endif

#endif
