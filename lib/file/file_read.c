// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/file/file.h"

#include "lib/base/cleanup.h"
#include "lib/file/file_blocks.h"
#include "lib/file/file_format.h"
#include "lib/file/file_inflate.h"
#include "lib/base/parallel.h"
#include "lib/base/varint.h"

#include <stdbool.h>
#include <string.h>
#include <zlib.h>

enum width {
	WIDTH_BYTES,
	WIDTH_U32,
	WIDTH_U64,
};

// A range of a section that is being decoded; blocks are independent of each other.
struct reading {
	const struct heap_file *file;
	const struct heap_section *section;
	const struct heap_block *table;
	uint64_t first_block;
	uint64_t first, count; // elements
	enum width width;
	void *result;
};

// The elements of a block that belong to the range.
struct part {
	size_t skip, count;
	uint64_t index; // of the first one, in the result
};

HEAP_MAKES_ERROR
static struct heap_error *damaged(const struct heap_section *section, const char *why)
{
	return heap_section_damaged(section->tag, why);
}

static size_t elements_of(const struct heap_section *section, uint64_t block)
{
	uint64_t left = section->count - block * HEAP_BLOCK_ELEMENTS;

	return left < HEAP_BLOCK_ELEMENTS ? (size_t)left : HEAP_BLOCK_ELEMENTS;
}

// --- block tables ------------------------------------------------------------

// True if a block's lengths are possible: those of its elements, and of compressed data.
static bool is_possible(const struct heap_block *block, size_t elements, uint16_t encoding)
{
	if (encoding == HEAP_ENCODING_BYTES && block->raw_length != elements)
		return false;
	return block->raw_length >= elements && block->raw_length <= HEAP_BLOCK_BYTES_MAX &&
	       block->stored_length <= block->raw_length &&
	       block->raw_length <= (uint64_t)block->stored_length * HEAP_DEFLATE_RATIO_MAX;
}

HEAP_MUST_CHECK
static struct heap_error *parse_table(const struct heap_file_entry *entry, const uint8_t *at,
				      struct heap_block *table)
{
	const struct heap_section *section = &entry->section;
	uint64_t left = section->length - entry->blocks * (uint64_t)HEAP_BLOCK_ENTRY_SIZE;
	uint64_t offset = section->offset;

	for (uint32_t i = 0; i < entry->blocks; i++, at += HEAP_BLOCK_ENTRY_SIZE) {
		table[i] = (struct heap_block){
			.offset = offset,
			.stored_length = heap_get_u32(at),
			.raw_length = heap_get_u32(at + 4),
			.crc = heap_get_u32(at + 8),
		};
		if (table[i].stored_length > left)
			return damaged(section, "a block does not lie in it");
		if (!is_possible(&table[i], elements_of(section, i), section->encoding))
			return damaged(section, "a block cannot hold so many elements");
		offset += table[i].stored_length;
		left -= table[i].stored_length;
	}
	return left ? damaged(section, "bytes are left over") : NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_table(const struct heap_file *file,
				     const struct heap_file_entry *entry,
				     struct heap_block **result)
{
	size_t size = entry->blocks * (size_t)HEAP_BLOCK_ENTRY_SIZE;
	CLEANUP_FREE uint8_t *buffer = malloc(size + 1);
	CLEANUP_FREE struct heap_block *table = calloc(entry->blocks + (size_t)1, sizeof(*table));
	const uint8_t *bytes;

	if (!buffer || !table)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_file_fetch(file, entry->section.offset + entry->section.length - size, size,
				 buffer, &bytes));
	if (crc32_z(0, bytes, size) != entry->table_crc)
		return damaged(&entry->section, "CRC of its block table differs");
	HEAP_TRY(parse_table(entry, bytes, table));
	*result = keep(table);
	return NULL;
}

