// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/snapshot/snapshot.h"

#include "lib/base/cleanup.h"
#include "lib/base/search.h"
#include "lib/snapshot/snapshot_info.h"
#include "lib/snapshot/snapshot_tables.h"
#include "lib/snapshot/stored_edges.h"
#include "lib/base/varint.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	CONTENT_PIECE = 65536,
	BATCH = 1024, // values of a column that are handled at a time
	ADDRESS = 0,  // bits of enum heap_columns
	SIZE = 1,
	TARGET_SAMPLES = 64, // parts of the column of targets that are looked at
	TARGET_SAMPLE = 256, // edges in each
};

static uint64_t load(const uint8_t *at, uint8_t size)
{
	switch (size) {
	case 1:
		return *at;
	case 4:
		return *(const uint32_t *)at;
	default:
		return *(const uint64_t *)at;
	}
}

static uint64_t encode_field(const uint8_t *row, const struct heap_field *field)
{
	uint64_t value = load(row + field->offset, field->size);

	switch (field->kind) {
	case HEAP_FIELD_SIGNED:
		return heap_zigzag((int64_t)value);
	case HEAP_FIELD_MODULE:
	case HEAP_FIELD_THREAD:
	case HEAP_FIELD_FRAME:
		return value == HEAP_NO_INDEX ? 0 : value + 1;
	default:
		return value;
	}
}

static void write_table(struct heap_file_writer *writer, const struct heap_snapshot *snapshot,
			const struct heap_table *table)
{
	const uint8_t *base = (const uint8_t *)snapshot;
	const uint8_t *row = *(const uint8_t *const *)(base + table->array_offset);
	uint64_t rows = load(base + table->count_offset, table->count_size);

	heap_file_writer_begin(writer, table->tag, HEAP_ENCODING_VARINT, table->field_count);
	for (uint64_t i = 0; i < rows; i++, row += table->row_size) {
		for (uint16_t j = 0; j < table->field_count; j++)
			heap_file_writer_put(writer, encode_field(row, &table->fields[j]));
	}
	heap_file_writer_end(writer);
}

static void write_bytes(struct heap_file_writer *writer, uint32_t tag, const void *bytes,
			size_t size)
{
	heap_file_writer_begin(writer, tag, HEAP_ENCODING_BYTES, 1);
	heap_file_writer_put_bytes(writer, bytes, size);
	heap_file_writer_end(writer);
}

static void write_info(struct heap_file_writer *writer, const struct heap_info *info)
{
	heap_file_writer_begin(writer, HEAP_TAG_INFO, HEAP_ENCODING_BYTES, 1);
	for (size_t i = 0; i < heap_info_text_count; i++) {
		const char *key = heap_info_texts[i].key;
		const char *value =
			*(const char *const *)((const char *)info + heap_info_texts[i].offset);

		value = value ? value : "";
		heap_file_writer_put_bytes(writer, key, strlen(key));
		heap_file_writer_put_bytes(writer, "=", 1);
		heap_file_writer_put_bytes(writer, value, strlen(value) + 1);
	}
	for (size_t i = 0; i < heap_info_number_count; i++) {
		char pair[64];
		int length = snprintf(
			pair, sizeof(pair), "%s=%llu", heap_info_numbers[i].key,
			(unsigned long long)*(const uint64_t *)((const char *)info +
								heap_info_numbers[i].offset));

		heap_file_writer_put_bytes(writer, pair, (size_t)length + 1);
	}
	heap_file_writer_end(writer);
}

// A snapshot that is being written, and its source.
struct job {
	struct heap_file_writer *writer;
	const struct heap_snapshot *snapshot;
	const struct heap_snapshot_source *source;
};

// --- columns -----------------------------------------------------------------

// Gets values of a column of objects. @param number  its bit in enum heap_columns
static void get_values(const struct job *job, unsigned number, uint32_t first, uint32_t count,
		       uint64_t *values)
{
	const struct heap_object_column *column = &heap_object_columns[number];
	const uint8_t *array =
		*(const uint8_t *const *)((const uint8_t *)job->snapshot + column->array_offset);

	if (array) {
		for (uint32_t i = 0; i < count; i++)
			values[i] =
				load(array + (size_t)(first + i) * column->width, column->width);
		return;
	}
	memset(values, 0, count * sizeof(*values));
	if (job->source->column)
		job->source->column(job->source->context, 1u << number, first, count, values);
}

static uint32_t batch_from(const struct job *job, uint32_t first)
{
	uint32_t left = job->snapshot->object_count - first;

	return left < BATCH ? left : BATCH;
}

struct column {
	const struct job *job;
	unsigned number;
};

