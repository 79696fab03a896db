// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/graph/edge_bits.h"

#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/base/column.h"
#include "lib/base/parallel.h"
#include "lib/base/search.h"
#include "lib/graph/embedded.h"
#include "lib/snapshot/snapshot_read.h"

enum {
	PIECE = HEAP_BLOCK_ELEMENTS, // edges, whose bits are whole bytes
};

struct demanding {
	const struct heap_snapshot *snapshot;
	const struct heap_section *interiors, *flags, *slots;
	struct heap_embedded embedded;
	unsigned demands;
	uint8_t *bits;
};

// The columns of edges [start, start + count).
struct piece {
	uint32_t start, count;
	const uint32_t *interior, *slot; // slot: where members count
	const uint8_t *flags;
};

// The object that an edge leaves.
static heap_object_id source_of(const struct heap_snapshot *snapshot, uint32_t edge)
{
	return heap_partition_point(i, 0, snapshot->object_count,
				    snapshot->edge_first[i + 1] <= edge);
}

static bool is_to_member(const struct demanding *demanding, const struct piece *piece, uint32_t i)
{
	const struct heap_snapshot *snapshot = demanding->snapshot;
	uint32_t edge = piece->start + i;

	if (!(demanding->demands & HEAP_EDGE_TO_MEMBER) || !(piece->flags[i] & HEAP_EDGE_TYPED))
		return false;
	return heap_embedded_is(&demanding->embedded, snapshot->type[source_of(snapshot, edge)],
				(uint64_t)piece->slot[i] * 8, snapshot->edge_target[edge],
				piece->interior[i]);
}

static void set_bits(const struct demanding *demanding, const struct piece *piece)
{
	bool to_start = demanding->demands & HEAP_EDGE_TO_START;
	bool by_type = demanding->demands & HEAP_EDGE_BY_TYPE;

	for (uint32_t i = 0; i < piece->count; i++) {
		if ((!to_start || heap_edge_is_start(piece->interior[i], piece->flags[i]) ||
		     is_to_member(demanding, piece, i)) &&
		    (!by_type || (piece->flags[i] & HEAP_EDGE_TYPED)))
			heap_bit_set(demanding->bits, piece->start + i);
	}
}

// Adds up the differences that are stored of an object's slots before an edge. @param values  [PIECE] room
HEAP_MUST_CHECK
static struct heap_error *sum_slots(const struct demanding *demanding, heap_object_id object,
				    uint32_t edge, uint32_t *values, uint32_t *sum)
{
	const struct heap_snapshot *snapshot = demanding->snapshot;
	uint32_t at = snapshot->edge_first[object];

	*sum = 0;
	while (at < edge) {
		uint32_t count = edge - at < PIECE ? edge - at : PIECE;

		HEAP_TRY(heap_snapshot_read_values(snapshot, demanding->slots, sizeof(*values), at,
						   count, values));
		for (uint32_t i = 0; i < count; i++)
			*sum += values[i];
		at += count;
	}
	return NULL;
}

// Reads the slots of edges, which are stored as differences to the slot before, of the same object.
HEAP_MUST_CHECK
static struct heap_error *read_slots(const struct demanding *demanding, uint32_t start,
				     uint32_t count, uint32_t *slots)
{
	const struct heap_snapshot *snapshot = demanding->snapshot;
	heap_object_id object = source_of(snapshot, start);
	uint32_t slot;

	HEAP_TRY(sum_slots(demanding, object, start, slots, &slot));
	HEAP_TRY(heap_snapshot_read_values(snapshot, demanding->slots, sizeof(*slots), start, count,
					   slots));
	for (uint32_t i = 0; i < count; i++) {
		for (; start + i >= snapshot->edge_first[object + 1]; object++)
			slot = 0;
		slot += slots[i];
		slots[i] = slot;
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *check_piece(void *context, size_t number)
{
	const struct demanding *demanding = context;
	const struct heap_snapshot *snapshot = demanding->snapshot;
	bool to_member = demanding->demands & HEAP_EDGE_TO_MEMBER;
	uint32_t start = (uint32_t)number * PIECE;
	uint32_t count =
		snapshot->edge_count - start < PIECE ? snapshot->edge_count - start : PIECE;

	if (snapshot->edge_interior && (snapshot->edge_slot || !to_member)) {
		set_bits(demanding, &(struct piece){ start, count, snapshot->edge_interior + start,
						     to_member ? snapshot->edge_slot + start : NULL,
						     snapshot->edge_flags + start });
		return NULL;
	}

	CLEANUP_FREE uint32_t *interior = malloc(count * sizeof(*interior));
	CLEANUP_FREE uint32_t *slot = to_member ? malloc(PIECE * sizeof(*slot)) : NULL;
	CLEANUP_FREE uint8_t *flags = malloc(count);

	if (!interior || !flags || (to_member && !slot))
		return heap_error_out_of_memory();
	HEAP_TRY(heap_snapshot_read_values(snapshot, demanding->interiors, sizeof(*interior), start,
					   count, interior));
	HEAP_TRY(heap_snapshot_read_values(snapshot, demanding->flags, sizeof(*flags), start, count,
					   flags));
	if (to_member)
		HEAP_TRY(read_slots(demanding, start, count, slot));
	set_bits(demanding, &(struct piece){ start, count, interior, slot, flags });
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_section(const struct heap_snapshot *snapshot, uint32_t tag,
				       const struct heap_section **result)
{
	HEAP_TRY(heap_snapshot_section(snapshot, tag, result));
	if ((*result)->count != snapshot->edge_count)
		return heap_section_damaged(tag, "it has too few or too many values");
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *make_bits(struct demanding *demanding)
{
	const struct heap_snapshot *snapshot = demanding->snapshot;
	size_t edges = snapshot->edge_count;

	bool to_member = demanding->demands & HEAP_EDGE_TO_MEMBER;

	if (!snapshot->edge_interior || (to_member && !snapshot->edge_slot)) {
		HEAP_TRY(find_section(snapshot, HEAP_TAG_EDGE_INTERIORS, &demanding->interiors));
		HEAP_TRY(find_section(snapshot, HEAP_TAG_EDGE_FLAGS, &demanding->flags));
		if (to_member)
			HEAP_TRY(find_section(snapshot, HEAP_TAG_EDGE_SLOTS, &demanding->slots));
	}
	return heap_parallel_run((edges + PIECE - 1) / PIECE, check_piece, demanding);
}

struct heap_error *heap_edge_bits_create(struct heap_snapshot *snapshot, unsigned demands,
					 uint8_t **result)
{
	CLEANUP_COLUMN uint8_t *bits = NULL;
	struct demanding demanding = { .snapshot = snapshot, .demands = demands };

	if (snapshot->declarations)
		HEAP_TRY(heap_snapshot_load(snapshot, HEAP_COLUMN_QUALITY));
	HEAP_TRY(heap_column_create((size_t)snapshot->edge_count / 8 + 1, 1, &bits));
	demanding.bits = bits;
	if (demands & HEAP_EDGE_TO_MEMBER)
		HEAP_TRY(heap_embedded_init(&demanding.embedded, snapshot));

	struct heap_error *error = make_bits(&demanding);

	if (demands & HEAP_EDGE_TO_MEMBER)
		heap_embedded_deinit(&demanding.embedded);
	HEAP_TRY(heap_snapshot_within(snapshot, error));
	*result = keep(bits);
	return NULL;
}
