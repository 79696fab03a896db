// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Finds arenas by the headers of their chunks.
 *
 * First a few blocks of each site are tried with all formats; only blocks that several pointers lead
 * into can be arenas, so most programs have nothing to try. Then the formats that have been accepted,
 * and the starts that serve most blocks, are applied to all blocks. What is too short to prove
 * anything is an arena if most blocks of its site are.
 */
#include "dumper/writer/infer/parts/arenas.h"
#include "dumper/writer/infer/parts/arena_targets.h"
#include "dumper/writer/infer/majority.h"

#include "dumper/base/header.h"
#include "dumper/writer/base/progress.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/search.h"

#include <stdlib.h>
#include <string.h>

enum {
	MIN_BLOCK = 256,
	MAX_BLOCK = 16 << 20,   // larger ones are not cut, since all of a block is read
	MIN_TARGETS = 2,        // places in a block that pointers lead to, for formats to be tried
	SAMPLE_BLOCKS = 16,     // of a site, that all formats are tried with
	SAMPLE_WORDS = 1 << 16, // likewise, in all but the last block
	SITES_LIKE = 64,        // where no sites are known, blocks are those of so many
	SAMPLE_TARGETS = 64,    // places of a block, to see if a format is possible
	MAX_HEAD = 4096,        // bytes of a block before its first chunk
	FORMATS = 2 * (1 + 2 + 3 + 4 + 6),
	MIN_CHUNKS = 32, // and
	MIN_HITS = 16,   // pointers to where chunks begin, for a format to be accepted
	MIN_EQUAL = 128, // chunks, if all have one size
	SURE_CHUNKS = 4, // do not follow each other by chance
	STARTS = 8,      // different heads of blocks
	COUNTED_STARTS = 64,
	LEAST_ADDRESS = 1 << 16,
	SIZE_FLAGS = 7, // low bits of a size, which are flags
	WORD = 8,
};

// Where the size of a chunk is, and what it counts.
struct format {
	uint32_t header;  // bytes before a chunk
	uint32_t size_at; // bytes into the header
	bool is_whole;    // the size counts the header, too
};

// A block, and the places in it that pointers lead to.
struct cut_block {
	heap_object_id object;
	uint64_t size;
	const uint64_t *words; // [size / WORD]
	const struct arena_target *targets;
	size_t target_count;
};

// How a format serves a block.
struct chain {
	uint64_t start, end;
	uint32_t chunks;
	uint32_t hits;    // targets that are the beginnings of chunks
	uint32_t inside;  // other targets in chunks
	uint32_t headers; // targets in the middle of headers
	uint32_t beyond;  // targets behind the end
	bool has_sizes;   // of different chunks
};

struct counted_start {
	uint64_t start;
	uint32_t blocks;
};

// How a format serves the samples.
struct trial {
	struct format format;
	uint64_t chunks, hits, inside;
	uint64_t bytes; // of all of these, with headers
	bool has_sizes;
	struct counted_start starts[COUNTED_STARTS]; // those of most blocks first, once accepted
	uint32_t start_count;
};

// Blocks of a site that may be arenas, and those that are.
struct site_arenas {
	uint32_t blocks, arenas;
};

struct search {
	const struct capture *capture;
	const heap_type_id *classes; // [objects]
	struct arenas *arenas;
	struct trial trials[FORMATS];
	uint32_t accepted;     // so many of them, from the first on
	const uint8_t *counts; // [objects] see arena_targets.h
	uint64_t *words;       // of the block that is examined
	size_t word_capacity;
	uint32_t *lengths; // [words + 1] chunks from there to the end of the chain
	size_t length_capacity;
	struct site_arenas *sites; // [sites]
	bool *is_arena;            // [objects]
};

static void list_formats(struct trial *trials)
{
	static const uint32_t headers[] = { 8, 16, 24, 32, ARENA_MAX_HEADER };
	size_t count = 0;

	for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++) {
		for (uint32_t at = 0; at < headers[i]; at += WORD) {
			trials[count++].format = (struct format){ headers[i], at, false };
			trials[count++].format = (struct format){ headers[i], at, true };
		}
	}
}

