// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_file.h"

#include "lib/base/cleanup.h"
#include "lib/base/regular_file.h"

#include <gelf.h>
#include <string.h>
#include <sys/stat.h>

static bool is_debug_section(const char *name)
{
	static const char *const names[] = { ".debug_info", ".zdebug_info", ".debug_types",
					     ".zdebug_types", ".debug_info.dwo" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static bool has_debug_section(Elf *elf)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return false;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, names, header.sh_name)
					   : NULL;

		if (name && header.sh_type != SHT_NOBITS && is_debug_section(name))
			return true;
	}
	return false;
}

HEAP_MUST_CHECK
static struct heap_error *check_file(int descriptor, const char *path)
{
	struct heap_error *error = NULL;

	elf_version(EV_CURRENT);

	Elf *elf = elf_begin(descriptor, ELF_C_READ_MMAP, NULL);

	if (!elf || elf_kind(elf) != ELF_K_ELF)
		error = heap_error_create(HEAP_ERROR_FORMAT, "%s: not an ELF file", path);
	else if (!has_debug_section(elf))
		error = heap_error_create(HEAP_ERROR_ABSENT, "%s: no debug information", path);
	elf_end(elf);
	return error;
}

struct heap_error *heap_dwarf_open(const char *path, struct heap_dwarf_file **result)
{
	CLEANUP_FREE struct heap_dwarf_file *file = calloc(1, sizeof(*file));
	CLEANUP_FREE char *name = strdup(path);
	CLEANUP_CLOSE int descriptor = -1;
	struct heap_error *error;

	if (!file || !name)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_regular_file_open(path, &descriptor));
	error = check_file(descriptor, path);
	if (error)
		return error;
	file->path = keep(name);
	file->descriptor = descriptor;
	descriptor = -1;
	*result = keep(file);
	return NULL;
}

bool heap_dwarf_file_source(const struct heap_dwarf_file *file, struct heap_dwarf_source *result)
{
	struct stat status;

	if (fstat(file->descriptor, &status) != 0)
		return false;
	*result = (struct heap_dwarf_source){
		.size = (uint64_t)status.st_size,
		.time_ns = (uint64_t)status.st_mtim.tv_sec * 1000000000 +
			   (uint64_t)status.st_mtim.tv_nsec,
		.owner = status.st_uid,
	};
	return true;
}

void heap_dwarf_forget(struct heap_dwarf_file *file)
{
	for (int i = HEAP_DWARF_KEPT_COUNT - 1; i >= 0; i--) {
		if (file->kept[i].thing)
			file->kept[i].destroy(file->kept[i].thing);
		file->kept[i].thing = NULL;
	}
}

void heap_dwarf_close(struct heap_dwarf_file *file)
{
	if (!file)
		return;
	heap_dwarf_forget(file);
	close(file->descriptor);
	free(file->path);
	free(file);
}
