// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef POINTER_TABLES_H
#define POINTER_TABLES_H

/**
 * Tables of pointers, and what their own pointers say of them: more than any pointer to the table does where it
 * is in a union.
 *
 *	named bucket *[32] ─▶ node        The name came first, from a union whose tag goes with
 *	                   ─▶ node        tables of several kinds. What their pointers lead to
 *	                   ─▶ node        has got better names since: the table is a node *[32].
 */

#include "lib/snapshot/snapshot.h"

struct inference;

/**
 * True if most pointers of a block do not lead to where values can begin that pointers of a type lead to: by their places
 * in the blocks that they lead to, and the sizes of these.
 *
 * @param type  false unless it is a pointer
 */
bool pointer_tables_lead_astray(const struct inference *inference, heap_object_id table,
				heap_type_id type);

/**
 * Claims blocks without a name that pointers of unions lead to, where one of the union's members is a table
 * of pointers, and nearly all pointers of the block lead to what such pointers do; or might do, where those of
 * the other members do not.
 *
 * @param claimed  increased by the number of claims
 */
HEAP_MUST_CHECK
struct heap_error *pointer_tables_claim(struct inference *inference, uint64_t *claimed);

/**
 * Renames tables nearly all of whose pointers lead to structs of one other type, and takes the names of those
 * that lead to several. Each table is renamed once.
 *
 * @param mended  increased by the number of tables
 */
HEAP_MUST_CHECK
struct heap_error *pointer_tables_mend(struct inference *inference, uint64_t *mended);

#endif