static heap_site_id site_of(const struct search *search, heap_object_id object)
{
	return search->capture->maker_of_kind[objects_kind(&search->capture->objects, object)];
}

// --- one block ----------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *read_block(struct search *search, heap_object_id object,
				     const struct arena_targets *targets, struct cut_block *block)
{
	const struct objects *objects = &search->capture->objects;
	uint64_t size = objects_size(objects, object) & ~UINT64_C(7);

	HEAP_TRY(heap_reserve(search->words, search->word_capacity, size / WORD + 1));
	HEAP_TRY(heap_reserve(search->lengths, search->length_capacity, size / WORD + 2));
	image_read_padded(&search->capture->image, objects_address(objects, object), search->words,
			  size);
	*block = (struct cut_block){ .object = object, .size = size, .words = search->words };
	block->targets = arena_targets_find(targets, object, &block->target_count);
	return NULL;
}

// The end of a chunk whose header is there; 0: there is none.
static uint64_t end_of(const struct cut_block *block, const struct format *format, uint64_t header)
{
	uint64_t size, own;

	if (header + format->header + WORD > block->size)
		return 0;
	size = block->words[(header + format->size_at) / WORD] & ~(uint64_t)SIZE_FLAGS;
	own = format->is_whole ? size : size + format->header;
	if (size > block->size || own < format->header + WORD || own > block->size - header)
		return 0;
	return header + own;
}

// True if so few bytes are left that no chunk has room.
static bool is_full(const struct cut_block *block, const struct format *format, uint64_t end)
{
	return block->size - end < format->header + WORD;
}

static bool has_target(const struct cut_block *block, uint64_t interior)
{
	size_t at = heap_partition_point(i, 0, block->target_count,
					 block->targets[i].interior < interior);

	return at < block->target_count && block->targets[at].interior == interior;
}

// True if before most of a block's targets stands what may be the header of a chunk.
static bool is_possible(const struct cut_block *block, const struct format *format)
{
	size_t step = block->target_count / SAMPLE_TARGETS + 1, seen = 0, linked = 0;

	for (size_t i = 0; i < block->target_count; i += step) {
		uint64_t interior = block->targets[i].interior, end;

		seen++;
		if (interior < format->header)
			continue;
		end = end_of(block, format, interior - format->header);
		linked += end != 0 && (is_full(block, format, end) || has_target(block, end) ||
				       end_of(block, format, end) != 0);
	}
	progress_step();
	return linked * 2 >= seen;
}

// Finds how many chunks there are from each place to the end of a chain; 0: there is no chain.
static void measure_chains(const struct cut_block *block, const struct format *format,
			   uint32_t *lengths)
{
	lengths[block->size / WORD] = 0;
	for (uint64_t at = block->size / WORD; at-- > 0;) {
		uint64_t end = end_of(block, format, at * WORD);

		lengths[at] = 0;
		if (end == 0)
			continue;
		if (lengths[end / WORD] > 0)
			lengths[at] = lengths[end / WORD] + 1;
		else if (is_full(block, format, end) || has_target(block, end))
			lengths[at] = 1;
	}
	progress_steps((uint32_t)(block->size / WORD));
}

// Follows a chain. @param lengths  from measure_chains()
static struct chain follow_chain(const struct cut_block *block, const struct format *format,
				 const uint32_t *lengths, uint64_t start)
{
	struct chain chain = { .start = start, .end = start };
	uint64_t first_size = 0;
	size_t at = 0;

	while (at < block->target_count && block->targets[at].interior < start)
		at++;
	for (uint32_t left = lengths[start / WORD]; left > 0; left--) {
		uint64_t header = chain.end;

		chain.end = end_of(block, format, header);
		first_size = first_size ? first_size : chain.end - header;
		chain.has_sizes |= chain.end - header != first_size;
		chain.chunks++;
		for (; at < block->target_count && block->targets[at].interior < chain.end; at++) {
			uint64_t place = block->targets[at].interior - header;

			chain.hits += place == format->header;
			chain.inside += place > format->header;
			chain.headers += place > 0 && place < format->header;
		}
	}
	for (; at < block->target_count; at++)
		chain.beyond += block->targets[at].interior > chain.end;
	return chain;
}

