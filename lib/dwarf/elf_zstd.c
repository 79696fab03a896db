// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/elf_zstd.h"

#include "lib/base/cleanup.h"

#include <dlfcn.h>
#include <gelf.h>
#include <pthread.h>
#include <stdlib.h>

enum {
	COMPRESSED_BY_ZSTD = 2, // ELFCOMPRESS_ZSTD, which older headers lack
	// The bytes by what is packed are 2 to 10 for debug information, and more for tables of zeros.
	RATIO_MAX = 1024,
};

typedef size_t zstd_decoder(void *out, size_t out_size, const void *in, size_t in_size);

static zstd_decoder *decode;

static void load_library(void)
{
	void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);

	if (library)
		decode = (zstd_decoder *)dlsym(library, "ZSTD_decompress");
}

bool heap_elf_is_zstd(Elf_Scn *section)
{
	GElf_Chdr header;

	return gelf_getchdr(section, &header) && header.ch_type == COMPRESSED_BY_ZSTD;
}

uint8_t *heap_elf_unpack_zstd(Elf_Scn *section, size_t *size)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const Elf_Data *packed = elf_rawdata(section, NULL);
	CLEANUP_FREE uint8_t *bytes = NULL;
	GElf_Chdr header;

	pthread_once(&once, load_library);
	// Modules are of 64 bits.
	if (!decode || !packed || !packed->d_buf || packed->d_size <= sizeof(Elf64_Chdr) ||
	    !gelf_getchdr(section, &header) || header.ch_size == 0 ||
	    header.ch_size / RATIO_MAX > packed->d_size)
		return NULL;
	bytes = malloc(header.ch_size);
	if (!bytes)
		return NULL;
	*size = decode(bytes, header.ch_size, (const char *)packed->d_buf + sizeof(Elf64_Chdr),
		       packed->d_size - sizeof(Elf64_Chdr));
	// An error is a number beyond all sizes.
	return *size == header.ch_size ? keep(bytes) : NULL;
}
