// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * jemalloc 5.3: include/jemalloc/internal/{rtree,edata,slab_data,bitmap,cache_bin,sc}.h.
 *
 *	root of a radix tree, zeros behind the data of a module
 *	  └▶ leaf; an entry per page: edata │ size class
 *	       └▶ edata: extent, slab's bitmap of free regions
 *	threads' storage ──▶ cached regions, which are free
 *
 * Other versions have other offsets. Each slab counts its free regions: if the counts disagree with
 * the bitmaps, it is another version, and its blocks stay unknown.
 */
#include "dumper/writer/base/machine.h"
#include "dumper/writer/scan/blocks/blocks.h"
#include "dumper/writer/scan/image/window.h"

#include <stdlib.h>
#include <string.h>

enum {
	TABLE = 2 << 20, // bytes of the largest root, and of the largest leaf
	EDATA = 128,     // its alignment
	TINY_BITS = 3,   // of the size of the smallest region
	MAX_PAGE_BITS = 16,
	MAX_BITMAP_WORDS = 1 << (MAX_PAGE_BITS - TINY_BITS - 6),
	CLASSES = 232,
	MAX_ROOTS = 256,  // candidates that are read, of one module
	FEW_ENTRIES = 64, // of a leaf, after which it is clear that it is none
	THREAD_AREA = 0x4000,
	MAX_CACHED = 4096,
};

#define EDATA_MASK UINT64_C(0x0000ffffffffff80)

// The radix tree depends on the page size that jemalloc was built for, which may be larger than the
// kernel's, and on how many bits of an address the processor that it was built on uses.
struct tree {
	unsigned page_bits;
	unsigned leaf_bits;   // of an address, below a leaf
	unsigned node_bits;   // above them, of nodes between root and leaves; 0: there are none
	unsigned root_bits;   // above these
	uint64_t entry_bytes; // of a leaf
};

static const struct tree trees[] = {
	{ 12, 30, 0, 18, 8 },   // addresses of 48 bits
	{ 12, 27, 15, 15, 16 }, // 57 bits
	{ 16, 32, 0, 16, 8 },   // Debian's for arm64
	{ 14, 31, 0, 17, 8 },
};

struct walker {
	struct blocks *blocks;
	const struct image *image;
	const struct block_threads *threads;
	struct windows windows;
	const struct tree *tree;
	struct HEAP_ARRAY(uint64_t) regions; // of a leaf each, in which there is memory, by address
	struct HEAP_ARRAY(uint64_t) extents; // addresses of edata
	uint64_t sizes[CLASSES];
	uint64_t root;
	size_t tried;
	struct block_audit slabs;
	uint64_t bytes; // of memory that extents may lie in
	uint64_t vain;  // entries and cached regions that may still lead nowhere
};

static uint64_t peek(struct walker *walker, uint64_t address)
{
	return window_peek(&walker->windows.near, address);
}

static uint64_t root_bytes(const struct tree *tree)
{
	return UINT64_C(8) << tree->root_bits;
}

static uint64_t node_bytes(const struct tree *tree)
{
	return UINT64_C(8) << tree->node_bits;
}

static uint64_t leaf_bytes(const struct tree *tree)
{
	return tree->entry_bytes << (tree->leaf_bits - tree->page_bits);
}

// Clears the bits of an address or a size that lie below a page.
static uint64_t whole_pages(const struct tree *tree, uint64_t value)
{
	return value >> tree->page_bits << tree->page_bits;
}

// SC_NBINS: classes below four pages lie in slabs.
static uint64_t small_classes(const struct tree *tree)
{
	return 36 + 4 * (tree->page_bits - 12);
}

// SC_SLAB_MAXREGS: a slab has at most the regions of one page of the smallest.
static uint64_t max_regions(const struct tree *tree)
{
	return UINT64_C(1) << (tree->page_bits - TINY_BITS);
}

static void fill_sizes(uint64_t sizes[CLASSES])
{
	size_t count = 0;

	sizes[count++] = 8;
	for (uint64_t size = 16; size <= 128; size += 16)
		sizes[count++] = size;
	for (uint64_t group = 128; count < CLASSES; group *= 2) {
		for (uint64_t i = 1; i <= 4 && count < CLASSES; i++)
			sizes[count++] = group + group / 4 * i;
	}
}

HEAP_MUST_CHECK
static struct heap_error *list_regions(struct walker *walker)
{
	const struct image *image = walker->image;
	const unsigned bits = walker->tree->leaf_bits;

