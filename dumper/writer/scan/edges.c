// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/edges.h"

#include "lib/base/pieces.h"
#include "dumper/writer/base/progress.h"
#include "lib/base/array.h"
#include "lib/base/column.h"
#include "lib/base/prefetch.h"
#include "lib/graph/offsets.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
	PIECE = 512 << 10, // bytes that are scanned at once
	BATCH = 64,
	PAGE = 4096, // nothing lies below
};

// A range of memory that is scanned at once. A large block lies in several.
struct piece {
	uint64_t start, end;
	heap_object_id object, objects_end; // the first in it, and the range's
};

struct scan {
	struct heap_snapshot *snapshot;
	uint32_t capacity; // of its columns
	struct heap_stored_edges *stored;
	const struct objects *objects;
	const struct image *image;
	const struct edges_listener *listener;
	uint64_t low, high; // no block lies outside
	struct HEAP_ARRAY(struct piece) pieces;
};

// A word that may be a pointer.
struct candidate {
	uint64_t word;         // without its tag
	heap_object_id object; // that it lies in
	uint32_t slot;
	heap_object_id target;
	bool is_tagged; // in the bits above those of addresses
	bool is_start;  // it is known to lead to the target's start
};

struct edge {
	heap_object_id object;
	heap_object_id target;
	uint32_t slot;
	uint32_t interior;
};

// A word that is no pointer into the heap.
struct other_word {
	uint64_t word;
	heap_object_id object;
	uint32_t slot;
};

// The edges and words of a piece.
struct part {
	const struct scan *scan;
	const struct piece *piece;
	heap_object_id object; // the one that contains the next words, or follows them
	struct candidate batch[BATCH];
	size_t waiting; // in the batch
	struct HEAP_ARRAY(struct edge) edges;
	struct HEAP_ARRAY(struct other_word) others;
};

// --- a piece -----------------------------------------------------------------

static bool is_code(const struct edges_listener *listener, uint64_t word)
{
	return word >= listener->code_start && word < listener->code_end;
}

// Data that is pointed to is aligned. Functions are not, where the compiler does not optimize, or optimizes for size.
static bool is_head(const struct edges_listener *listener, uint32_t slot, uint64_t word)
{
	return slot < listener->head && word >= listener->modules_start &&
	       word < listener->modules_end && (word % 8 == 0 || is_code(listener, word));
}

HEAP_MUST_CHECK
static struct heap_error *note_other(struct part *part, const struct candidate *candidate)
{
	const struct edges_listener *listener = part->scan->listener;
	uint64_t word = candidate->word;

	if (!is_head(listener, candidate->slot, word) && !is_code(listener, word))
		return NULL;
	return heap_array_append(&part->others,
				 (struct other_word){ word, candidate->object, candidate->slot });
}

// Whose block a word points into is two or three cache misses away, which are the time that
// all this takes: those of a batch are waited for together. Most words lead to a block's start, which takes one.
HEAP_MUST_CHECK
static struct heap_error *resolve(struct part *part)
{
	const struct objects *objects = part->scan->objects;

	HEAP_TRY(heap_array_reserve(&part->edges, BATCH));
	for (size_t i = 0; i < part->waiting; i++)
		objects_prefetch_starts(objects, part->batch[i].word);
	for (size_t i = 0; i < part->waiting; i++) {
		struct candidate *candidate = &part->batch[i];

		candidate->target =
			objects_find_before(objects, candidate->word, &candidate->is_start);
		if (candidate->target == HEAP_NO_OBJECT || candidate->is_start)
			continue;
		objects_prefetch_address(objects, candidate->target);
		objects_prefetch_kind(objects, candidate->target);
	}
	for (size_t i = 0; i < part->waiting; i++) {
		const struct candidate *candidate = &part->batch[i];
		heap_object_id target = candidate->target;

		if (candidate->is_start) {
			part->edges.items[part->edges.count++] = (struct edge){
				.object = candidate->object,
				.target = target,
				.slot = candidate->slot,
			};
			continue;
		}
		if (target == HEAP_NO_OBJECT || !objects_holds(objects, target, candidate->word)) {
			if (!candidate->is_tagged)
				HEAP_TRY(note_other(part, candidate));
			continue;
		}

		uint64_t interior = candidate->word - objects_address(objects, target);

		// Most other words are no pointers: objects_resolve().
		if (candidate->is_tagged && interior != 0)
			continue;
		part->edges.items[part->edges.count++] = (struct edge){
			.object = candidate->object,
			.target = target,
			.slot = candidate->slot,
			.interior = interior < UINT32_MAX ? (uint32_t)interior : UINT32_MAX,
		};
	}
	part->waiting = 0;
	return NULL;
}

