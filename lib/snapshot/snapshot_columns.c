// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/snapshot/snapshot.h"

#include "lib/base/cleanup.h"
#include "lib/base/column.h"
#include "lib/snapshot/declarations.h"
#include "lib/base/parallel.h"
#include "lib/snapshot/snapshot_neighbours.h"
#include "lib/snapshot/snapshot_read.h"
#include "lib/snapshot/snapshot_tables.h"
#include "lib/base/search.h"
#include "lib/base/varint.h"

#include <stdatomic.h>
#include <string.h>

enum {
	PIECE = HEAP_BLOCK_ELEMENTS, // objects or edges that a thread decodes at a time
	WORTH_THREADS = 4 * PIECE,   // objects
};

// --- reading -----------------------------------------------------------------

// Reads a section of `count` values of `width` bytes. @param result  gets a column
HEAP_MUST_CHECK
static struct heap_error *read_column(const struct heap_snapshot *snapshot, uint32_t tag,
				      uint8_t width, uint32_t count, void *result)
{
	const struct heap_section *section;

	CLEANUP_COLUMN void *values = NULL;

	HEAP_TRY(heap_snapshot_counted_section(snapshot, tag, count, &section));
	HEAP_TRY(heap_column_create(count, width, &values));
	HEAP_TRY(heap_snapshot_read_values(snapshot, section, width, 0, count, values));
	*(void **)result = keep(values);
	return NULL;
}

// --- objects -----------------------------------------------------------------

static bool are_below(const uint32_t *values, uint32_t count, uint32_t limit)
{
	uint32_t largest = 0;

	for (uint32_t i = 0; i < count; i++)
		largest = values[i] > largest ? values[i] : largest;
	return count == 0 || largest < limit;
}

static bool are_kinds(const uint8_t *values, uint32_t count, uint8_t limit)
{
	uint8_t largest = 0;

	for (uint32_t i = 0; i < count; i++)
		largest = values[i] > largest ? values[i] : largest;
	return count == 0 || largest < limit;
}

static bool ascend(const uint64_t *values, uint32_t count)
{
	bool good = true;

	for (uint32_t i = 1; i < count; i++)
		good &= values[i] > values[i - 1];
	return good;
}

// True if no object reaches beyond the end of the address space.
static bool do_not_wrap(const uint64_t *address, const uint64_t *size, uint32_t count)
{
	bool good = true;

	for (uint32_t i = 0; i < count; i++)
		good &= size[i] <= UINT64_MAX - address[i];
	return good;
}

struct heap_error *heap_snapshot_check_values(const struct heap_snapshot *snapshot, uint32_t tag,
					      uint32_t start, uint32_t count, const void *values)
{
	bool good = true;

	switch (tag) {
	case HEAP_TAG_ADDRESSES:
		if (!ascend(values, count))
			return heap_section_damaged(tag, "its addresses do not ascend");
		good = !snapshot->size || do_not_wrap(values, snapshot->size + start, count);
		break;
	case HEAP_TAG_SIZES:
		good = !snapshot->address || do_not_wrap(snapshot->address + start, values, count);
		break;
	case HEAP_TAG_OBJECT_TYPES:
		good = are_below(values, count, snapshot->types.count);
		break;
	case HEAP_TAG_EVIDENCE:
		good = are_kinds(values, count, HEAP_EVIDENCE_KINDS);
		break;
	case HEAP_TAG_OBJECT_SITES:
		good = are_below(values, count, snapshot->site_count);
		break;
	case HEAP_TAG_BACKTRACES:
		// Twice the step, plus a bit; without steps, only 0.
		good = are_below(values, count,
				 snapshot->step_count ? 2 * snapshot->step_count : 1);
		break;
	case HEAP_TAG_CONFLICT_TYPES:
		good = are_below(values, count, snapshot->types.count);
		break;
	case HEAP_TAG_OBJECT_TAGS:
		good = are_below(values, count, snapshot->tag_count + 1);
		break;
	case HEAP_TAG_BIRTHS:
		good = are_below(values, count, snapshot->epoch_count);
		break;
	}
	return good ? NULL : heap_section_damaged(tag, "a value is out of range");
}

