// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_BUILD_ID_H
#define HEAP_BUILD_ID_H

/** The build id of an ELF file: tells whether two files have the same code. Notes may be hostile. */

#include <stddef.h>
#include <stdint.h>

enum {
	HEAP_BUILD_ID_MAX = 64,
};

struct heap_build_id {
	uint8_t bytes[HEAP_BUILD_ID_MAX];
	uint8_t size; /**< 0: none */
};

/** Looks for a GNU build id among raw notes; leaves @p result if there is none. */
void heap_build_id_parse(const uint8_t *notes, size_t size, uint32_t alignment,
			 struct heap_build_id *result);

/** Writes it in lower-case hex; "" if there is none. */
void heap_build_id_format(const struct heap_build_id *id, char *buffer, size_t size);

/** Reads what heap_build_id_format() has written; no id if it is anything else. */
void heap_build_id_read(const char *text, struct heap_build_id *result);

#endif
