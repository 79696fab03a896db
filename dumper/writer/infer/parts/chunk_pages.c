// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/parts/chunk_pages.h"

#include "dumper/base/header.h"
#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/parts/arena_targets.h"
#include "dumper/writer/infer/majority.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>

enum {
	LEAST_PAGE = 128,
	MOST_PAGE = 64 << 10,
	LEAST_CHUNK = 16,
	LEAST_CHUNKS = 4,
	LEAST_HITS = 7,  // chunks that pointers lead to
	STRIDES = 8,     // different ones that are tried with a block
	LEAST_PAGES = 2, // of one stride
	WORD = 8,
};

// A block that may be a page.
struct page {
	heap_object_id object;
	uint64_t site; // where its code called malloc(); 0: unknown
	uint64_t size;
	uint64_t stride;
	uint64_t start, end; // of the chunks; behind them is the tail
	bool has_tail;       // a pointer leads there
};

struct pages_found HEAP_ARRAY(struct page);

struct search {
	const struct capture *capture;
	struct arenas *arenas;
	struct pages_found pages;
};

// --- one block ----------------------------------------------------------------

// The places in a block that pointers lead to.
struct places {
	const struct arena_target *list;
	size_t count;
	uint64_t size; // of the block
};

// Finds where chunks of a size begin. @return false if hardly all places are such, or too few of the chunks have one
static bool find_chunks(const struct places *places, uint64_t stride, struct page *page)
{
	struct majority residue = { 0 };
	uint64_t first = UINT64_MAX, last = 0, hits = 0;

	for (size_t i = 0; i < places->count; i++)
		majority_add(&residue, places->list[i].interior % stride);
	for (size_t i = 0; i < places->count; i++) {
		uint64_t interior = places->list[i].interior;

		if (interior % stride != residue.value || interior + stride > places->size)
			continue;
		hits++;
		first = first == UINT64_MAX ? interior : first;
		last = interior;
	}
	progress_steps((uint32_t)places->count);
	if (hits < LEAST_HITS || hits * 8 < places->count * UINT64_C(7) ||
	    hits * 2 < (last - first) / stride + 1)
		return false;
	// Pointers may lead to what lies before the first chunk and behind the last one, too.
	page->stride = stride;
	page->start = residue.value;
	page->end = places->size - (places->size - page->start) % stride;
	for (size_t i = 0; i < places->count; i++) {
		uint64_t interior = places->list[i].interior;

		while (interior < first && page->start <= interior)
			page->start += stride;
		if (interior > last) {
			page->end = interior;
			page->has_tail = true;
			break;
		}
	}
	return true;
}

// Finds the largest stride at which the chunks of a block may begin.
static bool find_stride(const struct places *places, struct page *page)
{
	uint64_t tried[STRIDES];
	size_t count = 0;

	page->stride = 0;
	for (size_t i = 1; i < places->count && count < STRIDES; i++) {
		uint64_t stride = places->list[i].interior - places->list[i - 1].interior;
		size_t at = 0;
		struct page found = *page;

		while (at < count && tried[at] != stride)
			at++;
		if (at < count || stride < LEAST_CHUNK || stride * LEAST_CHUNKS > places->size)
			continue;
		tried[count++] = stride;
		if (stride > page->stride && find_chunks(places, stride, &found))
			*page = found;
	}
	return page->stride > 0;
}

// --- candidates ---------------------------------------------------------------

// Marks the blocks that may be pages. @return false if there are none
static bool mark_candidates(const struct search *search, const heap_type_id *classes,
			    const uint8_t *counts, bool *is_marked)
{
	const struct objects *objects = &search->capture->objects;
	uint32_t next = 0;
	bool is_any = false;

	for (heap_object_id i = 0; i < objects->count; i++) {
		if (counts[i] < LEAST_HITS)
			continue;
		uint64_t size = objects_size(objects, i);

		is_marked[i] = size >= LEAST_PAGE && size <= MOST_PAGE &&
			       classes[i] == HEAP_NO_TYPE &&
			       !(objects->flags[i] & HEAPSNAP_BLOCK_LABELLED) &&
			       !arenas_of(search->arenas, &next, i);
		is_any |= is_marked[i];
	}
	return is_any;
}