// True if no more than a few pointers lead into headers.
static bool spares_headers(const struct chain *chain)
{
	return chain->headers * UINT64_C(16) <= chain->hits + chain->inside;
}

// True if pointers lead to where chunks begin, and hardly any into headers or behind the end.
static bool is_convincing(const struct chain *chain)
{
	return chain->chunks >= SURE_CHUNKS && chain->hits >= 2 && spares_headers(chain) &&
	       chain->hits * UINT64_C(8) >= chain->chunks && chain->hits >= chain->beyond;
}

// The chain of most chunks that begins at or before the first target.
static uint64_t find_start(const struct cut_block *block, const uint32_t *lengths)
{
	uint64_t best = 0, last = block->size - WORD;

	if (last > MAX_HEAD)
		last = MAX_HEAD;
	for (uint64_t at = 0; at <= last; at += WORD) {
		if (lengths[at / WORD] > lengths[best / WORD])
			best = at;
	}
	return best;
}

// --- trials -------------------------------------------------------------------

static void count_start(struct trial *trial, uint64_t start)
{
	uint32_t i = 0;

	while (i < trial->start_count && trial->starts[i].start != start)
		i++;
	if (i == COUNTED_STARTS)
		return;
	if (i == trial->start_count)
		trial->starts[trial->start_count++] = (struct counted_start){ start, 0 };
	trial->starts[i].blocks++;
}

// Counts a block for the format that explains most of the pointers into it.
static void try_block(struct search *search, const struct cut_block *block)
{
	struct chain best = { 0 };
	struct trial *winner = NULL;

	for (size_t i = 0; i < FORMATS; i++) {
		struct trial *trial = &search->trials[i];
		struct chain chain;

		if (!is_possible(block, &trial->format))
			continue;
		measure_chains(block, &trial->format, search->lengths);
		chain = follow_chain(block, &trial->format, search->lengths,
				     find_start(block, search->lengths));
		if (!is_convincing(&chain) || chain.hits <= best.hits)
			continue;
		best = chain;
		winner = trial;
	}
	if (!winner)
		return;
	winner->chunks += best.chunks;
	winner->bytes += best.end - best.start;
	winner->hits += best.hits;
	winner->inside += best.inside;
	winner->has_sizes |= best.has_sizes;
	count_start(winner, best.start);
}