// Returns a section's table. The first thread that needs it reads it.
HEAP_MUST_CHECK
static struct heap_error *find_table(const struct heap_file *file,
				     const struct heap_section *section,
				     const struct heap_block **result)
{
	struct heap_file_entry *entry = (struct heap_file_entry *)section;
	struct heap_block *table = atomic_load(&entry->table);

	if (!table) {
		struct heap_block *other = NULL;

		HEAP_TRY(read_table(file, entry, &table));
		if (!atomic_compare_exchange_strong(&entry->table, &other, table)) {
			free(table);
			table = other;
		}
	}
	*result = table;
	return NULL;
}

struct heap_error *heap_file_check(const struct heap_file *file, const struct heap_section *section)
{
	const struct heap_block *table;

	return find_table(file, section, &table);
}

// --- blocks ------------------------------------------------------------------

// Fetches and decompresses. `raw` has room for the block's raw length.
HEAP_MUST_CHECK
static struct heap_error *inflate_block(const struct reading *reading,
					const struct heap_block *block, uint8_t *raw)
{
	CLEANUP_FREE uint8_t *buffer = malloc(block->stored_length);
	const uint8_t *stored;

	if (!buffer)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_file_fetch(reading->file, block->offset, block->stored_length, buffer,
				 &stored));
	if (crc32(0, stored, block->stored_length) != block->crc)
		return damaged(reading->section, "CRC differs");
	// A block that does not shrink is stored raw.
	if (block->stored_length == block->raw_length) {
		memcpy(raw, stored, block->raw_length);
		return NULL;
	}

	bool is_good;

	HEAP_TRY(heap_inflate(stored, block->stored_length, raw, block->raw_length, &is_good));
	return is_good ? NULL : damaged(reading->section, "a block does not decompress");
}

struct output {
	void *values;
	uint64_t last; // value
	uint64_t all;  // values, or'ed
};

// Stores a value. It is inlined into four specialized loops.
__attribute__((always_inline)) static inline void store(struct output *output, size_t index,
							uint64_t next, bool delta, bool wide)
{
	output->last = delta ? output->last + (uint64_t)heap_unzigzag(next) : next;
	if (wide)
		((uint64_t *)output->values)[index] = output->last;
	else
		((uint32_t *)output->values)[index] = (uint32_t)output->last;
	output->all |= output->last;
}

// Decodes values. Most columns have small values, eight of them in eight bytes. Others have values of
// any length, whose ends a loop over bytes would mispredict; so these are decoded without a branch.
__attribute__((always_inline)) static inline const uint8_t *decode_loop(const uint8_t *at,
									const uint8_t *end,
									size_t count, bool delta,
									bool wide,
									struct output *result)
{
	struct output output = *result;
	size_t i = 0;

	while (i < count) {
		uint64_t next;

		if (end - at >= 8) {
			uint64_t word = heap_varint_word(at);

			if (!(word & HEAP_VARINT_MORE) && count - i >= 8) {
				for (unsigned j = 0; j < 64; j += 8)
					store(&output, i++, word >> j & 0x7f, delta, wide);
				at += 8;
				continue;
			}
			if (~word & HEAP_VARINT_MORE) {
				at += heap_varint_of_word(word, &next);
				store(&output, i++, next, delta, wide);
				continue;
			}
		}
		at = heap_varint_get(at, end, &next);
		if (!at)
			return NULL;
		store(&output, i++, next, delta, wide);
	}
	*result = output;
	return at;
}

// Skips values. @param last  gets the last one; with @p delta, the sum of the differences
static const uint8_t *skip_values(const uint8_t *at, const uint8_t *end, size_t count, bool delta,
				  uint64_t *last)
{
	for (size_t i = 0; at && i < count; i++) {
		uint64_t next;

		at = heap_varint_get(at, end, &next);
		if (at)
			*last = delta ? *last + (uint64_t)heap_unzigzag(next) : next;
	}
	return at;
}

