// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/image/window.h"

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

static void deinit(struct window *window)
{
	heap_parallel_await(&window->ahead.job);
	free(window->ahead.bytes);
	free(window->bytes);
}

void windows_deinit(struct windows *windows)
{
	deinit(&windows->far);
	deinit(&windows->near);
	*windows = (struct windows){ 0 };
}

// Finds the window's memory at an address. @return false if nothing is mapped there
static bool find_memory(const struct window *window, uint64_t address, uint64_t *start,
			uint64_t *size)
{
	const struct image_mapping *mapping = image_find(window->image, address);
	uint64_t page = address & ~UINT64_C(4095);

	if (!mapping || !(mapping->protection & PROT_READ) || mapping->kind == IMAGE_SPECIAL)
		return false;
	*start = page > mapping->start ? page : mapping->start;
	*size = mapping->end - *start < window->capacity ? mapping->end - *start : window->capacity;
	return true;
}

static void *read_ahead(void *context)
{
	const struct read_ahead *ahead = context;

	image_read_padded(ahead->image, ahead->start, ahead->bytes, ahead->size);
	return NULL;
}

// Has the memory behind the window read. Without a thread or memory for that, the window reads it itself.
static void begin_ahead(struct window *window)
{
	struct read_ahead *ahead = &window->ahead;

	if (!find_memory(window, window->start + window->size, &ahead->start, &ahead->size))
		return;
	if (!ahead->bytes)
		ahead->bytes = malloc(window->capacity);
	if (!ahead->bytes)
		return;
	ahead->image = window->image;
	heap_parallel_begin(&ahead->job, read_ahead, ahead);
}

// Takes what was read ahead, if that is the window's memory.
static bool take_ahead(struct window *window)
{
	struct read_ahead *ahead = &window->ahead;
	bool is_read = ahead->job.is_running && ahead->start == window->start &&
		       ahead->size == window->size;
	uint8_t *bytes = ahead->bytes;

	heap_parallel_await(&ahead->job);
	if (!is_read)
		return false;
	ahead->bytes = window->bytes;
	window->bytes = bytes;
	return true;
}

bool window_move(struct window *window, uint64_t address)
{
	uint64_t end = window->start + window->size, start, size;
	bool is_walk = window->size == WINDOW_FAR;

	if (!find_memory(window, address, &start, &size))
		return false;
	window->start = start;
	window->size = size;
	if (!take_ahead(window))
		image_read_padded(window->image, start, window->bytes, size);
	if (is_walk && start == end)
		begin_ahead(window);
	return true;
}
