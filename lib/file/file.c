// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/file/file.h"

#include "lib/base/cleanup.h"
#include "lib/file/file_blocks.h"
#include "lib/file/file_format.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

struct trailer {
	uint64_t offset, length; // of the directory
	uint32_t count, crc;
	uint8_t checked[HEAP_TRAILER_CHECKED];
};

struct heap_error *heap_file_fetch(const struct heap_file *file, uint64_t offset, size_t size,
				   uint8_t *buffer, const uint8_t **result)
{
	size_t have = 0;

	if (file->descriptor < 0) {
		*result = file->bytes + offset;
		return NULL;
	}
	while (have < size) {
		ssize_t got =
			pread(file->descriptor, buffer + have, size - have, (off_t)(offset + have));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return heap_error_create_system("cannot be read");
		if (got == 0)
			return heap_error_create(HEAP_ERROR_FORMAT,
						 "the file has become shorter since it was opened");
		have += (size_t)got;
	}
	*result = buffer;
	return NULL;
}

// A tag's letters, for people.
struct tag_name {
	char letters[5];
};

static struct tag_name name_tag(uint32_t tag)
{
	struct tag_name name = { "" };

	for (int i = 0; i < 4; i++) {
		char letter = (char)(tag >> 8 * i);

		name.letters[i] = letter >= 0x20 && letter < 0x7f ? letter : '?';
	}
	return name;
}

struct heap_error *heap_section_damaged(uint32_t tag, const char *why)
{
	return heap_error_create(HEAP_ERROR_FORMAT, "section '%s' is damaged: %s",
				 name_tag(tag).letters, why);
}

struct heap_error *heap_section_too_long(uint32_t tag, uint64_t rows, uint32_t most)
{
	return heap_error_create(HEAP_ERROR_FORMAT,
				 "section '%s' has %" PRIu64
				 " rows, and this version reads at most %" PRIu32,
				 name_tag(tag).letters, rows, most);
}

// --- the directory -----------------------------------------------------------

// Files that people take for snapshots, by how they begin.
static const struct {
	const char *magic;
	const char *advice; // what the file is, and what to do with it
} others[] = {
	{ "HSTRACE", "a trace, not a heap snapshot: heapsh-trace reads it, also while it is being "
		     "written" },
	{ "\177ELF", "an ELF file, not a heap snapshot: of a core, heapsnap core makes one" },
	{ "\x1f\x8b", "compressed by gzip: a heap snapshot is read as it was written" },
	{ "\x28\xb5\x2f\xfd", "compressed by zstd: a heap snapshot is read as it was written" },
	{ "\xfd"
	  "7zXZ",
	  "compressed by xz: a heap snapshot is read as it was written" },
};

static const char *find_advice(const uint8_t *header)
{
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (memcmp(header, others[i].magic, strlen(others[i].magic)) == 0)
			return others[i].advice;
	}
	return "not a heap snapshot";
}

HEAP_MUST_CHECK
static struct heap_error *check_header(const uint8_t *header, uint64_t size)
{
	uint32_t version, flags;

