// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef UNALIGNED_TEXTS_H
#define UNALIGNED_TEXTS_H

/**
 * Texts behind a few bytes, such as their length, which only void pointers lead to: to a character, at a place
 * where no other value can be. What lies there up to the end of the block must read as text.
 */

#include "dumper/writer/infer/inference.h"

/** Hints at characters where such pointers lead to, in blocks of which nothing else is known. */
HEAP_MUST_CHECK
struct heap_error *unaligned_texts_hint(struct inference *inference);

#endif
