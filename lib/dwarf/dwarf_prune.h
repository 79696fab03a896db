// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_PRUNE_H
#define HEAP_DWARF_PRUNE_H

#include "lib/dwarf/dwarf_info_table.h"

/**
 * Drops types that no object can have and that no remaining type refers to.
 *
 * In C++ these are most of all types: empty classes and the typedefs in them that templates compute
 * with, with names of hundreds of bytes. These types stay: structs, classes and unions with members
 * or more than a byte, enums, base types, typedefs outside of templates, the types of variables,
 * all types that those refer to, and pointers to types that stay.
 *
 * @return NULL or HEAP_ERROR_MEMORY; then @p debug is as it was
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_info_prune(struct heap_dwarf_info *debug);

#endif