HEAP_MUST_CHECK
static struct heap_error *load_column(struct heap_snapshot *snapshot, unsigned bit,
				      const struct heap_object_column *column)
{
	void **place = (void **)((char *)snapshot + column->array_offset);
	CLEANUP_COLUMN void *values = NULL;

	if (*place && !heap_snapshot_is_partial(snapshot, bit))
		return NULL;
	heap_snapshot_drop_partial(snapshot, bit);
	if (column->since > HEAP_SINCE_FIRST && !heap_file_find(snapshot->file, column->tag))
		return heap_column_create(snapshot->object_count, column->width, place);
	HEAP_TRY(
		read_column(snapshot, column->tag, column->width, snapshot->object_count, &values));
	HEAP_TRY(heap_snapshot_check_values(snapshot, column->tag, 0, snapshot->object_count,
					    values));
	heap_column_rest(values);
	*place = keep(values);
	return NULL;
}

_Static_assert((int)HEAP_SIZES_PIECE == (int)HEAP_BLOCK_ELEMENTS, "a piece of sizes is a block");

HEAP_MUST_CHECK
static struct heap_error *read_sizes(const struct heap_snapshot *snapshot, heap_object_id first,
				     uint32_t count, uint64_t *sizes)
{
	const struct heap_section *section;

	HEAP_TRY(heap_snapshot_counted_section(snapshot, HEAP_TAG_SIZES, snapshot->object_count,
					       &section));
	return heap_snapshot_read_values(snapshot, section, sizeof(*sizes), first, count, sizes);
}

struct heap_error *heap_snapshot_read_some_sizes(const struct heap_snapshot *snapshot,
						 heap_object_id first, uint32_t count,
						 uint64_t *sizes)
{
	if (snapshot->size && !heap_snapshot_is_partial(snapshot, HEAP_COLUMN_SIZE)) {
		memcpy(sizes, snapshot->size + first, count * sizeof(*sizes));
		return NULL;
	}
	return heap_snapshot_within(snapshot, read_sizes(snapshot, first, count, sizes));
}

struct heap_error *heap_snapshot_read_sizes(const struct heap_snapshot *snapshot, uint64_t *sizes)
{
	return heap_snapshot_read_some_sizes(snapshot, 0, snapshot->object_count, sizes);
}

// Sizes that threads sum up. They take pieces in turn.
struct summing {
	const struct heap_snapshot *snapshot;
	const struct heap_section *section;
	const uint8_t *objects; // bits
	_Atomic uint32_t piece;
	_Atomic uint64_t sum;
};

static bool has_bits(const uint8_t *bits, uint32_t count)
{
	uint8_t all = 0;

	for (uint32_t i = 0; i < (count + 7) / 8; i++)
		all |= bits[i];
	return all;
}

// Mostly few bits are set.
static uint64_t sum_of(const uint8_t *bits, uint32_t count, const uint64_t *sizes)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < (count + 7) / 8; i++) {
		for (unsigned left = bits[i]; left; left &= left - 1)
			sum += sizes[i * 8 + (unsigned)__builtin_ctz(left)];
	}
	return sum;
}

// @param sizes  [PIECE] a buffer
HEAP_MUST_CHECK
static struct heap_error *sum_piece(struct summing *summing, uint32_t piece, uint64_t *sizes)
{
	const struct heap_snapshot *snapshot = summing->snapshot;
	uint32_t start = piece * PIECE, left = snapshot->object_count - start;
	uint32_t count = left < PIECE ? left : PIECE;
	const uint8_t *bits = summing->objects + start / 8;

