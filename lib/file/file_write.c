// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/file/file.h"

#include "lib/base/array.h"
#include "lib/file/file_format.h"
#include "lib/base/parallel.h"
#include "lib/base/pieces.h"
#include "lib/base/varint.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <zlib.h>

enum {
	// Blocks are compressed in parallel and written in order: those of a column one by one, others a
	// batch at a time. Two per thread keep all threads busy; more would cost memory, over a megabyte each.
	BATCH_PER_THREAD = 2,
	BATCH_MAX = 16,
	LEVEL = 1,
	WINDOW_BITS = 15,
	MEMORY_LEVEL_MAX = 9,
	PIECE = 1024,   // values of a column that are encoded at a time
	UNDECIDED = -1, // no strategy of zlib
	// Bytes of a block from which on its entropy is estimated, and of how many one may repeat two others.
	LEAST_JUDGED = 4096,
	JUDGED = 5, // one byte in so many is: no number of bytes that values have
	FEW_REPEATED = 64,
	UNIFORM_STORED = 512, // bytes that 64 Ki equal ones are deflated to, at most
	IN_MEMORY = -1,       // no descriptor
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

// A section whose values are gotten block by block.
struct column {
	heap_file_get *get; // NULL: there is none
	void *context;
	uint64_t count;      // values
	atomic_size_t taken; // blocks of the batch
};

// A block that is one byte over and over, and deflates to few bytes, as blocks of most columns do.
struct uniform {
	uint32_t raw_length, stored_length; // 0: the section has begun with another block
	uint8_t byte;
	uint8_t stored[UNIFORM_STORED];
};

struct heap_file_writer {
	int descriptor;  // or IN_MEMORY
	uint8_t *memory; // [position] if IN_MEMORY
	size_t capacity;
	uint64_t position;
	struct heap_error *error; // the first one
	struct entry entries[HEAP_SECTIONS_MAX];
	size_t entry_count;
	struct entry *current;
	int strategy;                  // zlib's, for the current section
	struct uniform uniform;        // of the current section
	struct block batch[BATCH_MAX]; // [batch_size]
	size_t batch_size;
	struct column column; // that blocks are filled from
	size_t filled;        // blocks of the batch that are full
	size_t elements;      // in the block that is being filled
	uint64_t last;        // value, for differences
	uint8_t *table;       // [table_size] of the current section
	size_t table_size, table_capacity;
};

static void put_header(uint8_t at[HEAP_HEADER_SIZE])
{
	memcpy(at, HEAP_FILE_MAGIC, HEAP_MAGIC_SIZE);
	heap_put_u32(at + 8, HEAP_FILE_VERSION);
	heap_put_u32(at + 12, 0);
}

static void keep_bytes(struct heap_file_writer *writer, const void *bytes, size_t size)
{
	writer->error = heap_reserve(writer->memory, writer->capacity, writer->position + size);
	if (writer->error)
		return;
	memcpy(writer->memory + writer->position, bytes, size);
	writer->position += size;
}

static void write_bytes(struct heap_file_writer *writer, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	if (writer->descriptor == IN_MEMORY) {
		if (!writer->error && size > 0)
			keep_bytes(writer, bytes, size);
		return;
	}
	while (size > 0 && !writer->error) {
		ssize_t written = write(writer->descriptor, at, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			writer->error = heap_error_create(HEAP_ERROR_SYSTEM, "%s",
							  strerror(written < 0 ? errno : EIO));
			return;
		}
		at += written;
		size -= (size_t)written;
		writer->position += (uint64_t)written;
	}
}

static void destroy(struct heap_file_writer **writer)
{
	heap_file_writer_destroy(*writer);
}

HEAP_MUST_CHECK
static struct heap_error *create(int descriptor, size_t batch_size,
				 struct heap_file_writer **result)
{
	CLEANUP(destroy) struct heap_file_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return heap_error_out_of_memory();
	writer->descriptor = descriptor;
	writer->batch_size = batch_size < BATCH_MAX ? batch_size : BATCH_MAX;
	for (size_t i = 0; i < writer->batch_size; i++) {
		writer->batch[i].raw = malloc(HEAP_BLOCK_BYTES_MAX + HEAP_VARINT_MAX);
		writer->batch[i].stored = malloc(compressBound(HEAP_BLOCK_BYTES_MAX));
		if (!writer->batch[i].raw || !writer->batch[i].stored)
			return heap_error_out_of_memory();
	}
	*result = keep(writer);
	return NULL;
}

struct heap_error *heap_file_writer_create(int descriptor, struct heap_file_writer **result)
{
	uint8_t header[HEAP_HEADER_SIZE];

