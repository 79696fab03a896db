// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef POINTER_TABLES_H
#define POINTER_TABLES_H

/**
 * Tables of pointers whose own pointers lead to something else than their name says.
 *
 *	named bucket *[32] ─▶ node        The name came first, from a union whose tag goes with
 *	                   ─▶ node        tables of several kinds. What their pointers lead to
 *	                   ─▶ node        has got better names since: the table is a node *[32].
 */

#include "lib/base/error.h"

#include <stdint.h>

struct inference;

/**
 * Renames tables nearly all of whose pointers lead to structs of one other type, and takes the names of those
 * that lead to several. Each table is renamed once.
 *
 * @param mended  increased by the number of tables
 */
HEAP_MUST_CHECK
struct heap_error *pointer_tables_mend(struct inference *inference, uint64_t *mended);

#endif
