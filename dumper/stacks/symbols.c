// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/stacks/symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct search {
	const char *names; // NULL: the tests decide
	heapsnap_symbol_test *module, *function;
	heapsnap_symbol_found *found;
	void *context;
};

// A module's file, mapped.
struct module_file {
	const char *bytes;
	size_t size;
};

// True if a name is in a list.
static bool is_listed(const char *names, const char *name)
{
	size_t length = strlen(name);
	const char *at = names;

	while (*at) {
		size_t skipped = strspn(at, ", ");
		size_t next = strcspn(at + skipped, ", ");

		if (next == length && next > 0 && memcmp(at + skipped, name, length) == 0)
			return true;
		at += skipped + next;
	}
	return false;
}

static bool is_wanted(const struct search *search, const char *name)
{
	return search->names ? is_listed(search->names, name) : search->function(name);
}

// A part of the file, or NULL if it is not in it.
static const void *part(const struct module_file *file, uint64_t offset, uint64_t size)
{
	if (offset > file->size || size > file->size - offset || offset % 8)
		return NULL;
	return file->bytes + offset;
}

static void search_table(const struct search *search, const struct module_file *file,
			 const ElfW(Shdr) * table, const ElfW(Shdr) * strings, uint64_t bias)
{
	const ElfW(Sym) *symbols = part(file, table->sh_offset, table->sh_size);
	size_t count = table->sh_size / sizeof(*symbols);
	const char *text = file->bytes + strings->sh_offset;

	if (!symbols || strings->sh_offset > file->size || strings->sh_size == 0 ||
	    strings->sh_size > file->size - strings->sh_offset ||
	    text[strings->sh_size - 1] != '\0')
		return;
	for (size_t i = 0; i < count; i++) {
		if (symbols[i].st_shndx != SHN_UNDEF && symbols[i].st_name < strings->sh_size &&
		    (symbols[i].st_info & 0xf) == STT_FUNC &&
		    is_wanted(search, text + symbols[i].st_name))
			search->found(search->context, bias + symbols[i].st_value);
	}
}

static void search_file(const struct search *search, const struct module_file *file, uint64_t bias)
{
	const ElfW(Ehdr) *header = part(file, 0, sizeof(*header));
	const ElfW(Shdr) * sections;

	if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_shentsize != sizeof(*sections))
		return;
	sections = part(file, header->e_shoff, header->e_shnum * sizeof(*sections));
	for (unsigned i = 0; sections && i < header->e_shnum; i++) {
		if ((sections[i].sh_type == SHT_SYMTAB || sections[i].sh_type == SHT_DYNSYM) &&
		    sections[i].sh_link < header->e_shnum)
			search_table(search, file, &sections[i], &sections[sections[i].sh_link],
				     bias);
	}
}

static int search_module(struct dl_phdr_info *info, size_t size, void *context)
{
	const struct search *search = context;
	const char *name = info->dlpi_name ? info->dlpi_name : "";
	const char *path = *name ? name : "/proc/self/exe";
	struct stat status;
	int file;
	struct module_file mapped;

	(void)size;
	if (search->module && !search->module(name))
		return 0;
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return 0;
	if (fstat(file, &status) == 0 && status.st_size > 0) {
		mapped.size = (size_t)status.st_size;
		mapped.bytes = mmap(NULL, mapped.size, PROT_READ, MAP_PRIVATE, file, 0);
		if (mapped.bytes != MAP_FAILED) {
			search_file(search, &mapped, info->dlpi_addr);
			munmap((void *)mapped.bytes, mapped.size);
		}
	}
	close(file);
	return 0;
}

void heapsnap_symbols_find(const char *names, heapsnap_symbol_found *found, void *context)
{
	struct search search = { .names = names, .found = found, .context = context };

	dl_iterate_phdr(search_module, &search);
}

void heapsnap_symbols_visit(heapsnap_symbol_test *module, heapsnap_symbol_test *function,
			    heapsnap_symbol_found *found, void *context)
{
	struct search search = {
		.module = module, .function = function, .found = found, .context = context
	};

	dl_iterate_phdr(search_module, &search);
}