HEAP_MUST_CHECK
static struct heap_error *find_candidates(struct search *search, const heap_type_id *classes,
					  const uint8_t *counts)
{
	const struct capture *capture = search->capture;
	const struct objects *objects = &capture->objects;
	CLEANUP_FREE bool *is_marked = calloc((size_t)objects->count + 1, sizeof(*is_marked));
	CLEANUP_ARRAY struct arena_targets targets = { 0 };

	if (!is_marked)
		return heap_error_out_of_memory();
	if (!mark_candidates(search, classes, counts, is_marked))
		return NULL;
	HEAP_TRY(arena_targets_gather(capture, is_marked, 0, false, &targets));
	for (size_t i = 0, count; i < targets.count && !progress_is_late(); i += count) {
		heap_object_id object = targets.items[i].object;
		struct page page = { .object = object, .size = objects_size(objects, object) };
		struct places places = { .list = &targets.items[i], .size = page.size };

		places.count = count = arena_targets_in_row(&targets, i);
		if (capture_has_headers(capture))
			page.site = objects->kinds.list[objects_kind(objects, object)].site;
		if (find_stride(&places, &page))
			HEAP_TRY(heap_array_append(&search->pages, page));
	}
	return NULL;
}

// --- the verdict ----------------------------------------------------------------

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_pages(const void *left, const void *right)
{
	const struct page *a = left, *b = right;
	int order = compare(a->size, b->size);

	if (order == 0)
		order = compare(a->site, b->site);
	if (order == 0)
		order = compare(a->stride, b->stride);
	return order != 0 ? order : compare(a->object, b->object);
}

// True if pages of one site and size have several strides.
static bool have_strides(const struct search *search, size_t first, size_t end)
{
	const struct page *pages = search->pages.items;
	size_t strides = 0, framed = 0, same = 0;

	for (size_t i = first; i < end; i++) {
		same = i > first && pages[i].stride == pages[i - 1].stride ? same + 1 : 1;
		strides += same == LEAST_PAGES;
		framed += pages[i].start > 0 || pages[i].has_tail;
	}
	return strides > 1 && (capture_has_headers(search->capture) || framed * 2 > end - first);
}

// True if the first chunk of each page begins at the same place behind its start.
static bool have_offset(const struct page *pages, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (pages[i].start != pages[0].start)
			return false;
	}
	return pages[0].start > 0;
}

static bool are_powers(const struct page *pages, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if ((pages[i].stride & (pages[i].stride - 1)) != 0)
			return false;
	}
	return true;
}

HEAP_MUST_CHECK
static struct heap_error *add_page(struct arenas *arenas, const struct page *page, bool is_rounded)
{
	uint32_t count = (uint32_t)((page->end - page->start) / page->stride);

	if (count > ARENA_MOST_CHUNKS - arenas->chunk_count)
		return NULL;
	HEAP_TRY(heap_reserve(arenas->list, arenas->capacity, (size_t)arenas->count + 1));
	HEAP_TRY(heap_reserve(arenas->chunks, arenas->chunk_capacity,
			      (size_t)arenas->chunk_count + count));
	arenas->list[arenas->count++] = (struct arena){
		.object = page->object,
		.first = arenas->chunk_count,
		.count = count,
		.start = page->start,
		.end = page->end,
		.owner_at = ARENA_NO_OWNER,
		.owner_in = ARENA_NO_OWNER,
		.is_page = true,
		.is_rounded = is_rounded,
	};
	for (uint32_t i = 0; i < count; i++)
		arenas->chunks[arenas->chunk_count++] =
			(struct arena_chunk){ page->start + i * page->stride, page->stride, false };
	return NULL;
}

// Adds the pages of the sizes that have several strides at a site, and those of other sites: the allocator's code may be
// inlined.
HEAP_MUST_CHECK
static struct heap_error *add_pages(struct search *search)
{
	struct page *pages = search->pages.items;
	const size_t count = search->pages.count;

	qsort(pages, count, sizeof(*pages), compare_pages);
	for (size_t i = 0, end; i < count; i = end) {
		bool is_accepted = false, is_rounded;

		for (end = i; end < count && pages[end].size == pages[i].size;) {
			size_t first = end;

			while (end < count && pages[end].size == pages[i].size &&
			       pages[end].site == pages[first].site)
				end++;
			is_accepted |= have_strides(search, first, end);
		}
		is_rounded = are_powers(pages + i, end - i);

		// A power of 2 may count a header before each chunk, too, which would be behind the last one's.
		is_accepted &= !is_rounded || !have_offset(pages + i, end - i);
		for (size_t j = i; is_accepted && j < end; j++)
			HEAP_TRY(add_page(search->arenas, &pages[j], is_rounded));
	}
	return NULL;
}

static void release(struct search *search)
{
	heap_array_deinit(&search->pages);
}

struct heap_error *chunk_pages_find(const struct capture *capture, const heap_type_id *classes,
				    const uint8_t *counts, struct arenas *arenas)
{
	CLEANUP(release) struct search search = { .capture = capture, .arenas = arenas };

	HEAP_TRY(find_candidates(&search, classes, counts));
	if (search.pages.count == 0)
		return NULL;
	HEAP_TRY(add_pages(&search));
	arenas_sort(arenas);
	return NULL;
}