static int compare_starts(const void *left, const void *right)
{
	const struct counted_start *a = left, *b = right;

	if (a->blocks != b->blocks)
		return a->blocks > b->blocks ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

/*
 * True if chunks of one size are more than an array whose elements have a constant: most are pointed to behind
 * their header, and hardly anywhere else. A struct may have its own size, which counts all of it, or a number near its
 * end that happens to be what is left of it: no header is larger than all that it precedes.
 */
static bool are_equal_chunks(const struct trial *trial)
{
	return !trial->format.is_whole && trial->format.header > WORD &&
	       trial->bytes >= 2 * trial->chunks * trial->format.header &&
	       trial->chunks >= MIN_EQUAL && trial->hits * 2 >= trial->chunks &&
	       trial->inside * 16 <= trial->hits;
}

static bool is_accepted(const struct trial *trial)
{
	return trial->chunks >= MIN_CHUNKS && trial->hits >= MIN_HITS &&
	       trial->hits * 2 >= trial->inside && (trial->has_sizes || are_equal_chunks(trial));
}

// Moves the formats that are accepted to the front.
static void accept_formats(struct search *search)
{
	for (size_t i = 0; i < FORMATS; i++) {
		struct trial *trial = &search->trials[i];

		if (!is_accepted(trial))
			continue;
		qsort(trial->starts, trial->start_count, sizeof(*trial->starts), compare_starts);
		if (trial->start_count > STARTS)
			trial->start_count = STARTS;
		search->trials[search->accepted++] = *trial;
	}
}

// --- sites --------------------------------------------------------------------

struct candidate {
	heap_site_id site;
	heap_object_id object;
};

struct candidates HEAP_ARRAY(struct candidate);

static bool has_size(const struct search *search, heap_object_id object)
{
	uint64_t size = objects_size(&search->capture->objects, object);

	return size >= MIN_BLOCK && size <= MAX_BLOCK;
}

static int compare_candidates(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	return a->object < b->object ? -1 : a->object > b->object;
}

HEAP_MUST_CHECK
static struct heap_error *list_candidates(struct search *search, struct candidates *candidates)
{
	const struct objects *objects = &search->capture->objects;

	for (heap_object_id i = 0; i < objects->count; i++) {
		if (search->counts[i] >= MIN_TARGETS && has_size(search, i))
			HEAP_TRY(heap_array_append(candidates,
						   ((struct candidate){ site_of(search, i), i })));
	}
	if (candidates->count > 0)
		qsort(candidates->items, candidates->count, sizeof(*candidates->items),
		      compare_candidates);
	return NULL;
}

// The end of a site's candidates.
static size_t end_of_site(const struct candidates *candidates, size_t first)
{
	size_t end = first;

	while (end < candidates->count &&
	       candidates->items[end].site == candidates->items[first].site)
		end++;
	return end;
}

// Marks a site's sample: one of each so many, as far as their words are not too many.
static void mark_sample(const struct search *search, const struct candidates *candidates,
			size_t first, size_t end, bool *is_marked)
{
	uint64_t share = capture_has_headers(search->capture) ? 1 : SITES_LIKE, words = 0;
	size_t step = (end - first) / (share * SAMPLE_BLOCKS) + 1;

	for (size_t i = first; i < end && words < share * SAMPLE_WORDS; i += step) {
		heap_object_id object = candidates->items[i].object;

		is_marked[object] = true;
		words += objects_size(&search->capture->objects, object) / WORD;
	}
}

HEAP_MUST_CHECK
static struct heap_error *find_formats(struct search *search)
{
	size_t objects = (size_t)search->capture->objects.count + 1;
	CLEANUP_FREE bool *is_marked = NULL;
	CLEANUP_ARRAY struct candidates candidates = { 0 };
	CLEANUP_ARRAY struct arena_targets targets = { 0 };

	HEAP_TRY(list_candidates(search, &candidates));
	if (candidates.count == 0)
		return NULL;
	is_marked = calloc(objects, sizeof(*is_marked));
	if (!is_marked)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < candidates.count; i = end_of_site(&candidates, i))
		mark_sample(search, &candidates, i, end_of_site(&candidates, i), is_marked);
	HEAP_TRY(arena_targets_gather(search->capture, is_marked, ARENA_LEAST_INTERIOR, true,
				      &targets));
	for (size_t i = 0; i < candidates.count && !progress_is_late(); i++) {
		heap_object_id object = candidates.items[i].object;
		struct cut_block block;

		if (!is_marked[object])
			continue;
		HEAP_TRY(read_block(search, object, &targets, &block));
		try_block(search, &block);
	}
	accept_formats(search);
	return NULL;
}

// --- cutting ------------------------------------------------------------------

// The word that most headers have beside the size: their owner.
static uint64_t find_owner(const struct cut_block *block, const struct format *format,
			   const struct chain *chain, uint32_t at)
{
	struct majority owner = { 0 };

	for (uint64_t header = chain->start; header < chain->end;
	     header = end_of(block, format, header))
		majority_add(&owner, block->words[(header + at) / WORD]);
	return owner.value;
}

// The place of an owner's address in the head of a block; ARENA_NO_OWNER: it is not there.
static uint32_t find_in_head(const struct cut_block *block, uint64_t head, uint64_t owner)
{
	for (uint64_t i = 0; owner >= LEAST_ADDRESS && i < head / WORD; i++) {
		if (block->words[i] == owner)
			return (uint32_t)(i * WORD);
	}
	return ARENA_NO_OWNER;
}

