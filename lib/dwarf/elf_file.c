// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/elf_file.h"

#include "lib/base/cleanup.h"
#include "lib/base/regular_file.h"
#include "lib/base/search.h"

#include <gelf.h>
#include <string.h>

#if defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_X86_64
#endif

// --- segments and sections ---------------------------------------------------

static void read_load_segment(struct heap_elf_file *file, const GElf_Phdr *segment, bool *first)
{
	uint64_t end = segment->p_vaddr + segment->p_memsz;

	if (*first)
		file->first_address = segment->p_vaddr & ~UINT64_C(4095);
	*first = false;
	if (!(segment->p_flags & PF_W) || end < segment->p_vaddr)
		return;
	if (file->data_end == 0 || segment->p_vaddr < file->data_start)
		file->data_start = segment->p_vaddr;
	if (end > file->data_end)
		file->data_end = end;
}

static void read_note_segment(struct heap_elf_file *file, const GElf_Phdr *segment)
{
	Elf_Data *data = elf_getdata_rawchunk(file->elf, (int64_t)segment->p_offset,
					      segment->p_filesz, ELF_T_BYTE);

	if (data && data->d_buf && file->build_id.size == 0)
		heap_build_id_parse(data->d_buf, data->d_size, (uint32_t)segment->p_align,
				    &file->build_id);
}

static void read_segments(struct heap_elf_file *file)
{
	size_t count;
	bool first = true;
	GElf_Phdr segment;

	if (elf_getphdrnum(file->elf, &count) != 0)
		return;
	for (size_t i = 0; i < count && gelf_getphdr(file->elf, (int)i, &segment); i++) {
		switch (segment.p_type) {
		case PT_LOAD:
			read_load_segment(file, &segment, &first);
			break;
		case PT_NOTE:
			read_note_segment(file, &segment);
			break;
		case PT_TLS:
			file->tls_size = segment.p_memsz;
			file->tls_alignment = segment.p_align;
			break;
		}
	}
}

static const char *section_name(const struct heap_elf_file *file, const GElf_Shdr *header)
{
	size_t names;
	const char *name = NULL;

	if (elf_getshdrstrndx(file->elf, &names) == 0)
		name = elf_strptr(file->elf, names, header->sh_name);
	return name ? name : "";
}

static bool is_in_code(struct heap_elf_file *file, const GElf_Sym *symbol)
{
	Elf_Scn *section = elf_getscn(file->elf, symbol->st_shndx);
	GElf_Shdr header;

	return section && gelf_getshdr(section, &header) && (header.sh_flags & SHF_EXECINSTR);
}

static enum heap_symbol_kind kind_of(struct heap_elf_file *file, const GElf_Sym *symbol,
				     bool *wanted)
{
	*wanted = true;
	switch (GELF_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return HEAP_SYMBOL_FUNCTION;
	case STT_OBJECT:
		return HEAP_SYMBOL_OBJECT;
	case STT_TLS:
		return HEAP_SYMBOL_THREAD_LOCAL;
	case STT_NOTYPE:
		// A function in assembler without .type; mere labels have no size.
		*wanted = symbol->st_size > 0 && is_in_code(file, symbol);
		return HEAP_SYMBOL_FUNCTION;
	default:
		*wanted = false;
		return HEAP_SYMBOL_OBJECT;
	}
}

// Where the section that a symbol lies in ends.
static uint64_t section_end(struct heap_elf_file *file, const GElf_Sym *symbol)
{
	Elf_Scn *section = elf_getscn(file->elf, symbol->st_shndx);
	GElf_Shdr header;

	if (!section || !gelf_getshdr(section, &header) ||
	    header.sh_addr + header.sh_size < header.sh_addr)
		return UINT64_MAX;
	return header.sh_addr + header.sh_size;
}

