// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/blocks/glibc_mapped.h"

#include "dumper/writer/scan/blocks/glibc_chunks.h"
#include "lib/base/search.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
	MAX_ALIGNMENT_LOG = 30,
};

// The end of a mapped chunk, which is that of a page; 0: it is none.
static uint64_t end_of_mapped(struct glibc_walker *walker, uint64_t at, uint64_t limit, bool counts)
{
	uint64_t word = glibc_peek(walker, at + 8), size = word & ~(uint64_t)GLIBC_FLAGS;
	uint64_t end = at + size + (counts ? 16 : 0);

	return (word & GLIBC_FLAGS) == GLIBC_IS_MMAPPED && size >= GLIBC_MIN_CHUNK &&
			       size <= limit - at && end <= limit && end % GLIBC_PAGE == 0
		       ? end
		       : 0;
}

// The aligned chunk within mapped memory: it says how far it is from the start. 0: there is none.
static uint64_t find_aligned(struct glibc_walker *walker, uint64_t start, uint64_t limit,
			     bool counts)
{
	for (int log = 5; log <= MAX_ALIGNMENT_LOG; log++) {
		uint64_t alignment = UINT64_C(1) << log;
		uint64_t lead = ((start + 16 + alignment - 1) & ~(alignment - 1)) - 16 - start;

		for (int i = 0; i < 2; i++, lead += alignment) {
			uint64_t at = start + lead;

			if (lead != 0 && at + GLIBC_MIN_CHUNK <= limit &&
			    (glibc_peek(walker, at) & ~(uint64_t)counts) == lead &&
			    end_of_mapped(walker, at, limit, counts))
				return at;
		}
	}
	return 0;
}

// Adds the mapped chunk that begins at a page. Where an aligned one has been made of it, the header
// at the page is left over, and may be out of date.
// @param end  gets where it ends; 0: there is none
HEAP_MUST_CHECK
static struct heap_error *add_mapped_chunk(struct glibc_mapped *mapped, uint64_t page,
					   uint64_t limit, uint64_t *end)
{
	struct glibc_walker *walker = mapped->walker;
	bool counts = mapped->state->layout->counts_mapped;
	uint64_t before = glibc_peek(walker, page), chunk, bytes;

	*end = 0;
	if ((before & ~(uint64_t)counts) != 0 ||
	    (glibc_peek(walker, page + 8) & GLIBC_FLAGS) != GLIBC_IS_MMAPPED)
		return NULL;
	chunk = find_aligned(walker, page, limit, counts);
	if (chunk == 0)
		chunk = page;
	*end = end_of_mapped(walker, chunk, limit, counts);
	if (*end == 0)
		return NULL;
	bytes = *end - page;
	mapped->wanted -= mapped->wanted > 0;
	mapped->wanted_bytes -= bytes < mapped->wanted_bytes ? bytes : mapped->wanted_bytes;
	return blocks_add(walker->blocks, chunk + 16, *end - chunk - 16);
}

// Adds a piece of the first arena's heap, which is mapped where brk(2) fails.
HEAP_MUST_CHECK
static struct heap_error *add_mapped_heap(struct glibc_mapped *mapped, uint64_t page,
					  uint64_t limit, uint64_t *end)
{
	struct glibc_walker *walker = mapped->walker;
	struct glibc_walk walk = { .start = page, .limit = limit };
	size_t count = walker->blocks->list.count;
	uint64_t word = glibc_peek(walker, page + 8), fence = 0;
	enum glibc_ending ending;

	*end = 0;
	walk.top = glibc_peek(walker, mapped->state->bins - 16);
	if (walker->vain_chunks == 0 || (word & 0xf) != GLIBC_PREV_INUSE ||
	    (word < GLIBC_MIN_CHUNK && page != walk.top))
		return NULL;
	HEAP_TRY(glibc_walk_chunks(walker, &walk, &ending));
	if (ending == GLIBC_ENDS_AT_TOP)
		*end = walk.end + (glibc_peek(walker, walk.end + 8) & ~(uint64_t)GLIBC_FLAGS);
	else if (ending == GLIBC_ENDS_AT_FENCE)
		fence = glibc_end_of_fence(walker, walk.end);
	if (fence != 0 && fence % GLIBC_PAGE == 0)
		*end = fence;
	if (*end <= page || *end > limit) {
		*end = 0;
		walker->blocks->list.count = count;
		glibc_take_vain(&walker->vain_chunks, walk.end - page);
		return NULL;
	}
	mapped->wants_top &= ending != GLIBC_ENDS_AT_TOP;
	mapped->wanted_heap -=
		*end - page < mapped->wanted_heap ? *end - page : mapped->wanted_heap;
	return NULL;
}

