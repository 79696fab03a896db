// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/elf_thread_local.h"

#include <gelf.h>

#if defined(__aarch64__)
enum { // by their numbers: elf.h of musl has other names than that of glibc
	RELOCATION_MODULE = 1028,
	RELOCATION_OFFSET = 1030,
	RELOCATION_DESCRIPTOR = 1031,
};
#else
enum {
	RELOCATION_MODULE = R_X86_64_DTPMOD64,
	RELOCATION_OFFSET = R_X86_64_TPOFF64,
	RELOCATION_DESCRIPTOR = R_X86_64_TLSDESC,
};
#endif

// The second word of a descriptor is the offset, if the module was there when the program began.
static const uint64_t DESCRIPTOR_OFFSET = 8;

// The offset of the variable that a relocation names, 0 if it names none. @return false: it may be another module's
static bool read_variable(const struct heap_elf_file *file, const GElf_Shdr *header,
			  const GElf_Rela *relocation, uint64_t *offset)
{
	size_t number = GELF_R_SYM(relocation->r_info);
	Elf_Scn *section = elf_getscn(file->elf, header->sh_link);
	Elf_Data *data = section && number > 0 ? elf_getdata(section, NULL) : NULL;
	GElf_Sym symbol;

	*offset = (uint64_t)relocation->r_addend;
	if (number == 0)
		return true;
	if (!data || number > INT32_MAX || !gelf_getsym(data, (int)number, &symbol) ||
	    symbol.st_shndx == SHN_UNDEF)
		return false;
	*offset += symbol.st_value;
	return true;
}

static void examine(const struct heap_elf_file *file, const GElf_Shdr *header,
		    const GElf_Rela *relocation, struct heap_tls_word *found)
{
	uint64_t kind = GELF_R_TYPE(relocation->r_info), variable;

	if ((kind != RELOCATION_MODULE && kind != RELOCATION_OFFSET &&
	     kind != RELOCATION_DESCRIPTOR) ||
	    !read_variable(file, header, relocation, &variable))
		return;
	if (kind == RELOCATION_MODULE && found->kind == HEAP_TLS_NO_WORD)
		*found = (struct heap_tls_word){ HEAP_TLS_MODULE, relocation->r_offset, 0 };
	else if (kind == RELOCATION_OFFSET)
		*found = (struct heap_tls_word){ HEAP_TLS_OFFSET, relocation->r_offset, variable };
	else if (kind == RELOCATION_DESCRIPTOR)
		*found = (struct heap_tls_word){ HEAP_TLS_OFFSET,
						 relocation->r_offset + DESCRIPTOR_OFFSET,
						 variable };
}

struct heap_tls_word heap_elf_find_tls_word(const struct heap_elf_file *file)
{
	struct heap_tls_word found = { HEAP_TLS_NO_WORD, 0, 0 };
	Elf_Scn *section = NULL;

	while (found.kind != HEAP_TLS_OFFSET && (section = elf_nextscn(file->elf, section))) {
		GElf_Shdr header;
		GElf_Rela relocation;
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA ||
		    !(header.sh_flags & SHF_ALLOC))
			continue;
		data = elf_getdata(section, NULL);
		for (int i = 0;
		     data && found.kind != HEAP_TLS_OFFSET && gelf_getrela(data, i, &relocation);
		     i++)
			examine(file, &header, &relocation, &found);
	}
	return found;
}
