// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Columns that are loaded in part, to answer a question about a few of many objects. Such a column
 * has its full length, but most of its pages are never touched and take no memory. It is decoded in
 * blocks of objects, or of the edges that leave them; a bit tells if a block has been decoded.
 */
#include "lib/snapshot/snapshot_neighbours.h"

#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/base/column.h"
#include "lib/base/parallel.h"
#include "lib/base/search.h"
#include "lib/snapshot/snapshot_read.h"

enum {
	PIECE = HEAP_BLOCK_ELEMENTS, // objects, or edges
	MANY = 3,                    // if one in so many pieces is needed, all are loaded
	COLUMNS = 14,
};

struct heap_neighbours {
	unsigned columns;         // enum heap_columns: loaded in part
	uint8_t *loaded[COLUMNS]; // of these, a bit per piece
	size_t pieces[COLUMNS];   // of these, the number of pieces that are loaded
};

bool heap_snapshot_is_partial(const struct heap_snapshot *snapshot, unsigned column)
{
	return snapshot->neighbours && (snapshot->neighbours->columns & column);
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
	unsigned partial = snapshot->neighbours ? snapshot->neighbours->columns & columns : 0;

	for (unsigned i = 0; i < COLUMNS; i++) {
		if (!(partial & 1u << i))
			continue;
		free(take(&snapshot->neighbours->loaded[i]));
		if (i < HEAP_OBJECT_COLUMNS)
			heap_column_destroy(
				take((char *)snapshot + heap_object_columns[i].array_offset));
	}
	if (partial & HEAP_COLUMN_SLOTS)
		heap_column_destroy(take(&snapshot->edge_slot));
	if (partial)
		snapshot->neighbours->columns &= ~partial;
}

void heap_neighbours_destroy(struct heap_neighbours *neighbours)
{
	for (unsigned i = 0; neighbours && i < COLUMNS; i++)
		free(neighbours->loaded[i]);
	free(neighbours);
}

// --- pieces ------------------------------------------------------------------

// Pieces of one column that are to be decoded.
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
				       const struct heap_object_column *column, uint32_t start,
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

// Makes a column of zeros for a section, which must have as many values.
HEAP_MUST_CHECK
static struct heap_error *make_array(const struct heap_snapshot *snapshot, uint32_t tag,
				     uint32_t count, size_t width, void *place)
{
	const struct heap_section *section;

	HEAP_TRY(heap_snapshot_counted_section(snapshot, tag, count, &section));
	return heap_column_create_sparse(count, width, place);
}

HEAP_MUST_CHECK
static struct heap_error *make_column(struct heap_snapshot *snapshot, unsigned column)
{
	const struct heap_object_column *objects;

	if (column == HEAP_COLUMN_SLOTS)
		return make_array(snapshot, HEAP_TAG_EDGE_SLOTS, snapshot->edge_count,
				  sizeof(*snapshot->edge_slot), &snapshot->edge_slot);
	objects = &heap_object_columns[number_of(column)];
	return make_array(snapshot, objects->tag, snapshot->object_count, objects->width,
			  (char *)snapshot + objects->array_offset);
}

// Makes a column that is loaded in part: none of its pieces so far.
HEAP_MUST_CHECK
static struct heap_error *begin(struct heap_snapshot *snapshot, unsigned column)
{
	size_t pieces = snapshot->object_count / PIECE + (size_t)1;
	struct heap_error *error;

	if (heap_snapshot_is_partial(snapshot, column))
		return NULL;
	if (!snapshot->neighbours)
		snapshot->neighbours = calloc(1, sizeof(*snapshot->neighbours));
	if (!snapshot->neighbours)
		return heap_error_out_of_memory();
	snapshot->neighbours->loaded[number_of(column)] = calloc(pieces / 8 + 1, 1);
	if (!snapshot->neighbours->loaded[number_of(column)])
		return heap_error_out_of_memory();
	snapshot->neighbours->columns |= column;
	error = make_column(snapshot, column);
	if (error)
		heap_snapshot_drop_partial(snapshot, column);
	return error;
}

static bool is_loaded(const struct heap_snapshot *snapshot, unsigned column, uint32_t piece)
{
	return heap_snapshot_is_partial(snapshot, column) &&
	       heap_bit_get(snapshot->neighbours->loaded[number_of(column)], piece);
}