// The places of an owner's address in a block.
struct ownership {
	uint32_t at; // in headers; ARENA_NO_OWNER: there is none
	uint32_t in; // in the head
};

static struct ownership find_ownership(const struct cut_block *block, const struct format *format,
				       const struct chain *chain)
{
	for (uint32_t at = 0; at < format->header; at += WORD) {
		uint32_t in = at == format->size_at
				      ? ARENA_NO_OWNER
				      : find_in_head(block, chain->start,
						     find_owner(block, format, chain, at));

		if (in != ARENA_NO_OWNER)
			return (struct ownership){ at, in };
	}
	return (struct ownership){ ARENA_NO_OWNER, ARENA_NO_OWNER };
}

void arenas_mark_free(struct arenas *arenas, const struct arena *arena, const uint64_t *words)
{
	uint64_t owner = words[arena->owner_in / WORD];

	for (uint32_t i = arena->first; i < arena->first + arena->count; i++) {
		struct arena_chunk *chunk = &arenas->chunks[i];

		chunk->is_free = words[(chunk->offset + arena->owner_at) / WORD] != owner;
	}
}

// Chunks in use have their owner's address in their headers, if any have.
HEAP_MUST_CHECK
static struct heap_error *add_arena(struct search *search, const struct cut_block *block,
				    const struct format *format, const struct chain *chain)
{
	struct arenas *arenas = search->arenas;
	struct ownership ownership;
	struct arena *arena;

	if (chain->chunks > ARENA_MOST_CHUNKS - arenas->chunk_count)
		return NULL;
	ownership = find_ownership(block, format, chain);
	HEAP_TRY(heap_reserve(arenas->list, arenas->capacity, (size_t)arenas->count + 1));
	HEAP_TRY(heap_reserve(arenas->chunks, arenas->chunk_capacity,
			      (size_t)arenas->chunk_count + chain->chunks));
	arena = &arenas->list[arenas->count++];
	*arena = (struct arena){
		.object = block->object,
		.first = arenas->chunk_count,
		.count = chain->chunks,
		.header = format->header,
		.start = chain->start,
		.end = chain->end,
		.owner_at = ownership.at,
		.owner_in = ownership.in,
		.type = HEAP_NO_TYPE,
	};
	for (uint64_t at = chain->start; at < chain->end;) {
		uint64_t end = end_of(block, format, at);

		arenas->chunks[arenas->chunk_count++] =
			(struct arena_chunk){ at, end - at - format->header, false };
		at = end;
	}
	if (ownership.at != ARENA_NO_OWNER)
		arenas_mark_free(arenas, arena, block->words);
	search->is_arena[block->object] = true;
	return NULL;
}

// True if a chain proves that its block is an arena.
static bool proves(const struct cut_block *block, const struct format *format,
		   const struct chain *chain)
{
	return chain->chunks > 0 && spares_headers(chain) &&
	       (chain->chunks >= SURE_CHUNKS ||
		find_ownership(block, format, chain).at != ARENA_NO_OWNER);
}

// The bytes of a block whose type is certain. Chunks begin behind them.
static uint64_t typed_bytes(const struct search *search, const struct cut_block *block)
{
	const struct capture *capture = search->capture;
	heap_type_id class = search->classes[block->object];

	if (capture->objects.flags[block->object] & HEAPSNAP_BLOCK_LABELLED)
		return block->size;
	return class == HEAP_NO_TYPE ? 0 : heap_types_size(&capture->snapshot.types, class);
}

// Finds the longest chain: one that begins later may be its end.
//
// @param is_likely  other blocks of its site are arenas. One without chunks has a pointer to where the
//                   first will be.
static const struct format *find_chain(struct search *search, const struct cut_block *block,
				       bool is_likely, struct chain *result)
{
	const struct format *found = NULL;
	uint64_t typed = typed_bytes(search, block);

	for (uint32_t i = 0; i < search->accepted; i++) {
		const struct trial *trial = &search->trials[i];
		const struct format *format = &trial->format;

		measure_chains(block, format, search->lengths);
		for (uint32_t j = 0; j < trial->start_count; j++) {
			uint64_t start = trial->starts[j].start;
			struct chain chain;

			if (start < typed || start >= block->size ||
			    (found && search->lengths[start / WORD] <= result->chunks))
				continue;
			chain = follow_chain(block, format, search->lengths, start);
			if (!proves(block, format, &chain) &&
			    !(is_likely && (chain.chunks > 0 || has_target(block, start))))
				continue;
			found = format;
			*result = chain;
		}
	}
	return found;
}

