// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/objects.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	// Ranges with fewer blocks per byte than this are searched, not indexed.
	SPARSE_BYTES = 65536,
	MAX_DAMAGES = 1000,
};

struct scan {
	struct objects *objects;
	const struct image *image;
	uint64_t secret;
	struct moves *moves;
	uint64_t end;  // of the range
	uint64_t next; // nothing can start before: inside a live block
};

HEAP_MUST_CHECK
static struct heap_error *grow(struct objects *objects)
{
	uint32_t capacity = objects->capacity ? objects->capacity * 2 : 65536;

	if (capacity <= objects->capacity)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "more than 2^31 objects");

#define GROW(column) \
	do { \
		void *larger_ = realloc(objects->column, capacity * sizeof(*objects->column)); \
		if (!larger_) \
			return heap_error_out_of_memory(); \
		objects->column = larger_; \
	} while (0)

	GROW(address);
	GROW(size);
	GROW(site);
	GROW(birth);
	GROW(flags);
#undef GROW
	objects->capacity = capacity;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add(struct objects *objects, uint64_t address, uint64_t extent,
			      uint64_t origin)
{
	if (objects->count == objects->capacity) {
		struct heap_error *error = grow(objects);

		if (error)
			return error;
	}
	objects->address[objects->count] = address;
	objects->size[objects->count] = heapsnap_extent_size(extent);
	objects->site[objects->count] = origin & HEAPSNAP_SITE_MASK;
	objects->birth[objects->count] = heapsnap_extent_birth(extent);
	objects->flags[objects->count] = (uint8_t)heapsnap_extent_flags(extent);
	objects->count++;
	return NULL;
}

// A header whose second word still names code, but which does not verify: freed ones are
// wiped, and copies elsewhere have no code address beside a signature.
HEAP_MUST_CHECK
static struct heap_error *note_damage(struct scan *scan, uint64_t header, uint64_t extent,
				      uint64_t origin)
{
	struct objects *objects = scan->objects;
	const struct image_mapping *mapping = image_find(scan->image, origin & HEAPSNAP_SITE_MASK);

	(void)extent;
	if (!mapping || !(mapping->protection & PROT_EXEC) || objects->damage_count == MAX_DAMAGES)
		return NULL;

	uint64_t *damages =
		realloc(objects->damages, (objects->damage_count + 1) * sizeof(*damages));

	if (!damages)
		return heap_error_out_of_memory();
	objects->damages = damages;
	damages[objects->damage_count++] = header;
	return NULL;
}

// Of a block that is being moved: the header that it had, with the size that it certainly has.
static bool complete(const struct scan *scan, uint64_t block, uint64_t *extent, uint64_t *origin)
{
	const struct heapsnap_move *note = moves_find(scan->moves, block, *extent, *origin);

	if (!note)
		return false;
	if (note->size < heapsnap_extent_size(*extent))
		*extent += note->size - heapsnap_extent_size(*extent);
	*origin = note->site;
	return true;
}

