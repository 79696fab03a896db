// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef EXPORT_TEXTS_H
#define EXPORT_TEXTS_H

/**
 * Texts that are written once and referred to by number, as the tables of strings in
 * .heapsnapshot and pprof are. Number 0 is "".
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct export_texts {
	char *bytes; /**< all of them, NUL behind each */
	size_t size, capacity;
	size_t *offsets; /**< [count] */
	uint32_t count, offset_capacity;
	uint32_t *slots; /**< private: hash table */
	uint32_t slot_count;
	bool failed; /**< memory was short: numbers since then are 0 */
};

void export_texts_init(struct export_texts *texts);
void export_texts_deinit(struct export_texts *texts);

/** @return its number; 0 for "" */
uint32_t export_texts_add(struct export_texts *texts, const char *text);

const char *export_texts_get(const struct export_texts *texts, uint32_t number);

#endif
