// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_SNAPSHOT_INFO_H
#define HEAP_SNAPSHOT_INFO_H

/** The keys of a snapshot's info section, and the fields of struct heap_info they fill. */

#include "lib/snapshot/snapshot.h"

struct heap_info_key {
	const char *key;
	size_t offset; /**< in struct heap_info */
};

extern const struct heap_info_key heap_info_texts[];
extern const size_t heap_info_text_count;
extern const struct heap_info_key heap_info_numbers[];
extern const size_t heap_info_number_count;

#endif
