// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Columns that are loaded in part: for a question about a few objects of many. A column has its
 * full length then, most of which is never touched and takes no memory; what has been decoded of
 * it, a block of objects or the edges that leave them at a time, is noted in a bit.
 */
#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/base/column.h"
#include "lib/snapshot/declarations.h"
#include "lib/base/parallel.h"
#include "lib/snapshot/snapshot_read.h"

enum {
	PIECE = HEAP_BLOCK_ELEMENTS, // objects, or edges
	MANY = 3,                    // one of so many pieces: then all of them
	COLUMNS = 14,
};

struct heap_around {
	unsigned columns;         // enum heap_columns that are loaded in part
	uint8_t *loaded[COLUMNS]; // a bit per piece, of these
	size_t pieces[COLUMNS];   // how many have been loaded, of these
};

bool heap_snapshot_is_partial(const struct heap_snapshot *snapshot, unsigned column)
{
	return snapshot->around && (snapshot->around->columns & column);
}

static unsigned number_of(unsigned column)
{
	return (unsigned)__builtin_ctz(column);
}

static void *take(void *place)
{
	void *column = *(void **)place;

	*(void **)place = NULL;
	return column;
}

void heap_snapshot_drop_partial(struct heap_snapshot *snapshot, unsigned columns)
{
	unsigned partial = snapshot->around ? snapshot->around->columns & columns : 0;

	for (unsigned i = 0; i < COLUMNS; i++) {
		if (!(partial & 1u << i))
			continue;
		free(take(&snapshot->around->loaded[i]));
		if (i < HEAP_OBJECT_COLUMNS)
			heap_column_destroy(
				take((char *)snapshot + heap_object_columns[i].array_offset));
	}
	if (partial & HEAP_COLUMN_SLOTS)
		heap_column_destroy(take(&snapshot->edge_slot));
	if (partial)
		snapshot->around->columns &= ~partial;
}

void heap_around_destroy(struct heap_around *around)
{
	for (unsigned i = 0; around && i < COLUMNS; i++)
		free(around->loaded[i]);
	free(around);
}

// --- pieces ------------------------------------------------------------------

// Those of one column that are to be decoded.
struct pieces {
	struct heap_snapshot *snapshot;
	unsigned column;
	uint32_t *numbers; // [count]
	size_t count;
};

static uint32_t end_of(const struct heap_snapshot *snapshot, uint32_t start)
{
	return snapshot->object_count - start < PIECE ? snapshot->object_count : start + PIECE;
}

HEAP_MUST_CHECK
static struct heap_error *read_objects(const struct heap_snapshot *snapshot,
				       const struct heap_column *column, uint32_t start,
				       uint32_t end)
{
	char *values = *(char **)((char *)(uintptr_t)snapshot + column->array_offset);
	const struct heap_section *section;

	HEAP_TRY(heap_snapshot_section(snapshot, column->tag, &section));
	HEAP_TRY(heap_snapshot_read_values(snapshot, section, column->width, start, end - start,
					   values + (size_t)start * column->width));
	return heap_snapshot_check_values(snapshot, column->tag, start, end - start,
					  values + (size_t)start * column->width);
}

HEAP_MUST_CHECK
static struct heap_error *read_edges(const struct heap_snapshot *snapshot, uint32_t tag,
				     uint8_t width, uint32_t start, uint32_t end, void *values)
{
	const struct heap_section *section;

	HEAP_TRY(heap_snapshot_section(snapshot, tag, &section));
	return heap_snapshot_read_values(snapshot, section, width, start, end - start, values);
}

HEAP_MUST_CHECK
static struct heap_error *read_piece(void *context, size_t number)
{
	const struct pieces *pieces = context;
	const struct heap_snapshot *snapshot = pieces->snapshot;
	uint32_t start = pieces->numbers[number] * PIECE, end = end_of(snapshot, start);
	uint32_t first, last;

	if (pieces->column != HEAP_COLUMN_SLOTS)
		return read_objects(snapshot, &heap_object_columns[number_of(pieces->column)],
				    start, end);
	first = snapshot->edge_first[start];
	last = snapshot->edge_first[end];
	HEAP_TRY(read_edges(snapshot, HEAP_TAG_EDGE_SLOTS, sizeof(*snapshot->edge_slot), first,
			    last, snapshot->edge_slot + first));
	return heap_snapshot_add_slots(snapshot, start, end, snapshot->edge_slot);
}

// An array of zeros for a section, which must have as many values.
HEAP_MUST_CHECK
static struct heap_error *make_array(const struct heap_snapshot *snapshot, uint32_t tag,
				     uint32_t count, size_t width, void *place)
{
	const struct heap_section *section;

	HEAP_TRY(heap_snapshot_section(snapshot, tag, &section));
	if (section->count != count)
		return heap_section_damaged(tag, "it has too few or too many values");
	return heap_column_create_sparse(count, width, place);
}

