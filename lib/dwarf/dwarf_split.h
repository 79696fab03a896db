// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_SPLIT_H
#define HEAP_DWARF_SPLIT_H

/**
 * Split DWARF: units whose DIEs are in files that the linker never saw.
 *
 *	app: skeleton 0x36e1 ──▶ app.dwo        or all of them ──▶ app.dwp
 *	     skeleton 0x5821 ──▶ other.dwo                         (.debug_cu_index)
 *
 * (DWARF 5, sections 3.1.2, 7.3.2 and 7.3.5; before that GNU's extension, the "DebugFission"
 * proposal.) A file is believed only if it has a unit of the skeleton's id: it may be of
 * another build.
 */

#include "lib/dwarf/dwarf_units.h"

/**
 * Finds and opens the split files of all skeletons, and reads their headers.
 *
 * @param program  the program or library that the file is the separate debug file of, or
 *                 NULL: a package of split files may be beside that
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_split_open(struct heap_dwarf_units *units, const char *program);

#endif
