// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/edges.h"

#include <stdlib.h>

struct scan {
	struct edges *edges;
	const struct objects *objects;
	heap_object_id object; // the one that the words looked at next belong to, or come before
	heap_object_id end;    // of the range's objects
	uint64_t low, high;    // no block lies outside
	const struct edges_listener *listener;
};

HEAP_MUST_CHECK
static struct heap_error *grow(struct edges *edges)
{
	uint32_t capacity = edges->capacity ? edges->capacity * 2 : 65536;

	if (capacity <= edges->capacity)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "more than 2^31 pointers");

#define GROW(column) \
	do { \
		void *larger_ = realloc(edges->column, capacity * sizeof(*edges->column)); \
		if (!larger_) \
			return heap_error_out_of_memory(); \
		edges->column = larger_; \
	} while (0)

	GROW(target);
	GROW(slot);
	GROW(interior);
	GROW(flags);
#undef GROW
	edges->capacity = capacity;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add(struct edges *edges, heap_object_id target, uint64_t slot,
			      uint64_t interior)
{
	if (edges->count == edges->capacity) {
		struct heap_error *error = grow(edges);

		if (error)
			return error;
	}
	edges->target[edges->count] = target;
	edges->slot[edges->count] = (uint32_t)slot;
	edges->interior[edges->count] = interior < UINT32_MAX ? (uint32_t)interior : UINT32_MAX;
	edges->flags[edges->count] = 0;
	edges->count++;
	return NULL;
}

static void tell(const struct scan *scan, uint64_t slot, uint64_t word)
{
	const struct edges_listener *listener = scan->listener;

	if (slot == 0 && word)
		listener->first_word(listener->context, scan->object, word);
	if (word - listener->code_start < listener->code_end - listener->code_start)
		listener->code_word(listener->context, word);
}

// Words [from, to) of the current object, the first of which is its slot'th.
HEAP_MUST_CHECK
static struct heap_error *scan_object(struct scan *scan, const uint64_t *words, size_t count,
				      uint64_t slot)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t word = words[i];

		if (word - scan->low >= scan->high - scan->low) {
			tell(scan, slot + i, word);
			continue;
		}

		heap_object_id target = objects_find(scan->objects, word);

		if (target == HEAP_NO_OBJECT) {
			tell(scan, slot + i, word);
			continue;
		}

		struct heap_error *error =
			add(scan->edges, target, slot + i, word - scan->objects->address[target]);

		if (error)
			return error;
	}
	return NULL;
}

static void finish_object(struct scan *scan)
{
	scan->edges->first[++scan->object] = scan->edges->count;
}

HEAP_MUST_CHECK
static struct heap_error *scan_words(void *context, uint64_t address, const uint64_t *words,
				     size_t count)
{
	struct scan *scan = context;
	uint64_t end = address + count * 8;

	while (scan->object < scan->end) {
		uint64_t start = scan->objects->address[scan->object];
		uint64_t stop = start + (scan->objects->size[scan->object] & ~UINT64_C(7));

		if (start >= end)
			return NULL;

		uint64_t from = start > address ? start : address;
		uint64_t to = stop < end ? stop : end;

		if (from < to) {
			struct heap_error *error = scan_object(scan, words + (from - address) / 8,
							       (to - from) / 8, (from - start) / 8);

			if (error)
				return error;
		}
		if (stop > end)
			return NULL;
		finish_object(scan);
	}
	return NULL;
}

struct heap_error *edges_init(struct edges *edges, const struct objects *objects,
			      const struct image *image, const struct edges_listener *listener)
{
	struct scan scan = { edges, objects, 0, 0, UINT64_MAX, 0, listener };
	struct heap_error *error = NULL;

	edges->first = calloc((size_t)objects->count + 1, sizeof(*edges->first));
	if (!edges->first)
		return heap_error_out_of_memory();
	if (objects->range_count > 0) {
		scan.low = objects->ranges[0].start;
		scan.high = objects->ranges[objects->range_count - 1].end;
	}
	for (size_t i = 0; !error && i < objects->range_count; i++) {
		const struct object_range *range = &objects->ranges[i];

		scan.end = range->first + range->count;
		error = image_visit(image, range->start, range->end, scan_words, &scan);
		// What lies in pages that were never touched holds nothing.
		while (!error && scan.object < scan.end)
			finish_object(&scan);
	}
	return error;
}

void edges_deinit(struct edges *edges)
{
	free(edges->first);
	free(edges->target);
	free(edges->slot);
	free(edges->interior);
	free(edges->flags);
}
