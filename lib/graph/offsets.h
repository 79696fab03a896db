// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_OFFSETS_H
#define HEAP_OFFSETS_H

/**
 * The offsets of a compressed sparse row: where the entries of each key begin in an array that is
 * sorted by key. They come from a counting sort.
 *
 *	count     first[key + 1]++              for each entry
 *	          heap_offsets_from_counts()    first[key]: where the entries of key begin
 *	fill      entries[first[key]++] = …     for each entry
 *	          heap_offsets_rewind()         first[key]: as before; first[keys]: the number of entries
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** @param first  [keys + 1], [0] 0 @return the number of entries */
static inline uint32_t heap_offsets_from_counts(uint32_t *first, size_t keys)
{
	for (size_t i = 0; i < keys; i++)
		first[i + 1] += first[i];
	return first[keys];
}

/** Undoes the fill: each offset has been advanced to where the next key's entries begin. */
static inline void heap_offsets_rewind(uint32_t *first, size_t keys)
{
	memmove(first + 1, first, keys * sizeof(*first));
	first[0] = 0;
}

#endif