// Lists the pieces of a column that are missing, each once.
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

static void free_numbers(struct pieces *pieces)
{
	free(pieces->numbers);
}

HEAP_MUST_CHECK
static struct heap_error *load_column(struct heap_snapshot *snapshot, unsigned column,
				      const heap_object_id *objects, size_t count)
{
	CLEANUP(free_numbers) struct pieces pieces = { .snapshot = snapshot, .column = column };
	unsigned number = number_of(column);
	size_t loaded = 0;

	if (has_whole(snapshot, column))
		return NULL;
	// A column that older snapshots lack is all zeros.
	if (number < HEAP_OBJECT_COLUMNS &&
	    !heap_file_find(snapshot->file, heap_object_columns[number].tag))
		return heap_snapshot_load(snapshot, column);
	if (heap_snapshot_is_partial(snapshot, column))
		loaded = snapshot->neighbours->pieces[number];
	HEAP_TRY(find_missing(&pieces, objects, count));
	if (loaded + pieces.count > snapshot->object_count / PIECE / MANY + 1)
		return heap_snapshot_load(snapshot, column);
	if (pieces.count == 0)
		return NULL;
	HEAP_TRY(begin(snapshot, column));
	HEAP_TRY(heap_parallel_run(pieces.count, read_piece, &pieces));
	for (size_t i = 0; i < pieces.count; i++)
		heap_bit_set(snapshot->neighbours->loaded[number], pieces.numbers[i]);
	snapshot->neighbours->pieces[number] = loaded + pieces.count;
	return NULL;
}

struct heap_error *heap_snapshot_load_neighbours(struct heap_snapshot *snapshot, unsigned columns,
						 const heap_object_id *objects, size_t count)
{
	unsigned whole = columns & (HEAP_COLUMN_EDGES | HEAP_COLUMN_QUALITY | HEAP_COLUMN_PARTS);

	if (!snapshot->file)
		return NULL;
	if (columns & HEAP_COLUMN_SLOTS)
		whole |= HEAP_COLUMN_EDGES;
	if (snapshot->declarations && (columns & HEAP_DECLARED_COLUMNS))
		whole = columns;
	HEAP_TRY(heap_snapshot_load(snapshot, whole));
	for (unsigned left = columns & ~whole; left; left &= left - 1)
		HEAP_TRY(heap_snapshot_within(snapshot,
					      load_column(snapshot, left & -left, objects, count)));
	return NULL;
}

// --- the quality of edges ----------------------------------------------------

// Edges whose quality is wanted, by the block that they are in.
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

	if (snapshot->declarations)
		HEAP_TRY(heap_snapshot_load(snapshot, HEAP_COLUMN_QUALITY));
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

// The last piece that begins at or before an address; UINT32_MAX: none does.
HEAP_MUST_CHECK
static struct heap_error *find_piece(const struct heap_snapshot *snapshot, uint64_t address,
				     uint32_t *result)
{
	uint32_t low = 0, high = (snapshot->object_count + (PIECE - 1)) / PIECE;
	const struct heap_section *section;

	HEAP_TRY(heap_snapshot_section(snapshot, HEAP_TAG_ADDRESSES, &section));
	// Not heap_partition_point(): each step reads the file, which may fail.
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
	heap_object_id first, object;
	struct heap_error *error;
	uint32_t piece = UINT32_MAX;

	*result = HEAP_NO_OBJECT;
	if (!snapshot->file ||
	    (has_whole(snapshot, HEAP_COLUMN_ADDRESS) && has_whole(snapshot, HEAP_COLUMN_SIZE))) {
		*result = heap_snapshot_find(snapshot, address);
		return NULL;
	}
	error = find_piece(snapshot, address, &piece);
	if (error || piece == UINT32_MAX)
		return heap_snapshot_within(snapshot, error);
	first = piece * PIECE;
	HEAP_TRY(heap_snapshot_load_neighbours(snapshot, columns, &first, 1));
	// The first object of the piece begins at or before the address.
	object = heap_partition_point(i, first + 1, end_of(snapshot, first),
				      snapshot->address[i] <= address) -
		 1;
	if (address == snapshot->address[object] ||
	    address - snapshot->address[object] < snapshot->size[object])
		*result = object;
	return NULL;
}
