// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/file.h"

#include "lib/cleanup.h"
#include "lib/file_format.h"
#include "lib/parallel.h"
#include "lib/varint.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

enum {
	BATCH = 16, // blocks that are compressed together, in parallel, and written in order
	LEVEL = 1,
};

struct block {
	uint8_t *raw;    // [HEAP_BLOCK_BYTES_MAX]
	uint8_t *stored; // [compressBound(HEAP_BLOCK_BYTES_MAX)]
	uint32_t raw_length;
	uint32_t stored_length;
	uint32_t crc;
};

struct entry {
	uint32_t tag;
	uint16_t encoding, fields;
	uint64_t offset, length, count;
	uint32_t blocks, table_crc;
};

struct heap_file_writer {
	int descriptor;
	uint64_t position;
	struct heap_error *error; // the first
	struct entry entries[MAX_SECTIONS];
	size_t entry_count;
	struct entry *current;
	struct block batch[BATCH];
	size_t filled;   // blocks of the batch that are full
	size_t elements; // in the block that is being filled
	uint64_t last;   // value, for differences
	uint8_t *table;  // of the current section
	size_t table_size, table_capacity;
};

static void put_u16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)value;
	at[1] = (uint8_t)(value >> 8);
}

static void put_u32(uint8_t *at, uint32_t value)
{
	put_u16(at, (uint16_t)value);
	put_u16(at + 2, (uint16_t)(value >> 16));
}

static void put_u64(uint8_t *at, uint64_t value)
{
	put_u32(at, (uint32_t)value);
	put_u32(at + 4, (uint32_t)(value >> 32));
}

static void write_bytes(struct heap_file_writer *writer, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	while (size > 0 && !writer->error) {
		ssize_t written = write(writer->descriptor, at, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			writer->error = heap_error_create(HEAP_ERROR_SYSTEM, "%s", strerror(errno));
			return;
		}
		at += written;
		size -= (size_t)written;
		writer->position += (uint64_t)written;
	}
}

struct heap_error *heap_file_writer_create(int descriptor, struct heap_file_writer **result)
{
	struct heap_file_writer *writer = calloc(1, sizeof(*writer));
	uint8_t header[HEADER_SIZE] = MAGIC;

	if (!writer)
		return heap_error_out_of_memory();
	writer->descriptor = descriptor;
	for (int i = 0; i < BATCH; i++) {
		writer->batch[i].raw = malloc(HEAP_BLOCK_BYTES_MAX + HEAP_VARINT_MAX);
		writer->batch[i].stored = malloc(compressBound(HEAP_BLOCK_BYTES_MAX));
		if (!writer->batch[i].raw || !writer->batch[i].stored) {
			heap_file_writer_destroy(writer);
			return heap_error_out_of_memory();
		}
	}
	put_u32(header + 8, HEAP_FILE_VERSION);
	write_bytes(writer, header, sizeof(header));
	*result = writer;
	return NULL;
}

void heap_file_writer_destroy(struct heap_file_writer *writer)
{
	if (!writer)
		return;
	for (int i = 0; i < BATCH; i++) {
		free(writer->batch[i].raw);
		free(writer->batch[i].stored);
	}
	heap_error_destroy(writer->error);
	free(writer->table);
	free(writer);
}

// --- blocks ------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *compress_block(void *context, size_t number)
{
	struct block *block = &((struct heap_file_writer *)context)->batch[number];
	uLongf length = compressBound(HEAP_BLOCK_BYTES_MAX);

	if (compress2(block->stored, &length, block->raw, block->raw_length, LEVEL) != Z_OK)
		return heap_error_out_of_memory();
	if (length >= block->raw_length) {
		length = block->raw_length;
		memcpy(block->stored, block->raw, length);
	}
	block->stored_length = (uint32_t)length;
	block->crc = (uint32_t)crc32(0, block->stored, (uInt)length);
	return NULL;
}

static void add_to_table(struct heap_file_writer *writer, const struct block *block)
{
	if (writer->table_capacity - writer->table_size < BLOCK_ENTRY_SIZE) {
		size_t capacity = writer->table_capacity * 2 + 4096;
		uint8_t *larger = realloc(writer->table, capacity);

		if (!larger) {
			writer->error = heap_error_out_of_memory();
			return;
		}
		writer->table = larger;
		writer->table_capacity = capacity;
	}

	uint8_t *at = writer->table + writer->table_size;

	put_u32(at, block->stored_length);
	put_u32(at + 4, block->raw_length);
	put_u32(at + 8, block->crc);
	writer->table_size += BLOCK_ENTRY_SIZE;
	writer->current->blocks++;
}

