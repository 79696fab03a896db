// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * glibc's malloc, 2.17 to 2.43, on 64 bits: malloc/malloc.c and malloc/arena.c.
 *
 *	writable data of libc ──▶ bins[] of the first arena: 127 rings, most of which are empty
 *	first arena ──next──▶ further arenas ──top──▶ their heaps ──prev──▶ ...
 *	heap: chunk chunk chunk ... top      a chunk is in use if the next chunk says so, and
 *	                                     neither a fast bin nor a thread's cache holds it
 *
 * Layouts differ between versions, and distributions apply patches. So the layout is told by the
 * structures themselves, and not by a version number.
 */
#include "dumper/writer/base/machine.h"
#include "dumper/writer/scan/blocks.h"
#include "dumper/writer/scan/window.h"
#include "lib/base/search.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	PAGE = 4096,
	BINS = 127,           // rings
	BINS_BYTES = 254 * 8, // two words each
	FAST_BINS = 10,
	MAX_STATES = 4,             // copies of libc in one process: dlmopen(3), static ones
	MAX_VAIN_BINS = 64,         // rings that look like bins, and belong to no arena
	MAX_ARENAS = 8192,          // more than 8 per processor there never are
	MAX_HEAPS = 1 << 16,        // of all arenas
	MAX_STATE_BYTES = 64 << 20, // of a module's data, that arenas are searched in
	MIN_CHUNK = 32,
	FENCE = 16, // size of a header that ends a piece of the heap
	PREV_INUSE = 1,
	IS_MMAPPED = 2,
	NON_MAIN_ARENA = 4,
	FLAGS = 7,
	MAX_ALIGNMENT_LOG = 30,
	THREAD_WORDS = 512, // of thread-local storage that are searched
	TCACHE_SMALL = 64,  // classes of 16 bytes each
	TCACHE_MAX_BINS = 76,
	MAX_TCACHE_CHAIN = 1 << 16,
	LARGEST_HEAP_LOG = 26, // of an arena's heaps; smaller ones are made for huge pages
	LEAST_HEAP_LOG = 20,
};

// Offsets from bins[], which differ by what lies before it.
struct layout {
	uint64_t bins;      // from the beginning of the arena
	bool has_fast_bins; // 96 before bins[], until 2.42
	bool counts_mapped; // 2.43: the size of a mapped chunk is that of its block
};

static const struct layout layouts[] = {
	{ 0x70, true, false }, // 2.27
	{ 0x68, true, false }, // until 2.26
	{ 0x18, false, true }, // 2.43
};

// Members of struct malloc_par, mp_.
struct parameters {
	uint64_t max_count_at; // u32 n_mmaps_max
	uint64_t count_at;     // u32 n_mmaps
	uint64_t bytes_at;     // mmapped_mem
	uint64_t base_at;      // sbrk_base
	uint64_t other_base_at;
};

static const struct parameters parameter_layouts[] = {
	{ 44, 40, 56, 72, 80 },   // until 2.34; until 2.23, the base is one word further
	{ 64, 60, 80, 96, 96 },   // 2.35
	{ 72, 68, 88, 104, 104 }, // 2.43
};

