// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * tcmalloc of gperftools 2.10 to 2.18: src/{span,pagemap,central_freelist,thread_cache}.h.
 *
 *	data of a module ──▶ a central free list per size class: rings of spans, chains of free blocks
 *	                 ──▶ page map: a root, a leaf per 2 GiB; an entry per 8 KiB ──▶ span
 *	                 ──▶ caches of threads, in a list: free blocks of each class, and its size
 *	span ──▶ one large block; or blocks of one class, some of them on the span's own free list
 *
 * The central lists are recognized by those of class 0, which are empty rings, and by the numbers
 * of the next ones; the root of the page map by a span in such a ring. Each span counts its blocks
 * that are not on its list: if the counts disagree, it is another version, and its blocks stay
 * unknown.
 */
#include "dumper/writer/scan/blocks/block_grid.h"

#include <stdlib.h>
#include <string.h>

enum {
	PAGE_BITS = 13,
	LEAF_BITS = 18, // of a page's number
	LEAF_BYTES = 8 << LEAF_BITS,
	ROOT_ENTRIES = 1 << 17,
	CLASSES = 128,
	LEAST_CLASSES = 16, // that a cache must have to be recognized
	CACHE_LIST = 32,    // bytes of a cache's list: head, counts, size of its blocks
	CACHE_BYTES = CLASSES * CACHE_LIST,
	CACHE_TAIL = 128, // bytes behind the lists, in which the links are
	MAX_CACHES = 1 << 14,
	SPAN = 48, // bytes
	// In a central list:
	CLASS_AT = 8,
	EMPTY_AT = 16, // spans without free blocks
	NONEMPTY_AT = EMPTY_AT + SPAN,
	CHAINS_AT = 128, // head and tail of chains of free blocks
	CHAINS = 64,
	USED_CHAINS_AT = CHAINS_AT + CHAINS * 16,
	MOST_STRIDE = 4096,
	PIECE_WORDS = 512, // that are read at once
};

struct leaf {
	uint64_t address;
	uint64_t first; // page
};

struct walker {
	struct blocks *blocks;
	const struct image *image;
	struct windows windows;
	uint64_t start, end; // of the module's data
	uint64_t central, stride;
	uint64_t span, page; // any span, and its first page
	uint64_t root;
	struct HEAP_ARRAY(uint64_t) caches;
	struct HEAP_ARRAY(struct leaf) leaves;
	const struct leaf *leaf;  // that is being visited
	uint32_t sizes[CLASSES];  // in bytes, by class
	struct block_audit spans; // of those that have free blocks
	struct block_grid grid;
};

static uint64_t peek(struct walker *walker, uint64_t address)
{
	return window_peek(&walker->windows.near, address);
}

// --- words of the module's data --------------------------------------------------------

typedef struct heap_error *word_visitor(struct walker *walker, uint64_t address, uint64_t word);

// Visits the words in [start, end) that are not 0. The windows are the visitor's.
HEAP_MUST_CHECK
static struct heap_error *visit_words(struct walker *walker, uint64_t start, uint64_t end,
				      word_visitor *visit)
{
	uint64_t words[PIECE_WORDS], until = 0, count;

	for (uint64_t at = start; at < end; at += count * 8) {
		if (at >= until)
			at = image_skip_untouched(walker->image, at, end, &until);
		count = (until - at) / 8;
		if (at >= end || count == 0)
			break;
		if (count > PIECE_WORDS)
			count = PIECE_WORDS;
		image_read_padded(walker->image, at, words, count * 8);
		for (uint64_t i = 0; i < count; i++) {
			if (words[i] != 0)
				HEAP_TRY(visit(walker, at + i * 8, words[i]));
		}
	}
	return NULL;
}

// --- central lists ----------------------------------------------------------------------

static bool is_empty_ring(struct walker *walker, uint64_t span)
{
	return peek(walker, span + 16) == span && peek(walker, span + 24) == span;
}

// A word that may be the link of class 0's empty ring to itself.
HEAP_MUST_CHECK
static struct heap_error *try_central(struct walker *walker, uint64_t address, uint64_t word)
{
	uint64_t list = word - EMPTY_AT;

	if (walker->central || word != address - 16 || !is_empty_ring(walker, word) ||
	    !is_empty_ring(walker, list + NONEMPTY_AT) || peek(walker, list + CLASS_AT) != 0)
		return NULL;
	for (uint64_t stride = USED_CHAINS_AT; stride <= MOST_STRIDE; stride += 8) {
		uint64_t class = 1;

		while (class < LEAST_CLASSES &&
		       peek(walker, list + class * stride + CLASS_AT) == class)
			class ++;
		if (class < LEAST_CLASSES)
			continue;
		walker->central = list;
		walker->stride = stride;
		return NULL;
	}
	return NULL;
}