HEAP_MUST_CHECK
static struct heap_error *make_column(struct heap_snapshot *snapshot, unsigned column)
{
	const struct heap_column *objects;

	if (column == HEAP_COLUMN_SLOTS)
		return make_array(snapshot, HEAP_TAG_EDGE_SLOTS, snapshot->edge_count,
				  sizeof(*snapshot->edge_slot), &snapshot->edge_slot);
	objects = &heap_object_columns[number_of(column)];
	return make_array(snapshot, objects->tag, snapshot->object_count, objects->width,
			  (char *)snapshot + objects->array_offset);
}

// Makes a column one that is loaded in part: nothing of it so far.
HEAP_MUST_CHECK
static struct heap_error *begin(struct heap_snapshot *snapshot, unsigned column)
{
	size_t pieces = snapshot->object_count / PIECE + (size_t)1;
	struct heap_error *error;

	if (heap_snapshot_is_partial(snapshot, column))
		return NULL;
	if (!snapshot->around)
		snapshot->around = calloc(1, sizeof(*snapshot->around));
	if (!snapshot->around)
		return heap_error_out_of_memory();
	snapshot->around->loaded[number_of(column)] = calloc(pieces / 8 + 1, 1);
	if (!snapshot->around->loaded[number_of(column)])
		return heap_error_out_of_memory();
	snapshot->around->columns |= column;
	error = make_column(snapshot, column);
	if (error)
		heap_snapshot_drop_partial(snapshot, column);
	return error;
}

static bool is_loaded(const struct heap_snapshot *snapshot, unsigned column, uint32_t piece)
{
	return heap_snapshot_is_partial(snapshot, column) &&
	       heap_bit_get(snapshot->around->loaded[number_of(column)], piece);
}

// Notes which pieces of a column are missing, each once.
HEAP_MUST_CHECK
static struct heap_error *find_missing(struct pieces *pieces, const heap_object_id *objects,
				       size_t count)
{
	size_t all = pieces->snapshot->object_count / PIECE + (size_t)1;
	CLEANUP_FREE uint8_t *noted = calloc(all / 8 + 1, 1);

	pieces->numbers = calloc(all, sizeof(*pieces->numbers));
	if (!noted || !pieces->numbers)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < count; i++) {
		uint32_t piece = objects[i] / PIECE;

		if (heap_bit_get(noted, piece) ||
		    is_loaded(pieces->snapshot, pieces->column, piece))
			continue;
		heap_bit_set(noted, piece);
		pieces->numbers[pieces->count++] = piece;
	}
	return NULL;
}

static bool has_whole(const struct heap_snapshot *snapshot, unsigned column)
{
	unsigned number = number_of(column);

	if (heap_snapshot_is_partial(snapshot, column))
		return false;
	if (number < HEAP_OBJECT_COLUMNS)
		return *(void **)((char *)(uintptr_t)snapshot +
				  heap_object_columns[number].array_offset);
	return snapshot->edge_slot != NULL;
}

HEAP_MUST_CHECK
static struct heap_error *load_column(struct heap_snapshot *snapshot, unsigned column,
				      const heap_object_id *objects, size_t count)
{
	struct pieces pieces = { .snapshot = snapshot, .column = column };
	unsigned number = number_of(column);
	struct heap_error *error;
	size_t loaded = 0;

	if (has_whole(snapshot, column))
		return NULL;
	// What older snapshots lack is all zeros.
	if (number < HEAP_OBJECT_COLUMNS &&
	    !heap_file_find(snapshot->file, heap_object_columns[number].tag))
		return heap_snapshot_load(snapshot, column);
	if (heap_snapshot_is_partial(snapshot, column))
		loaded = snapshot->around->pieces[number];
	error = find_missing(&pieces, objects, count);
	if (!error && loaded + pieces.count > snapshot->object_count / PIECE / MANY + 1)
		error = heap_snapshot_load(snapshot, column);
	else if (!error && pieces.count > 0) {
		error = begin(snapshot, column);
		if (!error)
			error = heap_parallel_run(pieces.count, read_piece, &pieces);
		for (size_t i = 0; !error && i < pieces.count; i++)
			heap_bit_set(snapshot->around->loaded[number], pieces.numbers[i]);
		if (!error)
			snapshot->around->pieces[number] = loaded + pieces.count;
	}
	free(pieces.numbers);
	return error;
}

struct heap_error *heap_snapshot_load_around(struct heap_snapshot *snapshot, unsigned columns,
					     const heap_object_id *objects, size_t count)
{
	unsigned whole = columns & (HEAP_COLUMN_EDGES | HEAP_COLUMN_QUALITY | HEAP_COLUMN_PARTS);
	struct heap_error *error;

	if (!snapshot->file)
		return NULL;
	if (columns & HEAP_COLUMN_SLOTS)
		whole |= HEAP_COLUMN_EDGES;
	if (snapshot->declarations && (columns & HEAP_DECLARED_COLUMNS))
		whole = columns;
	error = heap_snapshot_load(snapshot, whole);
	for (unsigned left = columns & ~whole; !error && left; left &= left - 1)
		error = heap_snapshot_within(snapshot,
					     load_column(snapshot, left & -left, objects, count));
	return error;
}

