// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SITE_TEXTS_H
#define SITE_TEXTS_H

/**
 * Where the texts of a site begin. Each has a length of its own, so that hardly two of them are of one kind, and slots may
 * lead to some of them long before others: nearly all of these tell where the others begin.
 */

#include <stdbool.h>
#include <stdint.h>

struct site_text {
	uint32_t lead;       /**< bytes before the text; 0: nothing is known yet */
	uint32_t supporting; /**< blocks whose slots lead there, and to text */
	uint32_t others;     /**< blocks whose slots lead behind their start, and not so */
};

/** Notes that slots lead to an offset of a block. @param is_text  a text begins there, and none before */
void site_texts_note(struct site_text *text, uint32_t offset, bool is_text);

/** The bytes before nearly all texts of a site; 0: this is not known. */
uint32_t site_texts_lead(const struct site_text *text);

#endif