// The debugging variant puts headers before its blocks, and keeps those that were freed.
static bool is_debugging(const struct image_mapping *mapping)
{
	const char *name = strstr(mapping->name, "/libtcmalloc");

	return name && strstr(name, "_debug");
}

HEAP_MUST_CHECK
static struct heap_error *find_central(struct walker *walker)
{
	const struct image *image = walker->image;

	for (size_t i = 0; i < image->mapping_count && !walker->central; i++) {
		walker->start = image->mappings[i].start;
		walker->end = image_data_end(image, i);
		if (walker->end != 0 && !is_debugging(&image->mappings[i]))
			HEAP_TRY(visit_words(walker, walker->start, walker->end, try_central));
	}
	return NULL;
}

// --- the page map -------------------------------------------------------------------------

// A span of any class; 0: there is none.
static uint64_t find_span(struct walker *walker)
{
	for (uint64_t class = 1; class < CLASSES; class ++) {
		uint64_t list = walker->central + class * walker->stride;
		const uint64_t rings[] = { list + EMPTY_AT, list + NONEMPTY_AT };

		for (int i = 0; i < 2; i++) {
			uint64_t span = peek(walker, rings[i] + 16);

			if (span != 0 && span != rings[i])
				return span;
		}
	}
	return 0;
}

static bool may_be_leaf(const struct walker *walker, uint64_t address)
{
	const struct image_mapping *mapping = image_find(walker->image, address);

	return address % 8 == 0 && mapping &&
	       (mapping->kind == IMAGE_HEAP || image_is_private_memory(mapping)) &&
	       mapping->end - address >= LEAF_BYTES;
}

// A word that may lead to the leaf in which the known span is.
HEAP_MUST_CHECK
static struct heap_error *try_leaf(struct walker *walker, uint64_t address, uint64_t word)
{
	uint64_t entry = walker->page % (1 << LEAF_BITS) * 8;
	uint64_t before = (walker->page >> LEAF_BITS) * 8;

