// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_FIRSTS_H
#define HEAP_FIRSTS_H

/**
 * Where each key's entries begin, in an array that is sorted by key: a counting sort.
 *
 *	count       first[key + 1]++            for each entry
 *	            heap_firsts_sum_up()        first[key]: where the key's entries begin
 *	fill        entries[first[key]++] = …   for each, the other time
 *	            heap_firsts_rewind()        first[key]: the same again; [keys]: how many there are
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** @param first  [keys + 1], [0] 0 @return how many entries there are */
static inline uint32_t heap_firsts_sum_up(uint32_t *first, size_t keys)
{
	for (size_t i = 0; i < keys; i++)
		first[i + 1] += first[i];
	return first[keys];
}

/** After each has been advanced to where the next one's entries begin. */
static inline void heap_firsts_rewind(uint32_t *first, size_t keys)
{
	memmove(first + 1, first, keys * sizeof(*first));
	first[0] = 0;
}

#endif
