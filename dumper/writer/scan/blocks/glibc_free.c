// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/blocks/glibc_free.h"

#include "dumper/writer/base/machine.h"

enum {
	FAST_BINS = 10,
	THREAD_WORDS = 512, // of thread-local storage that are searched
	TCACHE_SMALL = 64,  // classes of 16 bytes each
	TCACHE_MAX_BINS = 76,
	MAX_TCACHE_CHAIN = 1 << 16,
};

struct tcache_layout {
	uint64_t chunk; // size of its own chunk, or 16 more
	unsigned bins;
	unsigned count_size; // bytes of each counter
	bool counts_free;    // 2.42: what may still be added
};

static const struct tcache_layout tcache_layouts[] = {
	{ 0x290, 64, 2, false },             // 2.30
	{ 0x300, TCACHE_MAX_BINS, 2, true }, // 2.42
	{ 0x250, 64, 1, false },             // 2.26
};

// Since 2.32 links are mangled by where they lie. It shows: the last one would be 0.
enum links {
	LINKS_UNKNOWN,
	LINKS_PLAIN,
	LINKS_MANGLED
};

static uint64_t follow(struct glibc_walker *walker, uint64_t at, enum links links)
{
	uint64_t word = glibc_peek(walker, at);

	return links == LINKS_MANGLED ? (at >> 12) ^ word : word;
}

// True if a chain of blocks has so many, all of that chunk size (0: any), and then ends.
// @param length  UINT64_MAX: any
static bool is_chain(struct glibc_walker *walker, uint64_t at, uint64_t length, uint64_t chunk,
		     enum links links)
{
	uint64_t count = 0;

	for (; at != 0 && count < length && count <= MAX_TCACHE_CHAIN; count++) {
		const struct block *block = blocks_search(walker->blocks, at);

		// A core file that was cut off may lack the rest, or the header behind this one.
		if (!block && image_is_lost(walker->image, at - 8 + chunk))
			return true;
		if (!block || (chunk && block->size + 8 != chunk))
			break;
		at = follow(walker, at, links);
	}
	if (at == 0 && (length == UINT64_MAX || count == length))
		return true;
	glibc_take_vain(&walker->vain_links, count);
	return false;
}

static void remove_chain(struct glibc_walker *walker, uint64_t at, enum links links)
{
	for (int i = 0; at != 0 && i <= MAX_TCACHE_CHAIN; i++) {
		uint64_t next = follow(walker, at, links);

		if (!blocks_remove(walker->blocks, at))
			return;
		at = next;
	}
}

struct tcache {
	uint16_t counts[TCACHE_MAX_BINS];
	uint64_t entries[TCACHE_MAX_BINS];
	bool is_empty;
};

static bool read_tcache(struct glibc_walker *walker, const struct tcache_layout *layout,
			uint64_t address, struct tcache *result)
{
	uint64_t entries = address + layout->bins * layout->count_size;

	result->is_empty = true;
	for (unsigned i = 0; i < layout->bins; i++) {
		uint64_t at = address + i * layout->count_size,
			 word = glibc_peek(walker, at & ~7ULL);

		result->counts[i] = (uint16_t)(word >> at % 8 * 8);
		if (layout->count_size == 1)
			result->counts[i] &= 0xff;
		result->entries[i] = glibc_peek(walker, entries + i * 8);
		if (result->entries[i] % 16 != 0)
			return false;
		if (result->entries[i] != 0)
			result->is_empty = false;
		if (!layout->counts_free && (result->counts[i] == 0) != (result->entries[i] == 0))
			return false;
	}
	return true;
}

// True if all chains are what the counters say.
static bool is_tcache(struct glibc_walker *walker, const struct tcache_layout *layout,
		      const struct tcache *tcache, enum links links)
{
	for (unsigned i = 0; i < layout->bins; i++) {
		uint64_t chunk = i < TCACHE_SMALL ? GLIBC_MIN_CHUNK + 16 * (uint64_t)i : 0;
		uint64_t length = layout->counts_free ? UINT64_MAX : tcache->counts[i];

		if (walker->vain_links == 0)
			return false;
		if (tcache->entries[i] != 0 &&
		    !is_chain(walker, tcache->entries[i], length, chunk, links))
			return false;
	}
	return true;
}

// Removes a thread's cache, and what it holds, if the block is one.
HEAP_MUST_CHECK
static struct heap_error *remove_tcache(struct glibc_walker *walker,
					const struct tcache_layout *layout, uint64_t address,
					bool may_be_empty)
{
	struct tcache tcache;
	enum links links = LINKS_UNKNOWN;

	if (!read_tcache(walker, layout, address, &tcache) || (tcache.is_empty && !may_be_empty))
		return NULL;
	if (is_tcache(walker, layout, &tcache, LINKS_MANGLED))
		links = LINKS_MANGLED;
	else if (is_tcache(walker, layout, &tcache, LINKS_PLAIN))
		links = LINKS_PLAIN;
	else
		return NULL;
	for (unsigned i = 0; i < layout->bins; i++)
		remove_chain(walker, tcache.entries[i], links);
	blocks_remove(walker->blocks, address);
	return heap_array_append(&walker->tcaches, address);
}

static bool may_be_tcache(const struct tcache_layout *layout, const struct block *block)
{
	return block->size + 8 == layout->chunk || block->size + 8 == layout->chunk + 16;
}

