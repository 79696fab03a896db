// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/elf_file.h"

#include "lib/base/cleanup.h"
#include "lib/dwarf/elf_section.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/*
 * .gnu_debugdata, which Fedora and its kin leave in stripped files: an ELF file with the symbols
 * of functions alone, compressed with xz (GDB's manual, "MiniDebugInfo"). The library that undoes
 * it is loaded when it is needed; most systems have it.
 */

enum {
	UNPACKED_MAX = 256 << 20,   // bytes; the largest known are of a few MiB
	GROWTH = 16,                // of the first guess over what is packed
	DECODER_MEMORY = 128 << 20, // for xz at its best, 65 MiB

	LZMA_OK = 0,
	LZMA_BUFFER_FULL = 10, // LZMA_BUF_ERROR
};

typedef int xz_decoder(uint64_t *memory, uint32_t flags, const void *allocator, const uint8_t *in,
		       size_t *in_at, size_t in_size, uint8_t *out, size_t *out_at,
		       size_t out_size);

static const Elf_Data *find_packed(Elf *elf)
{
	GElf_Shdr header;
	Elf_Scn *section = heap_elf_find_section(elf, ".gnu_debugdata", &header);

	return section ? elf_rawdata(section, NULL) : NULL;
}

// @return the unpacked bytes, malloc'd; NULL if they are damaged or huge
static uint8_t *unpack(xz_decoder *decode, const Elf_Data *packed, size_t *size)
{
	CLEANUP_FREE uint8_t *room = NULL;
	int result = LZMA_BUFFER_FULL;

	for (size_t capacity = packed->d_size * GROWTH;
	     result == LZMA_BUFFER_FULL && capacity > 0 && capacity <= UNPACKED_MAX;
	     capacity *= 2) {
		uint64_t memory = DECODER_MEMORY;
		size_t in_at = 0;

		free(room);
		room = malloc(capacity);
		if (!room)
			return NULL;
		*size = 0;
		result = decode(&memory, 0, NULL, packed->d_buf, &in_at, packed->d_size, room, size,
				capacity);
	}
	return result == LZMA_OK ? keep(room) : NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_unpacked(struct heap_elf_file *file, const uint8_t *bytes,
				       size_t size)
{
	CLEANUP_CLOSE int descriptor = memfd_create("symbols", MFD_CLOEXEC);
	struct heap_elf_file *unpacked;
	char path[64];

	for (size_t at = 0; at < size;) {
		ssize_t written = descriptor < 0 ? -1 : write(descriptor, bytes + at, size - at);

		if (written <= 0)
			return heap_error_create_system("a file in memory");
		at += (size_t)written;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);

	struct heap_error *error = heap_elf_open(path, &unpacked);

	if (error)
		return heap_error_within(error, "%s: .gnu_debugdata", file->path);
	error = heap_elf_add_symbols(file, unpacked);
	heap_elf_close(unpacked);
	return error;
}

struct heap_error *heap_elf_add_packed_symbols(struct heap_elf_file *file)
{
	const Elf_Data *packed = find_packed(file->elf);
	void *library = packed ? dlopen("liblzma.so.5", RTLD_NOW | RTLD_LOCAL) : NULL;
	xz_decoder *decode =
		library ? (xz_decoder *)dlsym(library, "lzma_stream_buffer_decode") : NULL;
	struct heap_error *error = NULL;
	size_t size;

	if (!packed || !packed->d_buf) {
		error = heap_error_create(HEAP_ERROR_ABSENT, "no .gnu_debugdata");
	} else if (!decode) {
		error = heap_error_create(HEAP_ERROR_ABSENT,
					  ".gnu_debugdata cannot be read without liblzma.so.5");
	} else {
		CLEANUP_FREE uint8_t *bytes = unpack(decode, packed, &size);

		error = bytes ? add_unpacked(file, bytes, size)
			      : heap_error_create(HEAP_ERROR_FORMAT, ".gnu_debugdata is damaged");
	}
	if (library)
		dlclose(library);
	return error;
}
