// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef MEASURED_LINKS_H
#define MEASURED_LINKS_H

/**
 * Nodes of intrusive lists that have the number of bytes, or of elements, behind their header.
 *
 *	struct buffer { struct list_head link; uint32_t start, size; char data[]; }
 *			└▶ struct list_head           512          ┊ 512 bytes
 *
 * A pointer to a link tells nothing of the struct that begins with it. Where only usable sizes are known, its size
 * does not either. But if many blocks of several sizes, to whose links pointers lead, have the very number that the
 * same struct with a flexible array would have there, they are that struct.
 */

#include "lib/base/error.h"

#include <stdint.h>

struct inference;

/**
 * Claims such blocks. Does nothing if requested sizes are known.
 *
 * @param claimed  increased by the number of claims
 */
HEAP_MUST_CHECK
struct heap_error *measured_links_claim(struct inference *inference, uint64_t *claimed);

#endif