// The first word from one on that is not 0, or one of the last few. Much of what is allocated is never used.
static size_t skip_zeros(const uint64_t *words, size_t at, size_t count)
{
	while (count - at >= 4 && (words[at] | words[at + 1] | words[at + 2] | words[at + 3]) == 0)
		at += 4;
	return at;
}

// Scans words of the current object. @param slot  number of the first of them
HEAP_MUST_CHECK
static struct heap_error *scan_object(struct part *part, const uint64_t *words, size_t count,
				      uint64_t slot)
{
	const uint64_t low = part->scan->low, length = part->scan->high - low;

	for (size_t i = 0; i < count; i++) {
		uint64_t word = words[i];
		struct candidate candidate = {
			.word = word,
			.object = part->object,
			.slot = (uint32_t)(slot + i),
		};

		if (word - low >= length) {
			if (word == 0)
				i = skip_zeros(words, i + 1, count) - 1;
			if (word < PAGE)
				continue;
			if (!objects_may_have_tag(part->scan->objects, word) ||
			    objects_untag(word) - low >= length) {
				HEAP_TRY(note_other(part, &candidate));
				continue;
			}
			candidate.word = objects_untag(word);
			candidate.is_tagged = true;
		}
		part->batch[part->waiting++] = candidate;
		if (part->waiting == BATCH)
			HEAP_TRY(resolve(part));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *scan_words(void *context, uint64_t address, const uint64_t *words,
				     size_t count)
{
	struct part *part = context;
	const struct objects *objects = part->scan->objects;
	uint64_t end = address + count * 8;

	for (; part->object < part->piece->objects_end; part->object++) {
		uint64_t start = objects_address(objects, part->object);
		uint64_t stop = start + (objects_size(objects, part->object) & ~UINT64_C(7));

		if (start >= end)
			return NULL;

		uint64_t from = start > address ? start : address;
		uint64_t to = stop < end ? stop : end;

		if (from < to)
			HEAP_TRY(scan_object(part, words + (from - address) / 8, (to - from) / 8,
					     (from - start) / 8));
		if (stop > end)
			return NULL;
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *scan_piece(void *context, size_t number, void *result)
{
	const struct scan *scan = context;
	struct part *part = result;

	part->scan = scan;
	part->piece = &scan->pieces.items[number];
	part->object = part->piece->object;
	part->edges.count = part->others.count = 0;
	HEAP_TRY(image_visit(scan->image, part->piece->start, part->piece->end, scan_words, part));
	return resolve(part);
}

// --- all of them -------------------------------------------------------------

// Makes room for more edges. Not heap_reserve(): the columns grow together, by doubling.
HEAP_MUST_CHECK
static struct heap_error *grow(struct scan *scan, size_t more)
{
	struct heap_snapshot *snapshot = scan->snapshot;
	uint64_t capacity = scan->capacity ? scan->capacity : 65536;

	if (more > HEAP_COUNT_MAX - snapshot->edge_count)
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "more than %" PRIu32
					 " pointers do not fit into a snapshot",
					 HEAP_COUNT_MAX);
	while (capacity - snapshot->edge_count < more)
		capacity = capacity < HEAP_COUNT_MAX / 2 ? capacity * 2 : HEAP_COUNT_MAX;
	if (capacity == scan->capacity)
		return NULL;

#define GROW(column) heap_column_resize(capacity * sizeof(*snapshot->column), &snapshot->column)

	HEAP_TRY(GROW(edge_target));
	HEAP_TRY(GROW(edge_slot));
	HEAP_TRY(GROW(edge_interior));
	HEAP_TRY(GROW(edge_flags));
#undef GROW
	scan->capacity = (uint32_t)capacity;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *tell(const struct edges_listener *listener,
			       const struct other_word *other)
{
	if (is_code(listener, other->word))
		listener->code_word(listener->context, other->object, other->word);
	if (!is_head(listener, other->slot, other->word))
		return NULL;
	return listener->head_word(listener->context, other->object, other->slot, other->word);
}

// The first words come before the others: they say what is no C object.
HEAP_MUST_CHECK
static struct heap_error *tell_all(const struct edges_listener *listener, const struct part *part)
{
	for (size_t i = 0; i < part->others.count; i++) {
		if (part->others.items[i].slot == 0)
			HEAP_TRY(tell(listener, &part->others.items[i]));
	}
	for (size_t i = 0; i < part->others.count; i++) {
		if (part->others.items[i].slot != 0)
			HEAP_TRY(tell(listener, &part->others.items[i]));
	}
	return NULL;
}

// New columns are zeros. Zeros are not written to them, so that pages of zeros take no memory: most
// pointers lead to the start of a block, and many lie there.
HEAP_MUST_CHECK
static struct heap_error *keep_edges(struct scan *scan, const struct part *part)
{
	struct heap_snapshot *snapshot = scan->snapshot;

	HEAP_TRY(grow(scan, part->edges.count));
	for (size_t i = 0; i < part->edges.count; i++, snapshot->edge_count++) {
		const struct edge *edge = &part->edges.items[i];

		snapshot->edge_first[edge->object + 1]++;
		snapshot->edge_target[snapshot->edge_count] = edge->target;
		if (edge->slot != 0)
			snapshot->edge_slot[snapshot->edge_count] = edge->slot;
		if (edge->interior != 0)
			snapshot->edge_interior[snapshot->edge_count] = edge->interior;
	}
	return NULL;
}

static void store_edges(struct heap_stored_edges *stored, const struct part *part)
{
	for (size_t i = 0; i < part->edges.count; i++) {
		const struct edge *edge = &part->edges.items[i];

		heap_stored_edges_add(stored, edge->object, edge->slot, edge->target,
				      edge->interior);
	}
}

HEAP_MUST_CHECK
static struct heap_error *join_piece(void *context, void *result)
{
	struct scan *scan = context;
	const struct part *part = result;

	progress_set_done(part->object);
	progress_flush();
	if (scan->stored)
		store_edges(scan->stored, part);
	else
		HEAP_TRY(keep_edges(scan, part));
	return tell_all(scan->listener, part);
}

static void release_piece(void *result)
{
	struct part *part = result;

	heap_array_deinit(&part->edges);
	heap_array_deinit(&part->others);
}

// Where a block's last whole word ends.
static uint64_t end_of(const struct objects *objects, heap_object_id object)
{
	return objects_address(objects, object) + (objects_size(objects, object) & ~UINT64_C(7));
}

HEAP_MUST_CHECK
static struct heap_error *cut_range(struct scan *scan, const struct object_range *range)
{
	const struct objects *objects = scan->objects;
	struct piece piece = { .object = range->first, .objects_end = range->first + range->count };
	uint64_t start = objects_address(objects, range->first);
	uint64_t end = end_of(objects, piece.objects_end - 1);

	for (; start < end; start = piece.end) {
		while (end_of(objects, piece.object) <= start)
			piece.object++;
		if (objects_address(objects, piece.object) > start)
			start = objects_address(objects, piece.object);
		piece.start = start;
		piece.end = end - start < PIECE ? end : (start + PIECE) & ~UINT64_C(4095);
		HEAP_TRY(heap_array_append(&scan->pieces, piece));
	}
	return NULL;
}

// Scans all ranges, and adds their edges in order.
HEAP_MUST_CHECK
static struct heap_error *scan_ranges(struct scan *scan)
{
	const struct objects *objects = scan->objects;

	if (objects->range_count > 0) {
		scan->low = objects->ranges[0].start;
		scan->high = objects->ranges[objects->range_count - 1].end;
	}
	for (size_t i = 0; i < objects->range_count; i++)
		HEAP_TRY(cut_range(scan, &objects->ranges[i]));
	return heap_pieces_run(&(struct heap_piece_work){
		.count = scan->pieces.count,
		.part_size = sizeof(struct part),
		.work = scan_piece,
		.join = join_piece,
		.release = release_piece,
		.context = scan,
	});
}

static void scan_deinit(struct scan *scan)
{
	heap_array_deinit(&scan->pieces);
}

struct heap_error *edges_scan(struct heap_snapshot *snapshot, struct heap_stored_edges *stored,
			      const struct objects *objects, const struct image *image,
			      const struct edges_listener *listener)
{
	CLEANUP(scan_deinit)
	struct scan scan = {
		.snapshot = snapshot,
		.stored = stored,
		.objects = objects,
		.image = image,
		.listener = listener,
		.low = UINT64_MAX,
	};

	if (!stored) {
		snapshot->edge_first =
			calloc((size_t)objects->count + 1, sizeof(*snapshot->edge_first));
		if (!snapshot->edge_first)
			return heap_error_out_of_memory();
		HEAP_TRY(grow(&scan, 1));
	}
	HEAP_TRY(scan_ranges(&scan));
	if (!stored)
		heap_offsets_from_counts(snapshot->edge_first, objects->count);
	return NULL;
}
