// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/file.h"

#include "lib/cleanup.h"
#include "lib/file_format.h"
#include "lib/parallel.h"
#include "lib/varint.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <zlib.h>

struct entry {
	struct heap_section section; // what users see: first
	uint32_t blocks;
	uint32_t table_crc;
};

struct heap_file {
	const uint8_t *bytes;
	size_t size;
	bool mapped;
	struct entry *entries; // [count]
	size_t count;
};

static uint16_t read_u16(const uint8_t *at)
{
	return (uint16_t)(at[0] | at[1] << 8);
}

static uint32_t read_u32(const uint8_t *at)
{
	return HEAP_TAG(at[0], at[1], at[2], at[3]);
}

static uint64_t read_u64(const uint8_t *at)
{
	return read_u32(at) | (uint64_t)read_u32(at + 4) << 32;
}

// --- the directory -----------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *check_header(const uint8_t *bytes, size_t size)
{
	if (size == 0)
		return heap_error_create(HEAP_ERROR_FORMAT, "the file is empty");
	if (size < HEADER_SIZE || memcmp(bytes, MAGIC, MAGIC_SIZE) != 0)
		return heap_error_create(HEAP_ERROR_FORMAT, "not a heap snapshot");
	if (read_u32(bytes + 8) > HEAP_FILE_VERSION)
		return heap_error_create(HEAP_ERROR_FORMAT,
					 "written by a newer heapsnap (format %" PRIu32
					 "); this one reads up to %d",
					 read_u32(bytes + 8), HEAP_FILE_VERSION);
	if (read_u32(bytes + 8) == 0 || read_u32(bytes + 12) != 0)
		return heap_error_create(HEAP_ERROR_FORMAT, "the header is damaged");
	return NULL;
}

// Finds the directory by the trailer.
HEAP_MUST_CHECK
static struct heap_error *find_directory(const uint8_t *bytes, size_t size, const uint8_t **result,
					 uint32_t *count)
{
	if (size < HEADER_SIZE + TRAILER_SIZE ||
	    memcmp(bytes + size - MAGIC_SIZE, MAGIC, MAGIC_SIZE) != 0)
		return heap_error_create(HEAP_ERROR_FORMAT,
					 "no directory at the end: the file is truncated");

	const uint8_t *trailer = bytes + size - TRAILER_SIZE;

	*count = read_u32(trailer);
	if (*count > MAX_SECTIONS ||
	    *count * (size_t)ENTRY_SIZE > size - HEADER_SIZE - TRAILER_SIZE)
		return heap_error_create(HEAP_ERROR_FORMAT,
					 "directory of %" PRIu32 " sections in a file of %zu bytes",
					 *count, size);
	*result = trailer - *count * (size_t)ENTRY_SIZE;
	if (crc32(0, *result, *count * ENTRY_SIZE) != read_u32(trailer + 4))
		return heap_error_create(HEAP_ERROR_FORMAT, "directory is damaged: CRC differs");
	return NULL;
}

static struct entry parse_entry(const uint8_t *at)
{
	return (struct entry){
		.section = {
			.tag = read_u32(at),
			.encoding = read_u16(at + 4),
			.fields = read_u16(at + 6),
			.offset = read_u64(at + 8),
			.length = read_u64(at + 16),
			.count = read_u64(at + 24),
		},
		.blocks = read_u32(at + 32),
		.table_crc = read_u32(at + 36),
	};
}

// A tag as text, for messages.
static const char *tag_text(uint32_t tag, char text[5])
{
	for (int i = 0; i < 4; i++) {
		char letter = (char)(tag >> 8 * i);

		text[i] = letter >= 0x20 && letter < 0x7f ? letter : '?';
	}
	text[4] = '\0';
	return text;
}

HEAP_MAKES_ERROR
static struct heap_error *damaged(const struct heap_section *section, const char *why)
{
	char text[5];

	return heap_error_create(HEAP_ERROR_FORMAT, "section '%s' is damaged: %s",
				 tag_text(section->tag, text), why);
}

// `end`: where the directory begins. The table is checked when the section is read.
HEAP_MUST_CHECK
static struct heap_error *check_entry(const struct entry *entries, size_t last, uint64_t end)
{
	const struct entry *entry = &entries[last];
	const struct heap_section *section = &entry->section;

