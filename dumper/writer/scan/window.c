// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/window.h"

#include <stdlib.h>
#include <sys/mman.h>

struct heap_error *window_init(struct window *window, const struct image *image, uint64_t capacity)
{
	*window = (struct window){ .image = image, .capacity = capacity };
	window->bytes = malloc(capacity);
	return window->bytes ? NULL : heap_error_out_of_memory();
}

void window_deinit(struct window *window)
{
	free(window->bytes);
	*window = (struct window){ 0 };
}

bool window_move(struct window *window, uint64_t address)
{
	const struct image_mapping *mapping = image_find(window->image, address);
	uint64_t start;

	if (!mapping || !(mapping->protection & PROT_READ) || mapping->kind == IMAGE_SPECIAL)
		return false;
	start = address & ~UINT64_C(4095);
	window->start = start > mapping->start ? start : mapping->start;
	window->size = mapping->end - window->start < window->capacity
			       ? mapping->end - window->start
			       : window->capacity;
	image_read_padded(window->image, window->start, window->bytes, window->size);
	return true;
}