	HEAP_TRY(create(descriptor, heap_parallel_threads() * (size_t)BATCH_PER_THREAD, result));
	put_header(header);
	write_bytes(*result, header, sizeof(header));
	return NULL;
}

struct heap_error *heap_file_writer_create_part(struct heap_file_writer **result)
{
	// Several parts are filled at once, mostly with small numbers.
	return create(IN_MEMORY, heap_parallel_threads(), result);
}

void heap_file_writer_destroy(struct heap_file_writer *writer)
{
	if (!writer)
		return;
	for (size_t i = 0; i < BATCH_MAX; i++) {
		free(writer->batch[i].raw);
		free(writer->batch[i].stored);
	}
	heap_error_destroy(writer->error);
	free(writer->memory);
	free(writer->table);
	free(writer);
}

// --- blocks ------------------------------------------------------------------

// How much memory zlib gets for so many bytes: enough for one deflate block (RFC 1951). It clears its tables
// each time, which costs more than all else for the short columns of a small snapshot.
static int memory_level(uint32_t length)
{
	int level = 1;

	while (level < MEMORY_LEVEL_MAX && UINT32_C(64) << level < length)
		level++;
	return level;
}

HEAP_MUST_CHECK
static struct heap_error *deflate_block(struct block *block, int strategy)
{
	z_stream stream = {
		.next_in = block->raw,
		.avail_in = block->raw_length,
		.next_out = block->stored,
		.avail_out = (uInt)compressBound(HEAP_BLOCK_BYTES_MAX),
	};