static void write_batch(struct heap_file_writer *writer)
{
	if (!writer->error)
		writer->error = heap_parallel_run(writer->filled, compress_block, writer);
	for (size_t i = 0; i < writer->filled && !writer->error; i++) {
		write_bytes(writer, writer->batch[i].stored, writer->batch[i].stored_length);
		if (!writer->error)
			add_to_table(writer, &writer->batch[i]);
	}
	writer->filled = 0;
}

static void begin_block(struct heap_file_writer *writer)
{
	writer->elements = 0;
	writer->last = 0;
	writer->batch[writer->filled].raw_length = 0;
}

static void end_block(struct heap_file_writer *writer)
{
	if (++writer->filled == BATCH)
		write_batch(writer);
	begin_block(writer);
}

// --- sections ----------------------------------------------------------------

void heap_file_writer_begin(struct heap_file_writer *writer, uint32_t tag,
			    enum heap_encoding encoding, uint16_t fields)
{
	if (writer->error || writer->entry_count == MAX_SECTIONS)
		return;
	writer->current = &writer->entries[writer->entry_count++];
	*writer->current = (struct entry){
		.tag = tag,
		.encoding = (uint16_t)encoding,
		.fields = fields,
		.offset = writer->position,
	};
	writer->table_size = 0;
	begin_block(writer);
}

void heap_file_writer_put(struct heap_file_writer *writer, uint64_t value)
{
	struct block *block = &writer->batch[writer->filled];
	uint64_t stored = value;

	if (writer->error)
		return;
	if (writer->current->encoding == HEAP_ENCODING_DELTA) {
		stored = heap_zigzag((int64_t)(value - writer->last));
		writer->last = value;
	}
	block->raw_length += (uint32_t)heap_varint_put(block->raw + block->raw_length, stored);
	writer->current->count++;
	if (++writer->elements == HEAP_BLOCK_ELEMENTS)
		end_block(writer);
}

void heap_file_writer_put_bytes(struct heap_file_writer *writer, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	while (size > 0 && !writer->error) {
		struct block *block = &writer->batch[writer->filled];
		size_t room = HEAP_BLOCK_ELEMENTS - writer->elements;
		size_t piece = size < room ? size : room;

		memcpy(block->raw + block->raw_length, at, piece);
		block->raw_length += (uint32_t)piece;
		writer->elements += piece;
		writer->current->count += piece;
		at += piece;
		size -= piece;
		if (writer->elements == HEAP_BLOCK_ELEMENTS)
			end_block(writer);
	}
}

void heap_file_writer_end(struct heap_file_writer *writer)
{
	if (writer->error)
		return;
	if (writer->elements > 0)
		writer->filled++;
	write_batch(writer);
	if (writer->error)
		return;
	writer->current->table_crc = (uint32_t)crc32(0, writer->table, (uInt)writer->table_size);
	write_bytes(writer, writer->table, writer->table_size);
	writer->current->length = writer->position - writer->current->offset;
	writer->current = NULL;
}

struct heap_error *heap_file_writer_finish(struct heap_file_writer *writer)
{
	size_t size = writer->entry_count * ENTRY_SIZE;
	CLEANUP_FREE uint8_t *directory = malloc(size + TRAILER_SIZE);

	if (!directory)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < writer->entry_count; i++) {
		const struct entry *entry = &writer->entries[i];
		uint8_t *at = directory + i * ENTRY_SIZE;

		put_u32(at, entry->tag);
		put_u16(at + 4, entry->encoding);
		put_u16(at + 6, entry->fields);
		put_u64(at + 8, entry->offset);
		put_u64(at + 16, entry->length);
		put_u64(at + 24, entry->count);
		put_u32(at + 32, entry->blocks);
		put_u32(at + 36, entry->table_crc);
	}
	put_u32(directory + size, (uint32_t)writer->entry_count);
	put_u32(directory + size + 4, (uint32_t)crc32(0, directory, (uInt)size));
	memcpy(directory + size + 8, MAGIC, MAGIC_SIZE);
	write_bytes(writer, directory, size + TRAILER_SIZE);
	return keep(writer->error);
}
