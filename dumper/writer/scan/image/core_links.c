// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/image/core_links.h"

#include "lib/base/cleanup.h"
#include "lib/base/regular_file.h"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	MAX_HEADERS = 1024,
	MAX_MODULES = 1 << 16,
	MAX_TAGS = 4096,
};

struct search {
	const char *sysroot;
	core_links_found *found;
	void *context;
};

static bool read_memory(const struct core_links_process *process, uint64_t address, void *buffer,
			size_t size)
{
	size_t done = 0, got;

	while (done < size) {
		got = process->read(process->context, address + done, (char *)buffer + done,
				    size - done);
		if (got == 0)
			return false;
		done += got;
	}
	return true;
}

static void read_name(const struct core_links_process *process, uint64_t address,
		      char name[PATH_MAX])
{
	size_t length = process->read(process->context, address, name, PATH_MAX - 1);

	name[length] = '\0';
}

// Tells where the parts of a module are mapped, by its file's headers.
HEAP_MUST_CHECK
static struct heap_error *add_module(const struct search *search, const char *name, uint64_t bias)
{
	CLEANUP_FREE char *path = NULL;
	Elf64_Ehdr header;

	if (name[0] != '/')
		return NULL;
	if (asprintf(&path, "%s%s", search->sysroot, name) < 0) {
		path = NULL;
		return heap_error_out_of_memory();
	}

	CLEANUP_CLOSE int file = heap_regular_file_try(path);

	if (file < 0 || pread(file, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
		return NULL;
	for (unsigned i = 0; i < header.e_phnum && i < MAX_HEADERS; i++) {
		const uint64_t mask = ~(uint64_t)(PAGE - 1);
		Elf64_Phdr part;

		if (header.e_phoff > INT64_MAX - (uint64_t)MAX_HEADERS * sizeof(part) ||
		    pread(file, &part, sizeof(part), (off_t)(header.e_phoff + i * sizeof(part))) !=
			    (ssize_t)sizeof(part))
			return NULL;
		if (part.p_type == PT_LOAD && part.p_filesz > 0)
			HEAP_TRY(search->found(search->context, name, (bias + part.p_vaddr) & mask,
					       (bias + part.p_vaddr + part.p_filesz + PAGE - 1) &
						       mask,
					       part.p_offset & mask));
	}
	return NULL;
}

// Finds where the linker keeps what it tells debuggers. @param bias  gets that of the executable; 0: there is none
static uint64_t find_debug(const struct core_links_process *process, uint64_t *bias)
{
	uint64_t dynamic = 0, self = 0;

	for (uint64_t i = 0; i < process->header_count && i < MAX_HEADERS; i++) {
		Elf64_Phdr part;

		if (!read_memory(process, process->headers + i * sizeof(part), &part, sizeof(part)))
			break;
		if (part.p_type == PT_DYNAMIC)
			dynamic = part.p_vaddr;
		else if (part.p_type == PT_PHDR)
			self = part.p_vaddr;
	}
	*bias = self != 0 ? process->headers - self : 0;
	for (unsigned i = 0; dynamic != 0 && i < MAX_TAGS; i++) {
		Elf64_Dyn tag;

		if (!read_memory(process, *bias + dynamic + i * sizeof(tag), &tag, sizeof(tag)) ||
		    tag.d_tag == DT_NULL)
			break;
		if (tag.d_tag == DT_DEBUG)
			return tag.d_un.d_ptr;
	}
	return 0;
}

struct heap_error *core_links_find(const struct core_links_process *process, const char *sysroot,
				   core_links_found *found, void *context)
{
	const struct search search = { sysroot, found, context };
	char name[PATH_MAX], resolved[PATH_MAX];
	struct r_debug debug;
	struct link_map link;
	uint64_t bias = 0, at = find_debug(process, &bias);

	read_name(process, process->program_name, name);
	// It may have been executed by a relative path. That its file is the one is checked when it is read.
	HEAP_TRY(add_module(&search, realpath(name, resolved) && *sysroot == '\0' ? resolved : name,
			    bias));
	if (at == 0 || !read_memory(process, at, &debug, sizeof(debug)))
		return NULL;
	at = (uint64_t)(uintptr_t)debug.r_map;
	for (unsigned i = 0; at != 0 && i < MAX_MODULES; i++) {
		if (!read_memory(process, at, &link, sizeof(link)))
			break;
		// The executable comes first, without a name.
		read_name(process, (uint64_t)(uintptr_t)link.l_name, name);
		if (i > 0)
			HEAP_TRY(add_module(&search, name, link.l_addr));
		at = (uint64_t)(uintptr_t)link.l_next;
	}
	return NULL;
}