static void get_column(void *context, uint64_t first, size_t count, uint64_t *values)
{
	const struct column *column = context;

	get_values(column->job, column->number, (uint32_t)first, (uint32_t)count, values);
}

static void write_column(const struct job *job, unsigned number)
{
	const struct heap_object_column *column = &heap_object_columns[number];

	heap_file_writer_begin(job->writer, column->tag, column->encoding, 1);
	heap_file_writer_put_column(job->writer, job->snapshot->object_count, get_column,
				    &(struct column){ job, number });
	heap_file_writer_end(job->writer);
}

// --- edges -------------------------------------------------------------------

static void get_counts(void *context, uint64_t first, size_t count, uint64_t *values)
{
	const uint32_t *edge_first = ((const struct heap_snapshot *)context)->edge_first + first;

	for (size_t i = 0; i < count; i++)
		values[i] = edge_first[i + 1] - edge_first[i];
}

// The object that has an edge.
static uint32_t source_of(const struct heap_snapshot *snapshot, uint64_t edge)
{
	return heap_partition_point(i, 0, snapshot->object_count, snapshot->edge_first[i] <= edge) -
	       1;
}

static void get_slots(void *context, uint64_t first, size_t count, uint64_t *values)
{
	const struct heap_snapshot *snapshot = context;
	const uint32_t *edge_first = snapshot->edge_first, *slot = snapshot->edge_slot;
	uint32_t object = source_of(snapshot, first);

	for (uint64_t i = first; i < first + count; i++) {
		while (edge_first[object + 1] <= i)
			object++;
		*values++ = slot[i] - (i > edge_first[object] ? slot[i - 1] : 0);
	}
}

static void get_targets(void *context, uint64_t first, size_t count, uint64_t *values)
{
	const struct heap_snapshot *snapshot = context;
	uint32_t object = source_of(snapshot, first);

	for (uint64_t i = first; i < first + count; i++) {
		while (snapshot->edge_first[object + 1] <= i)
			object++;
		*values++ = heap_zigzag_u32(snapshot->edge_target[i] - object);
	}
}

static void get_interiors(void *context, uint64_t first, size_t count, uint64_t *values)
{
	const uint32_t *interior = ((const struct heap_snapshot *)context)->edge_interior + first;

	for (size_t i = 0; i < count; i++)
		values[i] = interior[i];
}

static size_t varint_size(uint64_t value)
{
	return (size_t)(63 - __builtin_clzll(value | 1)) / 7 + 1;
}

// Where an array leads to blocks in the order of memory, its targets are far from it, and near to each other. Other
// pointers are nearer to their targets. Most snapshots have more of these, and some have one large array.
static enum heap_encoding choose_target_encoding(const struct heap_snapshot *snapshot)
{
	uint64_t values[TARGET_SAMPLE], plain = 0, differences = 0;

	if (snapshot->edge_count < TARGET_SAMPLES * TARGET_SAMPLE)
		return HEAP_ENCODING_VARINT;
	for (uint64_t i = 0; i < TARGET_SAMPLES; i++) {
		get_targets((void *)snapshot, snapshot->edge_count / TARGET_SAMPLES * i,
			    TARGET_SAMPLE, values);
		for (size_t j = 1; j < TARGET_SAMPLE; j++) {
			plain += varint_size(values[j]);
			differences +=
				varint_size(heap_zigzag((int64_t)(values[j] - values[j - 1])));
		}
	}
	return differences * 4 < plain * 3 ? HEAP_ENCODING_DELTA : HEAP_ENCODING_VARINT;
}

static void write_edge_column(const struct job *job, uint32_t tag, enum heap_encoding encoding,
			      uint64_t count, heap_file_get *get)
{
	heap_file_writer_begin(job->writer, tag, encoding, 1);
	heap_file_writer_put_column(job->writer, count, get, (void *)job->snapshot);
	heap_file_writer_end(job->writer);
}

// Writes the flags of stored edges: zeros unless the source knows which slots are pointers.
static void write_stored_flags(const struct job *job, uint64_t count)
{
	static const uint8_t none[BATCH];

	heap_file_writer_begin(job->writer, HEAP_TAG_EDGE_FLAGS, HEAP_ENCODING_BYTES, 1);
	if (job->source->edge_flags) {
		heap_file_writer_put_column(job->writer, count, job->source->edge_flags,
					    job->source->context);
		count = 0;
	}
	for (; count >= BATCH; count -= BATCH)
		heap_file_writer_put_bytes(job->writer, none, BATCH);
	heap_file_writer_put_bytes(job->writer, none, count);
	heap_file_writer_end(job->writer);
}

