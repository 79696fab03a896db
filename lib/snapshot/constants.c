// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/snapshot/constants.h"

#include "lib/base/build_id.h"
#include "lib/base/cleanup.h"
#include "lib/base/regular_file.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

enum {
	MAX_NOTES = 4096,
};

// The sections of one module's file that have constants.
struct module_constants {
	bool is_known; // looked for, found or not
	int descriptor;
	Elf64_Shdr *sections; // [count]
	size_t count;
};

struct heap_constants {
	uint32_t count;
	struct module_constants modules[]; // [count]
};

void heap_constants_destroy(struct heap_constants *constants)
{
	if (!constants)
		return;
	for (uint32_t i = 0; i < constants->count; i++) {
		free(constants->modules[i].sections);
		if (constants->modules[i].count > 0)
			close(constants->modules[i].descriptor);
	}
	free(constants);
}

// --- files -------------------------------------------------------------------

static bool read_all(int descriptor, void *buffer, size_t size, uint64_t offset)
{
	return offset <= INT64_MAX &&
	       pread(descriptor, buffer, size, (off_t)offset) == (ssize_t)size;
}

static Elf64_Shdr *read_sections(int descriptor, size_t *count)
{
	Elf64_Ehdr header;

	if (!read_all(descriptor, &header, sizeof(header), 0) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum == 0)
		return NULL;

	CLEANUP_FREE Elf64_Shdr *sections = calloc(header.e_shnum, sizeof(*sections));

	if (!sections ||
	    !read_all(descriptor, sections, header.e_shnum * sizeof(*sections), header.e_shoff))
		return NULL;
	*count = header.e_shnum;
	return keep(sections);
}

static bool has_build_id(int descriptor, const Elf64_Shdr *sections, size_t count,
			 const char *expected)
{
	struct heap_build_id id = { 0 };
	char text[2 * HEAP_BUILD_ID_MAX + 1];
	uint8_t notes[MAX_NOTES];

	for (size_t i = 0; i < count && id.size == 0; i++) {
		const Elf64_Shdr *section = &sections[i];

		if (section->sh_type == SHT_NOTE && section->sh_size <= sizeof(notes) &&
		    read_all(descriptor, notes, section->sh_size, section->sh_offset))
			heap_build_id_parse(notes, section->sh_size,
					    (uint32_t)section->sh_addralign, &id);
	}
	heap_build_id_format(&id, text, sizeof(text));
	return id.size > 0 && strcmp(text, expected) == 0;
}

static size_t select_constants(Elf64_Shdr *sections, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t flags = sections[i].sh_flags;

		if (sections[i].sh_type == SHT_PROGBITS && (flags & SHF_ALLOC) &&
		    !(flags & (SHF_WRITE | SHF_EXECINSTR | SHF_COMPRESSED)))
			sections[kept++] = sections[i];
	}
	return kept;
}

static bool open_file(struct module_constants *module, const char *path, const char *build_id)
{
	// A snapshot may name any file.
	CLEANUP_CLOSE int descriptor = path[0] == '/' ? heap_regular_file_try(path) : -1;
	CLEANUP_FREE Elf64_Shdr *sections =
		descriptor < 0 ? NULL : read_sections(descriptor, &module->count);

	if (!sections || !has_build_id(descriptor, sections, module->count, build_id))
		module->count = 0;
	else
		module->count = select_constants(sections, module->count);
	if (module->count == 0)
		return false;
	module->sections = keep(sections);
	module->descriptor = dup(descriptor);
	return true;
}

// --- questions ---------------------------------------------------------------

static uint32_t find_module(const struct heap_snapshot *snapshot, uint64_t address)
{
	for (uint32_t i = 0; i < snapshot->module_count; i++) {
		if (address >= snapshot->modules[i].start && address < snapshot->modules[i].end)
			return i;
	}
	return HEAP_NO_INDEX;
}

static const struct module_constants *get_module(struct heap_snapshot *snapshot, uint32_t index)
{
	const struct heap_module *module = &snapshot->modules[index];
	const char *build_id = heap_snapshot_string(snapshot, module->build_id);

	if (!snapshot->constants) {
		snapshot->constants =
			calloc(1, sizeof(*snapshot->constants) +
					  snapshot->module_count * sizeof(struct module_constants));
		if (!snapshot->constants)
			return NULL;
		snapshot->constants->count = snapshot->module_count;
	}

	struct module_constants *result = &snapshot->constants->modules[index];

	// Debug information may be in the whole, unstripped file.
	if (!result->is_known && *build_id &&
	    !open_file(result, heap_snapshot_string(snapshot, module->path), build_id))
		open_file(result, heap_snapshot_string(snapshot, module->debug), build_id);
	result->is_known = true;
	return result;
}

size_t heap_constants_read(struct heap_snapshot *snapshot, uint64_t address, char *buffer,
			   size_t size)
{
	uint32_t index = find_module(snapshot, address);
	const struct module_constants *module =
		index == HEAP_NO_INDEX ? NULL : get_module(snapshot, index);

	for (size_t i = 0; module && i < module->count; i++) {
		const Elf64_Shdr *section = &module->sections[i];
		uint64_t offset = address - snapshot->modules[index].bias - section->sh_addr;

		if (offset >= section->sh_size)
			continue;
		if (size > section->sh_size - offset)
			size = section->sh_size - offset;
		return read_all(module->descriptor, buffer, size, section->sh_offset + offset)
			       ? size
			       : 0;
	}
	return 0;
}

bool heap_constants_string(struct heap_snapshot *snapshot, uint64_t address, char *buffer,
			   size_t size, size_t *length, bool *is_whole)
{
	size_t count = heap_constants_read(snapshot, address, buffer, size);

	*length = strnlen(buffer, count);
	*is_whole = *length < count;
	return count > 0 && (*is_whole || count == size);
}
