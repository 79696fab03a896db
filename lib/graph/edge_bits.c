// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/graph/edge_bits.h"

#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/base/column.h"
#include "lib/base/parallel.h"
#include "lib/snapshot/snapshot_read.h"

enum {
	PIECE = HEAP_BLOCK_ELEMENTS, // edges, whose bits are whole bytes
};

struct demanding {
	const struct heap_snapshot *snapshot;
	const struct heap_section *interiors, *flags;
	unsigned demands;
	uint8_t *bits;
};

// Sets the bits of edges [start, start + count).
static void set_bits(const struct demanding *demanding, uint32_t start, uint32_t count,
		     const uint32_t *interior, const uint8_t *flags)
{
	bool to_start = demanding->demands & HEAP_EDGE_TO_START;
	bool by_type = demanding->demands & HEAP_EDGE_BY_TYPE;

	for (uint32_t i = 0; i < count; i++) {
		if ((!to_start || heap_edge_is_start(interior[i], flags[i])) &&
		    (!by_type || (flags[i] & HEAP_EDGE_TYPED)))
			heap_bit_set(demanding->bits, start + i);
	}
}

HEAP_MUST_CHECK
static struct heap_error *check_piece(void *context, size_t number)
{
	const struct demanding *demanding = context;
	const struct heap_snapshot *snapshot = demanding->snapshot;
	uint32_t start = (uint32_t)number * PIECE;
	uint32_t count =
		snapshot->edge_count - start < PIECE ? snapshot->edge_count - start : PIECE;

	if (snapshot->edge_interior) {
		set_bits(demanding, start, count, snapshot->edge_interior + start,
			 snapshot->edge_flags + start);
		return NULL;
	}

	CLEANUP_FREE uint32_t *interior = malloc(count * sizeof(*interior));
	CLEANUP_FREE uint8_t *flags = malloc(count);

	if (!interior || !flags)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_snapshot_read_values(snapshot, demanding->interiors, sizeof(*interior), start,
					   count, interior));
	HEAP_TRY(heap_snapshot_read_values(snapshot, demanding->flags, sizeof(*flags), start, count,
					   flags));
	set_bits(demanding, start, count, interior, flags);
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

	if (!snapshot->edge_interior) {
		HEAP_TRY(find_section(snapshot, HEAP_TAG_EDGE_INTERIORS, &demanding->interiors));
		HEAP_TRY(find_section(snapshot, HEAP_TAG_EDGE_FLAGS, &demanding->flags));
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
	HEAP_TRY(heap_snapshot_within(snapshot, make_bits(&demanding)));
	*result = keep(bits);
	return NULL;
}