HEAP_MUST_CHECK
static struct heap_error *read_symbols(struct heap_elf_file *file, Elf_Scn *section,
				       const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

	if (!data || count == 0)
		return NULL;
	if (count > data->d_size / sizeof(Elf64_Sym))
		count = data->d_size / sizeof(Elf64_Sym);

	// Exactly as many as the section may have: a file has two of these at most.
	struct heap_symbol *symbols =
		realloc(file->symbols, (file->symbol_count + count + 1) * sizeof(*symbols));

	if (!symbols)
		return heap_error_out_of_memory();
	file->symbols = symbols;
	for (size_t i = 0; i < count; i++) {
		GElf_Sym symbol;
		bool wanted;

		if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF)
			continue;

		enum heap_symbol_kind kind = kind_of(file, &symbol, &wanted);
		const char *name =
			wanted ? elf_strptr(file->elf, header->sh_link, symbol.st_name) : NULL;

		if (!name || !*name)
			continue;
		symbols[file->symbol_count++] = (struct heap_symbol){
			.address = symbol.st_value,
			.size = symbol.st_size,
			.limit = symbol.st_size ? 0 : section_end(file, &symbol),
			.name = name,
			.kind = (uint8_t)kind,
			.global = GELF_ST_BIND(symbol.st_info) != STB_LOCAL,
		};
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_sections(struct heap_elf_file *file)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(file->elf, section))) {
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header))
			continue;

		const char *name = section_name(file, &header);

		if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)
			HEAP_TRY(read_symbols(file, section, &header));
		else if ((strcmp(name, ".debug_info") == 0 || strcmp(name, ".zdebug_info") == 0) &&
			 header.sh_type != SHT_NOBITS)
			file->has_debug_info = true;
		else if (strcmp(name, ".eh_frame") == 0 && header.sh_type != SHT_NOBITS)
			file->has_eh_frame = true;
		else if (strcmp(name, ".gnu_debugdata") == 0)
			file->has_packed_symbols = true;
	}
	return NULL;
}

static bool section_imports(const struct heap_elf_file *file, Elf_Scn *section,
			    const GElf_Shdr *header, const char *name)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;

	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		const char *own = symbol.st_shndx == SHN_UNDEF
					  ? elf_strptr(file->elf, header->sh_link, symbol.st_name)
					  : NULL;

		if (own && strcmp(own, name) == 0)
			return true;
	}
	return false;
}

bool heap_elf_imports(const struct heap_elf_file *file, const char *name)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(file->elf, section))) {
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNSYM &&
		    section_imports(file, section, &header, name))
			return true;
	}
	return false;
}

// --- symbols -----------------------------------------------------------------

// The first of several symbols at one address is kept: the most telling.
static int compare_symbols(const void *left, const void *right)
{
	const struct heap_symbol *a = left, *b = right;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if ((a->size > 0) != (b->size > 0))
		return a->size > 0 ? -1 : 1;
	if (a->global != b->global)
		return a->global ? -1 : 1;
	return strcmp(a->name, b->name);
}

static void sort_symbols(struct heap_elf_file *file)
{
	size_t kept = 0;

	if (file->symbol_count == 0)
		return;
	qsort(file->symbols, file->symbol_count, sizeof(*file->symbols), compare_symbols);
	for (size_t i = 1; i < file->symbol_count; i++) {
		if (file->symbols[i].kind != file->symbols[kept].kind ||
		    file->symbols[i].address != file->symbols[kept].address)
			file->symbols[++kept] = file->symbols[i];
	}
	file->symbol_count = kept + 1;
}

struct heap_error *heap_elf_add_symbols(struct heap_elf_file *file,
					const struct heap_elf_file *more)
{
	size_t symbol_count = file->symbol_count + more->symbol_count;
	size_t name_count = file->name_count + more->symbol_count;
	void *symbols = realloc(file->symbols, (symbol_count + 1) * sizeof(*file->symbols));

	if (symbols)
		file->symbols = symbols;

	void *names = realloc(file->names, (name_count + 1) * sizeof(*file->names));

	if (names)
		file->names = names;
	if (!symbols || !names)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < more->symbol_count; i++) {
		// Names must outlive the other file.
		char *name = strdup(more->symbols[i].name);

		if (!name)
			return heap_error_out_of_memory();
		file->names[file->name_count++] = name;
		file->symbols[file->symbol_count] = more->symbols[i];
		file->symbols[file->symbol_count++].name = name;
	}
	sort_symbols(file);
	return NULL;
}