// A copy of libc.
struct state {
	const struct layout *layout;
	uint64_t bins; // address of bins[] of its first arena
	bool has_parameters;
	uint64_t mapped_count, mapped_bytes;
	uint64_t base; // where its heap by brk(2) begins; 0: not known
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

struct span {
	uint64_t start, end;
};

struct walker {
	struct blocks *blocks;
	const struct image *image;
	const struct block_threads *threads;
	struct windows windows;
	struct state states[MAX_STATES];
	size_t state_count;
	struct HEAP_ARRAY(struct span) claimed; // heaps of arenas and of the first arena
	struct HEAP_ARRAY(uint64_t) arenas;
	struct HEAP_ARRAY(uint64_t) tcaches; // those that have been found
	uint64_t vain_bins, vain_end;        // how many, and where the last of them ends
	size_t heap_count;
	// Steps that may still lead nowhere: a walk goes on for a while where memory is damaged, but a
	// hostile process must not have each byte walked from all others.
	uint64_t vain_chunks, vain_links;
	bool is_damaged;
};

// --- the first arena ------------------------------------------------------------

static uint64_t peek(struct walker *walker, uint64_t address)
{
	return window_peek(&walker->windows.near, address);
}

// True if a ring goes through a pair of words; an empty one points to itself. Chunks have their
// links at 16, and the pair stands for a chunk that begins 16 bytes before it.
static bool is_ring(struct walker *walker, uint64_t pair)
{
	uint64_t head = pair - 16;
	uint64_t next = peek(walker, pair), last = peek(walker, pair + 8);

	if (next == head && last == head)
		return true;
	return next % 16 == 0 && next >= PAGE && peek(walker, next + 24) == head &&
	       peek(walker, last + 16) == head;
}

// Goes from an empty ring to the first of them all. @return 0 if they are none of glibc's
static uint64_t find_bins(struct walker *walker, uint64_t pair)
{
	uint64_t first = pair, behind = pair + 16;

	while (behind - first <= 2 * BINS_BYTES && is_ring(walker, first - 16))
		first -= 16;
	while (behind - first <= 2 * BINS_BYTES && is_ring(walker, behind))
		behind += 16;
	return behind - first == BINS_BYTES ? first : 0;
}

static uint64_t next_arena(struct walker *walker, const struct layout *layout, uint64_t arena)
{
	return peek(walker, arena + layout->bins + BINS_BYTES + 16);
}

// Arenas are a ring, too. That of the right layout leads back.
static const struct layout *find_layout(struct walker *walker, uint64_t bins)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		uint64_t first = bins - layouts[i].bins, arena = first;

		for (int n = 0; n < MAX_ARENAS && arena != 0; n++) {
			arena = next_arena(walker, &layouts[i], arena);
			if (arena == first)
				return &layouts[i];
		}
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_states_in(void *context, uint64_t address, const uint64_t *words,
					 size_t count)
{
	struct walker *walker = context;

	for (size_t i = 0; i + 1 < count; i++) {
		uint64_t pair = address + i * 8;

		if (words[i] != pair - 16 || words[i + 1] != pair - 16 || pair < walker->vain_end ||
		    walker->state_count == MAX_STATES || walker->vain_bins == MAX_VAIN_BINS)
			continue;

		const struct state *last =
			walker->state_count > 0 ? &walker->states[walker->state_count - 1] : NULL;

		if (last && pair >= last->bins && pair - last->bins < BINS_BYTES)
			continue;

		uint64_t bins = find_bins(walker, pair);
		const struct layout *layout = bins ? find_layout(walker, bins) : NULL;

		if (layout) {
			walker->states[walker->state_count++] =
				(struct state){ .layout = layout, .bins = bins };
		} else if (bins) {
			walker->vain_bins++;
			walker->vain_end = bins + BINS_BYTES;
		}
	}
	return NULL;
}

static bool is_writable(const struct image_mapping *mapping)
{
	return !mapping->shared && (mapping->protection & PROT_READ) &&
	       (mapping->protection & PROT_WRITE);
}

// Calls a visitor for the words of all modules' data, and of the zeros behind it.
HEAP_MUST_CHECK
static struct heap_error *visit_data(struct walker *walker, image_visitor *visit)
{
	const struct image *image = walker->image;
	uint64_t end = 0; // of the data before

