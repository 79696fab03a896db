// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/inference.h"

#include "lib/base/pieces.h"
#include "dumper/writer/base/progress.h"
#include "lib/base/prefetch.h"

#include <stdlib.h>

enum {
	PIECE = 4096,           // positions of claims: whole words
	PREFETCH_DISTANCE = 12, // claims
};

struct applying {
	struct inference *inference;
	const struct claim_queue *taken;
	enum rank rank;
};

// --- in several threads ----------------------------------------------------------

static void fetch(const struct inference *inference, heap_object_id object)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;

	claims_prefetch(&inference->claims, object);
	heap_prefetch_to_write(&inference->capture->names.of[object]);
	heap_prefetch(&snapshot->edge_first[object]);
	kinds_prefetch(inference, object);
}

// Prefetches what a claim further on reads, unless they are by address.
static void fetch_ahead(const struct inference *inference, const struct claim_queue *taken,
			size_t position)
{
	size_t ahead = position + PREFETCH_DISTANCE;

	if (!taken->bits && ahead < taken->count && taken->list[ahead] != HEAP_NO_OBJECT)
		fetch(inference, taken->list[ahead]);
}

// Appends the object's edges to the last piece of the frontier, or to as many more as they fill.
HEAP_MUST_CHECK
static struct heap_error *add_edges(struct named_part *part, size_t claim, uint32_t first,
				    uint32_t end)
{
	uint32_t taken;

	do {
		if (part->room == 0) {
			HEAP_TRY(heap_array_append(&part->pieces,
						   (struct frontier_piece){ claim, first }));
			part->room = FRONTIER_PIECE;
		}
		taken = end - first < part->room ? end - first : part->room;
		first += taken;
		part->room -= taken > 0 ? taken : 1;
	} while (first < end);
	return NULL;
}

// Notes for the join which kind has news, and which type its name is of.
HEAP_MUST_CHECK
static struct heap_error *note(const struct inference *inference, heap_object_id object,
			       heap_type_id type, struct named_part *part)
{
	uint32_t kind = kinds_of(inference, object);
	size_t runs = part->runs.count, types = part->types.count;

	if (types == 0 || part->types.items[types - 1] != type)
		HEAP_TRY(heap_array_append(&part->types, type));
	if (runs > 0 && part->runs.items[runs - 1].kind == kind) {
		part->runs.items[runs - 1].count++;
		return NULL;
	}
	return heap_array_append(&part->runs, (struct named_run){ kind, 1 });
}

HEAP_MUST_CHECK
static struct heap_error *name_piece(void *context, size_t number, void *result)
{
	const struct applying *applying = context;
	struct inference *inference = applying->inference;
	const struct claim_queue *taken = applying->taken;
	const uint32_t *edge_first = inference->capture->snapshot.edge_first;
	struct named_part *part = result;
	size_t first = number * PIECE, left = claim_queue_end(taken) - first;
	size_t end = first + (left < PIECE ? left : PIECE);

	part->pieces.count = part->runs.count = part->types.count = 0;
	part->room = part->applied = part->named = 0;
	for (size_t i = claim_queue_next(taken, first, end); i < end;
	     i = claim_queue_next(taken, i + 1, end)) {
		heap_object_id object = claim_queue_object(taken, i);

		fetch_ahead(inference, taken, i);
		progress_step();

		bool is_new = inference_type(inference, object) == HEAP_NO_TYPE;
		const struct name *name = claims_settle(&inference->claims, applying->rank, i);

		if (!name)
			continue;
		part->applied++;
		part->named += is_new;
		HEAP_TRY(note(inference, object, name->type, part));
		HEAP_TRY(add_edges(part, i, edge_first[object], edge_first[object + 1]));
	}
	return NULL;
}

// --- in order --------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *join_piece(void *context, void *result)
{
	struct inference *inference = ((const struct applying *)context)->inference;
	const struct named_part *part = result;

	for (size_t i = 0; i < part->runs.count; i++)
		kinds_note_news(&inference->kinds, part->runs.items[i].kind,
				part->runs.items[i].count);
	for (size_t i = 0; i < part->types.count; i++)
		HEAP_TRY(frontier_add_type(inference, part->types.items[i]));
	for (size_t i = 0; i < part->pieces.count; i++)
		HEAP_TRY(heap_array_append(&inference->frontier.pieces, part->pieces.items[i]));
	inference->claims.applied += part->applied;
	inference->named += part->named;
	if (part->named > 0)
		progress_set_done(inference->named);
	return NULL;
}

void named_part_deinit(struct named_part *part)
{
	heap_array_deinit(&part->pieces);
	heap_array_deinit(&part->runs);
	heap_array_deinit(&part->types);
}

static void release_piece(void *result)
{
	named_part_deinit(result);
}

HEAP_MUST_CHECK
static struct heap_error *name_all(struct applying *applying)
{
	struct named_part *own = &applying->inference->named_part;

	// Without threads and their buffers: most rounds are this small.
	if (claim_queue_end(applying->taken) <= PIECE) {
		HEAP_TRY(name_piece(applying, 0, own));
		return join_piece(applying, own);
	}
	return heap_pieces_run(&(struct heap_piece_work){
		.count = (claim_queue_end(applying->taken) + PIECE - 1) / PIECE,
		.part_size = sizeof(struct named_part),
		.work = name_piece,
		.join = join_piece,
		.release = release_piece,
		.context = applying,
	});
}

struct heap_error *claims_apply(struct inference *inference, enum rank rank)
{
	const struct claim_queue *taken = claims_take(&inference->claims, rank);
	frontier_begin(inference);
	HEAP_TRY(name_all(&(struct applying){ inference, taken, rank }));
	HEAP_TRY(frontier_follow(inference, taken));
	claims_taken(&inference->claims);
	return NULL;
}