	if (section->offset > end || section->length > end - section->offset ||
	    section->offset < HEADER_SIZE)
		return damaged(section, "it does not lie in the file");
	if (entry->blocks * (uint64_t)BLOCK_ENTRY_SIZE > section->length)
		return damaged(section, "its block table is larger than it");
	// What deflate can make of so many bytes at most bounds what anyone allocates.
	if (section->count > (uint64_t)entry->blocks * HEAP_BLOCK_ELEMENTS ||
	    (entry->blocks > 0 &&
	     section->count <= (uint64_t)(entry->blocks - 1) * HEAP_BLOCK_ELEMENTS) ||
	    section->count > section->length * DEFLATE_MAX_RATIO)
		return damaged(section, "it cannot hold so many elements");
	if (section->fields == 0 || section->count % section->fields != 0)
		return damaged(section, "its rows are not whole");
	for (size_t i = 0; i < last; i++) {
		if (entries[i].section.tag == section->tag)
			return damaged(section, "there are two of it");
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_directory(struct heap_file *file)
{
	const uint8_t *directory;
	uint32_t count;
	struct heap_error *error = check_header(file->bytes, file->size);

	if (!error)
		error = find_directory(file->bytes, file->size, &directory, &count);
	if (error)
		return error;
	file->entries = calloc(count + 1, sizeof(*file->entries));
	if (!file->entries)
		return heap_error_out_of_memory();
	for (file->count = 0; file->count < count; file->count++) {
		file->entries[file->count] = parse_entry(directory + file->count * ENTRY_SIZE);
		error = check_entry(file->entries, file->count,
				    (uint64_t)(directory - file->bytes));
		if (error)
			return error;
	}
	return NULL;
}

struct heap_error *heap_file_open_memory(const uint8_t *bytes, size_t size,
					 struct heap_file **result)
{
	struct heap_file *file = calloc(1, sizeof(*file));

	if (!file)
		return heap_error_out_of_memory();
	*file = (struct heap_file){ .bytes = bytes, .size = size };

	struct heap_error *error = read_directory(file);

	if (error) {
		heap_file_close(file);
		return error;
	}
	*result = file;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *map_file(const char *path, const uint8_t **bytes, size_t *size)
{
	CLEANUP_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;

	if (descriptor < 0 || fstat(descriptor, &status) != 0)
		return heap_error_create_system("%s", path);
	if (S_ISDIR(status.st_mode)) {
		errno = EISDIR;
		return heap_error_create_system("%s", path);
	}
	if (!S_ISREG(status.st_mode))
		return heap_error_create(HEAP_ERROR_FORMAT, "%s: not a regular file", path);
	*size = (size_t)status.st_size;
	if (*size == 0) {
		*bytes = NULL;
		return NULL;
	}

	void *mapped = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, descriptor, 0);

	if (mapped == MAP_FAILED)
		return heap_error_create_system("%s", path);
	*bytes = mapped;
	return NULL;
}

struct heap_error *heap_file_open(const char *path, struct heap_file **result)
{
	const uint8_t *bytes;
	size_t size;
	struct heap_error *error = map_file(path, &bytes, &size);

	if (error)
		return error;
	error = heap_file_open_memory(bytes, size, result);
	if (error) {
		if (bytes)
			munmap((void *)bytes, size);
		return heap_error_within(error, "%s", path);
	}
	(*result)->mapped = true;
	return NULL;
}

void heap_file_close(struct heap_file *file)
{
	if (!file)
		return;
	if (file->mapped)
		munmap((void *)file->bytes, file->size);
	free(file->entries);
	free(file);
}

const struct heap_section *heap_file_find(const struct heap_file *file, uint32_t tag)
{
	for (size_t i = 0; i < file->count; i++) {
		if (file->entries[i].section.tag == tag)
			return &file->entries[i].section;
	}
	return NULL;
}

// --- blocks ------------------------------------------------------------------

// A block of a section, as its table has it.
struct block {
	const uint8_t *stored;
	uint32_t stored_length;
	uint32_t raw_length;
	uint32_t crc;
	size_t elements;
};

enum width {
	WIDTH_BYTES,
	WIDTH_U32,
	WIDTH_U64,
};

// A range of a section that is being decoded; blocks are independent of each other.
struct reading {
	const struct entry *entry;
	struct block *blocks; // [block_count] those that the range touches
	size_t block_count;
	uint64_t first_block;
	uint64_t first, count; // elements
	enum width width;
	void *result;
};

// Reads the block table up to the last block that is wanted.
HEAP_MUST_CHECK
static struct heap_error *read_block_table(const struct heap_file *file, struct reading *reading)
{
	const struct entry *entry = reading->entry;
	const struct heap_section *section = &entry->section;
	size_t table_size = entry->blocks * (size_t)BLOCK_ENTRY_SIZE;
	uint64_t stored = section->length - table_size; // bytes of all blocks
	const uint8_t *at = file->bytes + section->offset;
	const uint8_t *table = at + stored;
	uint64_t used = 0;

	if (crc32(0, table, (uInt)table_size) != entry->table_crc)
		return damaged(section, "CRC of its block table differs");
	reading->first_block = reading->first / HEAP_BLOCK_ELEMENTS;
	reading->block_count = (reading->first + reading->count - 1) / HEAP_BLOCK_ELEMENTS -
			       reading->first_block + 1;
	reading->blocks = calloc(reading->block_count, sizeof(*reading->blocks));
	if (!reading->blocks)
		return heap_error_out_of_memory();
	for (uint64_t i = 0; i < reading->first_block + reading->block_count; i++) {
		struct block block = {
			.stored = at + used,
			.stored_length = read_u32(table + i * BLOCK_ENTRY_SIZE),
			.raw_length = read_u32(table + i * BLOCK_ENTRY_SIZE + 4),
			.crc = read_u32(table + i * BLOCK_ENTRY_SIZE + 8),
			.elements = i + 1 < entry->blocks
					    ? HEAP_BLOCK_ELEMENTS
					    : section->count - i * HEAP_BLOCK_ELEMENTS,
		};

		if (block.stored_length > stored - used || block.raw_length > HEAP_BLOCK_BYTES_MAX)
			return damaged(section, "a block does not lie in it");
		used += block.stored_length;
		if (i >= reading->first_block)
			reading->blocks[i - reading->first_block] = block;
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *inflate_block(const struct heap_section *section,
					const struct block *block, uint8_t *raw)
{
	uLongf length = HEAP_BLOCK_BYTES_MAX;

	if (crc32(0, block->stored, block->stored_length) != block->crc)
		return damaged(section, "CRC differs");
	// As long as it was: it did not shrink, and is stored as it is.
	if (block->stored_length == block->raw_length) {
		memcpy(raw, block->stored, block->raw_length);
		return NULL;
	}
	if (uncompress(raw, &length, block->stored, block->stored_length) != Z_OK ||
	    length != block->raw_length)
		return damaged(section, "a block does not decompress");
	return NULL;
}

static void store_value(const struct reading *reading, uint64_t index, uint64_t value)
{
	if (reading->width == WIDTH_U64)
		((uint64_t *)reading->result)[index] = value;
	else
		((uint32_t *)reading->result)[index] = (uint32_t)value;
}

// Decodes elements [skip, skip + count) of a block, to `index` of the result on.
HEAP_MUST_CHECK
static struct heap_error *decode_values(const struct reading *reading, const struct block *block,
					const uint8_t *raw, size_t skip, size_t count,
					uint64_t index)
{
	const struct heap_section *section = &reading->entry->section;
	const uint8_t *at = raw, *end = raw + block->raw_length;
	bool delta = section->encoding == HEAP_ENCODING_DELTA;
	uint64_t value = 0;
	uint64_t all = 0;

	for (size_t i = 0; i < skip + count; i++) {
		uint64_t next;

		if (at < end && *at < 0x80) {
			next = *at++;
		} else {
			at = heap_varint_get(at, end, &next);
			if (!at)
				return damaged(section, "a value is cut off");
		}
		value = delta ? value + (uint64_t)heap_unzigzag(next) : next;
		if (i >= skip) {
			store_value(reading, index++, value);
			all |= value;
		}
	}
	if (reading->width == WIDTH_U32 && all > UINT32_MAX)
		return damaged(section, "a value does not fit into 32 bits");
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_block(void *context, size_t number)
{
	const struct reading *reading = context;
	const struct block *block = &reading->blocks[number];
	const struct heap_section *section = &reading->entry->section;
	CLEANUP_FREE uint8_t *raw = malloc(HEAP_BLOCK_BYTES_MAX);
	uint64_t start = (reading->first_block + number) * HEAP_BLOCK_ELEMENTS;
	size_t skip = start < reading->first ? (size_t)(reading->first - start) : 0;
	uint64_t index = start + skip - reading->first;
	size_t count = block->elements - skip;

	if (!raw)
		return heap_error_out_of_memory();
	if (count > reading->count - index)
		count = (size_t)(reading->count - index);

	struct heap_error *error = inflate_block(section, block, raw);

	if (error)
		return error;
	if (reading->width != WIDTH_BYTES)
		return decode_values(reading, block, raw, skip, count, index);
	if (block->raw_length != block->elements)
		return damaged(section, "a block has the wrong length");
	memcpy((uint8_t *)reading->result + index, raw + skip, count);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_elements(const struct heap_file *file,
					const struct heap_section *section, uint64_t first,
					uint64_t count, enum width width, void *result)
{
	struct reading reading = {
		.entry = (const struct entry *)section,
		.first = first,
		.count = count,
		.width = width,
		.result = result,
	};
	bool bytes = section->encoding == HEAP_ENCODING_BYTES;

	if (count == 0)
		return NULL;
	if (first > section->count || count > section->count - first)
		return damaged(section, "it has fewer elements than others say");
	if (bytes != (width == WIDTH_BYTES) || section->encoding > HEAP_ENCODING_DELTA ||
	    section->encoding == 0)
		return damaged(section, "it has an unexpected encoding");

	struct heap_error *error = read_block_table(file, &reading);

	if (!error)
		error = heap_parallel_run(reading.block_count, read_block, &reading);
	free(reading.blocks);
	return error;
}

struct heap_error *heap_file_read_u64(const struct heap_file *file,
				      const struct heap_section *section, uint64_t first,
				      uint64_t count, uint64_t *result)
{
	return read_elements(file, section, first, count, WIDTH_U64, result);
}

struct heap_error *heap_file_read_u32(const struct heap_file *file,
				      const struct heap_section *section, uint64_t first,
				      uint64_t count, uint32_t *result)
{
	return read_elements(file, section, first, count, WIDTH_U32, result);
}

struct heap_error *heap_file_read_bytes(const struct heap_file *file,
					const struct heap_section *section, uint64_t first,
					uint64_t count, uint8_t *result)
{
	return read_elements(file, section, first, count, WIDTH_BYTES, result);
}
