// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef VOID_POINTERS_H
#define VOID_POINTERS_H

/**
 * Void pointers: the slots at one place of a type, and a sample of the blocks that they lead to.
 *
 * They say nothing of their targets, but these tell of each other. Nearly all of a sample begin with an
 * enum tag (enum_tags.h), or have their own length where a known struct has it (self_lengths.h), or are of
 * one type as far as they are known, or are as many bytes as a number beside the pointer says (byte_lengths.h), or have
 * contents that agree with one type alone (deep_content.h). Where they do not agree, those of one callback, context or
 * index do (void_places.h).
 */

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct inference;

/**
 * Claims what void pointers lead to.
 *
 * @param by_content  contents count, too: where nothing better is left
 * @param claimed  increased by the number of blocks
 */
HEAP_MUST_CHECK
struct heap_error *void_pointers_claim(struct inference *inference, bool by_content,
				       uint64_t *claimed);

#endif