// Slots are stored as differences within their object, targets as differences to it: both are small.
static void write_edges(const struct job *job)
{
	const struct heap_snapshot *snapshot = job->snapshot;
	struct heap_stored_edges *stored = job->source->edges;

	if (stored) {
		heap_stored_edges_write(stored, snapshot->object_count, job->writer);
		write_stored_flags(job, heap_stored_edges_count(stored));
		return;
	}
	write_edge_column(job, HEAP_TAG_EDGE_COUNTS, HEAP_ENCODING_VARINT, snapshot->object_count,
			  get_counts);
	write_edge_column(job, HEAP_TAG_EDGE_SLOTS, HEAP_ENCODING_VARINT, snapshot->edge_count,
			  get_slots);
	write_edge_column(job, HEAP_TAG_EDGE_TARGETS, choose_target_encoding(snapshot),
			  snapshot->edge_count, get_targets);
	write_edge_column(job, HEAP_TAG_EDGE_INTERIORS, HEAP_ENCODING_VARINT, snapshot->edge_count,
			  get_interiors);
	write_bytes(job->writer, HEAP_TAG_EDGE_FLAGS, snapshot->edge_flags, snapshot->edge_count);
}

// --- contents ----------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *write_content(const struct job *job, heap_object_id object,
					uint64_t address, uint64_t size, uint8_t *piece)
{
	for (uint64_t at = 0; at < size; at += CONTENT_PIECE) {
		size_t part = size - at < CONTENT_PIECE ? size - at : CONTENT_PIECE;

		HEAP_TRY(job->source->content(job->source->context, object, address + at, piece,
					      part));
		heap_file_writer_put_bytes(job->writer, piece, part);
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *write_contents(const struct job *job)
{
	CLEANUP_FREE uint8_t *piece = malloc(CONTENT_PIECE);
	uint64_t limit = job->source->content ? job->snapshot->info.content_limit : 0;
	uint32_t objects = limit > 0 ? job->snapshot->object_count : 0;
	uint64_t addresses[BATCH], sizes[BATCH];

	if (!piece)
		return heap_error_out_of_memory();
	heap_file_writer_begin(job->writer, HEAP_TAG_CONTENT, HEAP_ENCODING_BYTES, 1);
	for (uint32_t first = 0, count; first < objects; first += count) {
		count = batch_from(job, first);
		get_values(job, ADDRESS, first, count, addresses);
		get_values(job, SIZE, first, count, sizes);
		for (uint32_t i = 0; i < count; i++)
			HEAP_TRY(write_content(job, first + i, addresses[i],
					       sizes[i] < limit ? sizes[i] : limit, piece));
	}
	heap_file_writer_end(job->writer);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *write_all(const struct job *job)
{
	struct heap_file_writer *writer = job->writer;
	const struct heap_snapshot *snapshot = job->snapshot;

	write_info(writer, &snapshot->info);
	write_bytes(writer, HEAP_TAG_STRINGS, snapshot->strings, snapshot->string_size);
	write_bytes(writer, HEAP_TAG_TYPE_STRINGS, snapshot->types.strings,
		    snapshot->types.string_size);
	for (size_t i = 0; i < heap_table_count; i++)
		write_table(writer, snapshot, &heap_tables[i]);
	heap_file_writer_begin(writer, HEAP_TAG_EPOCHS, HEAP_ENCODING_DELTA, 1);
	for (uint32_t i = 0; i < snapshot->epoch_count; i++)
		heap_file_writer_put(writer, snapshot->epochs[i]);
	heap_file_writer_end(writer);
	write_bytes(writer, HEAP_TAG_ROOT_CONTENT, snapshot->root_content,
		    snapshot->root_content_size);
	for (unsigned i = 0; i < HEAP_OBJECT_COLUMNS; i++)
		write_column(job, i);
	write_edges(job);
	write_table(writer, snapshot, &heap_parts_table);
	HEAP_TRY(write_contents(job));
	return heap_file_writer_finish(writer);
}

struct heap_error *heap_snapshot_write(const struct heap_snapshot *snapshot, int descriptor,
				       const struct heap_snapshot_source *source)
{
	struct heap_file_writer *writer;

	if (source->edges && heap_stored_edges_count(source->edges) > HEAP_COUNT_MAX)
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "%" PRIu64
					 " pointers, and a snapshot holds at most %" PRIu32,
					 heap_stored_edges_count(source->edges), HEAP_COUNT_MAX);
	HEAP_TRY(heap_file_writer_create(descriptor, &writer));

	struct heap_error *error = write_all(&(struct job){ writer, snapshot, source });

	heap_file_writer_destroy(writer);
	return error;
}