	if (!walker->root && before <= address - walker->start && before < ROOT_ENTRIES * 8 &&
	    may_be_leaf(walker, word) && peek(walker, word + entry) == walker->span)
		walker->root = address - before;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_leaf(struct walker *walker, uint64_t address, uint64_t word)
{
	const struct leaf leaf = { word, (address - walker->root) / 8 << LEAF_BITS };

	return may_be_leaf(walker, word) ? heap_array_append(&walker->leaves, leaf) : NULL;
}

static int compare_leaves(const void *left, const void *right)
{
	const struct leaf *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

// No two leaves share memory, or else there would be no end of them.
static bool are_apart(const struct walker *walker)
{
	const struct leaf *list = walker->leaves.items;

	if (walker->leaves.count > 0)
		qsort(walker->leaves.items, walker->leaves.count, sizeof(*list), compare_leaves);
	for (size_t i = 1; i < walker->leaves.count; i++) {
		if (list[i].address - list[i - 1].address < LEAF_BYTES)
			return false;
	}
	return walker->leaves.count > 0;
}

HEAP_MUST_CHECK
static struct heap_error *find_leaves(struct walker *walker)
{
	uint64_t end;

	walker->span = find_span(walker);
	walker->page = peek(walker, walker->span);
	if (walker->span != 0)
		HEAP_TRY(visit_words(walker, walker->start, walker->end, try_leaf));
	if (!walker->root)
		return NULL;
	end = walker->root + ROOT_ENTRIES * 8;
	return visit_words(walker, walker->root, end < walker->end ? end : walker->end, add_leaf);
}

// --- caches ----------------------------------------------------------------------------------

static uint32_t cached_size(struct walker *walker, uint64_t cache, uint64_t class)
{
	return (uint32_t)peek(walker, cache + class * CACHE_LIST + 24);
}

// The sizes of a cache's lists grow up to the last class, and are 0 then.
static bool is_cache(struct walker *walker, uint64_t address)
{
	uint64_t class = 1, count;

	if (address % 8 != 0 || cached_size(walker, address, 0) != 0 ||
	    cached_size(walker, address, 1) < 8)
		return false;
	while (class < CLASSES &&
	       cached_size(walker, address, class) > cached_size(walker, address, class - 1))
		class ++;
	for (count = class; class < CLASSES; class ++) {
		if (cached_size(walker, address, class) != 0)
			return false;
	}
	return count >= LEAST_CLASSES;
}

HEAP_MUST_CHECK
static struct heap_error *add_cache(struct walker *walker, uint64_t address, uint64_t word)
{
	(void)address;
	if (walker->caches.count == MAX_CACHES || !is_cache(walker, word))
		return NULL;
	for (size_t i = 0; i < walker->caches.count; i++) {
		if (walker->caches.items[i] == word)
			return NULL;
	}
	return heap_array_append(&walker->caches, word);
}

// From those that the module's data knows to those that they are linked with.
HEAP_MUST_CHECK
static struct heap_error *find_caches(struct walker *walker)
{
	HEAP_TRY(visit_words(walker, walker->start, walker->end, add_cache));
	for (size_t i = 0; i < walker->caches.count; i++) {
		uint64_t tail = walker->caches.items[i] + CACHE_BYTES;

		HEAP_TRY(visit_words(walker, tail, tail + CACHE_TAIL, add_cache));
	}
	for (uint64_t class = 0; walker->caches.count > 0 && class < CLASSES; class ++)
		walker->sizes[class] = cached_size(walker, walker->caches.items[0], class);
	return NULL;
}

// @param last  where the list ends; 0: with the null pointer
static void remove_list(struct walker *walker, uint64_t block, uint64_t last)
{
	while (block != 0 && blocks_remove(walker->blocks, block) && block != last)
		block = peek(walker, block);
}

static void remove_cached(struct walker *walker)
{
	for (size_t i = 0; i < walker->caches.count; i++) {
		for (uint64_t class = 1; class < CLASSES; class ++)
			remove_list(walker,
				    peek(walker, walker->caches.items[i] + class * CACHE_LIST), 0);
	}
	for (uint64_t class = 1; class < CLASSES && walker->sizes[class] != 0; class ++) {
		uint64_t list = walker->central + class * walker->stride;
		uint64_t used = (uint32_t)peek(walker, list + USED_CHAINS_AT);

		for (uint64_t i = 0; i < used && i < CHAINS; i++) {
			uint64_t chain = list + CHAINS_AT + i * 16;

			remove_list(walker, peek(walker, chain), peek(walker, chain + 8));
		}
	}
}

// --- spans -----------------------------------------------------------------------------------

struct span {
	uint64_t address, bytes;
	uint64_t free;
	unsigned used, class, location;
};

HEAP_MUST_CHECK
static struct heap_error *add_small(struct walker *walker, const struct span *span)
{
	struct block_grid *grid = &walker->grid;
	uint64_t size = span->class < CLASSES ? walker->sizes[span->class] : 0;
	uint32_t count;

	if (size == 0 || !block_grid_init(grid, span->address, size, span->bytes / size)) {
		walker->spans.count++;
		return NULL;
	}
	count = block_grid_mark(grid, &walker->windows, span->free);
	if (count > 0 || span->used != grid->count) {
		walker->spans.count++;
		walker->spans.agreeing += count + span->used == grid->count;
	}
	return block_grid_add(grid, walker->image, walker->blocks);
}

// An entry of a leaf.
HEAP_MUST_CHECK
static struct heap_error *add_span(struct walker *walker, uint64_t address, uint64_t word)
{
	uint64_t page = walker->leaf->first + (address - walker->leaf->address) / 8;
	uint64_t pages = peek(walker, word + 8), bits = peek(walker, word + 40);
	const struct span span = {
		.address = page << PAGE_BITS,
		.bytes = pages << PAGE_BITS,
		.free = peek(walker, word + 32),
		.used = bits & UINT16_MAX,
		.class = bits >> 16 & UINT8_MAX,
		.location = bits >> 24 & 3,
	};

	// Other entries than that of the first page may be out of date.
	if (peek(walker, word) != page || span.location != 0 || pages == 0 ||
	    pages >> (48 - PAGE_BITS) != 0 || !image_find(walker->image, span.address))
		return NULL;
	if (span.class != 0)
		return add_small(walker, &span);
	HEAP_TRY(blocks_add(walker->blocks, span.address, span.bytes));
	return blocks_end_run(walker->blocks);
}

// --- all of it --------------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *walk_leaves(struct walker *walker)
{
	struct blocks *blocks = walker->blocks;
	const struct block_mark mark = blocks_mark(blocks);

	for (size_t i = 0; i < walker->leaves.count; i++) {
		walker->leaf = &walker->leaves.items[i];
		HEAP_TRY(visit_words(walker, walker->leaf->address,
				     walker->leaf->address + LEAF_BYTES, add_span));
	}
	if (!blocks_accept(blocks, mark, &walker->spans))
		return NULL;
	HEAP_TRY(blocks_sort(blocks));
	remove_cached(walker);
	return NULL;
}

static void walker_deinit(struct walker *walker)
{
	windows_deinit(&walker->windows);
	heap_array_deinit(&walker->caches);
	heap_array_deinit(&walker->leaves);
}

struct heap_error *blocks_find_tcmalloc(struct blocks *blocks, const struct image *image)
{
	CLEANUP(walker_deinit)
	struct walker walker = {
		.blocks = blocks,
		.image = image,
		.spans = { "tcmalloc", "spans", "free blocks", 0, 0 },
	};

	HEAP_TRY(windows_init(&walker.windows, image));
	HEAP_TRY(find_central(&walker));
	if (!walker.central)
		return NULL;
	HEAP_TRY(find_leaves(&walker));
	HEAP_TRY(find_caches(&walker));
	return walker.caches.count > 0 && are_apart(&walker) ? walk_leaves(&walker) : NULL;
}
