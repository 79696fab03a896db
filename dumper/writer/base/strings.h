// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef STRINGS_H
#define STRINGS_H

/** The strings of a snapshot that is being written. Each distinct string is stored once. */

#include "lib/base/error.h"
#include "lib/base/hash_table.h"

#include <stddef.h>
#include <stdint.h>

struct strings {
	char *bytes; /**< [size] NUL-terminated, one after the other; [0] is "" */
	size_t size, capacity;
	struct heap_hash_table by_text; /**< the offsets of strings */
};

HEAP_MUST_CHECK
struct heap_error *strings_init(struct strings *strings);

/** Puts all strings of a snapshot first, at the offsets that they have there. */
HEAP_MUST_CHECK
struct heap_error *strings_adopt(struct strings *strings, const char *bytes, size_t size);

void strings_deinit(struct strings *strings);

/** The bytes, which are the caller's from now on; the table is empty then. */
char *strings_take(struct strings *strings, uint64_t *size);

/**
 * The offset of @p text; NULL counts as "".
 *
 * Never fails: when memory is short, or the table would pass 4 GiB, the answer is 0 (the
 * empty string): a name is lost, not the snapshot.
 */
uint32_t strings_add(struct strings *strings, const char *text);

#endif