	for (size_t i = 0; i < image->mapping_count; i++) {
		const struct image_mapping *mapping = &image->mappings[i];
		bool is_data = mapping->kind == IMAGE_FILE ||
			       (mapping->kind == IMAGE_ANONYMOUS && mapping->start == end);

		if (!is_data || !is_writable(mapping) ||
		    mapping->end - mapping->start > MAX_STATE_BYTES) {
			// Data that is read-only after relocation lies between.
			end = mapping->kind == IMAGE_FILE ? mapping->end : 0;
			continue;
		}
		end = mapping->end;
		HEAP_TRY(image_visit(image, mapping->start, mapping->end, visit, walker));
	}
	return NULL;
}

// --- its parameters -----------------------------------------------------------------

// Where tunables were set, these do not hold.
static const struct parameters *match_parameters(struct walker *walker, uint64_t address)
{
	uint64_t trim = peek(walker, address), mapping_from = peek(walker, address + 16);
	uint64_t arena_test = peek(walker, address + 24);

	if (trim < 0x20000 || mapping_from > 32 << 20 || arena_test < 1 || arena_test > 64)
		return NULL;
	for (size_t i = 0; i < sizeof(parameter_layouts) / sizeof(parameter_layouts[0]); i++) {
		const struct parameters *layout = &parameter_layouts[i];
		uint64_t word = peek(walker, address + layout->max_count_at / 8 * 8);

		if ((layout->max_count_at % 8 ? word >> 32 : word & UINT32_MAX) == 65536)
			return layout;
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_parameters_in(void *context, uint64_t address, const uint64_t *words,
					     size_t count)
{
	struct walker *walker = context;

	for (size_t i = 0; i < count; i++) {
		const uint64_t at = address + i * 8 - 8; // top_pad is its second word
		const struct parameters *layout =
			words[i] == 0x20000 ? match_parameters(walker, at) : NULL;

		if (!layout)
			continue;
		// A copy's parameters lie near its arena: in the same data.
		for (size_t j = 0; j < walker->state_count; j++) {
			struct state *state = &walker->states[j];
			uint64_t distance = at > state->bins ? at - state->bins : state->bins - at;
			uint64_t word = peek(walker, at + layout->count_at / 8 * 8);

			if (state->has_parameters || distance > 1 << 20)
				continue;
			state->has_parameters = true;
			state->mapped_count = layout->count_at % 8 ? word >> 32 : word & UINT32_MAX;
			state->mapped_bytes = peek(walker, at + layout->bytes_at);
			state->base = peek(walker, at + layout->base_at);
			if (state->base == 0)
				state->base = peek(walker, at + layout->other_base_at);
		}
	}
	return NULL;
}

// --- chunks ---------------------------------------------------------------------

enum ending {
	ENDS_AT_TOP,   // of the arena
	ENDS_AT_FENCE, // headers that glibc puts where a piece ends
	ENDS_IN_ZEROS, // likewise, at the end of a heap
	ENDS_BROKEN,
};

struct walk {
	uint64_t start, limit;
	uint64_t top;
	uint64_t end; // where it ended
};

HEAP_MUST_CHECK
static struct heap_error *end_walk(struct walker *walker, struct walk *walk, uint64_t at,
				   uint64_t before, uint64_t size, uint64_t word)
{
	walk->end = at;
	return size && (word & PREV_INUSE) ? blocks_add(walker->blocks, before + 16, size - 8)
					   : NULL;
}

// Walks from chunk to chunk, and adds those that are in use.
HEAP_MUST_CHECK
static struct heap_error *walk_chunks(struct walker *walker, struct walk *walk, enum ending *ending)
{
	uint64_t at = walk->start, before = 0, before_size = 0;

	*ending = ENDS_BROKEN;
	for (;;) {
		uint64_t word, size;

		if (at >= walk->limit || !window_word(&walker->windows.far, at + 8, &word))
			break;
		size = word & ~(uint64_t)FLAGS;
		if (at == walk->top) {
			*ending = ENDS_AT_TOP;
			return end_walk(walker, walk, at, before, before_size, word);
		}
		if (size == FENCE) {
			*ending = ENDS_AT_FENCE;
			return end_walk(walker, walk, at, before, before_size, word);
		}
		// The last header of a heap is 0; the one before it has the least size.
		if (size == 0 && before_size == MIN_CHUNK) {
			*ending = ENDS_IN_ZEROS;
			walk->end = at;
			return NULL;
		}
		if ((word & IS_MMAPPED) || size < MIN_CHUNK || size % 16 != 0 ||
		    size > walk->limit - at)
			break;
		if (before_size && (word & PREV_INUSE))
			HEAP_TRY(blocks_add(walker->blocks, before + 16, before_size - 8));
		before = at;
		before_size = size;
		at += size;
	}
	walk->end = at;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *claim(struct walker *walker, uint64_t start, uint64_t end)
{
	return heap_array_append(&walker->claimed, (struct span){ start, end });
}

static void doubt_chunk(struct walker *walker, uint64_t address)
{
	if (!walker->is_damaged)
		blocks_doubt(walker->blocks, "glibc's heap is damaged at %#" PRIx64, address);
	walker->is_damaged = true;
}

// True if a span overlaps one that has been claimed. Without this, a ring of heaps would be walked
// for ever.
static bool is_claimed(const struct walker *walker, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < walker->claimed.count; i++) {
		const struct span *span = &walker->claimed.items[i];

		if (start < span->end && span->start < end)
			return true;
	}
	return false;
}

// --- arenas but the first -------------------------------------------------------

// Where the heap begins that holds an address: its first word leads to its arena.
static uint64_t find_heap(struct walker *walker, uint64_t arena, uint64_t address)
{
	for (int log = LARGEST_HEAP_LOG; log >= LEAST_HEAP_LOG; log--) {
		uint64_t heap = address & ~((UINT64_C(1) << log) - 1);

		if (peek(walker, heap) == arena)
			return heap;
	}
	return 0;
}

HEAP_MUST_CHECK
static struct heap_error *walk_heap(struct walker *walker, uint64_t heap, uint64_t first,
				    uint64_t top)
{
	uint64_t size = peek(walker, heap + 16);
	struct walk walk = { .start = (first + 15) & ~UINT64_C(15),
			     .limit = heap + size,
			     .top = top };
	enum ending ending;

	if (size > UINT64_C(1) << LARGEST_HEAP_LOG || size < PAGE || heap > UINT64_MAX - size)
		return NULL;
	HEAP_TRY(claim(walker, heap, heap + size));
	HEAP_TRY(walk_chunks(walker, &walk, &ending));
	if (ending == ENDS_BROKEN)
		doubt_chunk(walker, walk.end);
	return blocks_end_run(walker->blocks);
}

static uint64_t system_bytes(struct walker *walker, uint64_t bins)
{
	uint64_t threads = bins + BINS_BYTES + 32;
	uint64_t word = peek(walker, threads);

	// Until 2.22 there is no number of threads before it.
	return word >= PAGE ? word : peek(walker, threads + 8);
}

HEAP_MUST_CHECK
static struct heap_error *walk_arena(struct walker *walker, const struct layout *layout,
				     uint64_t arena)
{
	uint64_t top = peek(walker, arena + layout->bins - 16);
	uint64_t own = find_heap(walker, arena, arena);
	uint64_t header = arena - own; // of a heap: 0x20, since 2.35 0x30
	uint64_t arena_size = layout->bins + BINS_BYTES + 64, sum = 0;
	uint64_t heap = find_heap(walker, arena, top);

	if (own == 0 || header > 0x100) {
		doubt_chunk(walker, arena);
		return NULL;
	}
	for (; heap != 0 && peek(walker, heap) == arena; walker->heap_count++) {
		uint64_t size = peek(walker, heap + 16);

		if (walker->heap_count == MAX_HEAPS || is_claimed(walker, heap, heap + size))
			break;
		sum += size;
		HEAP_TRY(walk_heap(walker, heap, heap == own ? arena + arena_size : heap + header,
				   top));
		heap = peek(walker, heap + 8);
	}
	if (sum != system_bytes(walker, arena + layout->bins))
		blocks_doubt(walker->blocks,
			     "glibc's arena %#" PRIx64 " has %" PRIu64
			     " bytes by its own word, %" PRIu64 " in its heaps",
			     arena, system_bytes(walker, arena + layout->bins), sum);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *walk_arenas(struct walker *walker, const struct state *state)
{
	uint64_t first = state->bins - state->layout->bins;
	uint64_t arena = first;

	for (int i = 0; i < MAX_ARENAS; i++) {
		HEAP_TRY(heap_array_append(&walker->arenas, arena));
		arena = next_arena(walker, state->layout, arena);
		if (arena == first || arena == 0)
			return NULL;
		HEAP_TRY(walk_arena(walker, state->layout, arena));
	}
	return NULL;
}

// --- the first arena's heap, by brk(2) ---------------------------------------------

// Where writable memory ends that goes on from an address.
static uint64_t end_of_memory(const struct image *image, uint64_t address)
{
	const struct image_mapping *mapping = image_find(image, address);
	const struct image_mapping *last = image->mappings + image->mapping_count;

	if (!mapping || !is_writable(mapping))
		return address;
	while (mapping + 1 < last && mapping[1].start == mapping->end && is_writable(mapping + 1))
		mapping++;
	return mapping->end;
}

static bool is_double_fence(struct walker *walker, uint64_t at)
{
	return (peek(walker, at + 24) & ~(uint64_t)FLAGS) == FENCE;
}

// @param left  gets less. @return false if there is no more
static bool take_vain(uint64_t *left, uint64_t steps)
{
	*left -= steps < *left ? steps : *left;
	return *left > 0;
}

// Finds where the heap goes on behind memory that the program has taken from the kernel itself, or
// behind damage: at the first header from which chunks lead to the top, or to a double fence.
HEAP_MUST_CHECK
static struct heap_error *walk_next_piece(struct walker *walker, struct walk *walk,
					  enum ending *ending)
{
	struct blocks *blocks = walker->blocks;
	uint64_t until = walk->start; // where memory ends that may hold something

	*ending = ENDS_BROKEN;
	for (uint64_t at = walk->start; at + MIN_CHUNK <= walk->limit; at += 16) {
		size_t count = blocks->list.count;
		uint64_t word;

		if (at >= until) {
			at = image_skip_untouched(walker->image, at, walk->limit, &until);
			if (at == walk->limit)
				return NULL;
		}
		walk->start = at;
		if (!window_word(&walker->windows.near, at + 8, &word) ||
		    (word & FLAGS) != PREV_INUSE ||
		    (at != walk->top && (word & ~(uint64_t)FLAGS) < MIN_CHUNK))
			continue;
		HEAP_TRY(walk_chunks(walker, walk, ending));
		if (*ending == ENDS_AT_TOP ||
		    (*ending == ENDS_AT_FENCE && is_double_fence(walker, walk->end)))
			return NULL;
		blocks->list.count = count;
		*ending = ENDS_BROKEN;
		if (!take_vain(&walker->vain_chunks, walk->end - at))
			return NULL;
	}
	return NULL;
}

// @param reached  set to true if the top was found
// @param sum      gets the bytes of the pieces
HEAP_MUST_CHECK
static struct heap_error *walk_main(struct walker *walker, const struct state *state, bool *reached,
				    uint64_t *sum)
{
	uint64_t top = peek(walker, state->bins - 16);
	struct walk walk = {
		.start = (state->base + 15) & ~UINT64_C(15),
		.limit = end_of_memory(walker->image, state->base),
		.top = top,
	};
	enum ending ending;

	*reached = false;
	if (state->base == 0 || walk.limit <= walk.start)
		return NULL;
	HEAP_TRY(walk_chunks(walker, &walk, &ending));
	for (;;) {
		HEAP_TRY(claim(walker, walk.start, walk.end));
		HEAP_TRY(blocks_end_run(walker->blocks));
		// Memory that the program has taken itself counts, too.
		*sum = walk.end - state->base + (ending == ENDS_AT_FENCE ? 2 * FENCE : 0);
		if (ending == ENDS_AT_TOP) {
			uint64_t size = peek(walker, top + 8) & ~(uint64_t)FLAGS;

			*sum += size;
			*reached = true;
			return claim(walker, top, top + size);
		}
		if (ending != ENDS_AT_FENCE)
			doubt_chunk(walker, walk.end);
		walk.start = walk.end + (ending == ENDS_AT_FENCE ? 2 * FENCE : 16);
		HEAP_TRY(walk_next_piece(walker, &walk, &ending));
		if (ending == ENDS_BROKEN)
			return NULL;
	}
}

// --- memory that was mapped ------------------------------------------------------

struct mapped {
	struct walker *walker;
	const struct state *state;
	uint64_t wanted, wanted_bytes; // chunks that are left to be found
	uint64_t wanted_heap;          // bytes of the first arena's that are
	bool wants_top;
};

// The end of a mapped chunk, which is that of a page; 0: it is none.
static uint64_t end_of_mapped(struct walker *walker, uint64_t at, uint64_t limit, bool counts)
{
	uint64_t word = peek(walker, at + 8), size = word & ~(uint64_t)FLAGS;
	uint64_t end = at + size + (counts ? 16 : 0);

	return (word & FLAGS) == IS_MMAPPED && size >= MIN_CHUNK && size <= limit - at &&
			       end <= limit && end % PAGE == 0
		       ? end
		       : 0;
}

// The aligned chunk within mapped memory: it says how far it is from the start. 0: there is none.
static uint64_t find_aligned(struct walker *walker, uint64_t start, uint64_t limit, bool counts)
{
	for (int log = 5; log <= MAX_ALIGNMENT_LOG; log++) {
		uint64_t alignment = UINT64_C(1) << log;
		uint64_t lead = ((start + 16 + alignment - 1) & ~(alignment - 1)) - 16 - start;

		for (int i = 0; i < 2; i++, lead += alignment) {
			uint64_t at = start + lead;

			if (lead != 0 && at + MIN_CHUNK <= limit &&
			    (peek(walker, at) & ~(uint64_t)counts) == lead &&
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
static struct heap_error *add_mapped_chunk(struct mapped *mapped, uint64_t page, uint64_t limit,
					   uint64_t *end)
{
	struct walker *walker = mapped->walker;
	bool counts = mapped->state->layout->counts_mapped;
	uint64_t before = peek(walker, page), chunk, bytes;

	*end = 0;
	if ((before & ~(uint64_t)counts) != 0 || (peek(walker, page + 8) & FLAGS) != IS_MMAPPED)
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
static struct heap_error *add_mapped_heap(struct mapped *mapped, uint64_t page, uint64_t limit,
					  uint64_t *end)
{
	struct walker *walker = mapped->walker;
	struct walk walk = { .start = page, .limit = limit };
	size_t count = walker->blocks->list.count;
	uint64_t word = peek(walker, page + 8);
	enum ending ending;

	*end = 0;
	walk.top = peek(walker, mapped->state->bins - 16);
	if (walker->vain_chunks == 0 || (word & 0xf) != PREV_INUSE ||
	    (word < MIN_CHUNK && page != walk.top))
		return NULL;
	HEAP_TRY(walk_chunks(walker, &walk, &ending));
	if (ending == ENDS_AT_TOP)
		*end = walk.end + (peek(walker, walk.end + 8) & ~(uint64_t)FLAGS);
	else if (ending == ENDS_AT_FENCE && is_double_fence(walker, walk.end) &&
		 (walk.end + 2 * FENCE) % PAGE == 0)
		*end = walk.end + 2 * FENCE;
	if (*end <= page || *end > limit) {
		*end = 0;
		walker->blocks->list.count = count;
		take_vain(&walker->vain_chunks, walk.end - page);
		return NULL;
	}
	mapped->wants_top &= ending != ENDS_AT_TOP;
	mapped->wanted_heap -=
		*end - page < mapped->wanted_heap ? *end - page : mapped->wanted_heap;
	return NULL;
}

// The end of the claimed span that holds an address, or 0. They are sorted, and do not overlap.
static uint64_t claimed_until(const struct walker *walker, uint64_t address)
{
	const struct span *spans = walker->claimed.items;
	size_t at =
		heap_partition_point(i, (size_t)0, walker->claimed.count, spans[i].end <= address);

	return at < walker->claimed.count && spans[at].start <= address ? spans[at].end : 0;
}

static bool is_done(const struct mapped *mapped)
{
	return mapped->state->has_parameters && mapped->wanted == 0 && mapped->wanted_heap == 0 &&
	       !mapped->wants_top;
}

HEAP_MUST_CHECK
static struct heap_error *search_pages(struct mapped *mapped, uint64_t start, uint64_t limit)
{
	struct walker *walker = mapped->walker;
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

		if ((word & FLAGS) == IS_MMAPPED)
			HEAP_TRY(add_mapped_chunk(mapped, page, limit, &end));
		else if ((word & FLAGS) == PREV_INUSE &&
			 (mapped->wants_top || mapped->wanted_heap > 0))
			HEAP_TRY(add_mapped_heap(mapped, page, limit, &end));
		window = end ? &walker->windows.near : &walker->windows.far;
		page = end > page ? (end + PAGE - 1) & ~(uint64_t)(PAGE - 1) : page + PAGE;
	}
	return blocks_end_run(walker->blocks);
}

static int compare_spans(const void *left, const void *right)
{
	const struct span *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

// Sorts the claimed spans, and puts together those that overlap.
static void sort_claimed(struct walker *walker)
{
	struct span *spans = walker->claimed.items;
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

// Nothing lists mapped chunks: each begins a page of memory that nobody has claimed.
HEAP_MUST_CHECK
static struct heap_error *search_mapped(struct mapped *mapped)
{
	const struct image *image = mapped->walker->image;

	sort_claimed(mapped->walker);
	for (size_t i = 0; i < image->mapping_count && !is_done(mapped);) {
		const struct image_mapping *mapping = &image->mappings[i++];
		uint64_t end = mapping->end;

		if (!is_writable(mapping) || mapping->kind != IMAGE_ANONYMOUS)
			continue;
		while (i < image->mapping_count && image->mappings[i].start == end &&
		       is_writable(&image->mappings[i]) &&
		       image->mappings[i].kind == IMAGE_ANONYMOUS)
			end = image->mappings[i++].end;
		HEAP_TRY(search_pages(mapped, mapping->start, end));
	}
	if (mapped->state->has_parameters && (mapped->wanted > 0 || mapped->wanted_bytes > 0))
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

// --- what is free although it is marked as in use ---------------------------------

// Since 2.32 links are mangled by where they lie. It shows: the last one would be 0.
enum links {
	LINKS_UNKNOWN,
	LINKS_PLAIN,
	LINKS_MANGLED
};

static uint64_t follow(struct walker *walker, uint64_t at, enum links links)
{
	uint64_t word = peek(walker, at);

	return links == LINKS_MANGLED ? (at >> 12) ^ word : word;
}

// True if a chain of blocks has so many, all of that chunk size (0: any), and then ends.
// @param length  UINT64_MAX: any
static bool is_chain(struct walker *walker, uint64_t at, uint64_t length, uint64_t chunk,
		     enum links links)
{
	uint64_t count = 0;

	for (; at != 0 && count < length && count <= MAX_TCACHE_CHAIN; count++) {
		const struct block *block = blocks_search(walker->blocks, at);

		if (!block || (chunk && block->size + 8 != chunk))
			break;
		at = follow(walker, at, links);
	}
	if (at == 0 && (length == UINT64_MAX || count == length))
		return true;
	take_vain(&walker->vain_links, count);
	return false;
}

static void remove_chain(struct walker *walker, uint64_t at, enum links links)
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

static bool read_tcache(struct walker *walker, const struct tcache_layout *layout, uint64_t address,
			struct tcache *result)
{
	uint64_t entries = address + layout->bins * layout->count_size;

	result->is_empty = true;
	for (unsigned i = 0; i < layout->bins; i++) {
		uint64_t at = address + i * layout->count_size, word = peek(walker, at & ~7ULL);

		result->counts[i] = (uint16_t)(word >> at % 8 * 8);
		if (layout->count_size == 1)
			result->counts[i] &= 0xff;
		result->entries[i] = peek(walker, entries + i * 8);
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
static bool is_tcache(struct walker *walker, const struct tcache_layout *layout,
		      const struct tcache *tcache, enum links links)
{
	for (unsigned i = 0; i < layout->bins; i++) {
		uint64_t chunk = i < TCACHE_SMALL ? MIN_CHUNK + 16 * (uint64_t)i : 0;
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
static struct heap_error *remove_tcache(struct walker *walker, const struct tcache_layout *layout,
					uint64_t address, bool may_be_empty)
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
static struct heap_error *remove_tcaches(struct walker *walker, const struct tcache_layout *layout)
{
	for (size_t i = 0; i < walker->blocks->list.count; i++) {
		const struct block *block = &walker->blocks->list.items[i];

		if (may_be_tcache(layout, block))
			HEAP_TRY(remove_tcache(walker, layout, block->address, false));
	}
	return NULL;
}

static bool is_known_tcache(const struct walker *walker, uint64_t address)
{
	for (size_t i = 0; i < walker->tcaches.count; i++) {
		if (walker->tcaches.items[i] == address)
			return true;
	}
	return false;
}

// A word of a thread's storage, by number; 0 if there is none.
static uint64_t peek_storage(struct walker *walker, size_t thread, uint64_t number)
{
	uint64_t address = machine_storage_word(walker->threads->pointers[thread], number);

	return address ? peek(walker, address) : 0;
}

// True if all threads have a cache, or none yet, in the same word of their storage.
static bool is_tcache_slot(struct walker *walker, const struct tcache_layout *layout,
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

// An empty cache may be any block of zeros, but for the pointers to it in threads' storage.
HEAP_MUST_CHECK
static struct heap_error *remove_empty_tcaches(struct walker *walker,
					       const struct tcache_layout *layout)
{
	for (uint64_t number = 0; number < THREAD_WORDS; number++) {
		if (!is_tcache_slot(walker, layout, number))
			continue;
		for (size_t i = 0; i < walker->threads->count; i++) {
			uint64_t word = peek_storage(walker, i, number);

			if (word && blocks_search(walker->blocks, word))
				HEAP_TRY(remove_tcache(walker, layout, word, true));
		}
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *remove_all_tcaches(struct walker *walker)
{
	const size_t count = sizeof(tcache_layouts) / sizeof(tcache_layouts[0]);
	size_t found = 0;

	while (found < count && walker->tcaches.count == 0)
		HEAP_TRY(remove_tcaches(walker, &tcache_layouts[found++]));
	for (size_t i = 0; i < count; i++) {
		if (walker->tcaches.count == 0 || i + 1 == found)
			HEAP_TRY(remove_empty_tcaches(walker, &tcache_layouts[i]));
	}
	return NULL;
}

// A chain that something has overwritten leads nowhere; what it leads to up to there is free.
static void remove_fast_bin(struct walker *walker, uint64_t chunk, enum links links)
{
	while (chunk != 0 && blocks_remove(walker->blocks, chunk + 16))
		chunk = follow(walker, chunk + 16, links);
}

// The end of one chain tells how all are linked.
static enum links find_links(struct walker *walker, uint64_t chunk)
{
	uint64_t at = chunk + 16, word = peek(walker, at), other = (at >> 12) ^ word;

	if (word == 0 || (word % 16 == 0 && blocks_search(walker->blocks, word + 16)))
		return LINKS_PLAIN;
	return other == 0 || (other % 16 == 0 && blocks_search(walker->blocks, other + 16))
		       ? LINKS_MANGLED
		       : LINKS_UNKNOWN;
}

static void remove_fast_bins(struct walker *walker, const struct state *state, uint64_t arena)
{
	uint64_t bins = arena + state->layout->bins - 96;

	for (int i = 0; i < FAST_BINS; i++) {
		uint64_t chunk = peek(walker, bins + (uint64_t)i * 8);

		if (chunk != 0 && chunk % 16 == 0)
			remove_fast_bin(walker, chunk, find_links(walker, chunk));
	}
}

// --- all of it ---------------------------------------------------------------------

// Bytes of memory that chunks may lie in.
static uint64_t writable_bytes(const struct image *image)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < image->mapping_count; i++) {
		if (is_writable(&image->mappings[i]))
			sum += image->mappings[i].end - image->mappings[i].start;
	}
	return sum;
}

HEAP_MUST_CHECK
static struct heap_error *walk_state(struct walker *walker, const struct state *state)
{
	uint64_t system = system_bytes(walker, state->bins), sum = 0;
	uint64_t top = peek(walker, state->bins - 16);
	struct mapped mapped = { .walker = walker, .state = state };
	bool reached;
	size_t first_arena = walker->arenas.count;

	HEAP_TRY(walk_arenas(walker, state));
	walker->vain_chunks = writable_bytes(walker->image);
	HEAP_TRY(walk_main(walker, state, &reached, &sum));
	mapped.wanted = state->mapped_count;
	mapped.wanted_bytes = state->mapped_bytes;
	// An arena that was never used has its own bins for a top.
	mapped.wants_top = !reached && system > 0 && top != state->bins - 16;
	mapped.wanted_heap = system > sum && system - sum >= PAGE ? system - sum : 0;
	HEAP_TRY(search_mapped(&mapped));
	HEAP_TRY(blocks_sort(walker->blocks));
	for (size_t i = first_arena; state->layout->has_fast_bins && i < walker->arenas.count; i++)
		remove_fast_bins(walker, state, walker->arenas.items[i]);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *walk_states(struct walker *walker)
{
	HEAP_TRY(visit_data(walker, find_states_in));
	if (walker->state_count == 0)
		return NULL;
	HEAP_TRY(visit_data(walker, find_parameters_in));
	blocks_name(walker->blocks, "glibc");
	walker->blocks->sizes = BLOCK_SIZES_GLIBC;
	for (size_t i = 0; i < walker->state_count; i++) {
		struct state *state = &walker->states[i];

		for (size_t j = 0; state->base == 0 && j < walker->image->mapping_count; j++) {
			if (walker->image->mappings[j].kind == IMAGE_HEAP)
				state->base = walker->image->mappings[j].start;
		}
		HEAP_TRY(walk_state(walker, state));
	}
	walker->vain_links = 4 * (walker->blocks->list.count + MAX_TCACHE_CHAIN);
	return remove_all_tcaches(walker);
}

static void walker_deinit(struct walker *walker)
{
	windows_deinit(&walker->windows);
	heap_array_deinit(&walker->claimed);
	heap_array_deinit(&walker->arenas);
	heap_array_deinit(&walker->tcaches);
}

struct heap_error *blocks_find_glibc(struct blocks *blocks, const struct image *image,
				     const struct block_threads *threads)
{
	CLEANUP(walker_deinit)
	struct walker walker = { .blocks = blocks, .image = image, .threads = threads };

	HEAP_TRY(windows_init(&walker.windows, image));
	return walk_states(&walker);
}