// --- the quality of edges ----------------------------------------------------

// Those that are asked of, by the block that they stand in.
struct blocks {
	const struct heap_snapshot *snapshot;
	struct heap_edge_quality *qualities;
	size_t *first; // [blocks + 1]
};

HEAP_MUST_CHECK
static struct heap_error *find_in_block(void *context, size_t number)
{
	const struct blocks *blocks = context;
	const struct heap_snapshot *snapshot = blocks->snapshot;
	struct heap_edge_quality *first = &blocks->qualities[blocks->first[number]];
	struct heap_edge_quality *end = &blocks->qualities[blocks->first[number + 1]];
	uint32_t start = first->edge, edges = end[-1].edge - start + 1;
	CLEANUP_FREE uint32_t *interior = malloc(edges * sizeof(*interior));
	CLEANUP_FREE uint8_t *flags = malloc(edges);

	if (!interior || !flags)
		return heap_error_out_of_memory();
	HEAP_TRY(read_edges(snapshot, HEAP_TAG_EDGE_INTERIORS, sizeof(*interior), start,
			    start + edges, interior));
	HEAP_TRY(read_edges(snapshot, HEAP_TAG_EDGE_FLAGS, sizeof(*flags), start, start + edges,
			    flags));
	for (; first < end; first++) {
		first->interior = interior[first->edge - start];
		first->flags = flags[first->edge - start];
	}
	return NULL;
}

struct heap_error *heap_snapshot_find_quality(struct heap_snapshot *snapshot,
					      struct heap_edge_quality *qualities, size_t count)
{
	CLEANUP_FREE size_t *first = NULL;
	size_t blocks = 0;

	if (snapshot->declarations) {
		struct heap_error *error = heap_snapshot_load(snapshot, HEAP_COLUMN_QUALITY);

		if (error)
			return error;
	}
	if (snapshot->edge_interior) {
		for (size_t i = 0; i < count; i++) {
			qualities[i].interior = snapshot->edge_interior[qualities[i].edge];
			qualities[i].flags = snapshot->edge_flags[qualities[i].edge];
		}
		return NULL;
	}
	first = calloc(count + 1, sizeof(*first));
	if (!first)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || qualities[i].edge / PIECE != qualities[i - 1].edge / PIECE)
			first[blocks++] = i;
	}
	first[blocks] = count;
	return heap_snapshot_within(
		snapshot, heap_parallel_run(blocks, find_in_block,
					    &(struct blocks){ snapshot, qualities, first }));
}

// --- addresses ---------------------------------------------------------------

// The last piece whose objects begin at or before an address; UINT32_MAX: none does.
HEAP_MUST_CHECK
static struct heap_error *find_piece(const struct heap_snapshot *snapshot, uint64_t address,
				     uint32_t *result)
{
	uint32_t low = 0, high = (snapshot->object_count + (PIECE - 1)) / PIECE;
	const struct heap_section *section;

	HEAP_TRY(heap_snapshot_section(snapshot, HEAP_TAG_ADDRESSES, &section));

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		uint64_t first = 0;

		HEAP_TRY(heap_file_read_u64(snapshot->file, section, (uint64_t)middle * PIECE, 1,
					    &first));
		if (first <= address)
			low = middle + 1;
		else
			high = middle;
	}
	*result = low - 1;
	return NULL;
}

struct heap_error *heap_snapshot_locate(struct heap_snapshot *snapshot, uint64_t address,
					heap_object_id *result)
{
	enum heap_columns columns = HEAP_COLUMN_ADDRESS | HEAP_COLUMN_SIZE;
	heap_object_id object, low, high;
	struct heap_error *error;
	uint32_t piece;

	*result = HEAP_NO_OBJECT;
	if (!snapshot->file ||
	    (has_whole(snapshot, HEAP_COLUMN_ADDRESS) && has_whole(snapshot, HEAP_COLUMN_SIZE))) {
		*result = heap_snapshot_find(snapshot, address);
		return NULL;
	}
	error = find_piece(snapshot, address, &piece);
	if (error || piece == UINT32_MAX)
		return heap_snapshot_within(snapshot, error);
	low = piece * PIECE;
	high = end_of(snapshot, low);
	error = heap_snapshot_load_around(snapshot, columns, &low, 1);
	if (error)
		return error;
	// Its first object begins at or before the address.
	while (high - low > 1) {
		object = low + (high - low) / 2;
		if (snapshot->address[object] <= address)
			low = object;
		else
			high = object;
	}
	if (address == snapshot->address[low] ||
	    address - snapshot->address[low] < snapshot->size[low])
		*result = low;
	return NULL;
}