HEAP_MUST_CHECK
static struct heap_error *decode_values(const struct reading *reading, const uint8_t *raw,
					size_t length, struct part part)
{
	const uint8_t *end = raw + length;
	bool delta = reading->section->encoding == HEAP_ENCODING_DELTA;
	bool wide = reading->width == WIDTH_U64;
	struct output output = { 0 };

	output.values = wide ? (void *)((uint64_t *)reading->result + part.index)
			     : (void *)((uint32_t *)reading->result + part.index);
	raw = skip_values(raw, end, part.skip, delta, &output.last);
	if (raw && delta && wide)
		raw = decode_loop(raw, end, part.count, true, true, &output);
	else if (raw && delta)
		raw = decode_loop(raw, end, part.count, true, false, &output);
	else if (raw && wide)
		raw = decode_loop(raw, end, part.count, false, true, &output);
	else if (raw)
		raw = decode_loop(raw, end, part.count, false, false, &output);
	if (!raw)
		return damaged(reading->section, "a value is cut off");
	if (!wide && output.all > UINT32_MAX)
		return damaged(reading->section, "a value does not fit into 32 bits");
	return NULL;
}

static struct part part_of(const struct reading *reading, uint64_t block)
{
	uint64_t start = block * HEAP_BLOCK_ELEMENTS;
	struct part part = { .count = elements_of(reading->section, block) };

	if (start < reading->first) {
		part.skip = (size_t)(reading->first - start);
		part.count -= part.skip;
	}
	part.index = start + part.skip - reading->first;
	if (part.count > reading->count - part.index)
		part.count = (size_t)(reading->count - part.index);
	return part;
}

HEAP_MUST_CHECK
static struct heap_error *read_block(void *context, size_t number)
{
	const struct reading *reading = context;
	uint64_t at = reading->first_block + number;
	const struct heap_block *block = &reading->table[at];
	struct part part = part_of(reading, at);
	bool bytes = reading->width == WIDTH_BYTES;
	uint8_t *result = reading->result;

	// A whole block of bytes is decompressed in place.
	if (bytes && part.count == block->raw_length)
		return inflate_block(reading, block, result + part.index);

	CLEANUP_FREE uint8_t *raw = malloc(block->raw_length);

	if (!raw)
		return heap_error_out_of_memory();

	HEAP_TRY(inflate_block(reading, block, raw));
	if (!bytes)
		return decode_values(reading, raw, block->raw_length, part);
	memcpy(result + part.index, raw + part.skip, part.count);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_elements(struct reading *reading)
{
	const struct heap_section *section = reading->section;
	bool bytes = section->encoding == HEAP_ENCODING_BYTES;
	uint64_t last_block;

	if (reading->first > section->count || reading->count > section->count - reading->first)
		return damaged(section, "it has fewer elements than others say");
	if (bytes != (reading->width == WIDTH_BYTES) || section->encoding > HEAP_ENCODING_DELTA ||
	    section->encoding == 0)
		return damaged(section, "it has an unexpected encoding");
	HEAP_TRY(find_table(reading->file, section, &reading->table));
	if (reading->count == 0)
		return NULL;
	reading->first_block = reading->first / HEAP_BLOCK_ELEMENTS;
	last_block = (reading->first + reading->count - 1) / HEAP_BLOCK_ELEMENTS;
	return heap_parallel_run(last_block - reading->first_block + 1, read_block, reading);
}

struct heap_error *heap_file_read_u64(const struct heap_file *file,
				      const struct heap_section *section, uint64_t first,
				      uint64_t count, uint64_t *result)
{
	return read_elements(
		&(struct reading){ file, section, NULL, 0, first, count, WIDTH_U64, result });
}

struct heap_error *heap_file_read_u32(const struct heap_file *file,
				      const struct heap_section *section, uint64_t first,
				      uint64_t count, uint32_t *result)
{
	return read_elements(
		&(struct reading){ file, section, NULL, 0, first, count, WIDTH_U32, result });
}

struct heap_error *heap_file_read_bytes(const struct heap_file *file,
					const struct heap_section *section, uint64_t first,
					uint64_t count, uint8_t *result)
{
	return read_elements(
		&(struct reading){ file, section, NULL, 0, first, count, WIDTH_BYTES, result });
}
