// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef OWN_METHODS_H
#define OWN_METHODS_H

/**
 * Blocks without a name that begin with a pointer to a method table. Of the structs that its functions have as their
 * receivers, one alone has the block's size.
 *
 * pointer_tags.h knows more of such blocks, but where the pointer is only from blocks whose type is known: of a program
 * that holds its objects by void pointers alone, there may be none.
 */

#include "lib/base/error.h"

#include <stdint.h>

struct inference;

/** Claims those blocks. @param claimed  increased by their number */
HEAP_MUST_CHECK
struct heap_error *own_methods_claim(struct inference *inference, uint64_t *claimed);

#endif