	if (size == 0)
		return heap_error_create(HEAP_ERROR_FORMAT, "the file is empty");
	if (size < HEAP_HEADER_SIZE)
		return heap_error_create(HEAP_ERROR_FORMAT, "not a heap snapshot");
	if (memcmp(header, HEAP_FILE_MAGIC, HEAP_MAGIC_SIZE) != 0)
		return heap_error_create(HEAP_ERROR_FORMAT, "%s", find_advice(header));
	version = heap_get_u32(header + 8);
	flags = heap_get_u32(header + 12);
	if (version > HEAP_FILE_VERSION)
		return heap_error_create(HEAP_ERROR_FORMAT,
					 "written by a newer heapsnap (format %" PRIu32
					 "); this one reads up to %d",
					 version, HEAP_FILE_VERSION);
	if (version == 0)
		return heap_error_create(HEAP_ERROR_FORMAT, "the header is damaged");
	if (flags & HEAP_FLAGS_REFUSE)
		return heap_error_create(HEAP_ERROR_FORMAT,
					 "written by a newer heapsnap (flags 0x%" PRIx32
					 "), which this one cannot read",
					 flags);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_trailer(const struct heap_file *file, struct trailer *result)
{
	uint8_t buffer[HEAP_TRAILER_SIZE];
	const uint8_t *at;
	uint64_t room = file->size - HEAP_HEADER_SIZE; // for directory and trailer

	if (room < HEAP_TRAILER_SIZE)
		return heap_error_create(HEAP_ERROR_FORMAT,
					 "no directory at the end: the file is truncated");
	room -= HEAP_TRAILER_SIZE;
	HEAP_TRY(
		heap_file_fetch(file, file->size - HEAP_TRAILER_SIZE, sizeof(buffer), buffer, &at));
	if (memcmp(at + HEAP_TRAILER_SIZE - HEAP_MAGIC_SIZE, HEAP_FILE_MAGIC, HEAP_MAGIC_SIZE) != 0)
		return heap_error_create(HEAP_ERROR_FORMAT,
					 "no directory at the end: the file is truncated");

	struct trailer trailer = {
		.offset = heap_get_u64(at),
		.length = heap_get_u64(at + 8),
		.count = heap_get_u32(at + 16),
		.crc = heap_get_u32(at + 20),
	};

	memcpy(trailer.checked, at, sizeof(trailer.checked));
	if (trailer.length > room || trailer.offset != HEAP_HEADER_SIZE + room - trailer.length)
		return heap_error_create(HEAP_ERROR_FORMAT,
					 "directory is damaged: it does not end at the trailer");
	*result = trailer;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *check_size(const struct trailer *trailer)
{
	uint64_t size = trailer->count ? trailer->length / trailer->count : 0;

	if (trailer->count > HEAP_SECTIONS_MAX || size > HEAP_ENTRY_SIZE_MAX ||
	    (trailer->count && size < HEAP_ENTRY_SIZE) || size * trailer->count != trailer->length)
		return heap_error_create(HEAP_ERROR_FORMAT,
					 "directory is damaged: %" PRIu64 " bytes for %" PRIu32
					 " sections",
					 trailer->length, trailer->count);
	return NULL;
}

static void parse_entry(const uint8_t *at, struct heap_file_entry *entry)
{
	entry->section = (struct heap_section){
		.tag = heap_get_u32(at),
		.encoding = heap_get_u16(at + 4),
		.fields = heap_get_u16(at + 6),
		.offset = heap_get_u64(at + 8),
		.length = heap_get_u64(at + 16),
		.count = heap_get_u64(at + 24),
	};
	entry->blocks = heap_get_u32(at + 32);
	entry->table_crc = heap_get_u32(at + 36);
}

// @param end  the start of the directory. The block table is checked when the section is read.
HEAP_MUST_CHECK
static struct heap_error *check_entry(const struct heap_file_entry *entries, size_t last,
				      uint64_t end)
{
	const struct heap_file_entry *entry = &entries[last];
	const struct heap_section *section = &entry->section;
	uint64_t blocks =
		section->count / HEAP_BLOCK_ELEMENTS + (section->count % HEAP_BLOCK_ELEMENTS != 0);

	if (section->offset < HEAP_HEADER_SIZE || section->offset > end ||
	    section->length > end - section->offset)
		return heap_section_damaged(section->tag, "it does not lie in the file");
	if (entry->blocks * (uint64_t)HEAP_BLOCK_ENTRY_SIZE > section->length)
		return heap_section_damaged(section->tag, "its block table is larger than it");
	if (entry->blocks != blocks)
		return heap_section_damaged(section->tag, "it has too few or too many blocks");
	if (section->fields == 0 || section->count % section->fields != 0)
		return heap_section_damaged(section->tag, "its rows are not whole");
	for (size_t i = 0; i < last; i++) {
		if (entries[i].section.tag == section->tag)
			return heap_section_damaged(section->tag, "there are two of it");
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *parse_directory(struct heap_file *file, const uint8_t *header,
					  const struct trailer *trailer, uint8_t *buffer)
{
	uint32_t crc = (uint32_t)crc32(0, header, HEAP_HEADER_SIZE);
	const uint8_t *at;

	HEAP_TRY(heap_file_fetch(file, trailer->offset, trailer->length, buffer, &at));
	crc = (uint32_t)crc32(crc, at, (uInt)trailer->length);
	if (crc32(crc, trailer->checked, sizeof(trailer->checked)) != trailer->crc)
		return heap_error_create(HEAP_ERROR_FORMAT, "directory is damaged: CRC differs");
	file->fingerprint = trailer->crc;
	HEAP_TRY(check_size(trailer));
	for (size_t i = 0; i < trailer->count; i++) {
		parse_entry(at + i * (trailer->length / trailer->count), &file->entries[i]);
		HEAP_TRY(check_entry(file->entries, i, trailer->offset));
		file->count = i + 1;
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_directory(struct heap_file *file)
{
	uint8_t buffer[HEAP_HEADER_SIZE];
	const uint8_t *header = buffer;
	struct trailer trailer;

	if (file->size >= HEAP_HEADER_SIZE)
		HEAP_TRY(heap_file_fetch(file, 0, HEAP_HEADER_SIZE, buffer, &header));
	HEAP_TRY(check_header(header, file->size));
	HEAP_TRY(read_trailer(file, &trailer));
	if (trailer.length > HEAP_SECTIONS_MAX * HEAP_ENTRY_SIZE_MAX)
		return heap_error_create(HEAP_ERROR_FORMAT,
					 "directory is damaged: it is too large");

	CLEANUP_FREE uint8_t *directory = malloc(trailer.length + 1);

	file->entries = calloc(trailer.length / HEAP_ENTRY_SIZE + 1, sizeof(*file->entries));
	if (!directory || !file->entries)
		return heap_error_out_of_memory();
	return parse_directory(file, header, &trailer, directory);
}

// --- opening -----------------------------------------------------------------

static void close_file(struct heap_file **file)
{
	heap_file_close(*file);
}

// Takes ownership of the descriptor.
HEAP_MUST_CHECK
static struct heap_error *open_file(int descriptor, const uint8_t *bytes, uint64_t size,
				    struct heap_file **result)
{
	CLEANUP(close_file) struct heap_file *file = calloc(1, sizeof(*file));

	if (!file) {
		if (descriptor >= 0)
			close(descriptor);
		return heap_error_out_of_memory();
	}
	*file = (struct heap_file){ .descriptor = descriptor, .bytes = bytes, .size = size };
	HEAP_TRY(read_directory(file));
	*result = keep(file);
	return NULL;
}

struct heap_error *heap_file_open_memory(const uint8_t *bytes, size_t size,
					 struct heap_file **result)
{
	return open_file(-1, bytes, size, result);
}

struct heap_error *heap_file_open(const char *path, struct heap_file **result)
{
	// O_NONBLOCK: opening a pipe of that name must not wait for its writer.
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

	int kept = descriptor;

	descriptor = -1;
	return heap_error_within(open_file(kept, NULL, (uint64_t)status.st_size, result), "%s",
				 path);
}

void heap_file_close(struct heap_file *file)
{
	if (!file)
		return;
	for (size_t i = 0; i < file->count; i++)
		free(file->entries[i].table);
	if (file->descriptor >= 0)
		close(file->descriptor);
	free(file->entries);
	free(file);
}

uint32_t heap_file_fingerprint(const struct heap_file *file)
{
	return file->fingerprint;
}

const struct heap_section *heap_file_find(const struct heap_file *file, uint32_t tag)
{
	for (size_t i = 0; i < file->count; i++) {
		if (file->entries[i].section.tag == tag)
			return &file->entries[i].section;
	}
	return NULL;
}
