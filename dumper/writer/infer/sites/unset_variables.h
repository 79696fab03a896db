// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef UNSET_VARIABLES_H
#define UNSET_VARIABLES_H

/**
 * Local variables that are not set yet. Debug information says where a variable is, not from when on it has a
 * value: until then the stack has old words there, and pointers among them lead to blocks of any type.
 *
 * A single pointer does not tell. Structs and arrays do, by the words for pointers that are no addresses at all.
 */

#include "dumper/writer/scan/capture.h"
#include "lib/types/repetitions.h"

/**
 * Finds the local variables more of whose pointers lead to no memory than into the heap.
 *
 * @param repetitions  of the capture's types
 * @param result       gets a bit for each root, as bits.h has them, to be freed by the caller
 */
HEAP_MUST_CHECK
struct heap_error *unset_variables_find(const struct capture *capture,
					struct heap_repetitions *repetitions, uint8_t **result);

#endif
