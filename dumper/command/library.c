// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/library.h"

#include "lib/base/cleanup.h"

#include <elf.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// --- beside this program -----------------------------------------------------

// In each directory that the pattern fits: NAME or heapsnap/NAME. @return NULL: in none
static char *find_in(const char *folders, const char *name)
{
	CLEANUP_FREE char *pattern = NULL;
	char *found = NULL;
	glob_t matches;

	if (asprintf(&pattern, "%s{/,/heapsnap/}%s", folders, name) < 0) {
		pattern = NULL;
		return NULL;
	}
	if (glob(pattern, GLOB_BRACE, NULL, &matches) != 0)
		return NULL;
	for (size_t i = 0; i < matches.gl_pathc && !found; i++) {
		if (access(matches.gl_pathv[i], R_OK) == 0)
			found = realpath(matches.gl_pathv[i], NULL);
	}
	globfree(&matches);
	return found;
}

struct heap_error *library_find(const char *name, char **path)
{
	static const char *const folders[] = { "", "/../lib", "/../lib64", "/../lib/*" };
	char here[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", here, sizeof(here) - 1);

	if (length < 0)
		return heap_error_create_system("/proc/self/exe");
	here[length] = '\0';
	*strrchr(here, '/') = '\0';
	*path = NULL;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && !*path; i++) {
		CLEANUP_FREE char *folder = NULL;

		if (asprintf(&folder, "%s%s", here, folders[i]) < 0) {
			folder = NULL;
			return heap_error_out_of_memory();
		}
		*path = find_in(folder, name);
	}
	return *path ? NULL
		     : heap_error_create(HEAP_ERROR_ABSENT, "no %s in %s, nor in the lib beside it",
					 name, here);
}

// --- in memory ---------------------------------------------------------------

// The part [offset, offset + length) of the bytes, or NULL if it is not all there.
static const uint8_t *part(const uint8_t *bytes, size_t size, uint64_t offset, uint64_t length)
{
	return offset <= size && length <= size - offset ? bytes + offset : NULL;
}

static uint64_t align(uint64_t value)
{
	return (value + 3) & ~UINT64_C(3);
}

// Notes: System V ABI, "Note Section". @return the offset of our description; 0: not there
static size_t find_note(const uint8_t *bytes, size_t size, uint64_t offset, uint64_t end)
{
	const uint8_t *at;

	while (offset < end && (at = part(bytes, size, offset, sizeof(Elf64_Nhdr)))) {
		Elf64_Nhdr header;

		memcpy(&header, at, sizeof(header));

		uint64_t name = offset + sizeof(header);
		uint64_t description = name + align(header.n_namesz);

		if (header.n_type == HEAPSNAP_NOTE_TYPE &&
		    header.n_namesz == sizeof(HEAPSNAP_NOTE_OWNER) &&
		    header.n_descsz >= sizeof(struct heapsnap_note) &&
		    part(bytes, size, description, sizeof(struct heapsnap_note)) &&
		    memcmp(bytes + name, HEAPSNAP_NOTE_OWNER, sizeof(HEAPSNAP_NOTE_OWNER)) == 0)
			return description;
		offset = description + align(header.n_descsz);
	}
	return 0;
}

bool library_read_note(const uint8_t *bytes, size_t size, struct heapsnap_note *note, size_t *at)
{
	Elf64_Ehdr header;

	if (size < sizeof(header))
		return false;
	memcpy(&header, bytes, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr))
		return false;
	*at = 0;
	for (size_t i = 0; i < header.e_phnum && *at == 0; i++) {
		const uint8_t *place = part(bytes, size, header.e_phoff + i * sizeof(Elf64_Phdr),
					    sizeof(Elf64_Phdr));
		Elf64_Phdr segment;

		if (!place)
			return false;
		memcpy(&segment, place, sizeof(segment));
		// The first segment is mapped from the file's beginning.
		if (segment.p_type == PT_NOTE && segment.p_offset <= size &&
		    segment.p_filesz <= size - segment.p_offset)
			*at = find_note(bytes, size, segment.p_offset,
					segment.p_offset + segment.p_filesz);
	}
	if (*at == 0)
		return false;
	memcpy(note, bytes + *at, sizeof(*note));
	return note->version == HEAPSNAP_NOTE_VERSION;
}
