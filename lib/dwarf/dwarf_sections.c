// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_sections.h"

#include "lib/base/cleanup.h"
#include "lib/dwarf/elf_zstd.h"

#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	const char *compressed; // the old way; the new way is SHF_COMPRESSED
	const char *split;      // in split files
	size_t at;
	bool late;
} known[] = {
#define SECTION(name, field, late) \
	{ \
		"." name, ".z" name, "." name ".dwo", offsetof(struct heap_dwarf_sections, field), \
			late \
	}
	SECTION("debug_info", info, false),
	SECTION("debug_types", types, false),
	SECTION("debug_abbrev", abbreviations, false),
	SECTION("debug_addr", addresses, false),
	SECTION("debug_line", lines, false),
	SECTION("debug_str", strings, false),
	SECTION("debug_line_str", line_strings, false),
	SECTION("debug_str_offsets", string_offsets, false),
	SECTION("gnu_debugaltlink", alternate, false),
	SECTION("debug_sup", supplementary, false),
	SECTION("debug_cu_index", unit_index, false),
	SECTION("debug_tu_index", type_index, false),
	SECTION("debug_aranges", address_ranges, true),
	SECTION("debug_ranges", ranges, true),
	SECTION("debug_rnglists", range_lists, true),
	SECTION("debug_loc", locations, true),
	SECTION("debug_loclists", location_lists, true),
#undef SECTION
};

static bool is_same(const char *name, size_t length, const char *other)
{
	return strncmp(name, other, length) == 0 && other[length] == '\0';
}

static struct heap_dwarf_bytes *find(struct heap_dwarf_sections *sections, const char *name,
				     bool late, bool *is_old)
{
	size_t length = strlen(name);
	bool is_split = length > 4 && strcmp(name + length - 4, ".dwo") == 0;
	bool is_index = length > 6 && strcmp(name + length - 6, "_index") == 0;

	// An object may have both kinds of sections in one file.
	if (is_split != sections->split && !is_index)
		return NULL;
	length -= is_split ? 4 : 0;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (known[i].late != late)
			continue;
		*is_old = is_same(name, length, known[i].compressed);
		if (*is_old || is_same(name, length, known[i].name))
			return (void *)((char *)sections + known[i].at);
	}
	return NULL;
}

// gcc gives each type unit of a split file a section of its own, of one name.
static bool may_be_several(const struct heap_dwarf_sections *sections,
			   const struct heap_dwarf_bytes *bytes)
{
	return sections->split && (bytes == &sections->info || bytes == &sections->types);
}

// Without memory for them the later ones are not there.
static void append(struct heap_dwarf_sections *sections, struct heap_dwarf_bytes *bytes,
		   struct heap_dwarf_bytes more)
{
	uint8_t **joined = &sections->joined[bytes == &sections->types];
	uint8_t *larger = realloc(*joined, bytes->size + more.size);

	if (!larger) {
		sections->is_partial = true;
		return;
	}
	if (!*joined)
		memcpy(larger, bytes->bytes, bytes->size);
	memcpy(larger + bytes->size, more.bytes, more.size);
	*joined = larger;
	bytes->bytes = larger;
	bytes->size += more.size;
}

// Unpacks what libelf cannot. @return false: nor can we
static bool unpack(struct heap_dwarf_sections *sections, Elf_Scn *section,
		   struct heap_dwarf_bytes *result)
{
	CLEANUP_FREE uint8_t *bytes = NULL;
	struct heap_error *error;
	size_t size = 0;

	bytes = heap_elf_unpack_zstd(section, &size);
	if (!bytes)
		return false;
	error = heap_array_append(&sections->unpacked, bytes);
	if (error) {
		heap_error_destroy(error);
		return false;
	}
	*result = (struct heap_dwarf_bytes){ keep(bytes), size };
	return true;
}

// Finds the bytes of a section. libelf refuses sizes that no compression reaches, so the file's size bounds the memory.
static bool read_section(struct heap_dwarf_sections *sections, Elf_Scn *section,
			 const GElf_Shdr *header, bool is_old, struct heap_dwarf_bytes *result)
{
	const Elf_Data *data;

	if (is_old && elf_compress_gnu(section, 0, 0) < 0)
		return false;
	if (header->sh_flags & SHF_COMPRESSED && elf_compress(section, 0, 0) < 0) {
		if (!heap_elf_is_zstd(section))
			return false;
		if (unpack(sections, section, result))
			return true;
		sections->has_zstd = true;
		return false;
	}
	data = elf_getdata(section, NULL);
	if (!data || !data->d_buf)
		return header->sh_size == 0;
	*result = (struct heap_dwarf_bytes){ data->d_buf, data->d_size };
	return true;
}

static void load(struct heap_dwarf_sections *sections, Elf_Scn *section, const GElf_Shdr *header,
		 bool is_old, struct heap_dwarf_bytes *result)
{
	struct heap_dwarf_bytes bytes = { 0 };
	bool is_first = !result->bytes;

	if (header->sh_type == SHT_NOBITS || (!is_first && !may_be_several(sections, result)))
		return;
	if (!read_section(sections, section, header, is_old, &bytes))
		sections->is_partial = true;
	else if (is_first)
		*result = bytes;
	else if (bytes.size > 0)
		append(sections, result, bytes);
}

