// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/elf_section.h"

#include <string.h>

Elf_Scn *heap_elf_find_section(Elf *elf, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		const char *found = gelf_getshdr(section, header)
					    ? elf_strptr(elf, names, header->sh_name)
					    : NULL;

		if (found && strcmp(found, name) == 0 && header->sh_type != SHT_NOBITS)
			return section;
	}
	return NULL;
}