HEAP_MUST_CHECK
static struct heap_error *scan_words(void *context, uint64_t address, const uint64_t *words,
				     size_t count)
{
	struct scan *scan = context;
	size_t at = 0;

	if (scan->next > address)
		at = scan->next - address < count * 8 ? (scan->next - address) / 8 : count;
	for (; at + 1 < count; at += 2) {
		uint64_t extent = words[at];
		uint64_t origin = words[at + 1];
		uint64_t signature = origin >> HEAPSNAP_SITE_BITS;

		if (signature == 0 || signature == HEAPSNAP_WIPED)
			continue;

		uint64_t block = address + at * 8 + HEAPSNAP_HEADER_SIZE;
		uint64_t size = heapsnap_extent_size(extent);
		struct heap_error *error;

		if (signature == HEAPSNAP_MOVING) {
			if (!complete(scan, block, &extent, &origin))
				continue;
			size = heapsnap_extent_size(extent);
		} else if (!heapsnap_verifies(scan->secret, block, extent, origin)) {
			error = note_damage(scan, block - HEAPSNAP_HEADER_SIZE, extent, origin);
			if (error)
				return error;
			continue;
		}
		if (size > scan->end - block)
			continue;
		error = add(scan->objects, block, extent, origin);
		if (error)
			return error;
		scan->next = block + ((size + GRANULE - 1) & ~(uint64_t)(GRANULE - 1));
		if (scan->next - address >= count * 8)
			break;
		at = (scan->next - address) / 8 - 2;
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *index_range(struct objects *objects, struct object_range *range)
{
	if (range->count == 0 || (range->end - range->start) / range->count > SPARSE_BYTES)
		return NULL;

	size_t words = (range->end - range->start) / (GRANULE * GRANULES_PER_WORD) + 1;
	uint32_t before = 0;

	range->starts = calloc(words, sizeof(*range->starts));
	if (!range->starts)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < range->count; i++) {
		uint64_t granule = (objects->address[range->first + i] - range->start) / GRANULE;

		range->starts[granule / GRANULES_PER_WORD].bits |= UINT64_C(1)
								   << granule % GRANULES_PER_WORD;
	}
	for (size_t i = 0; i < words; i++) {
		range->starts[i].before = before;
		before += (uint32_t)__builtin_popcountll(range->starts[i].bits);
	}
	return NULL;
}

static bool holds_blocks(const struct image_mapping *mapping)
{
	return !mapping->shared && (mapping->protection & PROT_READ) &&
	       (mapping->kind == IMAGE_ANONYMOUS || mapping->kind == IMAGE_HEAP);
}

static bool is_skipped(const struct image_mapping *mapping, const uint64_t (*skip)[2],
		       size_t skip_count)
{
	for (size_t i = 0; i < skip_count; i++) {
		if (mapping->start >= skip[i][0] && mapping->start < skip[i][1])
			return true;
	}
	return false;
}

HEAP_MUST_CHECK
static struct heap_error *scan_range(struct objects *objects, const struct image *image,
				     uint64_t secret, struct moves *moves, uint64_t start,
				     uint64_t end)
{
	struct scan scan = { objects, image, secret, moves, end, start };
	uint32_t first = objects->count;
	struct heap_error *error = image_visit(image, start, end, scan_words, &scan);

	if (error || objects->count == first)
		return error;

	struct object_range *ranges =
		realloc(objects->ranges, (objects->range_count + 1) * sizeof(*ranges));

	if (!ranges)
		return heap_error_out_of_memory();
	objects->ranges = ranges;

	struct object_range *range = &ranges[objects->range_count++];

	*range = (struct object_range){ start, end, first, objects->count - first, NULL };
	return index_range(objects, range);
}

struct heap_error *objects_init(struct objects *objects, const struct image *image, uint64_t secret,
				struct moves *moves, const uint64_t (*skip)[2], size_t skip_count)
{
	struct heap_error *error = grow(objects);

	// malloc's memory may lie in several mappings that touch (mprotect, madvise): a block
	// may cross from one into the next.
	for (size_t i = 0; !error && i < image->mapping_count;) {
		const struct image_mapping *mapping = &image->mappings[i++];
		uint64_t end = mapping->end;

		if (!holds_blocks(mapping) || is_skipped(mapping, skip, skip_count))
			continue;
		while (i < image->mapping_count && image->mappings[i].start == end &&
		       holds_blocks(&image->mappings[i]) &&
		       !is_skipped(&image->mappings[i], skip, skip_count))
			end = image->mappings[i++].end;
		error = scan_range(objects, image, secret, moves, mapping->start, end);
	}
	return error;
}

void objects_deinit(struct objects *objects)
{
	for (size_t i = 0; i < objects->range_count; i++)
		free(objects->ranges[i].starts);
	free(objects->ranges);
	free(objects->damages);
	free(objects->address);
	free(objects->size);
	free(objects->site);
	free(objects->birth);
	free(objects->flags);
}

heap_object_id objects_search(const struct objects *objects, const struct object_range *range,
			      uint64_t address)
{
	uint32_t low = range->first, high = range->first + range->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (objects->address[middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == range->first)
		return HEAP_NO_OBJECT;

	uint64_t offset = address - objects->address[low - 1];

	return offset < objects->size[low - 1] || offset == 0 ? low - 1 : HEAP_NO_OBJECT;
}