// Caches are blocks themselves. Those of threads that have ended may be left over.
HEAP_MUST_CHECK
static struct heap_error *remove_tcaches(struct glibc_walker *walker,
					 const struct tcache_layout *layout)
{
	for (size_t i = 0; i < walker->blocks->list.count; i++) {
		const struct block *block = &walker->blocks->list.items[i];

		if (may_be_tcache(layout, block))
			HEAP_TRY(remove_tcache(walker, layout, block->address, false));
	}
	return NULL;
}

static bool is_known_tcache(const struct glibc_walker *walker, uint64_t address)
{
	for (size_t i = 0; i < walker->tcaches.count; i++) {
		if (walker->tcaches.items[i] == address)
			return true;
	}
	return false;
}

// A word of a thread's storage, by number; 0 if there is none.
static uint64_t peek_storage(struct glibc_walker *walker, size_t thread, uint64_t number)
{
	uint64_t address = machine_storage_word(walker->threads->pointers[thread], number);

	return address ? glibc_peek(walker, address) : 0;
}

// True if all threads have a cache, or none yet, in the same word of their storage.
static bool is_tcache_slot(struct glibc_walker *walker, const struct tcache_layout *layout,
			   uint64_t number)
{
	bool found = false;

	for (size_t i = 0; i < walker->threads->count; i++) {
		uint64_t word = peek_storage(walker, i, number);
		const struct block *block = word ? blocks_search(walker->blocks, word) : NULL;

		if (word == 0 || is_known_tcache(walker, word))
			continue;
		if (!block || !may_be_tcache(layout, block))
			return false;
		found = true;
	}
	return found;
}

// Finds the words that may be such a slot. Thread by thread, since a thread's words are read at once: with 5,000
// threads, word by word took ten seconds.
static void find_tcache_slots(struct glibc_walker *walker, const struct tcache_layout *layout,
			      bool may_be[THREAD_WORDS])
{
	bool is_found[THREAD_WORDS] = { false };

	for (size_t i = 0; i < THREAD_WORDS; i++)
		may_be[i] = true;
	for (size_t i = 0; i < walker->threads->count; i++) {
		for (uint64_t number = 0; number < THREAD_WORDS; number++) {
			uint64_t word = may_be[number] ? peek_storage(walker, i, number) : 0;
			const struct block *block =
				word ? blocks_search(walker->blocks, word) : NULL;

			if (word == 0 || is_known_tcache(walker, word))
				continue;
			if (block && may_be_tcache(layout, block))
				is_found[number] = true;
			else
				may_be[number] = false;
		}
	}
	for (size_t i = 0; i < THREAD_WORDS; i++)
		may_be[i] &= is_found[i];
}

// An empty cache may be any block of zeros, but for the pointers to it in threads' storage.
HEAP_MUST_CHECK
static struct heap_error *remove_empty_tcaches(struct glibc_walker *walker,
					       const struct tcache_layout *layout)
{
	bool may_be[THREAD_WORDS];

	find_tcache_slots(walker, layout, may_be);
	for (uint64_t number = 0; number < THREAD_WORDS; number++) {
		if (!may_be[number] || !is_tcache_slot(walker, layout, number))
			continue;
		for (size_t i = 0; i < walker->threads->count; i++) {
			uint64_t word = peek_storage(walker, i, number);

			if (word && blocks_search(walker->blocks, word))
				HEAP_TRY(remove_tcache(walker, layout, word, true));
		}
	}
	return NULL;
}

struct heap_error *glibc_remove_tcaches(struct glibc_walker *walker)
{
	const size_t count = sizeof(tcache_layouts) / sizeof(tcache_layouts[0]);
	size_t found = 0;

	walker->vain_links = 4 * (walker->blocks->list.count + MAX_TCACHE_CHAIN);
	while (found < count && walker->tcaches.count == 0)
		HEAP_TRY(remove_tcaches(walker, &tcache_layouts[found++]));
	for (size_t i = 0; i < count; i++) {
		if (walker->tcaches.count == 0 || i + 1 == found)
			HEAP_TRY(remove_empty_tcaches(walker, &tcache_layouts[i]));
	}
	return NULL;
}

// A chain that something has overwritten leads nowhere; what it leads to up to there is free.
static void remove_fast_bin(struct glibc_walker *walker, uint64_t chunk, enum links links)
{
	while (chunk != 0 && blocks_remove(walker->blocks, chunk + 16))
		chunk = follow(walker, chunk + 16, links);
}

// The end of one chain tells how all are linked.
static enum links find_links(struct glibc_walker *walker, uint64_t chunk)
{
	uint64_t at = chunk + 16, word = glibc_peek(walker, at), other = (at >> 12) ^ word;

	if (word == 0 || (word % 16 == 0 && blocks_search(walker->blocks, word + 16)))
		return LINKS_PLAIN;
	return other == 0 || (other % 16 == 0 && blocks_search(walker->blocks, other + 16))
		       ? LINKS_MANGLED
		       : LINKS_UNKNOWN;
}

void glibc_remove_fast_bins(struct glibc_walker *walker, const struct glibc_state *state,
			    uint64_t arena)
{
	uint64_t bins = arena + state->layout->bins - 96;

	for (int i = 0; i < FAST_BINS; i++) {
		uint64_t chunk = glibc_peek(walker, bins + (uint64_t)i * 8);

		if (chunk != 0 && chunk % 16 == 0)
			remove_fast_bin(walker, chunk, find_links(walker, chunk));
	}
}