static void end_with_nul(struct heap_dwarf_bytes *strings)
{
	const uint8_t *last = strings->size ? memrchr(strings->bytes, '\0', strings->size) : NULL;

	strings->size = last ? (uint64_t)(last - strings->bytes) + 1 : 0;
}

static void load_sections(struct heap_dwarf_sections *sections, bool late)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(sections->elf, &names) != 0)
		return;
	while ((section = elf_nextscn(sections->elf, section))) {
		GElf_Shdr header;
		bool is_old;
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(sections->elf, names, header.sh_name)
					   : NULL;
		struct heap_dwarf_bytes *bytes = name ? find(sections, name, late, &is_old) : NULL;

		if (bytes)
			load(sections, section, &header, is_old, bytes);
	}
}

void heap_dwarf_sections_load_late(struct heap_dwarf_sections *sections)
{
	load_sections(sections, true);
}

struct heap_error *heap_dwarf_sections_open(int descriptor, const char *path, bool split,
					    struct heap_dwarf_sections *result)
{
	struct heap_dwarf_sections sections = { .split = split };
	size_t names;

	elf_version(EV_CURRENT);
	sections.elf = elf_begin(descriptor, ELF_C_READ_MMAP, NULL);
	if (!sections.elf || elf_kind(sections.elf) != ELF_K_ELF ||
	    elf_getshdrstrndx(sections.elf, &names) != 0) {
		elf_end(sections.elf);
		return heap_error_create(HEAP_ERROR_FORMAT, "%s: not an ELF file", path);
	}

	const char *identity = elf_getident(sections.elf, NULL);

	if (identity[EI_DATA] != ELFDATA2LSB) {
		elf_end(sections.elf);
		return heap_error_create(HEAP_ERROR_FORMAT, "%s: not of this machine", path);
	}
	// There may be more split files than a process may have descriptors.
	if (split && elf_cntl(sections.elf, ELF_C_FDREAD) != 0) {
		elf_end(sections.elf);
		return heap_error_create(HEAP_ERROR_FORMAT, "%s: cannot be read", path);
	}
	load_sections(&sections, false);
	end_with_nul(&sections.strings);
	end_with_nul(&sections.line_strings);
	*result = sections;
	return NULL;
}

// We read these ourselves, and libdwarf must not: that of 2021 frees the headers of a damaged
// .debug_rnglists twice.
static bool is_about_ranges(const struct heap_dwarf_sections *sections,
			    const struct heap_dwarf_bytes *bytes)
{
	return bytes == &sections->ranges || bytes == &sections->range_lists ||
	       bytes == &sections->address_ranges;
}

size_t heap_dwarf_sections_list(const struct heap_dwarf_sections *sections,
				struct heap_dwarf_section *result, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known) && count < max; i++) {
		const struct heap_dwarf_bytes *bytes =
			(const void *)((const char *)sections + known[i].at);
		bool is_index = bytes == &sections->unit_index || bytes == &sections->type_index;

		if (is_about_ranges(sections, bytes))
			continue;
		result[count++] = (struct heap_dwarf_section){
			.name = sections->split && !is_index ? known[i].split : known[i].name,
			.bytes = *bytes,
		};
	}
	return count;
}

void heap_dwarf_sections_close(struct heap_dwarf_sections *sections)
{
	elf_end(sections->elf);
	free(sections->joined[0]);
	free(sections->joined[1]);
	for (size_t i = 0; i < sections->unpacked.count; i++)
		free(sections->unpacked.items[i]);
	heap_array_deinit(&sections->unpacked);
	*sections = (struct heap_dwarf_sections){ 0 };
}

static bool has_id(const Elf_Data *data, const uint8_t *build_id, size_t size)
{
	GElf_Nhdr note;
	size_t offset = 0, name, description;

	while ((offset = gelf_getnote((Elf_Data *)data, offset, &note, &name, &description)))
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp((const char *)data->d_buf + name, "GNU", 4) == 0 &&
		    note.n_descsz == size &&
		    memcmp((const char *)data->d_buf + description, build_id, size) == 0)
			return true;
	return false;
}

bool heap_dwarf_sections_is(const struct heap_dwarf_sections *sections, const uint8_t *build_id,
			    size_t size)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(sections->elf, section))) {
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_NOTE)
			continue;

		Elf_Data *data = elf_getdata(section, NULL);

		if (data && has_id(data, build_id, size))
			return true;
	}
	return false;
}

const char *heap_dwarf_string(struct heap_dwarf_cursor *cursor)
{
	const uint8_t *start = cursor->at;
	const uint8_t *end = start < cursor->end ? memchr(start, '\0', cursor->end - start) : NULL;

	if (!end) {
		cursor->bad = true;
		cursor->at = cursor->end;
		return "";
	}
	cursor->at = end + 1;
	return (const char *)start;
}

const char *heap_dwarf_string_at(struct heap_dwarf_bytes strings, uint64_t offset)
{
	return offset < strings.size ? (const char *)strings.bytes + offset : "";
}