	if (deflateInit2(&stream, LEVEL, Z_DEFLATED, WINDOW_BITS, memory_level(block->raw_length),
			 strategy) != Z_OK)
		return heap_error_out_of_memory();
	// If it does not fit, it would grow, and is stored raw.
	block->stored_length = deflate(&stream, Z_FINISH) == Z_STREAM_END
				       ? (uint32_t)stream.total_out
				       : UINT32_MAX;
	deflateEnd(&stream);
	return NULL;
}

// @return the end of the bytes
static uint8_t *encode_varints(uint8_t *at, const uint64_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		at += heap_varint_put(at, values[i]);
	return at;
}

static uint8_t *encode_differences(uint8_t *at, const uint64_t *values, size_t count,
				   uint64_t *last)
{
	for (size_t i = 0; i < count; i++) {
		at += heap_varint_put(at, heap_zigzag((int64_t)(values[i] - *last)));
		*last = values[i];
	}
	return at;
}

static uint8_t *encode_bytes(uint8_t *at, const uint64_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		*at++ = (uint8_t)values[i];
	return at;
}

// @param last  the value before, for differences
static uint8_t *encode(const struct heap_file_writer *writer, uint8_t *at, const uint64_t *values,
		       size_t count, uint64_t *last)
{
	switch (writer->current->encoding) {
	case HEAP_ENCODING_DELTA:
		return encode_differences(at, values, count, last);
	case HEAP_ENCODING_BYTES:
		return encode_bytes(at, values, count);
	default:
		return encode_varints(at, values, count);
	}
}

// Fills a block with its values of the column.
static void fill_block(const struct heap_file_writer *writer, size_t number, struct block *block)
{
	const struct column *column = &writer->column;
	uint64_t first = (uint64_t)number * HEAP_BLOCK_ELEMENTS;
	uint64_t left = column->count - first, last = 0, values[PIECE];
	uint64_t end = first + (left < HEAP_BLOCK_ELEMENTS ? left : HEAP_BLOCK_ELEMENTS);
	uint8_t *at = block->raw;

	for (uint64_t i = first; i < end; i += PIECE) {
		size_t count = end - i < PIECE ? end - i : PIECE;

		column->get(column->context, i, count, values);
		at = encode(writer, at, values, count, &last);
	}
	block->raw_length = (uint32_t)(at - block->raw);
}

// 256 times the binary logarithm of a number, which is more than 0: that of its upper bits, and between powers
// of 2 a straight line.
static uint64_t logarithm(uint32_t number)
{
	unsigned power = 31 - (unsigned)__builtin_clz(number);

	return power * 256 + (((uint64_t)number << 8 >> power) - 256);
}

/*
 * True if Huffman codes or runs would make a block a quarter shorter, by its entropy (Shannon, 1948). The
 * numbers of the targets of random pointers do not, and deflating them is most of the time of a file.
 * Matches further back than runs are not foreseen.
 */
static bool is_worth_deflating(const struct block *block)
{
	const uint8_t *raw = block->raw;
	const uint32_t length = block->raw_length / JUDGED;
	uint32_t counts[256] = { 0 }, repeated = 0;
	uint64_t bits = 0; // times 256

	for (uint32_t i = 2; i < block->raw_length; i += JUDGED) {
		counts[raw[i]]++;
		repeated += raw[i] == raw[i - 1] && raw[i] == raw[i - 2];
	}
	if (block->raw_length < LEAST_JUDGED || repeated > length / FEW_REPEATED)
		return true;
	for (unsigned i = 0; i < 256; i++) {
		if (counts[i] > 0)
			bits += counts[i] * (logarithm(length) - logarithm(counts[i]));
	}
	return bits / 8 / 256 < length / 4 * UINT64_C(3);
}

static bool is_uniform(const struct block *block)
{
	return block->raw_length > 0 &&
	       memcmp(block->raw, block->raw + 1, block->raw_length - 1) == 0;
}

// Notes how the first block of a section deflates, if others may be like it.
static void note_uniform(struct uniform *uniform, const struct block *block)
{
	if (!is_uniform(block) || block->stored_length > UNIFORM_STORED)
		return;
	uniform->raw_length = block->raw_length;
	uniform->stored_length = block->stored_length;
	uniform->byte = block->raw[0];
	memcpy(uniform->stored, block->stored, block->stored_length);
}

static bool is_like(const struct block *block, const struct uniform *uniform)
{
	return uniform->stored_length > 0 && block->raw_length == uniform->raw_length &&
	       block->raw[0] == uniform->byte && is_uniform(block);
}

HEAP_MUST_CHECK
static struct heap_error *compress_block(const struct heap_file_writer *writer, struct block *block)
{
	if (is_like(block, &writer->uniform)) {
		block->stored_length = writer->uniform.stored_length;
		memcpy(block->stored, writer->uniform.stored, block->stored_length);
	} else if (writer->strategy == Z_RLE && !is_worth_deflating(block)) {
		block->stored_length = block->raw_length;
	} else {
		HEAP_TRY(deflate_block(block, writer->strategy));
	}
	if (block->stored_length >= block->raw_length) {
		memcpy(block->stored, block->raw, block->raw_length);
		block->stored_length = block->raw_length;
	}
	block->crc = (uint32_t)crc32(0, block->stored, block->stored_length);
	return NULL;
}

// Chooses zlib's strategy by the first block of a section. Most columns are small numbers in which
// only runs repeat: Z_RLE takes half the time, and makes them smaller, too, since it needs no codes
// for distances. Addresses and contents are better with the default strategy.
HEAP_MUST_CHECK
static struct heap_error *choose_strategy(struct heap_file_writer *writer)
{
	struct block *block = &writer->batch[0];
	uint32_t runs_only;

