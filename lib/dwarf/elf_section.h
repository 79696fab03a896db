// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_ELF_SECTION_H
#define HEAP_ELF_SECTION_H

/**
 * Sections of an ELF file by name, in libelf's terms.
 */

#include <gelf.h>

/**
 * Finds the first section of a name that has bytes in the file.
 *
 * @param header  gets its header
 * @return NULL if there is none, or the file is damaged
 */
Elf_Scn *heap_elf_find_section(Elf *elf, const char *name, GElf_Shdr *header);

#endif
