// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_line_cache.h"

#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/hash_table.h"
#include "lib/dwarf/dwarf_cache_file.h"

#include <stdlib.h>
#include <string.h>

// Whoever changes what is stored, or what heap_dwarf_line_finder_find() finds, counts the number up.
#define KIND "lines-1"

enum {
	ADDRESSES_MAX = 1 << 16,
	LINES_MAX = 4 * ADDRESSES_MAX, // with those of inlined functions
	STRING_BYTES_MAX = 4 << 20,

	TAG_FILE_SIZE = HEAP_TAG('l', 's', 'i', 'z'),
	TAG_BUILD_ID = HEAP_TAG('l', 'b', 'i', 'd'),
	TAG_STRINGS = HEAP_TAG('l', 's', 't', 'r'),
	TAG_ADDRESSES = HEAP_TAG('l', 'a', 'd', 'r'),
	TAG_COUNTS = HEAP_TAG('l', 'c', 'n', 't'),
	TAG_FUNCTIONS = HEAP_TAG('l', 'f', 'u', 'n'),
	TAG_FILES = HEAP_TAG('l', 'f', 'i', 'l'),
	TAG_NUMBERS = HEAP_TAG('l', 'n', 'u', 'm'),
};

struct address {
	uint64_t pc;
	uint32_t first, count; // of its lines
};

struct line {
	uint32_t function, file; // offsets in strings
	uint32_t number;
};

struct addresses HEAP_ARRAY(struct address);
struct cached_lines HEAP_ARRAY(struct line);
struct strings HEAP_ARRAY(char);

struct contents {
	struct addresses addresses;
	struct cached_lines lines;
	struct strings strings; // NUL-terminated, one after the other
	struct heap_hash_table by_pc, by_string;
};

struct heap_dwarf_line_cache {
	char *directory, *build_id;
	uint64_t file_size;
	struct contents contents;
	bool is_loaded; // or was tried
	bool has_more;  // than its file
};

static void contents_deinit(struct contents *contents)
{
	heap_array_deinit(&contents->addresses);
	heap_array_deinit(&contents->lines);
	heap_array_deinit(&contents->strings);
	heap_hash_table_deinit(&contents->by_pc);
	heap_hash_table_deinit(&contents->by_string);
	*contents = (struct contents){ 0 };
}

struct heap_error *heap_dwarf_line_cache_create(const char *directory, const char *build_id,
						uint64_t file_size,
						struct heap_dwarf_line_cache **result)
{
	struct heap_dwarf_line_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return heap_error_out_of_memory();
	cache->file_size = file_size;
	cache->directory = strdup(directory);
	cache->build_id = strdup(build_id);
	if (!cache->directory || !cache->build_id) {
		heap_dwarf_line_cache_destroy(cache);
		return heap_error_out_of_memory();
	}
	*result = cache;
	return NULL;
}

void heap_dwarf_line_cache_destroy(struct heap_dwarf_line_cache *cache)
{
	if (!cache)
		return;
	contents_deinit(&cache->contents);
	free(cache->directory);
	free(cache->build_id);
	free(cache);
}

// --- contents --------------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *add_string(struct contents *contents, const char *string,
				     uint32_t *result)
{
	struct strings *strings = &contents->strings;
	uint64_t hash = heap_hash_string(string);
	size_t size = strlen(string) + 1;

	*result = heap_hash_find(&contents->by_string, hash, i,
				 strcmp(strings->items + i, string) == 0);
	if (*result != HEAP_HASH_NONE)
		return NULL;
	*result = (uint32_t)strings->count;
	HEAP_TRY(heap_array_reserve(strings, size));
	memcpy(strings->items + strings->count, string, size);
	strings->count += size;
	return heap_hash_add(&contents->by_string, hash, *result);
}

// An address counts from the moment that it is in the hash table: if that fails, it is dropped.
HEAP_MUST_CHECK
static struct heap_error *add_address(struct contents *contents, const struct address *address)
{
	HEAP_TRY(heap_array_append(&contents->addresses, *address));

	struct heap_error *error = heap_hash_add(&contents->by_pc, heap_hash_u64(address->pc),
						 (uint32_t)contents->addresses.count - 1);

