// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_CONSTANTS_H
#define HEAP_DWARF_CONSTANTS_H

/** DW_TAG_..., DW_AT_... and so on, from libdwarf's header, wherever it is. */

#if __has_include(<libdwarf/dwarf.h>)
#include <libdwarf/dwarf.h>
#else
#include <dwarf.h>
#endif

#endif