	if (!has_bits(bits, count))
		return NULL;
	HEAP_TRY(heap_snapshot_read_values(snapshot, summing->section, sizeof(*sizes), start, count,
					   sizes));
	atomic_fetch_add(&summing->sum, sum_of(bits, count, sizes));
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *sum_pieces(void *context, size_t thread)
{
	struct summing *summing = context;
	uint32_t objects = summing->snapshot->object_count;
	uint32_t pieces = objects / PIECE + (objects % PIECE > 0);
	CLEANUP_FREE uint64_t *sizes = malloc(PIECE * sizeof(*sizes));

	(void)thread;
	if (!sizes)
		return heap_error_out_of_memory();
	for (uint32_t piece; (piece = atomic_fetch_add(&summing->piece, 1)) < pieces;)
		HEAP_TRY(sum_piece(summing, piece, sizes));
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *sum_sizes(struct summing *summing)
{
	const struct heap_snapshot *snapshot = summing->snapshot;
	uint32_t objects = snapshot->object_count;

	if (snapshot->size && !heap_snapshot_is_partial(snapshot, HEAP_COLUMN_SIZE)) {
		summing->sum = sum_of(summing->objects, objects, snapshot->size);
		return NULL;
	}
	HEAP_TRY(heap_snapshot_counted_section(snapshot, HEAP_TAG_SIZES, objects,
					       &summing->section));
	return heap_parallel_share(objects > WORTH_THREADS ? heap_parallel_threads() : 1,
				   sum_pieces, summing);
}

struct heap_error *heap_snapshot_sum_sizes(const struct heap_snapshot *snapshot,
					   const uint8_t *objects, uint64_t *sum)
{
	struct summing summing = { .snapshot = snapshot, .objects = objects };

	HEAP_TRY(heap_snapshot_within(snapshot, sum_sizes(&summing)));
	*sum = summing.sum;
	return NULL;
}

// --- edges -------------------------------------------------------------------

// Reads the numbers of edges of each object, and sums them up: to each object's first edge.
HEAP_MUST_CHECK
static struct heap_error *read_first_edges(const struct heap_snapshot *snapshot, uint32_t **result)
{
	const struct heap_section *section;
	CLEANUP_COLUMN uint32_t *first = NULL;
	uint64_t sum = 0;

	HEAP_TRY(heap_snapshot_counted_section(snapshot, HEAP_TAG_EDGE_COUNTS,
					       snapshot->object_count, &section));
	HEAP_TRY(heap_column_create((size_t)snapshot->object_count + 1, sizeof(*first), &first));
	HEAP_TRY(heap_snapshot_read_values(snapshot, section, sizeof(*first), 0,
					   snapshot->object_count, first + 1));
	for (uint32_t i = 1; i <= snapshot->object_count; i++) {
		sum += first[i];
		first[i] = (uint32_t)sum;
	}
	if (sum != snapshot->edge_count)
		return heap_section_damaged(HEAP_TAG_EDGE_COUNTS,
					    "its sum is not the number of edges");
	*result = keep(first);
	return NULL;
}

// Targets are stored as differences to their source, which are added while a block is in the cache.
struct targets {
	const struct heap_snapshot *snapshot;
	const struct heap_section *section;
	const uint32_t *first;
	uint32_t *values;
};

heap_object_id heap_edge_source(const uint32_t *first, uint32_t objects, uint32_t edge)
{
	uint32_t after = heap_partition_point(i, 1, objects, first[i] <= edge);

	return after - 1;
}

uint32_t heap_edge_from(const struct heap_snapshot *snapshot, heap_object_id object,
			uint64_t offset)
{
	uint32_t first = snapshot->edge_first[object],
		 count = snapshot->edge_first[object + 1] - first;
	uint64_t slot = offset / 8 + (offset % 8 != 0);

	if (slot > UINT32_MAX)
		return first + count;
	return first +
	       (uint32_t)heap_lower_bound_u32(snapshot->edge_slot + first, count, (uint32_t)slot);
}

uint32_t heap_edge_at(const struct heap_snapshot *snapshot, heap_object_id object, uint64_t offset)
{
	uint32_t edge = heap_edge_from(snapshot, object, offset);

	return edge < snapshot->edge_first[object + 1] &&
			       (uint64_t)snapshot->edge_slot[edge] * 8 == offset
		       ? edge
		       : UINT32_MAX;
}

// Adds sources to differences. A loop over the edges of each object would mispredict a branch for
// each; so objects are first counted at the edges that they begin with.
static bool add_sources(const struct targets *targets, uint32_t start, uint32_t end,
			uint32_t *begun)
{
	uint32_t objects = targets->snapshot->object_count, largest = 0;
	uint32_t source = heap_edge_source(targets->first, objects, start);
	uint32_t *values = targets->values + start;

	for (uint32_t i = source + 1; i < objects && targets->first[i] < end; i++)
		begun[targets->first[i] - start]++;
	for (uint32_t i = 0; i < end - start; i++) {
		source += begun[i];
		values[i] = source + heap_unzigzag_u32(values[i]);
		largest = values[i] > largest ? values[i] : largest;
	}
	return largest < objects;
}

HEAP_MUST_CHECK
static struct heap_error *read_targets(void *context, size_t number)
{
	const struct targets *targets = context;
	const struct heap_snapshot *snapshot = targets->snapshot;
	uint32_t start = (uint32_t)number * PIECE;
	uint32_t count =
		snapshot->edge_count - start < PIECE ? snapshot->edge_count - start : PIECE;
	CLEANUP_FREE uint32_t *begun = calloc(count, sizeof(*begun));

	if (!begun)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_file_read_u32(snapshot->file, targets->section, start, count,
				    targets->values + start));
	if (!add_sources(targets, start, start + count, begun))
		return heap_section_damaged(HEAP_TAG_EDGE_TARGETS, "a value is out of range");
	return NULL;
}

// Slots are stored as differences to the slot before, of the same object.
struct heap_error *heap_snapshot_add_slots(const struct heap_snapshot *snapshot, uint32_t start,
					   uint32_t end, uint32_t *values)
{
	for (uint32_t i = start; i < end; i++) {
		uint32_t slot = 0;

		for (uint32_t j = snapshot->edge_first[i]; j < snapshot->edge_first[i + 1]; j++) {
			if (__builtin_add_overflow(slot, values[j], &slot))
				return heap_section_damaged(HEAP_TAG_EDGE_SLOTS,
							    "a value is out of range");
			values[j] = slot;
		}
	}
	return NULL;
}

struct slots {
	const struct heap_snapshot *snapshot;
	uint32_t *values;
};

HEAP_MUST_CHECK
static struct heap_error *add_slots(void *context, size_t number)
{
	const struct slots *slots = context;
	uint32_t start = (uint32_t)number * PIECE, objects = slots->snapshot->object_count;