// The end of the claimed span that holds an address, or 0. They are sorted, and do not overlap.
static uint64_t claimed_until(const struct glibc_walker *walker, uint64_t address)
{
	const struct glibc_span *spans = walker->claimed.items;
	size_t at =
		heap_partition_point(i, (size_t)0, walker->claimed.count, spans[i].end <= address);

	return at < walker->claimed.count && spans[at].start <= address ? spans[at].end : 0;
}

static bool is_done(const struct glibc_mapped *mapped)
{
	return mapped->state->has_parameters && mapped->wanted == 0 && mapped->wanted_heap == 0 &&
	       !mapped->wants_top;
}

HEAP_MUST_CHECK
static struct heap_error *search_pages(struct glibc_mapped *mapped, uint64_t start, uint64_t limit)
{
	struct glibc_walker *walker = mapped->walker;
	struct window *window =
		&walker->windows.near; // the other one where nothing is found for long

	uint64_t until = start; // where memory ends that may hold something

	for (uint64_t page = start; page < limit && !is_done(mapped);) {
		uint64_t end = claimed_until(walker, page);

		if (end == 0 && page >= until) {
			uint64_t next = image_skip_untouched(walker->image, page, limit, &until);

			if (next != page) {
				page = next;
				continue;
			}
		}

		uint64_t word = end ? 0 : window_peek(window, page + 8);

		if ((word & GLIBC_FLAGS) == GLIBC_IS_MMAPPED)
			HEAP_TRY(add_mapped_chunk(mapped, page, limit, &end));
		else if ((word & GLIBC_FLAGS) == GLIBC_PREV_INUSE &&
			 (mapped->wants_top || mapped->wanted_heap > 0))
			HEAP_TRY(add_mapped_heap(mapped, page, limit, &end));
		window = end ? &walker->windows.near : &walker->windows.far;
		page = end > page ? (end + GLIBC_PAGE - 1) & ~(uint64_t)(GLIBC_PAGE - 1)
				  : page + GLIBC_PAGE;
	}
	return blocks_end_run(walker->blocks);
}

static int compare_spans(const void *left, const void *right)
{
	const struct glibc_span *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

// Sorts the claimed spans, and puts together those that overlap.
static void sort_claimed(struct glibc_walker *walker)
{
	struct glibc_span *spans = walker->claimed.items;
	size_t count = 0;

	if (walker->claimed.count == 0)
		return;
	qsort(spans, walker->claimed.count, sizeof(*spans), compare_spans);
	for (size_t i = 1; i < walker->claimed.count; i++) {
		if (spans[i].start > spans[count].end)
			spans[++count] = spans[i];
		else if (spans[i].end > spans[count].end)
			spans[count].end = spans[i].end;
	}
	walker->claimed.count = count + 1;
}

struct heap_error *glibc_search_mapped(struct glibc_mapped *mapped)
{
	const struct image *image = mapped->walker->image;
	// glibc 2.43 adds 16 bytes too many to its sum whenever such a chunk is resized: mremap_chunk().
	bool drifts = mapped->state->layout->counts_mapped;

	sort_claimed(mapped->walker);
	for (size_t i = 0; i < image->mapping_count && !is_done(mapped);) {
		const struct image_mapping *mapping = &image->mappings[i++];
		uint64_t end = mapping->end;

		if (!glibc_is_writable(mapping) || mapping->kind != IMAGE_ANONYMOUS)
			continue;
		while (i < image->mapping_count && image->mappings[i].start == end &&
		       glibc_is_writable(&image->mappings[i]) &&
		       image->mappings[i].kind == IMAGE_ANONYMOUS)
			end = image->mappings[i++].end;
		HEAP_TRY(search_pages(mapped, mapping->start, end));
	}
	if (mapped->state->has_parameters &&
	    (mapped->wanted > 0 || (mapped->wanted_bytes > 0 && !drifts)))
		blocks_doubt(mapped->walker->blocks,
			     "%" PRIu64 " of glibc's mapped chunks, %" PRIu64
			     " bytes, were not found",
			     mapped->wanted, mapped->wanted_bytes);
	if (mapped->wants_top || mapped->wanted_heap > 0)
		blocks_doubt(mapped->walker->blocks,
			     "%" PRIu64 " bytes of glibc's first arena were not found",
			     mapped->wanted_heap);
	return NULL;
}
