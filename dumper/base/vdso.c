// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/base/vdso.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#if defined(__x86_64__)
#define NAME "__vdso_clock_gettime"
#else
#define NAME "__kernel_clock_gettime"
#endif

// The difference between addresses in memory and in the image's headers.
static uintptr_t find_bias(uintptr_t image)
{
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)image;
	const ElfW(Phdr) *segment = (const ElfW(Phdr) *)(image + header->e_phoff);

	for (unsigned i = 0; i < header->e_phnum; i++) {
		if (segment[i].p_type == PT_LOAD)
			return image + segment[i].p_offset - segment[i].p_vaddr;
	}
	return image;
}

static heapsnap_clock_function *find(uintptr_t image)
{
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)image;
	const ElfW(Shdr) *sections = (const ElfW(Shdr) *)(image + header->e_shoff);
	uintptr_t bias = find_bias(image);

	for (unsigned i = 0; i < header->e_shnum; i++) {
		if (sections[i].sh_type != SHT_DYNSYM || sections[i].sh_link >= header->e_shnum)
			continue;

		const ElfW(Sym) *symbols = (const ElfW(Sym) *)(bias + sections[i].sh_addr);
		const char *names = (const char *)(bias + sections[sections[i].sh_link].sh_addr);

		for (size_t k = 0; k < sections[i].sh_size / sizeof(*symbols); k++) {
			if (strncmp(names + symbols[k].st_name, NAME, sizeof(NAME)) == 0)
				return (heapsnap_clock_function *)(bias + symbols[k].st_value);
		}
	}
	return NULL;
}

heapsnap_clock_function *heapsnap_vdso_clock(void)
{
	static heapsnap_clock_function *function;
	static bool has_searched;

	if (!__atomic_load_n(&has_searched, __ATOMIC_ACQUIRE)) {
		uintptr_t image = getauxval(AT_SYSINFO_EHDR);

		function = image ? find(image) : NULL;
		__atomic_store_n(&has_searched, true, __ATOMIC_RELEASE);
	}
	return function;
}