	if (writer->column.get)
		fill_block(writer, 0, block);
	HEAP_TRY(deflate_block(block, Z_RLE));
	runs_only = block->stored_length;
	HEAP_TRY(deflate_block(block, Z_DEFAULT_STRATEGY));
	writer->strategy = runs_only <= block->stored_length ? Z_RLE : Z_DEFAULT_STRATEGY;
	if (writer->strategy == Z_RLE && is_uniform(block))
		HEAP_TRY(deflate_block(block, Z_RLE));
	note_uniform(&writer->uniform, block);
	return NULL;
}

static void add_to_table(struct heap_file_writer *writer, const struct block *block)
{
	uint8_t *at;

	writer->error = heap_reserve(writer->table, writer->table_capacity,
				     writer->table_size + HEAP_BLOCK_ENTRY_SIZE);
	if (writer->error)
		return;
	at = writer->table + writer->table_size;
	heap_put_u32(at, block->stored_length);
	heap_put_u32(at + 4, block->raw_length);
	heap_put_u32(at + 8, block->crc);
	writer->table_size += HEAP_BLOCK_ENTRY_SIZE;
	writer->current->blocks++;
}

static void write_block(struct heap_file_writer *writer, const struct block *block)
{
	write_bytes(writer, block->stored, block->stored_length);
	if (!writer->error)
		add_to_table(writer, block);
}

HEAP_MUST_CHECK
static struct heap_error *compress_filled(void *context, size_t number)
{
	struct heap_file_writer *writer = context;

	return compress_block(writer, &writer->batch[number]);
}

static void write_batch(struct heap_file_writer *writer)
{
	if (!writer->error && writer->filled > 0 && writer->strategy == UNDECIDED)
		writer->error = choose_strategy(writer);
	if (!writer->error)
		writer->error = heap_parallel_run(writer->filled, compress_filled, writer);
	for (size_t i = 0; i < writer->filled && !writer->error; i++)
		write_block(writer, &writer->batch[i]);
	writer->filled = 0;
}

// --- columns -----------------------------------------------------------------

// Any thread calls it; each part keeps the block of the batch that it takes.
HEAP_MUST_CHECK
static struct heap_error *compress_piece(void *context, size_t number, void *part)
{
	struct heap_file_writer *writer = context;
	struct block **block = part;

	if (!*block)
		*block = &writer->batch[atomic_fetch_add(&writer->column.taken, 1)];
	fill_block(writer, number, *block);
	return compress_block(writer, *block);
}

HEAP_MUST_CHECK
static struct heap_error *write_piece(void *context, void *part)
{
	struct heap_file_writer *writer = context;