const struct heap_symbol *heap_elf_find_before(const struct heap_elf_file *file,
					       enum heap_symbol_kind kind, uint64_t address)
{
	const struct heap_symbol *symbols = file->symbols;
	size_t after =
		heap_partition_point(i, 0, file->symbol_count,
				     symbols[i].kind < kind || (symbols[i].kind == kind &&
								symbols[i].address <= address));

	return after > 0 && symbols[after - 1].kind == kind ? &symbols[after - 1] : NULL;
}

const struct heap_symbol *heap_elf_find_symbol(const struct heap_elf_file *file,
					       enum heap_symbol_kind kind, uint64_t address)
{
	const struct heap_symbol *symbol = heap_elf_find_before(file, kind, address);

	if (!symbol)
		return NULL;
	if (symbol->size == 0)
		return address < symbol->limit ? symbol : NULL;
	return address - symbol->address < symbol->size ? symbol : NULL;
}

const char *heap_elf_find_section_at(const struct heap_elf_file *file, uint64_t address,
				     uint64_t *start)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(file->elf, section))) {
		GElf_Shdr header;

		// Thread-local variables have addresses there, but are elsewhere.
		if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_ALLOC) ||
		    (header.sh_flags & SHF_TLS) || address < header.sh_addr ||
		    address - header.sh_addr >= header.sh_size)
			continue;
		*start = header.sh_addr;
		return *section_name(file, &header) ? section_name(file, &header) : NULL;
	}
	return NULL;
}

const struct heap_symbol *heap_elf_find_name(const struct heap_elf_file *file, const char *name)
{
	for (size_t i = 0; i < file->symbol_count; i++) {
		if (strcmp(file->symbols[i].name, name) == 0)
			return &file->symbols[i];
	}
	return NULL;
}

// --- opening -----------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *open_elf(struct heap_elf_file *file, const char *path)
{
	CLEANUP_CLOSE int descriptor = -1;
	GElf_Ehdr header;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return heap_error_create(HEAP_ERROR_SYSTEM, "libelf is too old");
	file->path = strdup(path);
	if (!file->path)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_regular_file_open(path, &descriptor));
	file->elf = elf_begin(descriptor, ELF_C_READ_MMAP, NULL);
	if (!file->elf || elf_kind(file->elf) != ELF_K_ELF || !gelf_getehdr(file->elf, &header))
		return heap_error_create(HEAP_ERROR_FORMAT, "%s: not an ELF file", path);
	if (header.e_machine != OWN_MACHINE || header.e_ident[EI_CLASS] != ELFCLASS64)
		return heap_error_create(HEAP_ERROR_FORMAT, "%s: for another kind of machine",
					 path);
	// A program may have more modules than a process may have descriptors.
	if (elf_cntl(file->elf, ELF_C_FDREAD) != 0)
		return heap_error_create(HEAP_ERROR_FORMAT, "%s: cannot be read", path);
	file->is_executable = header.e_type == ET_EXEC;
	read_segments(file);

	HEAP_TRY(read_sections(file));
	sort_symbols(file);
	return NULL;
}

struct heap_error *heap_elf_open(const char *path, struct heap_elf_file **result)
{
	struct heap_elf_file *file = calloc(1, sizeof(*file));

	if (!file)
		return heap_error_out_of_memory();

	struct heap_error *error = open_elf(file, path);

	if (error) {
		heap_elf_close(file);
		return error;
	}
	*result = file;
	return NULL;
}

void heap_elf_close(struct heap_elf_file *file)
{
	if (!file)
		return;
	for (size_t i = 0; i < file->name_count; i++)
		free(file->names[i]);
	free(file->names);
	free(file->symbols);
	free(file->path);
	if (file->elf)
		elf_end(file->elf);
	free(file);
}
