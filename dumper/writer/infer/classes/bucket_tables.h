// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef BUCKET_TABLES_H
#define BUCKET_TABLES_H

/**
 * Hash tables with open addressing, in one block of buckets and control bytes: what computes the place of a bucket
 * knows its type from its pointer, or from an argument of its template.
 *
 *	RawTable<(String, u32)>                 flat_hash_map<string, Item>
 *	  ctrl ──────────────────┐                slots ──────────────┐
 *	                         ▼                                    ▼
 *	… │ bucket 1 │ bucket 0 │ control bytes     control bytes, pad │ slot 0 │ slot 1 │ …
 *
 * Such a pointer leads into the middle of a block, where a control byte for each bucket, and a few more, begin or
 * have ended. The type of the buckets is its pointee, or one that the names of the classes around the pointer
 * mention, or one that is declared in such a class. It has to fit the sizes and the contents of the tables of one
 * place, and better than all others. Of a single table, the number of buckets has to be one that only hash tables have; where
 * blocks may be larger than what was asked for, a number beside the pointer has to tell it, too.
 */

#include "lib/base/error.h"

#include <stdint.h>

struct inference;

/** Makes the buckets parts of their blocks, and follows their pointers. @param found  the number of blocks is added */
HEAP_MUST_CHECK
struct heap_error *bucket_tables_find(struct inference *inference, uint64_t *found);

#endif