	walker->regions.count = 0;
	for (size_t i = 0; i < image->mapping_count; i++) {
		const struct image_mapping *mapping = &image->mappings[i];

		if (!image_is_private_memory(mapping) && mapping->kind != IMAGE_HEAP)
			continue;
		for (uint64_t region = mapping->start >> bits;
		     region <= (mapping->end - 1) >> bits && region >> (48 - bits) == 0; region++) {
			size_t count = walker->regions.count;

			if (count == 0 || walker->regions.items[count - 1] != region)
				HEAP_TRY(heap_array_append(&walker->regions, region));
		}
	}
	return NULL;
}

static uint64_t count_bytes(const struct image *image)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < image->mapping_count; i++) {
		const struct image_mapping *mapping = &image->mappings[i];

		if (image_is_private_memory(mapping) || mapping->kind == IMAGE_HEAP)
			bytes += mapping->end - mapping->start;
	}
	return bytes;
}

// --- the radix tree -------------------------------------------------------------

static bool is_extent_of(struct walker *walker, uint64_t edata, uint64_t page)
{
	uint64_t start = whole_pages(walker->tree, peek(walker, edata + 8));
	uint64_t size = whole_pages(walker->tree, peek(walker, edata + 16));

	return page >= start && page - start < size;
}

// Visits the entries of a leaf. @param all, good  counted up
HEAP_MUST_CHECK
static struct heap_error *read_leaf(struct walker *walker, uint64_t region, uint64_t leaf,
				    size_t *all, size_t *good)
{
	const struct tree *tree = walker->tree;
	uint64_t last = 0;

	for (uint64_t i = 0; i < UINT64_C(1) << (tree->leaf_bits - tree->page_bits); i++) {
		uint64_t word = window_peek(&walker->windows.far, leaf + i * tree->entry_bytes),
			 edata = word & EDATA_MASK;

		walker->vain -= walker->vain > 0;
		if (edata == 0 || edata == last)
			continue;
		last = edata;
		++*all;
		if (*all > FEW_ENTRIES && *good * 2 < *all)
			return NULL;
		if (!is_extent_of(walker, edata,
				  (region << tree->leaf_bits) + (i << tree->page_bits)))
			continue;
		// No two extents share their description.
		if (walker->extents.count > walker->bytes / EDATA)
			return NULL;
		++*good;
		HEAP_TRY(heap_array_append(&walker->extents, edata));
	}
	return NULL;
}

static bool has_room(const struct walker *walker, uint64_t address, uint64_t bytes)
{
	const struct image_mapping *mapping = image_find(walker->image, address);

	return address != 0 && address % 64 == 0 && image_is_private_memory(mapping) &&
	       mapping->end - address >= bytes;
}

// True if an entry of the root may lead there.
static bool may_be_child(const struct walker *walker, uint64_t address)
{
	const struct tree *tree = walker->tree;

	return has_room(walker, address, tree->node_bits ? node_bytes(tree) : leaf_bytes(tree));
}

// Finds the leaf of a region. @param child  what the root has for it; not 0
static uint64_t find_leaf(struct walker *walker, uint64_t child, uint64_t region)
{
	const struct tree *tree = walker->tree;
	uint64_t at = region & ((UINT64_C(1) << tree->node_bits) - 1);

	return tree->node_bits ? peek(walker, child + at * 8) : child;
}

// Reads the tree from a root that may be none. @param found  set to true if it is one
HEAP_MUST_CHECK
static struct heap_error *try_root(struct walker *walker, uint64_t root, bool *found)
{
	const struct tree *tree = walker->tree;
	uint64_t child = 0, last = UINT64_MAX;
	size_t all = 0, good = 0;

	walker->extents.count = 0;
	for (size_t i = 0; i < walker->regions.count && walker->vain > 0; i++) {
		uint64_t region = walker->regions.items[i], index = region >> tree->node_bits;

		walker->vain--;
		if (index != last)
			child = peek(walker, root + index * 8);
		last = index;
		if (child == 0)
			continue;
		if (!may_be_child(walker, child))
			return NULL;

		uint64_t leaf = find_leaf(walker, child, region);

		if (leaf == 0)
			continue;
		if (!has_room(walker, leaf, leaf_bytes(tree)))
			return NULL;
		HEAP_TRY(read_leaf(walker, region, leaf, &all, &good));
	}
	*found = walker->vain > 0 && all > 0 && good * 100 >= all * BLOCKS_MIN_AGREEING;
	return NULL;
}

