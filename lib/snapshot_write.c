// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/snapshot.h"

#include "lib/cleanup.h"
#include "lib/snapshot_info.h"
#include "lib/snapshot_tables.h"
#include "lib/varint.h"

#include <stdio.h>
#include <string.h>

enum {
	CONTENT_PIECE = 65536,
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

static void write_column(struct heap_file_writer *writer, const struct heap_snapshot *snapshot,
			 const struct heap_column *column)
{
	const uint8_t *at =
		*(const uint8_t *const *)((const uint8_t *)snapshot + column->array_offset);

	heap_file_writer_begin(writer, column->tag, column->encoding, 1);
	if (!at) {
		for (uint32_t i = 0; i < snapshot->object_count; i++)
			heap_file_writer_put(writer, 0);
	} else if (column->width == 1) {
		heap_file_writer_put_bytes(writer, at, snapshot->object_count);
	} else {
		for (uint32_t i = 0; i < snapshot->object_count; i++, at += column->width)
			heap_file_writer_put(writer, load(at, column->width));
	}
	heap_file_writer_end(writer);
}

// Slots as differences within their object, targets as differences to it: both small.
static void write_edges(struct heap_file_writer *writer, const struct heap_snapshot *snapshot)
{
	const uint32_t *first = snapshot->edge_first;

	heap_file_writer_begin(writer, HEAP_TAG_EDGE_COUNTS, HEAP_ENCODING_VARINT, 1);
	for (uint32_t i = 0; i < snapshot->object_count; i++)
		heap_file_writer_put(writer, first[i + 1] - first[i]);
	heap_file_writer_end(writer);

	heap_file_writer_begin(writer, HEAP_TAG_EDGE_SLOTS, HEAP_ENCODING_VARINT, 1);
	for (uint32_t i = 0; i < snapshot->object_count; i++) {
		for (uint32_t j = first[i]; j < first[i + 1]; j++)
			heap_file_writer_put(
				writer, snapshot->edge_slot[j] -
						(j > first[i] ? snapshot->edge_slot[j - 1] : 0));
	}
	heap_file_writer_end(writer);

	heap_file_writer_begin(writer, HEAP_TAG_EDGE_TARGETS, HEAP_ENCODING_VARINT, 1);
	for (uint32_t i = 0; i < snapshot->object_count; i++) {
		for (uint32_t j = first[i]; j < first[i + 1]; j++)
			heap_file_writer_put(writer, heap_zigzag_u32(snapshot->edge_target[j] - i));
	}
	heap_file_writer_end(writer);

	heap_file_writer_begin(writer, HEAP_TAG_EDGE_INTERIORS, HEAP_ENCODING_VARINT, 1);
	for (uint32_t j = 0; j < snapshot->edge_count; j++)
		heap_file_writer_put(writer, snapshot->edge_interior[j]);
	heap_file_writer_end(writer);
	write_bytes(writer, HEAP_TAG_EDGE_FLAGS, snapshot->edge_flags, snapshot->edge_count);
}

HEAP_MUST_CHECK
static struct heap_error *write_content(struct heap_file_writer *writer,
					const struct heap_snapshot *snapshot,
					heap_content_reader *content, void *context)
{
	CLEANUP_FREE uint8_t *piece = malloc(CONTENT_PIECE);

	if (!piece)
		return heap_error_out_of_memory();
	heap_file_writer_begin(writer, HEAP_TAG_CONTENT, HEAP_ENCODING_BYTES, 1);
	for (uint32_t i = 0; content && i < snapshot->object_count; i++) {
		uint64_t size = snapshot->size[i] < snapshot->info.content_limit
					? snapshot->size[i]
					: snapshot->info.content_limit;

		for (uint64_t at = 0; at < size; at += CONTENT_PIECE) {
			size_t part = size - at < CONTENT_PIECE ? size - at : CONTENT_PIECE;
			struct heap_error *error =
				content(context, i, snapshot->address[i] + at, piece, part);

			if (error)
				return error;
			heap_file_writer_put_bytes(writer, piece, part);
		}
	}
	heap_file_writer_end(writer);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *write_all(struct heap_file_writer *writer,
				    const struct heap_snapshot *snapshot,
				    heap_content_reader *content, void *context)
{
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
	for (size_t i = 0; i < HEAP_OBJECT_COLUMNS; i++)
		write_column(writer, snapshot, &heap_object_columns[i]);
	write_edges(writer, snapshot);
	write_table(writer, snapshot, &heap_parts_table);

	struct heap_error *error = write_content(writer, snapshot, content, context);

	return error ? error : heap_file_writer_finish(writer);
}

struct heap_error *heap_snapshot_write(const struct heap_snapshot *snapshot, int descriptor,
				       heap_content_reader *content, void *context)
{
	struct heap_file_writer *writer;
	struct heap_error *error = heap_file_writer_create(descriptor, &writer);

	if (error)
		return error;
	error = write_all(writer, snapshot, content, context);
	heap_file_writer_destroy(writer);
	return error;
}
