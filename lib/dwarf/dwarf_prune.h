// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_PRUNE_H
#define HEAP_DWARF_PRUNE_H

#include "lib/dwarf/dwarf_info.h"

/**
 * Leaves types out that no object can have and that nothing refers to which stays.
 *
 * In C++ these are most of all: empty classes and the typedefs in them that templates
 * compute with, with names of hundreds of bytes. Kept are structs, classes and unions with
 * members or more than a byte, enums, base types, typedefs outside of templates, the types
 * of variables, whatever those refer to, and pointers to what is kept.
 *
 * @return NULL or HEAP_ERROR_MEMORY; then @p debug is as it was
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_info_prune(struct heap_dwarf_info *debug);

#endif
