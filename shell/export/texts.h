// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef EXPORT_TEXTS_H
#define EXPORT_TEXTS_H

/**
 * A table of unique strings, which .heapsnapshot and pprof files refer to by number. Number 0 is
 * "".
 */

#include "lib/base/array.h"
#include "lib/base/hash_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct export_texts {
	struct HEAP_ARRAY(char) bytes;     /**< all texts, each with a NUL */
	struct HEAP_ARRAY(size_t) offsets; /**< of each text */
	struct heap_hash_table by_text;    /**< private */
	bool failed;                       /**< memory was short: numbers since then are 0 */
};

/** Begins with "" alone. */
void export_texts_init(struct export_texts *texts);
void export_texts_deinit(struct export_texts *texts);

/** @return its number; 0 for "" */
uint32_t export_texts_add(struct export_texts *texts, const char *text);

/** The text of a number; valid until the next one is added. */
const char *export_texts_get(const struct export_texts *texts, uint32_t number);

#endif
