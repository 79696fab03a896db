// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/graph/bfs.h"

#include "lib/base/bits.h"
#include "lib/base/column.h"
#include "lib/base/parallel.h"

#include <stdatomic.h>
#include <string.h>

enum {
	LIST_SHARE = 256,      // a list has one of so many objects at most...
	LIST_LEAST = 8,        // ...and this
	PIECE = 1024,          // words of bits that a thread takes at a time
	WORTH_A_THREAD = 8192, // objects of a level
	AHEAD = 8,             // places of a list that memory is asked for before their turn
};

struct heap_error *heap_flood_init(struct heap_flood *result, const struct heap_snapshot *snapshot)
{
	struct heap_flood flood = {
		.words = (size_t)snapshot->object_count / 64 + 1,
		.snapshot = snapshot,
		.shares = heap_parallel_threads(),
		.capacity = snapshot->object_count / LIST_SHARE + LIST_LEAST,
	};
	size_t list = sizeof(*flood.level.list);
	struct heap_error *error = heap_column_create(flood.words, sizeof(*flood.met), &flood.met);

	if (flood.shares > HEAP_FLOOD_SHARES)
		flood.shares = HEAP_FLOOD_SHARES;
	if (!error)
		error = heap_column_create(flood.words, sizeof(*flood.wide), &flood.wide);
	for (unsigned i = 0; !error && i < flood.shares; i++)
		error = heap_column_create(flood.words, sizeof(*flood.next[i]), &flood.next[i]);
	if (!error)
		error = heap_column_create(flood.capacity, list, &flood.level.list);
	if (!error)
		error = heap_column_create(flood.capacity, list, &flood.after.list);
	if (error)
		heap_flood_deinit(&flood);
	else
		*result = flood;
	return error;
}

void heap_flood_deinit(struct heap_flood *flood)
{
	heap_column_destroy(flood->met);
	heap_column_destroy(flood->wide);
	for (unsigned i = 0; i < HEAP_FLOOD_SHARES; i++)
		heap_column_destroy(flood->next[i]);
	heap_column_destroy(flood->level.list);
	heap_column_destroy(flood->after.list);
}

// --- levels ------------------------------------------------------------------

static void set_bit(uint64_t *bits, heap_object_id object)
{
	bits[object / 64] |= UINT64_C(1) << object % 64;
}

// Puts an object into a level, whose bits are 0 as long as it is a list.
static void put(struct heap_flood *flood, struct heap_flood_level *level, heap_object_id object)
{
	if (!level->is_wide && level->count == flood->capacity) {
		for (size_t i = 0; i < level->count; i++)
			set_bit(flood->wide, level->list[i]);
		level->is_wide = true;
	}
	if (level->is_wide)
		set_bit(flood->wide, object);
	else
		level->list[level->count] = object;
	level->count++;
}

static void meet(struct heap_flood *flood, struct heap_flood_level *level, heap_object_id object)
{
	if (heap_flood_has(flood, object))
		return;
	set_bit(flood->met, object);
	flood->met_count++;
	put(flood, level, object);
}

void heap_flood_add(struct heap_flood *flood, heap_object_id object)
{
	meet(flood, &flood->level, object);
}

void heap_flood_again(struct heap_flood *flood)
{
	memcpy(flood->wide, flood->met, flood->words * sizeof(*flood->wide));
	flood->level.is_wide = true;
	flood->level.count = flood->met_count;
}

// Few bits become a list.
static void narrow(struct heap_flood *flood)
{
	struct heap_flood_level *level = &flood->level;

	level->is_wide = false;
	level->count = 0;
	for (size_t i = 0; i < flood->words; i++) {
		for (uint64_t bits = flood->wide[i]; bits; bits &= bits - 1)
			level->list[level->count++] =
				(heap_object_id)(i * 64 + (size_t)__builtin_ctzll(bits));
		flood->wide[i] = 0;
	}
}

static void note_distance(const struct heap_flood *flood, uint32_t *distance, uint32_t number)
{
	const struct heap_flood_level *level = &flood->level;

	for (size_t i = 0; !level->is_wide && i < level->count; i++)
		distance[level->list[i]] = number;
	for (size_t i = 0; level->is_wide && i < flood->words; i++) {
		for (uint64_t bits = flood->wide[i]; bits; bits &= bits - 1)
			distance[i * 64 + (size_t)__builtin_ctzll(bits)] = number;
	}
}