	write_block(writer, *(struct block **)part);
	return keep(writer->error);
}

static void leave_block(void *part)
{
	(void)part; // the batch's
}

static void begin_block(struct heap_file_writer *writer)
{
	writer->elements = 0;
	writer->last = 0;
	writer->batch[writer->filled].raw_length = 0;
}

static void end_block(struct heap_file_writer *writer)
{
	if (++writer->filled == writer->batch_size)
		write_batch(writer);
	begin_block(writer);
}

// --- sections ----------------------------------------------------------------

void heap_file_writer_begin(struct heap_file_writer *writer, uint32_t tag,
			    enum heap_encoding encoding, uint16_t fields)
{
	if (!writer->error && writer->entry_count == HEAP_SECTIONS_MAX)
		writer->error = heap_error_create(HEAP_ERROR_ARGUMENT, "too many sections");
	if (writer->error)
		return;
	writer->current = &writer->entries[writer->entry_count++];
	*writer->current = (struct entry){
		.tag = tag,
		.encoding = (uint16_t)encoding,
		.fields = fields,
		.offset = writer->position,
	};
	writer->table_size = 0;
	writer->strategy = UNDECIDED;
	writer->uniform.stored_length = 0;
	begin_block(writer);
}

void heap_file_writer_put_values(struct heap_file_writer *writer, const uint64_t *values,
				 size_t count)
{
	while (count > 0 && !writer->error) {
		struct block *block = &writer->batch[writer->filled];
		size_t room = HEAP_BLOCK_ELEMENTS - writer->elements;
		size_t piece = count < room ? count : room;
		uint8_t *at = encode(writer, block->raw + block->raw_length, values, piece,
				     &writer->last);

		block->raw_length = (uint32_t)(at - block->raw);
		writer->elements += piece;
		writer->current->count += piece;
		values += piece;
		count -= piece;
		if (writer->elements == HEAP_BLOCK_ELEMENTS)
			end_block(writer);
	}
}

void heap_file_writer_put(struct heap_file_writer *writer, uint64_t value)
{
	heap_file_writer_put_values(writer, &value, 1);
}

void heap_file_writer_put_column(struct heap_file_writer *writer, uint64_t count,
				 heap_file_get *get, void *context)
{
	if (writer->error || count == 0)
		return;
	writer->column = (struct column){ .get = get, .context = context, .count = count };
	if (writer->strategy == UNDECIDED)
		writer->error = choose_strategy(writer);
	if (!writer->error)
		writer->error = heap_pieces_run(&(struct heap_piece_work){
			.count = (size_t)((count - 1) / HEAP_BLOCK_ELEMENTS + 1),
			.parts = writer->batch_size,
			.part_size = sizeof(struct block *),
			.work = compress_piece,
			.join = write_piece,
			.release = leave_block,
			.context = writer,
		});
	writer->column = (struct column){ 0 };
	if (!writer->error)
		writer->current->count += count;
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
	writer->current->table_crc = (uint32_t)crc32_z(0, writer->table, writer->table_size);
	write_bytes(writer, writer->table, writer->table_size);
	writer->current->length = writer->position - writer->current->offset;
	writer->current = NULL;
}

void heap_file_writer_append(struct heap_file_writer *writer, struct heap_file_writer *part)
{
	if (!writer->error)
		writer->error = keep(part->error);
	if (!writer->error && HEAP_SECTIONS_MAX - writer->entry_count < part->entry_count)
		writer->error = heap_error_create(HEAP_ERROR_ARGUMENT, "too many sections");
	for (size_t i = 0; i < part->entry_count && !writer->error; i++) {
		struct entry *entry = &writer->entries[writer->entry_count++];

		*entry = part->entries[i];
		entry->offset += writer->position;
	}
	write_bytes(writer, part->memory, part->position);
	free(part->memory);
	part->memory = NULL;
	part->position = part->capacity = part->entry_count = 0;
}

static void put_entry(uint8_t *at, const struct entry *entry)
{
	heap_put_u32(at, entry->tag);
	heap_put_u16(at + 4, entry->encoding);
	heap_put_u16(at + 6, entry->fields);
	heap_put_u64(at + 8, entry->offset);
	heap_put_u64(at + 16, entry->length);
	heap_put_u64(at + 24, entry->count);
	heap_put_u32(at + 32, entry->blocks);
	heap_put_u32(at + 36, entry->table_crc);
}

struct heap_error *heap_file_writer_finish(struct heap_file_writer *writer)
{
	size_t size = writer->entry_count * HEAP_ENTRY_SIZE;
	CLEANUP_FREE uint8_t *directory = malloc(HEAP_HEADER_SIZE + size + HEAP_TRAILER_SIZE);

	if (writer->error)
		return keep(writer->error);
	if (!directory)
		return heap_error_out_of_memory();

	// The header is in front of it only for the CRC, which covers it.
	uint8_t *entries = directory + HEAP_HEADER_SIZE;
	uint8_t *trailer = entries + size;

	put_header(directory);
	for (size_t i = 0; i < writer->entry_count; i++)
		put_entry(entries + i * HEAP_ENTRY_SIZE, &writer->entries[i]);
	heap_put_u64(trailer, writer->position);
	heap_put_u64(trailer + 8, size);
	heap_put_u32(trailer + 16, (uint32_t)writer->entry_count);
	heap_put_u32(
		trailer + 20,
		(uint32_t)crc32_z(0, directory, HEAP_HEADER_SIZE + size + HEAP_TRAILER_CHECKED));
	memcpy(trailer + 24, HEAP_FILE_MAGIC, HEAP_MAGIC_SIZE);
	write_bytes(writer, entries, size + HEAP_TRAILER_SIZE);
	return keep(writer->error);
}
