// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/edges.h"

#include "lib/base/search.h"
#include "dumper/writer/base/pieces.h"
#include "dumper/writer/base/progress.h"
#include "lib/graph/offsets.h"

#include <stdbool.h>
#include <stdlib.h>

enum {
	PIECE = 2 << 20, // bytes that are scanned at once
	BATCH = 64,
	PAGE = 4096, // nothing lies below
};

// Memory whose words are looked at together. A large block lies in several.
struct piece {
	uint64_t start, end;
	heap_object_id object, objects_end; // the first in it, and the range's
};

struct scan {
	struct edges *edges;
	const struct objects *objects;
	const struct image *image;
	const struct edges_listener *listener;
	uint64_t low, high; // no block lies outside
	struct piece *pieces;
	size_t piece_count;
};

// A word that may be a pointer.
struct candidate {
	uint64_t word;
	heap_object_id object; // that it lies in
	uint32_t slot;
	heap_object_id target;
};

struct edge {
	heap_object_id object;
	heap_object_id target;
	uint32_t slot;
	uint32_t interior;
};

// No pointer into the heap.
struct other_word {
	uint64_t word;
	heap_object_id object;
	bool is_first;
};

// What a piece has.
struct part {
	const struct scan *scan;
	const struct piece *piece;
	heap_object_id object; // the one that the words looked at next belong to, or come before
	struct candidate batch[BATCH];
	size_t waiting; // in the batch
	struct edge *edges;
	size_t edge_count, edge_capacity;
	struct other_word *others;
	size_t other_count, other_capacity;
};

// Room for @p more in an array that doubles.
HEAP_MUST_CHECK
static struct heap_error *reserve(void *array, size_t element, size_t count, size_t more,
				  size_t *capacity)
{
	void **pointer = array;
	size_t larger = *capacity ? *capacity : 4096;

	while (larger - count < more)
		larger *= 2;
	if (larger == *capacity)
		return NULL;

	void *grown = realloc(*pointer, larger * element);

	if (!grown)
		return heap_error_out_of_memory();
	*pointer = grown;
	*capacity = larger;
	return NULL;
}

// --- a piece -----------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *note_other(struct part *part, const struct candidate *candidate)
{
	const struct edges_listener *listener = part->scan->listener;
	uint64_t word = candidate->word;
	bool is_first =
		candidate->slot == 0 && word >= listener->first_start && word < listener->first_end;

	if (!is_first && (word < listener->code_start || word >= listener->code_end))
		return NULL;

	struct heap_error *error = reserve(&part->others, sizeof(*part->others), part->other_count,
					   1, &part->other_capacity);

	if (!error)
		part->others[part->other_count++] =
			(struct other_word){ word, candidate->object, is_first };
	return error;
}

// Whose block a word points into is two or three cache misses away, which are the time that
// all this takes: those of a batch are waited for together.
HEAP_MUST_CHECK
static struct heap_error *resolve(struct part *part)
{
	const struct objects *objects = part->scan->objects;
	struct heap_error *error = reserve(&part->edges, sizeof(*part->edges), part->edge_count,
					   BATCH, &part->edge_capacity);

	if (error)
		return error;
	for (size_t i = 0; i < part->waiting; i++)
		objects_prefetch_starts(objects, part->batch[i].word);
	for (size_t i = 0; i < part->waiting; i++) {
		struct candidate *candidate = &part->batch[i];

		candidate->target = objects_find_before(objects, candidate->word);
		if (candidate->target == HEAP_NO_OBJECT)
			continue;
		__builtin_prefetch(&objects->address[candidate->target]);
		__builtin_prefetch(&objects->kind[candidate->target]);
	}
	for (size_t i = 0; i < part->waiting; i++) {
		const struct candidate *candidate = &part->batch[i];
		heap_object_id target = candidate->target;

		if (target == HEAP_NO_OBJECT || !objects_holds(objects, target, candidate->word)) {
			error = note_other(part, candidate);
			if (error)
				return error;
			continue;
		}

		uint64_t interior = candidate->word - objects->address[target];

		part->edges[part->edge_count++] = (struct edge){
			.object = candidate->object,
			.target = target,
			.slot = candidate->slot,
			.interior = interior < UINT32_MAX ? (uint32_t)interior : UINT32_MAX,
		};
	}
	part->waiting = 0;
	return NULL;
}

