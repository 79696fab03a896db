// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/array.h"

#include <stdint.h>
#include <stdlib.h>

enum {
	FIRST_CAPACITY = 16,
};

size_t heap_array_next_capacity(size_t capacity, size_t wanted, size_t width, size_t max)
{
	size_t most = PTRDIFF_MAX / width, next;

	if (most > max)
		most = max;
	if (wanted > most)
		return 0;
	// Growth by half of what there is must not pass the limit.
	next = capacity <= most / 3 * 2 ? capacity + capacity / 2 : most;
	if (next < wanted)
		next = wanted;
	if (next < FIRST_CAPACITY)
		next = FIRST_CAPACITY < most ? FIRST_CAPACITY : most;
	return next;
}

struct heap_error *heap_array_grow(void **items, size_t *capacity, size_t wanted, size_t width,
				   size_t max)
{
	size_t next = heap_array_next_capacity(*capacity, wanted, width, max);
	void *larger;

	if (next == 0)
		return heap_error_create(HEAP_ERROR_MEMORY,
					 "out of memory: an array of %zu elements of %zu bytes",
					 wanted, width);
	larger = realloc(*items, next * width);
	if (!larger)
		return heap_error_out_of_memory();
	*items = larger;
	*capacity = next;
	return NULL;
}
