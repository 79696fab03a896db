// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/graph/bfs.h"

#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/base/column.h"
#include "lib/base/parallel.h"
#include "lib/base/prefetch.h"

#include <stdatomic.h>
#include <string.h>

enum {
	LIST_SHARE = 256,      // a list has one of so many objects at most...
	LIST_LEAST = 8,        // ...and this
	PIECE = 1024,          // words of bits that a thread takes at a time
	WORTH_A_THREAD = 8192, // objects of a level
	PREFETCH_DISTANCE = 8, // in objects of a list
};

struct heap_error *heap_bfs_init(struct heap_bfs *result, const struct heap_snapshot *snapshot)
{
	unsigned threads = heap_parallel_threads();
	CLEANUP(heap_bfs_deinit)
	struct heap_bfs bfs = {
		.words = (size_t)snapshot->object_count / 64 + 1,
		.snapshot = snapshot,
		.shares = threads < HEAP_BFS_SHARES ? threads : HEAP_BFS_SHARES,
		.capacity = snapshot->object_count / LIST_SHARE + LIST_LEAST,
	};
	size_t list = sizeof(*bfs.level.list);

	HEAP_TRY(heap_column_create(bfs.words, sizeof(*bfs.visited), &bfs.visited));
	HEAP_TRY(heap_column_create(bfs.words, sizeof(*bfs.wide), &bfs.wide));
	for (unsigned i = 0; i < bfs.shares; i++)
		HEAP_TRY(heap_column_create(bfs.words, sizeof(*bfs.next[i]), &bfs.next[i]));
	HEAP_TRY(heap_column_create(bfs.capacity, list, &bfs.level.list));
	HEAP_TRY(heap_column_create(bfs.capacity, list, &bfs.after.list));
	*result = keep(bfs);
	return NULL;
}

void heap_bfs_deinit(struct heap_bfs *bfs)
{
	heap_column_destroy(bfs->visited);
	heap_column_destroy(bfs->wide);
	for (unsigned i = 0; i < HEAP_BFS_SHARES; i++)
		heap_column_destroy(bfs->next[i]);
	heap_column_destroy(bfs->level.list);
	heap_column_destroy(bfs->after.list);
}

// --- levels ------------------------------------------------------------------

static void set_bit(uint64_t *bits, heap_object_id object)
{
	bits[object / 64] |= UINT64_C(1) << object % 64;
}

// Adds an object to a level. A level that is a list has no bits set.
static void put(struct heap_bfs *bfs, struct heap_bfs_level *level, heap_object_id object)
{
	if (!level->is_wide && level->count == bfs->capacity) {
		for (size_t i = 0; i < level->count; i++)
			set_bit(bfs->wide, level->list[i]);
		level->is_wide = true;
	}
	if (level->is_wide)
		set_bit(bfs->wide, object);
	else
		level->list[level->count] = object;
	level->count++;
}

static void visit(struct heap_bfs *bfs, struct heap_bfs_level *level, heap_object_id object)
{
	if (heap_bfs_has(bfs, object))
		return;
	set_bit(bfs->visited, object);
	bfs->visited_count++;
	put(bfs, level, object);
}

void heap_bfs_add(struct heap_bfs *bfs, heap_object_id object)
{
	visit(bfs, &bfs->level, object);
}

void heap_bfs_continue(struct heap_bfs *bfs, const uint64_t *but)
{
	bfs->level.is_wide = true;
	bfs->level.count = 0;
	for (size_t i = 0; i < bfs->words; i++) {
		bfs->wide[i] = bfs->visited[i] & ~(but ? but[i] : 0);
		bfs->level.count += (size_t)__builtin_popcountll(bfs->wide[i]);
	}
}

// Few bits become a list.
static void narrow(struct heap_bfs *bfs)
{
	struct heap_bfs_level *level = &bfs->level;

	level->is_wide = false;
	level->count = 0;
	for (size_t i = 0; i < bfs->words; i++) {
		for (uint64_t bits = bfs->wide[i]; bits; bits &= bits - 1)
			level->list[level->count++] =
				(heap_object_id)(i * 64 + (size_t)__builtin_ctzll(bits));
		bfs->wide[i] = 0;
	}
}

static void note_distance(const struct heap_bfs *bfs, uint32_t *distance, uint32_t number)
{
	const struct heap_bfs_level *level = &bfs->level;

	for (size_t i = 0; !level->is_wide && i < level->count; i++)
		distance[level->list[i]] = number;
	for (size_t i = 0; level->is_wide && i < bfs->words; i++) {
		for (uint64_t bits = bfs->wide[i]; bits; bits &= bits - 1)
			distance[i * 64 + (size_t)__builtin_ctzll(bits)] = number;
	}
}

// --- from one to the next ----------------------------------------------------