	return heap_snapshot_add_slots(slots->snapshot, start,
				       objects - start < PIECE ? objects : start + PIECE,
				       slots->values);
}

HEAP_MUST_CHECK
static struct heap_error *load_edges(struct heap_snapshot *snapshot)
{
	CLEANUP_COLUMN uint32_t *first = NULL;
	CLEANUP_COLUMN heap_object_id *target = NULL;
	struct targets targets = { .snapshot = snapshot };
	size_t pieces = ((size_t)snapshot->edge_count + PIECE - 1) / PIECE;

	if (snapshot->edge_target)
		return NULL;
	HEAP_TRY(read_first_edges(snapshot, &first));
	HEAP_TRY(heap_snapshot_counted_section(snapshot, HEAP_TAG_EDGE_TARGETS,
					       snapshot->edge_count, &targets.section));
	HEAP_TRY(heap_column_create(snapshot->edge_count, sizeof(*target), &target));
	targets.first = first;
	targets.values = target;
	HEAP_TRY(heap_parallel_run(pieces, read_targets, &targets));
	snapshot->edge_first = keep(first);
	snapshot->edge_target = keep(target);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *load_quality(struct heap_snapshot *snapshot)
{
	CLEANUP_COLUMN uint32_t *interior = NULL;
	CLEANUP_COLUMN uint8_t *flags = NULL;

	if (snapshot->edge_interior)
		return NULL;
	HEAP_TRY(read_column(snapshot, HEAP_TAG_EDGE_INTERIORS, sizeof(*interior),
			     snapshot->edge_count, &interior));
	HEAP_TRY(read_column(snapshot, HEAP_TAG_EDGE_FLAGS, sizeof(*flags), snapshot->edge_count,
			     &flags));
	heap_column_rest(interior);
	heap_column_rest(flags);
	snapshot->edge_interior = keep(interior);
	snapshot->edge_flags = keep(flags);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *load_slots(struct heap_snapshot *snapshot)
{
	CLEANUP_COLUMN uint32_t *slot = NULL;

	if (snapshot->edge_slot && !heap_snapshot_is_partial(snapshot, HEAP_COLUMN_SLOTS))
		return NULL;
	heap_snapshot_drop_partial(snapshot, HEAP_COLUMN_SLOTS);
	HEAP_TRY(read_column(snapshot, HEAP_TAG_EDGE_SLOTS, sizeof(*slot), snapshot->edge_count,
			     &slot));
	HEAP_TRY(heap_parallel_run(((size_t)snapshot->object_count + PIECE - 1) / PIECE, add_slots,
				   &(struct slots){ snapshot, slot }));
	heap_column_rest(slot);
	snapshot->edge_slot = keep(slot);
	return NULL;
}

// --- parts -------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *check_parts(const struct heap_snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot->part_count; i++) {
		const struct heap_part *part = &snapshot->parts[i];

		if (part->evidence >= HEAP_EVIDENCE_KINDS)
			return heap_section_damaged(HEAP_TAG_PARTS, "a value is out of range");
		if (i > 0 && (part->object < part[-1].object ||
			      (part->object == part[-1].object && part->offset <= part[-1].offset)))
			return heap_section_damaged(HEAP_TAG_PARTS, "it is not sorted");
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *load_parts(struct heap_snapshot *snapshot)
{
	HEAP_TRY(heap_snapshot_read_table(snapshot, &heap_parts_table));

	struct heap_error *error = check_parts(snapshot);

	if (!error)
		return NULL;
	free(snapshot->parts);
	snapshot->parts = NULL;
	snapshot->part_count = 0;
	return error;
}

uint64_t heap_snapshot_first_root_edge(const struct heap_snapshot *snapshot, heap_root_id root)
{
	return heap_partition_point(i, 0, snapshot->root_edge_count,
				    snapshot->root_edges[i].root < root);
}

const struct heap_sample *heap_snapshot_sample(const struct heap_snapshot *snapshot,
					       heap_object_id object)
{
	uint32_t at = heap_partition_point(i, 0, snapshot->sample_count,
					   snapshot->samples[i].object < object);

	return at < snapshot->sample_count && snapshot->samples[at].object == object
		       ? &snapshot->samples[at]
		       : NULL;
}

enum {
	MAX_NESTED_PARTS = 16, // tried for one address
};

// The first part of an object at or after an offset, or else the first part of a later object.
static uint32_t first_part(const struct heap_snapshot *snapshot, heap_object_id object,
			   uint64_t offset)
{
	const struct heap_part *parts = snapshot->parts;

	return heap_partition_point(i, 0, parts ? snapshot->part_count : 0,
				    parts[i].object < object || (parts[i].object == object &&
								 parts[i].offset < offset));
}

uint32_t heap_snapshot_parts(const struct heap_snapshot *snapshot, heap_object_id object,
			     uint32_t *first)
{
	*first = first_part(snapshot, object, 0);
	return first_part(snapshot, object + 1, 0);
}

const struct heap_part *heap_snapshot_beginning(const struct heap_snapshot *snapshot,
						heap_object_id object)
{
	uint32_t first, end;

	if (snapshot->type[object] != HEAP_NO_TYPE ||
	    snapshot->evidence[object] != HEAP_EVIDENCE_POOL)
		return NULL;
	end = heap_snapshot_parts(snapshot, object, &first);
	return end - first == 1 && snapshot->parts[first].offset == 0 ? &snapshot->parts[first]
								      : NULL;
}

// Bytes of so many elements of a type; UINT64_MAX on overflow.
static uint64_t extent(const struct heap_types *types, heap_type_id type, uint64_t elements)
{
	uint64_t size = heap_types_size(types, type), start = 0, result;
	heap_type_id element;

	if (elements <= 1)
		return size;
	if (heap_types_flexible(types, type, &start, &element)) {
		size = heap_types_size(types, element);
		elements--;
	}
	if (__builtin_mul_overflow(size, elements, &result) ||
	    __builtin_add_overflow(start, result, &result))
		return UINT64_MAX;
	return result;
}

uint64_t heap_snapshot_part_size(const struct heap_snapshot *snapshot, const struct heap_part *part)
{
	uint64_t size = extent(&snapshot->types, part->type, part->elements);
	uint64_t object = snapshot->size[part->object];
	uint64_t left = object > part->offset ? object - part->offset : 0;

	return size < left ? size : left;
}

bool heap_snapshot_is_slab(const struct heap_snapshot *snapshot, heap_object_id object)
{
	uint32_t at = heap_partition_point(i, 0, snapshot->slab_count,
					   snapshot->slabs[i].object < object);

	return at < snapshot->slab_count && snapshot->slabs[at].object == object;
}

const struct heap_part *heap_snapshot_part_at(const struct heap_snapshot *snapshot,
					      heap_object_id object, uint64_t offset)
{
	uint32_t at = offset < UINT64_MAX ? first_part(snapshot, object, offset + 1) : 0;

	// Parts may lie in each other; the last that begins before is the innermost.
	for (uint32_t tries = 0; at > 0 && tries < MAX_NESTED_PARTS; tries++) {
		const struct heap_part *part = &snapshot->parts[--at];

		if (part->object != object)
			return NULL;
		if (offset - part->offset < heap_snapshot_part_size(snapshot, part))
			return part;
	}
	return NULL;
}

// --- loading -----------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *load(struct heap_snapshot *snapshot, unsigned columns)
{
	for (unsigned i = 0; i < HEAP_OBJECT_COLUMNS; i++) {
		if (columns & 1u << i)
			HEAP_TRY(load_column(snapshot, 1u << i, &heap_object_columns[i]));
	}
	if (columns & (HEAP_COLUMN_EDGES | HEAP_COLUMN_QUALITY | HEAP_COLUMN_SLOTS))
		HEAP_TRY(load_edges(snapshot));
	if (columns & (HEAP_COLUMN_QUALITY | HEAP_COLUMN_SLOTS))
		HEAP_TRY(load_quality(snapshot));
	if (columns & HEAP_COLUMN_SLOTS)
		HEAP_TRY(load_slots(snapshot));
	if ((columns & HEAP_COLUMN_PARTS) && !snapshot->parts)
		HEAP_TRY(load_parts(snapshot));
	return NULL;
}

struct heap_error *heap_snapshot_load(struct heap_snapshot *snapshot, unsigned columns)
{
	if (!snapshot->file)
		return NULL; // made in memory: everything is there
	HEAP_TRY(heap_snapshot_within(snapshot, load(snapshot, columns)));
	if (snapshot->declarations && (columns & HEAP_DECLARED_COLUMNS))
		return heap_declarations_apply(snapshot);
	return NULL;
}

heap_object_id heap_snapshot_find_before(const struct heap_snapshot *snapshot, uint64_t address)
{
	uint32_t after =
		heap_partition_point(i, 0, snapshot->object_count, snapshot->address[i] < address);

	return after == 0 ? HEAP_NO_OBJECT : after - 1;
}

const struct heap_call *heap_snapshot_function(const struct heap_snapshot *snapshot,
					       uint64_t address)
{
	uint32_t at = heap_partition_point(i, 0, snapshot->function_count,
					   snapshot->functions[i].address < address);

	return at < snapshot->function_count && snapshot->functions[at].address == address
		       ? &snapshot->functions[at]
		       : NULL;
}

uint64_t heap_snapshot_bytes(const struct heap_snapshot *snapshot)
{
	uint64_t bytes = 0;

	for (heap_object_id i = 0; i < snapshot->object_count; i++)
		bytes += snapshot->size[i];
	return bytes;
}

heap_object_id heap_snapshot_find(const struct heap_snapshot *snapshot, uint64_t address)
{
	heap_object_id object = address == UINT64_MAX
					? HEAP_NO_OBJECT
					: heap_snapshot_find_before(snapshot, address + 1);

	if (object == HEAP_NO_OBJECT)
		return HEAP_NO_OBJECT;

	uint64_t offset = address - snapshot->address[object];

	// An object of no bytes has only its start.
	return offset < snapshot->size[object] || offset == 0 ? object : HEAP_NO_OBJECT;
}