// A word in a module's zeros that leads to a leaf or node: it is the root's entry for one of the regions.
HEAP_MUST_CHECK
static struct heap_error *try_entry(struct walker *walker, uint64_t address, uint64_t start,
				    uint64_t end)
{
	const struct tree *tree = walker->tree;
	uint64_t last = UINT64_MAX;

	for (size_t i = 0; i < walker->regions.count && walker->tried < MAX_ROOTS; i++) {
		uint64_t before = (walker->regions.items[i] >> tree->node_bits) * 8;
		bool found = false;

		if (before == last || end - address + before < root_bytes(tree))
			continue;
		last = before;
		if (walker->root || address - start < before)
			break;
		walker->tried++;
		HEAP_TRY(try_root(walker, address - before, &found));
		if (found)
			walker->root = address - before;
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *search_zeros(struct walker *walker, uint64_t start, uint64_t end)
{
	uint64_t until = start;

	for (uint64_t at = start; at + 8 <= end && !walker->root; at += 8) {
		if (at >= until)
			at = image_skip_untouched(walker->image, at, end, &until);
		if (at >= end || walker->tried == MAX_ROOTS || walker->vain == 0)
			break;

		uint64_t word = window_peek(&walker->windows.far, at);

		if (word != 0 && may_be_child(walker, word))
			HEAP_TRY(try_entry(walker, at, start, end));
	}
	return NULL;
}

// The root lies in memory that belongs to a module: in or behind its data.
// @param by_name  of modules that are called so; or else of all others
HEAP_MUST_CHECK
static struct heap_error *find_root(struct walker *walker, bool by_name)
{
	const struct image *image = walker->image;

	for (size_t i = 0; i < image->mapping_count && !walker->root; i++) {
		const struct image_mapping *mapping = &image->mappings[i];
		uint64_t end = image_data_end(image, i);

		if (end == 0 || (strstr(mapping->name, "/libjemalloc") != NULL) != by_name)
			continue;
		walker->tried = 0;
		if (end >= mapping->start + root_bytes(walker->tree))
			HEAP_TRY(search_zeros(walker, mapping->start, end));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_tree(struct walker *walker, bool by_name)
{
	for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]) && !walker->root; i++) {
		walker->tree = &trees[i];
		HEAP_TRY(list_regions(walker));
		HEAP_TRY(find_root(walker, by_name));
	}
	return NULL;
}

// --- extents ------------------------------------------------------------------------

static int compare_numbers(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

HEAP_MUST_CHECK
static struct heap_error *add_slab(struct walker *walker, uint64_t edata, uint64_t start,
				   uint64_t size, uint64_t region, uint64_t free_count)
{
	uint64_t bitmap[MAX_BITMAP_WORDS], count = size / region, seen = 0;

	if (count > max_regions(walker->tree))
		return NULL;
	for (uint64_t i = 0; i * 64 < count; i++)
		bitmap[i] = peek(walker, edata + 64 + i * 8);
	for (uint64_t i = 0; i < count; i++)
		seen += bitmap[i / 64] >> i % 64 & 1;
	walker->slabs.count++;
	walker->slabs.agreeing += seen == free_count;
	for (uint64_t i = 0; i < count; i++) {
		if (!(bitmap[i / 64] >> i % 64 & 1))
			HEAP_TRY(blocks_add(walker->blocks, start + i * region, region));
	}
	return blocks_end_run(walker->blocks);
}

// The class of a large block is its size rounded up, but since 5.3.1 it has only the pages that it needs.
// Where blocks begin somewhere in their first page, there is one more page.
static uint64_t large_size(const struct tree *tree, uint64_t address, uint64_t bytes,
			   uint64_t class)
{
	uint64_t room = bytes - (address - whole_pages(tree, address));

	return class <= room || room > bytes ? class : whole_pages(tree, room);
}

HEAP_MUST_CHECK
static struct heap_error *add_extent(struct walker *walker, uint64_t edata)
{
	const struct tree *tree = walker->tree;
	uint64_t bits = peek(walker, edata);
	uint64_t address = peek(walker, edata + 8);
	uint64_t size = whole_pages(tree, peek(walker, edata + 16));
	uint64_t is_slab = bits >> 12 & 1, state = bits >> 17 & 7, class = bits >> 20 & 255;

	if (state != 0 || class >= CLASSES || !image_find(walker->image, address))
		return NULL;
	if (is_slab)
		return class < small_classes(tree)
			       ? add_slab(walker, edata, whole_pages(tree, address), size,
					  walker->sizes[class],
					  bits >> 28 & (2 * max_regions(tree) - 1))
			       : NULL;
	HEAP_TRY(blocks_add(walker->blocks, address,
			    large_size(tree, address, size, walker->sizes[class])));
	return blocks_end_run(walker->blocks);
}

HEAP_MUST_CHECK
static struct heap_error *add_extents(struct walker *walker)
{
	uint64_t *list = walker->extents.items;

	if (walker->extents.count > 0)
		qsort(list, walker->extents.count, sizeof(*list), compare_numbers);
	for (size_t i = 0; i < walker->extents.count; i++) {
		if (i == 0 || list[i] != list[i - 1])
			HEAP_TRY(add_extent(walker, list[i]));
	}
	return NULL;
}

// --- threads' caches ------------------------------------------------------------------

// struct cache_bin_s: the pointer to the last region that was cached, and the low 16 bits of where
// the stack of regions begins and ends.
static void remove_cached(struct walker *walker, uint64_t bin)
{
	uint64_t head = peek(walker, bin), ends = peek(walker, bin + 16), size = 0;
	uint16_t full = (uint16_t)(ends >> 16), empty = (uint16_t)(ends >> 32);
	uint16_t count = (uint16_t)(empty - (uint16_t)head) / 8;
	uint16_t room = (uint16_t)(empty - full) / 8;

	if (head == 0 || head % 8 != 0 || empty % 8 != 0 || full % 8 != 0 || count == 0 ||
	    walker->vain == 0 || count > room || room > MAX_CACHED ||
	    !image_find(walker->image, head))
		return;
	for (uint16_t i = 0; i < count; i++) {
		const struct block *block =
			blocks_search(walker->blocks, peek(walker, head + (uint64_t)i * 8));

		if (!block || (size != 0 && block->size != size)) {
			walker->vain -= i < walker->vain ? i : walker->vain;
			return;
		}
		size = block->size;
	}
	for (uint16_t i = 0; i < count; i++)
		blocks_remove(walker->blocks, peek(walker, head + (uint64_t)i * 8));
	blocks_remove_around(walker->blocks, head); // the cache's own memory
}

static void remove_caches(struct walker *walker)
{
	size_t unknown = 0;

	for (size_t i = 0; i < walker->threads->count; i++) {
		uint64_t thread = walker->threads->pointers[i];

		unknown += thread == 0;
		for (uint64_t number = THREAD_AREA / 8; thread > THREAD_AREA && number > 0;
		     number--)
			remove_cached(walker, machine_storage_word(thread, number - 1));
	}
	if (unknown > 0)
		blocks_doubt(walker->blocks,
			     "jemalloc: the caches of %zu threads are not known: blocks in them, "
			     "which are free, are taken for live",
			     unknown);
}

// --- all of it ---------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *walk(struct walker *walker)
{
	struct blocks *blocks = walker->blocks;
	const struct block_mark mark = blocks_mark(blocks);

	fill_sizes(walker->sizes);
	walker->bytes = count_bytes(walker->image);
	// A leaf for each GiB that is used, once in vain, and some more.
	walker->vain = (walker->bytes / TABLE * 2 + MAX_ROOTS) * (TABLE / 8);
	HEAP_TRY(find_tree(walker, true));
	HEAP_TRY(find_tree(walker, false));
	if (!walker->root)
		return NULL;
	HEAP_TRY(add_extents(walker));
	if (!blocks_accept(blocks, mark, &walker->slabs))
		return NULL;
	HEAP_TRY(blocks_sort(blocks));
	walker->vain = 4 * (blocks->list.count + MAX_CACHED);
	remove_caches(walker);
	return NULL;
}

static void walker_deinit(struct walker *walker)
{
	windows_deinit(&walker->windows);
	heap_array_deinit(&walker->regions);
	heap_array_deinit(&walker->extents);
}

struct heap_error *blocks_find_jemalloc(struct blocks *blocks, const struct image *image,
					const struct block_threads *threads)
{
	CLEANUP(walker_deinit)
	struct walker walker = {
		.blocks = blocks,
		.image = image,
		.threads = threads,
		.slabs = { "jemalloc", "slabs", "free regions", 0, 0 },
	};

	HEAP_TRY(windows_init(&walker.windows, image));
	return walk(&walker);
}