	if (error)
		contents->addresses.count--;
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *add_lines(struct contents *contents, uint64_t pc,
				    const struct heap_dwarf_lines *lines)
{
	const struct address address = { pc, (uint32_t)contents->lines.count,
					 (uint32_t)lines->count };

	for (size_t i = 0; i < lines->count; i++) {
		struct line line = { .number = lines->lines[i].line };

		HEAP_TRY(add_string(contents, lines->lines[i].function, &line.function));
		HEAP_TRY(add_string(contents, lines->lines[i].file, &line.file));
		HEAP_TRY(heap_array_append(&contents->lines, line));
	}
	return add_address(contents, &address);
}

static bool has_room(const struct contents *contents, const struct heap_dwarf_lines *lines)
{
	uint64_t bytes = contents->strings.count;

	for (size_t i = 0; i < lines->count; i++)
		bytes += strlen(lines->lines[i].function) + strlen(lines->lines[i].file) + 2;
	return contents->addresses.count < ADDRESSES_MAX &&
	       contents->lines.count + lines->count <= LINES_MAX && bytes <= STRING_BYTES_MAX;
}

void heap_dwarf_line_cache_add(struct heap_dwarf_line_cache *cache, uint64_t pc,
			       const struct heap_dwarf_lines *lines)
{
	struct contents *contents = &cache->contents;
	size_t line_count = contents->lines.count;
	struct heap_error *error;

	if (!lines->is_complete || !has_room(contents, lines))
		return;
	error = add_lines(contents, pc, lines);
	cache->has_more |= !error;
	if (error)
		contents->lines.count = line_count;
	heap_error_destroy(error);
}

// --- reading ---------------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *read_numbers(const struct heap_file *file, uint32_t tag,
				       enum heap_encoding encoding, size_t max, uint64_t **numbers,
				       size_t *count)
{
	const struct heap_section *section;
	CLEANUP_FREE uint64_t *read = NULL;

	HEAP_TRY(heap_dwarf_cache_find(file, tag, encoding, &section));
	if (section->count > max)
		return heap_dwarf_cache_damaged("a section is too long");
	HEAP_TRY(heap_file_check(file, section));
	read = calloc(section->count + 1, sizeof(*read));
	if (!read)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_file_read_u64(file, section, 0, section->count, read));
	*count = section->count;
	*numbers = keep(read);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *check_identity(const struct heap_dwarf_line_cache *cache,
					 const struct heap_file *file)
{
	CLEANUP_FREE uint64_t *file_size = NULL;
	CLEANUP_FREE char *build_id = NULL;
	uint32_t length;
	size_t count;

	HEAP_TRY(read_numbers(file, TAG_FILE_SIZE, HEAP_ENCODING_VARINT, 1, &file_size, &count));
	HEAP_TRY(heap_dwarf_cache_read_bytes(file, TAG_BUILD_ID, &build_id, &length));
	if (length != strlen(cache->build_id) || memcmp(build_id, cache->build_id, length) != 0)
		return heap_dwarf_cache_damaged("it is of another build");
	if (count != 1 || file_size[0] != cache->file_size)
		return heap_dwarf_cache_damaged("it is of another file");
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_strings(const struct heap_file *file, struct contents *contents)
{
	uint32_t size;

	HEAP_TRY(heap_dwarf_cache_read_bytes(file, TAG_STRINGS, &contents->strings.items, &size));
	contents->strings.count = contents->strings.capacity = size;
	if (size > STRING_BYTES_MAX)
		return heap_dwarf_cache_damaged("a section is too long");
	if (size && contents->strings.items[size - 1])
		return heap_dwarf_cache_damaged("strings do not end");
	for (uint32_t at = 0; at < size; at += strlen(contents->strings.items + at) + 1)
		HEAP_TRY(heap_hash_add(&contents->by_string,
				       heap_hash_string(contents->strings.items + at), at));
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_lines(const struct heap_file *file, struct contents *contents)
{
	CLEANUP_FREE uint64_t *functions = NULL, *files = NULL, *numbers = NULL;
	size_t count, file_count, number_count;

	HEAP_TRY(read_numbers(file, TAG_FUNCTIONS, HEAP_ENCODING_DELTA, LINES_MAX, &functions,
			      &count));
	HEAP_TRY(
		read_numbers(file, TAG_FILES, HEAP_ENCODING_DELTA, LINES_MAX, &files, &file_count));
	HEAP_TRY(read_numbers(file, TAG_NUMBERS, HEAP_ENCODING_VARINT, LINES_MAX, &numbers,
			      &number_count));
	if (file_count != count || number_count != count)
		return heap_dwarf_cache_damaged("sections have different lengths");
	HEAP_TRY(heap_array_reserve(&contents->lines, count));
	for (size_t i = 0; i < count; i++) {
		if (functions[i] >= contents->strings.count ||
		    files[i] >= contents->strings.count || numbers[i] > UINT32_MAX)
			return heap_dwarf_cache_damaged("a line is out of range");
		contents->lines.items[contents->lines.count++] =
			(struct line){ (uint32_t)functions[i], (uint32_t)files[i],
				       (uint32_t)numbers[i] };
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_addresses(const struct heap_file *file, struct contents *contents)
{
	CLEANUP_FREE uint64_t *addresses = NULL, *counts = NULL;
	size_t count, other_count, first = 0;

	HEAP_TRY(read_numbers(file, TAG_ADDRESSES, HEAP_ENCODING_DELTA, ADDRESSES_MAX, &addresses,
			      &count));
	HEAP_TRY(read_numbers(file, TAG_COUNTS, HEAP_ENCODING_VARINT, ADDRESSES_MAX, &counts,
			      &other_count));
	if (other_count != count)
		return heap_dwarf_cache_damaged("sections have different lengths");
	for (size_t i = 0; i < count; i++) {
		if (counts[i] > contents->lines.count - first)
			return heap_dwarf_cache_damaged("an address is out of range");

		const struct address address = { addresses[i], (uint32_t)first,
						 (uint32_t)counts[i] };

		HEAP_TRY(add_address(contents, &address));
		first += counts[i];
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *load(void *context, const struct heap_file *file)
{
	struct heap_dwarf_line_cache *cache = context;
	CLEANUP(contents_deinit) struct contents contents = { 0 };

	HEAP_TRY(check_identity(cache, file));
	HEAP_TRY(read_strings(file, &contents));
	HEAP_TRY(read_lines(file, &contents));
	HEAP_TRY(read_addresses(file, &contents));
	cache->contents = keep(contents);
	return NULL;
}

struct heap_error *heap_dwarf_line_cache_load_memory(struct heap_dwarf_line_cache *cache,
						     const uint8_t *bytes, size_t size)
{
	struct heap_file *file;
	struct heap_error *error;

	contents_deinit(&cache->contents);
	cache->is_loaded = true;
	HEAP_TRY(heap_file_open_memory(bytes, size, &file));
	error = load(cache, file);
	heap_file_close(file);
	return error;
}

static struct heap_dwarf_cache_name name_of(const struct heap_dwarf_line_cache *cache)
{
	return (struct heap_dwarf_cache_name){ cache->directory, cache->build_id, KIND };
}

// @return false if there is no memory
static bool copy_lines(const struct contents *contents, const struct address *address,
		       struct heap_dwarf_lines *result)
{
	result->is_complete = true;
	if (address->count == 0)
		return true;
	result->lines = calloc(address->count, sizeof(*result->lines));
	if (!result->lines)
		return false;
	for (uint32_t i = 0; i < address->count; i++) {
		const struct line *line = &contents->lines.items[address->first + i];
		struct heap_dwarf_line *copy = &result->lines[result->count++];

		*copy = (struct heap_dwarf_line){
			.function = strdup(contents->strings.items + line->function),
			.file = strdup(contents->strings.items + line->file),
			.line = line->number,
		};
		if (!copy->function || !copy->file)
			return false;
	}
	return true;
}

bool heap_dwarf_line_cache_find(struct heap_dwarf_line_cache *cache, uint64_t pc,
				struct heap_dwarf_lines *result)
{
	const struct contents *contents = &cache->contents;

	*result = (struct heap_dwarf_lines){ 0 };
	if (!cache->is_loaded) {
		const struct heap_dwarf_cache_name name = name_of(cache);

		cache->is_loaded = true;
		heap_error_destroy(heap_dwarf_cache_load(&name, load, cache));
	}

	uint32_t found = heap_hash_find(&contents->by_pc, heap_hash_u64(pc), i,
					contents->addresses.items[i].pc == pc);

	if (found == HEAP_HASH_NONE)
		return false;
	if (copy_lines(contents, &contents->addresses.items[found], result))
		return true;
	heap_dwarf_lines_deinit(result);
	*result = (struct heap_dwarf_lines){ 0 };
	return false;
}

// --- writing ---------------------------------------------------------------------------------

#define WRITE_COLUMN(writer, tag, encoding, array, field) \
	({ \
		heap_file_writer_begin(writer, tag, HEAP_ENCODING_##encoding, 1); \
		for (size_t i_ = 0; i_ < (array)->count; i_++) \
			heap_file_writer_put(writer, (array)->items[i_].field); \
		heap_file_writer_end(writer); \
	})

HEAP_MUST_CHECK
static struct heap_error *write_contents(void *context, struct heap_file_writer *writer)
{
	const struct heap_dwarf_line_cache *cache = context;
	const struct contents *contents = &cache->contents;

	heap_file_writer_begin(writer, TAG_FILE_SIZE, HEAP_ENCODING_VARINT, 1);
	heap_file_writer_put(writer, cache->file_size);
	heap_file_writer_end(writer);
	heap_dwarf_cache_write_bytes(writer, TAG_BUILD_ID, cache->build_id,
				     strlen(cache->build_id));
	heap_dwarf_cache_write_bytes(writer, TAG_STRINGS, contents->strings.items,
				     contents->strings.count);
	WRITE_COLUMN(writer, TAG_ADDRESSES, DELTA, &contents->addresses, pc);
	WRITE_COLUMN(writer, TAG_COUNTS, VARINT, &contents->addresses, count);
	WRITE_COLUMN(writer, TAG_FUNCTIONS, DELTA, &contents->lines, function);
	WRITE_COLUMN(writer, TAG_FILES, DELTA, &contents->lines, file);
	WRITE_COLUMN(writer, TAG_NUMBERS, VARINT, &contents->lines, number);
	return NULL;
}

struct heap_error *heap_dwarf_line_cache_store(struct heap_dwarf_line_cache *cache)
{
	const struct heap_dwarf_cache_name name = name_of(cache);

	if (!cache->has_more)
		return NULL;
	cache->has_more = false;
	return heap_dwarf_cache_store(&name, write_contents, cache);
}
