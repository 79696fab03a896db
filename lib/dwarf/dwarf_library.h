// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_LIBRARY_H
#define HEAP_DWARF_LIBRARY_H

/**
 * libdwarf's headers, and one name for each thing that its versions name differently.
 *
 * Debian 12 has the release of May 2021, the last one whose version is a date. Since 0.3 (2022)
 * the header defines its version, dwarf_object_init_b() takes another interface, and two
 * functions have new names. 0.12 to 2.1 add om_load_section_a to that interface; it stays NULL, so
 * libdwarf calls om_load_section and does not free our sections. For the .c files of this room
 * only.
 */

#include "lib/dwarf/dwarf_constants.h"

#include <stddef.h>

#if __has_include(<libdwarf/libdwarf.h>)
#include <libdwarf/libdwarf.h>
#else
#include <libdwarf.h>
#endif

// Before 0.5 a row of a DWARF 5 table whose sequence has set no file gets file 0 instead of file 1
// (DWARF 5, table 6.4), which gcc and gas rely on.
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

#else

typedef Dwarf_Obj_Access_Section heap_dwarf_access_section;
typedef Dwarf_Obj_Access_Methods heap_dwarf_access_methods;
typedef Dwarf_Obj_Access_Interface heap_dwarf_access;

#define heap_dwarf_dealloc_location_list dwarf_loc_head_c_dealloc

static inline void heap_dwarf_finish(Dwarf_Debug debug)
{
	dwarf_object_finish(debug, NULL);
}

#endif

#endif