// --- from one to the next ----------------------------------------------------

static void follow_list(struct heap_flood *flood, const struct heap_flood_way *way)
{
	const struct heap_snapshot *snapshot = flood->snapshot;
	const struct heap_flood_level *level = &flood->level;

	for (size_t i = 0; i < level->count; i++) {
		heap_object_id object = level->list[i];
		uint32_t end = snapshot->edge_first[object + 1];

		if (i + AHEAD < level->count)
			__builtin_prefetch(&snapshot->edge_first[level->list[i + AHEAD]], 0, 1);
		for (uint32_t j = snapshot->edge_first[object]; j < end; j++) {
			if (!way->edges || heap_bit_get(way->edges, j))
				meet(flood, &flood->after, snapshot->edge_target[j]);
		}
	}
}

// A wide level, whose pieces threads take in turn.
struct crew {
	struct heap_flood *flood;
	const struct heap_flood_way *way;
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

static void follow_words(const struct heap_flood *flood, size_t start, size_t end, uint64_t *next,
			 const uint8_t *edges)
{
	for (size_t i = start; !edges && i < end; i++)
		follow_word(flood->snapshot, flood->wide[i], i, next, NULL);
	for (size_t i = start; edges && i < end; i++)
		follow_word(flood->snapshot, flood->wide[i], i, next, edges);
}

HEAP_MUST_CHECK
static struct heap_error *follow_pieces(void *context, size_t share)
{
	struct crew *crew = context;
	const struct heap_flood *flood = crew->flood;
	size_t start;

	while ((start = atomic_fetch_add(&crew->piece, 1) * PIECE) < flood->words) {
		size_t end = flood->words - start < PIECE ? flood->words : start + PIECE;

		follow_words(flood, start, end, flood->next[share], crew->way->edges);
	}
	return NULL;
}

// What no level had before is the next one.
static void gather(struct heap_flood *flood, unsigned shares)
{
	flood->level.count = 0;
	for (size_t i = 0; i < flood->words; i++) {
		uint64_t bits = 0;

		for (unsigned j = 0; j < shares; j++) {
			bits |= flood->next[j][i];
			flood->next[j][i] = 0;
		}
		bits &= ~flood->met[i];
		flood->met[i] |= bits;
		flood->wide[i] = bits;
		flood->level.count += (size_t)__builtin_popcountll(bits);
	}
	flood->met_count += flood->level.count;
}

HEAP_MUST_CHECK
static struct heap_error *follow_wide(struct heap_flood *flood, const struct heap_flood_way *way)
{
	struct crew crew = { .flood = flood, .way = way };
	size_t worth = flood->level.count / WORTH_A_THREAD + 1;
	unsigned shares = worth < flood->shares ? (unsigned)worth : flood->shares;
	struct heap_error *error = heap_parallel_share(shares, follow_pieces, &crew);

	if (error)
		return error;
	gather(flood, shares);
	if (flood->level.count <= flood->capacity / 4)
		narrow(flood);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *follow(struct heap_flood *flood, const struct heap_flood_way *way)
{
	struct heap_flood_level level = flood->level;

	if (level.is_wide)
		return follow_wide(flood, way);
	flood->after.count = 0;
	flood->after.is_wide = false;
	follow_list(flood, way);
	flood->level = flood->after;
	flood->after = level;
	return NULL;
}

struct heap_error *heap_flood_run(struct heap_flood *flood, const struct heap_flood_way *way)
{
	struct heap_error *error = NULL;
	uint32_t number = way->first_level;

	for (; !error && flood->level.count > 0; number++) {
		if (way->distance)
			note_distance(flood, way->distance, number);
		error = follow(flood, way);
		if (!error && flood->met_count - flood->reported >= HEAP_PROGRESS_STEP) {
			flood->reported = flood->met_count;
			error = heap_progress_report(way->progress, way->what, flood->met_count,
						     flood->snapshot->object_count);
		}
	}
	return error;
}
