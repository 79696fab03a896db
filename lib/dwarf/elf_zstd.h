// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_ELF_ZSTD_H
#define HEAP_ELF_ZSTD_H

/**
 * Sections that are compressed with zstd (ELFCOMPRESS_ZSTD). libelf undoes that since 0.189, where it was built so; for
 * the others we do.
 */

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** True if a section is compressed with zstd. */
bool heap_elf_is_zstd(Elf_Scn *section);

/**
 * The bytes of such a section. libzstd.so.1 is loaded for that, when it is needed.
 *
 * @return malloc'd; NULL if the section is damaged or huge, or there is no such library
 */
uint8_t *heap_elf_unpack_zstd(Elf_Scn *section, size_t *size);

#endif