static void follow_list(struct heap_bfs *bfs, const struct heap_bfs_options *options)
{
	const struct heap_snapshot *snapshot = bfs->snapshot;
	const struct heap_bfs_level *level = &bfs->level;

	for (size_t i = 0; i < level->count; i++) {
		heap_object_id object = level->list[i];
		uint32_t end = snapshot->edge_first[object + 1];

		if (i + PREFETCH_DISTANCE < level->count)
			heap_prefetch(&snapshot->edge_first[level->list[i + PREFETCH_DISTANCE]]);
		for (uint32_t j = snapshot->edge_first[object]; j < end; j++) {
			if (!options->edges || heap_bit_get(options->edges, j))
				visit(bfs, &bfs->after, snapshot->edge_target[j]);
		}
	}
}

// A wide level, whose pieces threads take in turn.
struct crew {
	struct heap_bfs *bfs;
	const struct heap_bfs_options *options;
	atomic_size_t piece;
};

// Notes where the objects of a word of bits point: the pointers of neighbours stand together. A
// copy of it is made for all pointers.
__attribute__((always_inline)) static inline void follow_word(const struct heap_snapshot *snapshot,
							      uint64_t bits, size_t word,
							      uint64_t *next, const uint8_t *edges)
{
	while (bits) {
		size_t start = (size_t)__builtin_ctzll(bits);
		uint64_t after = bits + (UINT64_C(1) << start); // carries to the first that is 0
		size_t stop = after ? (size_t)__builtin_ctzll(after) : 64;
		uint32_t end = snapshot->edge_first[word * 64 + stop];

		for (uint32_t i = snapshot->edge_first[word * 64 + start]; i < end; i++) {
			heap_object_id target = snapshot->edge_target[i];
			uint64_t good = !edges || heap_bit_get(edges, i);

			next[target / 64] |= good << target % 64;
		}
		bits &= after;
	}
}

static void follow_words(const struct heap_bfs *bfs, size_t start, size_t end, uint64_t *next,
			 const uint8_t *edges)
{
	for (size_t i = start; !edges && i < end; i++)
		follow_word(bfs->snapshot, bfs->wide[i], i, next, NULL);
	for (size_t i = start; edges && i < end; i++)
		follow_word(bfs->snapshot, bfs->wide[i], i, next, edges);
}

HEAP_MUST_CHECK
static struct heap_error *follow_pieces(void *context, size_t share)
{
	struct crew *crew = context;
	const struct heap_bfs *bfs = crew->bfs;
	size_t start;

	while ((start = atomic_fetch_add(&crew->piece, 1) * PIECE) < bfs->words) {
		size_t end = bfs->words - start < PIECE ? bfs->words : start + PIECE;

		follow_words(bfs, start, end, bfs->next[share], crew->options->edges);
	}
	return NULL;
}

// The next level is all that no level had before.
static void gather(struct heap_bfs *bfs, unsigned shares)
{
	bfs->level.count = 0;
	for (size_t i = 0; i < bfs->words; i++) {
		uint64_t bits = 0;

		for (unsigned j = 0; j < shares; j++) {
			bits |= bfs->next[j][i];
			bfs->next[j][i] = 0;
		}
		bits &= ~bfs->visited[i];
		bfs->visited[i] |= bits;
		bfs->wide[i] = bits;
		bfs->level.count += (size_t)__builtin_popcountll(bits);
	}
	bfs->visited_count += bfs->level.count;
}

HEAP_MUST_CHECK
static struct heap_error *follow_wide(struct heap_bfs *bfs, const struct heap_bfs_options *options)
{
	struct crew crew = { .bfs = bfs, .options = options };
	size_t worth = bfs->level.count / WORTH_A_THREAD + 1;
	unsigned shares = worth < bfs->shares ? (unsigned)worth : bfs->shares;
	struct heap_error *error = heap_parallel_share(shares, follow_pieces, &crew);

	if (error)
		return error;
	gather(bfs, shares);
	if (bfs->level.count <= bfs->capacity / 4)
		narrow(bfs);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *follow(struct heap_bfs *bfs, const struct heap_bfs_options *options)
{
	struct heap_bfs_level level = bfs->level;

	if (level.is_wide)
		return follow_wide(bfs, options);
	bfs->after.count = 0;
	bfs->after.is_wide = false;
	follow_list(bfs, options);
	bfs->level = bfs->after;
	bfs->after = level;
	return NULL;
}

struct heap_error *heap_bfs_run(struct heap_bfs *bfs, const struct heap_bfs_options *options)
{
	uint32_t number = options->first_level;

	for (; bfs->level.count > 0; number++) {
		if (options->distance)
			note_distance(bfs, options->distance, number);
		HEAP_TRY(follow(bfs, options));
		if (bfs->visited_count - bfs->reported >= HEAP_PROGRESS_STEP) {
			bfs->reported = bfs->visited_count;
			HEAP_TRY(heap_progress_report(options->progress, options->what,
						      bfs->visited_count,
						      bfs->snapshot->object_count));
		}
	}
	return NULL;
}
