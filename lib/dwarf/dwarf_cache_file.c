// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_cache_file.h"

#include "lib/base/cleanup.h"
#include "lib/base/replace_file.h"
#include "lib/base/trust.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	BUILD_ID_TEXT_MAX = 128,
	SOURCE_NUMBERS = 3,
	TAG_SOURCE = HEAP_TAG('d', 's', 'r', 'c'),
};

// The build id goes into a path: nothing but digits may be in it.
HEAP_MUST_CHECK
static struct heap_error *make_path(const struct heap_dwarf_cache_name *name, char **result)
{
	const char *id = name->build_id;
	size_t length = strlen(id);

	if (!length || length > BUILD_ID_TEXT_MAX || strspn(id, "0123456789abcdef") != length)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "not a build id: '%.*s'",
					 BUILD_ID_TEXT_MAX, id);
	if (asprintf(result, "%s/%s-%s", name->directory, id, name->kind) < 0) {
		*result = NULL;
		return heap_error_out_of_memory();
	}
	return NULL;
}

static void write_source(const struct heap_dwarf_source *source, struct heap_file_writer *writer)
{
	heap_file_writer_begin(writer, TAG_SOURCE, HEAP_ENCODING_VARINT, 1);
	heap_file_writer_put(writer, source->size);
	heap_file_writer_put(writer, source->time_ns);
	heap_file_writer_put(writer, source->owner);
	heap_file_writer_end(writer);
}

HEAP_MUST_CHECK
static struct heap_error *check_source(const struct heap_dwarf_source *source,
				       const struct heap_file *file)
{
	const struct heap_section *section;
	uint64_t numbers[SOURCE_NUMBERS];

	HEAP_TRY(heap_dwarf_cache_find(file, TAG_SOURCE, HEAP_ENCODING_VARINT, &section));
	if (section->count != SOURCE_NUMBERS)
		return heap_dwarf_cache_damaged("its source is missing");
	HEAP_TRY(heap_file_read_u64(file, section, 0, section->count, numbers));
	if (numbers[0] != source->size || numbers[1] != source->time_ns ||
	    numbers[2] != source->owner)
		return heap_dwarf_cache_damaged("it is of another file");
	return NULL;
}

struct heap_error *heap_dwarf_cache_load(const struct heap_dwarf_cache_name *name,
					 heap_dwarf_cache_reader *read, void *context)
{
	CLEANUP_FREE char *path = NULL;
	struct heap_file *file;
	struct heap_error *error;

	HEAP_TRY(make_path(name, &path));
	if (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
		return heap_error_create(HEAP_ERROR_ABSENT, "%s: not in the cache", name->build_id);
	HEAP_TRY(heap_trust_directory(name->directory));
	HEAP_TRY(heap_trust_file(path));
	HEAP_TRY(heap_file_open(path, &file));
	error = check_source(name->source, file);
	if (!error)
		error = read(context, file);
	heap_file_close(file);
	return heap_error_within(error, "%s", path);
}

struct contents {
	const struct heap_dwarf_source *source;
	heap_dwarf_cache_writer *write;
	void *context;
};

HEAP_MUST_CHECK
static struct heap_error *write_file(void *context, int descriptor)
{
	const struct contents *contents = context;
	struct heap_file_writer *writer;
	struct heap_error *error;

	HEAP_TRY(heap_file_writer_create(descriptor, &writer));
	write_source(contents->source, writer);
	error = contents->write(contents->context, writer);
	if (!error)
		error = heap_file_writer_finish(writer);
	heap_file_writer_destroy(writer);
	return error;
}

struct heap_error *heap_dwarf_cache_store(const struct heap_dwarf_cache_name *name,
					  heap_dwarf_cache_writer *write, void *context)
{
	CLEANUP_FREE char *path = NULL;
	struct contents contents = { name->source, write, context };

	HEAP_TRY(make_path(name, &path));
	HEAP_TRY(heap_trust_make_directory(name->directory));
	return heap_replace_file(path, write_file, &contents);
}

struct heap_error *heap_dwarf_cache_damaged(const char *why)
{
	return heap_error_create(HEAP_ERROR_FORMAT, "cached debug information is damaged: %s", why);
}

struct heap_error *heap_dwarf_cache_find(const struct heap_file *file, uint32_t tag,
					 enum heap_encoding encoding,
					 const struct heap_section **result)
{
	const struct heap_section *section = heap_file_find(file, tag);

	if (!section || section->encoding != encoding || section->fields != 1)
		return heap_dwarf_cache_damaged("a section is missing");
	if (section->count > UINT32_MAX / 2)
		return heap_dwarf_cache_damaged("a section is too long");
	*result = section;
	return NULL;
}

// Memory grows while bytes are read: a count alone is not to be trusted.
struct heap_error *heap_dwarf_cache_read_bytes(const struct heap_file *file, uint32_t tag,
					       char **bytes, uint32_t *size)
{
	const struct heap_section *section;
	CLEANUP_FREE char *read = NULL;

	HEAP_TRY(heap_dwarf_cache_find(file, tag, HEAP_ENCODING_BYTES, &section));
	for (uint64_t first = 0; first < section->count; first += HEAP_BLOCK_ELEMENTS) {
		uint64_t part = section->count - first < HEAP_BLOCK_ELEMENTS
					? section->count - first
					: HEAP_BLOCK_ELEMENTS;
		char *more = realloc(read, first + part);

		if (!more)
			return heap_error_out_of_memory();
		read = more;
		HEAP_TRY(heap_file_read_bytes(file, section, first, part, (uint8_t *)read + first));
	}
	*size = section->count;
	*bytes = keep(read);
	return NULL;
}

void heap_dwarf_cache_write_bytes(struct heap_file_writer *writer, uint32_t tag, const char *bytes,
				  size_t size)
{
	heap_file_writer_begin(writer, tag, HEAP_ENCODING_BYTES, 1);
	heap_file_writer_put_bytes(writer, bytes, size);
	heap_file_writer_end(writer);
}