// Words of the current object, the first of which is its slot'th.
HEAP_MUST_CHECK
static struct heap_error *scan_object(struct part *part, const uint64_t *words, size_t count,
				      uint64_t slot)
{
	const uint64_t low = part->scan->low, length = part->scan->high - low;
	struct heap_error *error = NULL;

	for (size_t i = 0; !error && i < count; i++) {
		uint64_t word = words[i];

		struct candidate candidate = { word, part->object, (uint32_t)(slot + i), 0 };

		if (word - low >= length) {
			if (word >= PAGE)
				error = note_other(part, &candidate);
			continue;
		}
		part->batch[part->waiting++] = candidate;
		if (part->waiting == BATCH)
			error = resolve(part);
	}
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *scan_words(void *context, uint64_t address, const uint64_t *words,
				     size_t count)
{
	struct part *part = context;
	const struct objects *objects = part->scan->objects;
	uint64_t end = address + count * 8;

	for (; part->object < part->piece->objects_end; part->object++) {
		uint64_t start = objects->address[part->object];
		uint64_t stop = start + (objects_size(objects, part->object) & ~UINT64_C(7));

		if (start >= end)
			return NULL;

		uint64_t from = start > address ? start : address;
		uint64_t to = stop < end ? stop : end;

		if (from < to) {
			struct heap_error *error = scan_object(part, words + (from - address) / 8,
							       (to - from) / 8, (from - start) / 8);

			if (error)
				return error;
		}
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
	part->piece = &scan->pieces[number];
	part->object = part->piece->object;
	part->edge_count = part->other_count = 0;

	struct heap_error *error =
		image_visit(scan->image, part->piece->start, part->piece->end, scan_words, part);

	return error ? error : resolve(part);
}

// --- all of them -------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *grow(struct edges *edges, size_t more)
{
	uint64_t capacity = edges->capacity ? edges->capacity : 65536;

	while (capacity - edges->count < more)
		capacity *= 2;
	if (capacity == edges->capacity)
		return NULL;
	if (capacity > UINT32_MAX)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "more than 2^31 pointers");

#define GROW(column) \
	do { \
		void *larger_ = realloc(edges->column, capacity * sizeof(*edges->column)); \
		if (!larger_) \
			return heap_error_out_of_memory(); \
		edges->column = larger_; \
	} while (0)

	GROW(target);
	GROW(slot);
	GROW(interior);
	GROW(flags);
#undef GROW
	edges->capacity = (uint32_t)capacity;
	return NULL;
}

static void tell(const struct edges_listener *listener, const struct other_word *other)
{
	if (other->is_first)
		listener->first_word(listener->context, other->object, other->word);
	if (other->word >= listener->code_start && other->word < listener->code_end)
		listener->code_word(listener->context, other->word);
}

HEAP_MUST_CHECK
static struct heap_error *keep_edges(struct edges *edges, const struct part *part)
{
	struct heap_error *error = grow(edges, part->edge_count);

	for (size_t i = 0; !error && i < part->edge_count; i++, edges->count++) {
		const struct edge *edge = &part->edges[i];

		edges->first[edge->object + 1]++;
		edges->target[edges->count] = edge->target;
		edges->slot[edges->count] = edge->slot;
		edges->interior[edges->count] = edge->interior;
		edges->flags[edges->count] = 0;
	}
	return error;
}

static void store_edges(struct heap_stored_edges *stored, const struct part *part)
{
	for (size_t i = 0; i < part->edge_count; i++) {
		const struct edge *edge = &part->edges[i];

		heap_stored_edges_add(stored, edge->object, edge->slot, edge->target,
				      edge->interior);
	}
}

HEAP_MUST_CHECK
static struct heap_error *join_piece(void *context, void *result)
{
	struct scan *scan = context;
	const struct part *part = result;
	struct heap_error *error = NULL;

	progress_set_done(part->object);
	progress_flush();
	if (scan->edges->stored)
		store_edges(scan->edges->stored, part);
	else
		error = keep_edges(scan->edges, part);
	for (size_t i = 0; !error && i < part->other_count; i++)
		tell(scan->listener, &part->others[i]);
	return error;
}

static void release_piece(void *result)
{
	struct part *part = result;

	free(part->edges);
	free(part->others);
}

HEAP_MUST_CHECK
static struct heap_error *add_piece(struct scan *scan, const struct piece *piece)
{
	// Powers of two.
	if ((scan->piece_count & (scan->piece_count - 1)) == 0) {
		size_t capacity = scan->piece_count ? scan->piece_count * 2 : 1;
		void *larger = reallocarray(scan->pieces, capacity, sizeof(*scan->pieces));

		if (!larger)
			return heap_error_out_of_memory();
		scan->pieces = larger;
	}
	scan->pieces[scan->piece_count++] = *piece;
	return NULL;
}

// Where a block's last whole word ends.
static uint64_t end_of(const struct objects *objects, heap_object_id object)
{
	return objects->address[object] + (objects_size(objects, object) & ~UINT64_C(7));
}

HEAP_MUST_CHECK
static struct heap_error *cut_range(struct scan *scan, const struct object_range *range)
{
	const struct objects *objects = scan->objects;
	struct piece piece = { .object = range->first, .objects_end = range->first + range->count };
	struct heap_error *error = NULL;
	uint64_t start = objects->address[range->first];
	uint64_t end = end_of(objects, piece.objects_end - 1);

	for (; !error && start < end; start = piece.end) {
		while (end_of(objects, piece.object) <= start)
			piece.object++;
		if (objects->address[piece.object] > start)
			start = objects->address[piece.object];
		piece.start = start;
		piece.end = end - start < PIECE ? end : (start + PIECE) & ~UINT64_C(4095);
		error = add_piece(scan, &piece);
	}
	return error;
}

// Prepares columns for edges.
HEAP_MUST_CHECK
static struct heap_error *prepare(struct edges *edges, const struct objects *objects)
{
	edges->first = calloc((size_t)objects->count + 1, sizeof(*edges->first));
	return edges->first ? grow(edges, 1) : heap_error_out_of_memory();
}

struct heap_error *edges_init(struct edges *edges, const struct objects *objects,
			      const struct image *image, const struct edges_listener *listener,
			      bool is_stored)
{
	struct scan scan = { edges, objects, image, listener, UINT64_MAX, 0, NULL, 0 };
	struct heap_error *error =
		is_stored ? heap_stored_edges_create(&edges->stored) : prepare(edges, objects);

	if (objects->range_count > 0) {
		scan.low = objects->ranges[0].start;
		scan.high = objects->ranges[objects->range_count - 1].end;
	}
	for (size_t i = 0; !error && i < objects->range_count; i++)
		error = cut_range(&scan, &objects->ranges[i]);
	if (!error)
		error = pieces_run(&(struct piece_work){
			.count = scan.piece_count,
			.part_size = sizeof(struct part),
			.work = scan_piece,
			.join = join_piece,
			.release = release_piece,
			.context = &scan,
		});
	free(scan.pieces);
	if (!error && !is_stored)
		heap_offsets_from_counts(edges->first, objects->count);
	return error;
}

uint32_t edges_find(const struct edges *edges, heap_object_id object, uint64_t offset)
{
	return heap_partition_point(i, edges->first[object], edges->first[object + 1],
				    (uint64_t)edges->slot[i] * 8 < offset);
}

void edges_deinit(struct edges *edges)
{
	free(edges->first);
	free(edges->target);
	free(edges->slot);
	free(edges->interior);
	free(edges->flags);
	heap_stored_edges_destroy(edges->stored);
}
