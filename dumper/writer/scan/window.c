// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/window.h"

#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <sys/mman.h>

HEAP_MUST_CHECK
static struct heap_error *init(struct window *window, const struct image *image, uint64_t capacity)
{
	*window = (struct window){ .image = image, .capacity = capacity };
	window->bytes = malloc(capacity);
	return window->bytes ? NULL : heap_error_out_of_memory();
}

struct heap_error *windows_init(struct windows *windows, const struct image *image)
{
	HEAP_TRY(init(&windows->far, image, WINDOW_FAR));
	return init(&windows->near, image, WINDOW_NEAR);
}

void windows_deinit(struct windows *windows)
{
	free(windows->far.bytes);
	free(windows->near.bytes);
	*windows = (struct windows){ 0 };
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