// Cuts a block, if it is an arena.
HEAP_MUST_CHECK
static struct heap_error *cut_one(struct search *search, heap_object_id object, bool is_likely,
				  const struct arena_targets *targets)
{
	struct cut_block block;
	struct chain chain;
	const struct format *format;

	HEAP_TRY(read_block(search, object, targets, &block));
	format = find_chain(search, &block, is_likely, &chain);
	return format ? add_arena(search, &block, format, &chain) : NULL;
}

// Most blocks of a site are arenas: then all are that may be.
static bool is_likely(const struct search *search, heap_object_id object)
{
	const struct site_arenas *site = &search->sites[site_of(search, object)];

	return capture_has_headers(search->capture) && site->arenas * UINT64_C(2) > site->blocks;
}

static int compare_arenas(const void *left, const void *right)
{
	const struct arena *a = left, *b = right;

	return a->object < b->object ? -1 : a->object > b->object;
}

void arenas_sort(struct arenas *arenas)
{
	if (arenas->count > 0)
		qsort(arenas->list, arenas->count, sizeof(*arenas->list), compare_arenas);
}

HEAP_MUST_CHECK
static struct heap_error *cut_blocks(struct search *search)
{
	heap_object_id objects = search->capture->objects.count;
	CLEANUP_FREE bool *is_marked = calloc((size_t)objects + 1, sizeof(*is_marked));
	CLEANUP_ARRAY struct arena_targets targets = { 0 };

	search->sites =
		calloc((size_t)search->capture->snapshot.site_count + 1, sizeof(*search->sites));
	search->is_arena = calloc((size_t)objects + 1, sizeof(*search->is_arena));
	if (!is_marked || !search->sites || !search->is_arena)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < objects; i++)
		is_marked[i] = has_size(search, i) && search->counts[i] > 0;
	HEAP_TRY(arena_targets_gather(search->capture, is_marked, ARENA_LEAST_INTERIOR, true,
				      &targets));
	for (heap_object_id i = 0; i < objects && !progress_is_late(); i++) {
		struct site_arenas *site = &search->sites[site_of(search, i)];

		if (!is_marked[i])
			continue;
		HEAP_TRY(cut_one(search, i, false, &targets));
		site->blocks++;
		site->arenas += search->is_arena[i];
	}
	for (heap_object_id i = 0; i < objects && !progress_is_late(); i++) {
		if (is_marked[i] && !search->is_arena[i] && is_likely(search, i))
			HEAP_TRY(cut_one(search, i, true, &targets));
	}
	arenas_sort(search->arenas);
	return NULL;
}

static void release(struct search *search)
{
	free(search->words);
	free(search->lengths);
	free(search->sites);
	free(search->is_arena);
}

struct heap_error *arenas_find(const struct capture *capture, const heap_type_id *classes,
			       const uint8_t *counts, struct arenas *arenas)
{
	CLEANUP(release)
	struct search search = {
		.capture = capture,
		.classes = classes,
		.counts = counts,
		.arenas = arenas,
	};

	list_formats(search.trials);
	HEAP_TRY(find_formats(&search));
	if (search.accepted == 0)
		return NULL;
	return cut_blocks(&search);
}

const struct arena *arenas_of(const struct arenas *arenas, uint32_t *next, heap_object_id object)
{
	while (*next < arenas->count && arenas->list[*next].object < object)
		++*next;
	return *next < arenas->count && arenas->list[*next].object == object ? &arenas->list[*next]
									     : NULL;
}

void arenas_deinit(struct arenas *arenas)
{
	free(arenas->list);
	free(arenas->chunks);
}
