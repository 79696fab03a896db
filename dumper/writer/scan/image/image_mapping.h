// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef IMAGE_MAPPING_H
#define IMAGE_MAPPING_H

/** A line of the frozen copy's memory map: image.h. */

#include <stdbool.h>
#include <stdint.h>

enum image_kind {
	IMAGE_ANONYMOUS, /**< malloc's, thread stacks, the program's own mmap; huge pages, too */
	IMAGE_HEAP,      /**< brk */
	IMAGE_STACK,     /**< the main thread's */
	IMAGE_FILE,
	IMAGE_SPECIAL, /**< [vdso], [vvar], devices: never read */
};

struct image_mapping {
	uint64_t start;
	uint64_t end;
	uint8_t protection; /**< PROT_READ | PROT_WRITE | PROT_EXEC */
	bool shared;
	bool wiped;      /**< left out of copies (MADV_WIPEONFORK): zeros here */
	bool divided;    /**< it was, so that it is known which parts of it were touched */
	uint8_t kind;    /**< enum image_kind */
	uint64_t offset; /**< in the file */
	uint64_t inode;
	const char *name; /**< path, [heap]...; "" */
};

#endif
