// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/snapshot/side_file.h"

#include "lib/base/cleanup.h"
#include "lib/base/cache_directory.h"
#include "lib/file/file.h"
#include "lib/base/parallel.h"
#include "lib/base/replace_file.h"
#include "lib/base/trust.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <zlib.h>

enum {
	SIDE_VERSION = 1,
	PIECE = 4 << 20,
	PAGE = 4096,
	MAX_AGE = 14 * 86400, // seconds
	MAX_ID = 128,
};

static const char magic[8] = "heapside";

struct header {
	char magic[8];
	uint32_t version;
	uint32_t columns;
	uint32_t fingerprint; // of the snapshot
	uint32_t crc;         // of this header, with 0 here, and of the pieces' CRCs
	struct {
		uint64_t count, width;
	} column[HEAP_SIDE_COLUMNS];
};

// The layout of a file, as the columns determine it.
struct layout {
	struct header header;
	uint64_t start[HEAP_SIDE_COLUMNS]; // of the columns, from the start of the file
	uint64_t data;                     // the start of the first one
	uint64_t size;                     // of the file
	uint64_t pieces;
};

// @return false if the columns are too large for any file
static bool lay_out(const struct heap_snapshot *snapshot, const struct heap_side_column *columns,
		    size_t count, struct layout *layout)
{
	uint64_t size = 0;

	*layout = (struct layout){ .header = { .version = SIDE_VERSION,
					       .columns = (uint32_t)count } };
	memcpy(layout->header.magic, magic, sizeof(magic));
	layout->header.fingerprint = heap_file_fingerprint(snapshot->file);
	for (size_t i = 0; i < count; i++) {
		layout->header.column[i].count = columns[i].count;
		layout->header.column[i].width = columns[i].width;
		layout->start[i] = size;
		if (columns[i].count > UINT64_MAX / 64 / columns[i].width)
			return false;
		size += (columns[i].count * columns[i].width + 7) / 8 * 8;
	}
	layout->pieces = (size + PIECE - 1) / PIECE;
	layout->data = (sizeof(struct header) + layout->pieces * 4 + PAGE - 1) / PAGE * PAGE;
	for (size_t i = 0; i < count; i++)
		layout->start[i] += layout->data;
	layout->size = layout->data + size;
	return true;
}

static bool is_worth_it(const struct heap_snapshot *snapshot)
{
	return snapshot->file &&
	       (uint64_t)snapshot->object_count + snapshot->edge_count >= HEAP_SIDE_WORTH;
}

// Makes the path of a side file. The id becomes a part of it, so it must be only digits.
HEAP_MUST_CHECK
static struct heap_error *make_path(const struct heap_snapshot *snapshot, const char *name,
				    char **directory, char **path)
{
	const char *id = snapshot->info.id;
	size_t length = strlen(id);

	if (!is_worth_it(snapshot) || !length || length > MAX_ID ||
	    strspn(id, "0123456789abcdef") != length)
		return heap_error_create(HEAP_ERROR_ABSENT, "nothing is kept of this snapshot");
	*directory = heap_cache_directory();
	if (!*directory)
		return heap_error_create(HEAP_ERROR_ABSENT, "there is no cache directory");
	if (asprintf(path, "%s/%s-%08" PRIx32 ".%s", *directory, id,
		     heap_file_fingerprint(snapshot->file), name) < 0) {
		*path = NULL;
		return heap_error_out_of_memory();
	}
	return NULL;
}

// --- reading -----------------------------------------------------------------

struct checking {
	const uint8_t *data;
	uint64_t size;
	const uint8_t *crcs;
};

static uint32_t piece_crc(const uint8_t *data, uint64_t size, size_t piece)
{
	uint64_t start = (uint64_t)piece * PIECE;
	uint64_t left = size - start;

	return (uint32_t)crc32(0, data + start, (uInt)(left < PIECE ? left : PIECE));
}

HEAP_MUST_CHECK
static struct heap_error *check_piece(void *context, size_t piece)
{
	const struct checking *checking = context;
	uint32_t expected;

	memcpy(&expected, checking->crcs + piece * 4, sizeof(expected));
	if (piece_crc(checking->data, checking->size, piece) != expected)
		return heap_error_create(HEAP_ERROR_FORMAT, "it is damaged: CRC differs");
	return NULL;
}

// Checks a file against the header that it must have, and its CRCs.
HEAP_MUST_CHECK
static struct heap_error *check(const uint8_t *bytes, const struct layout *layout)
{
	struct header header;
	struct checking checking = { bytes + layout->data, layout->size - layout->data,
				     bytes + sizeof(header) };
	uint32_t crc;

	memcpy(&header, bytes, sizeof(header));
	crc = header.crc;
	header.crc = 0;
	if (memcmp(&header, &layout->header, sizeof(header)) != 0)
		return heap_error_create(HEAP_ERROR_ABSENT, "it is of something else");
	if (crc != crc32(crc32(0, (const uint8_t *)&header, sizeof(header)), checking.crcs,
			 (uInt)(layout->pieces * 4)))
		return heap_error_create(HEAP_ERROR_FORMAT, "it is damaged: CRC differs");
	return heap_parallel_run(layout->pieces, check_piece, &checking);
}

HEAP_MUST_CHECK
static struct heap_error *map(const char *path, const struct layout *layout, void **mapping)
{
	CLEANUP_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat status;

	if (descriptor < 0 && errno == ENOENT)
		return heap_error_create(HEAP_ERROR_ABSENT, "there is none");
	if (descriptor < 0 || fstat(descriptor, &status) != 0)
		return heap_error_create_system("it cannot be opened");
	if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
	    (status.st_mode & (S_IWGRP | S_IWOTH)) || (uint64_t)status.st_size != layout->size)
		return heap_error_create(HEAP_ERROR_ABSENT, "it is not what is expected");
	futimens(descriptor, NULL); // remove_old() keeps files that are used
	// Only the user writes here, and files are replaced, not changed: it will not shrink.
	*mapping = mmap(NULL, layout->size, PROT_READ, MAP_PRIVATE, descriptor, 0);
	if (*mapping == MAP_FAILED)
		return heap_error_create_system("it cannot be mapped");
	return NULL;
}

struct heap_error *heap_side_file_open(const struct heap_snapshot *snapshot, const char *name,
				       size_t columns, struct heap_side_file *result)
{
	CLEANUP_FREE char *directory = NULL, *path = NULL;
	struct heap_error *error;
	struct layout layout;
	void *mapping = NULL;

	HEAP_TRY(make_path(snapshot, name, &directory, &path));
	if (!lay_out(snapshot, result->columns, columns, &layout))
		return heap_error_create(HEAP_ERROR_ABSENT, "nothing is as large");
	if (access(path, F_OK) != 0)
		return heap_error_create(HEAP_ERROR_ABSENT, "there is none");
	HEAP_TRY(heap_trust_directory(directory));
	HEAP_TRY(heap_error_within(map(path, &layout, &mapping), "%s", path));
	error = check(mapping, &layout);
	if (error) {
		munmap(mapping, layout.size);
		return heap_error_within(error, "%s", path);
	}
	result->mapping = mapping;
	result->size = layout.size;
	for (size_t i = 0; i < columns; i++)
		result->columns[i].values = (const uint8_t *)mapping + layout.start[i];
	return NULL;
}

void heap_side_file_close(struct heap_side_file *file)
{
	if (file->mapping)
		munmap(file->mapping, file->size);
	file->mapping = NULL;
}

// --- writing -----------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *write_at(int descriptor, const void *bytes, uint64_t size,
				   uint64_t offset)
{
	while (size > 0) {
		ssize_t written = pwrite(descriptor, bytes, size, (off_t)offset);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return heap_error_create_system("it cannot be written");
		bytes = (const uint8_t *)bytes + written;
		size -= (uint64_t)written;
		offset += (uint64_t)written;
	}
	return NULL;
}

// Pieces span columns, so their CRCs are computed from the file itself.
HEAP_MUST_CHECK
static struct heap_error *write_header(int descriptor, struct layout *layout)
{
	CLEANUP_FREE uint32_t *crcs = calloc(layout->pieces + 1, sizeof(*crcs));
	uint8_t *bytes;

	if (!crcs)
		return heap_error_out_of_memory();
	bytes = mmap(NULL, layout->size, PROT_READ, MAP_SHARED, descriptor, 0);
	if (bytes == MAP_FAILED)
		return heap_error_create_system("it cannot be mapped");
	for (size_t i = 0; i < layout->pieces; i++)
		crcs[i] = piece_crc(bytes + layout->data, layout->size - layout->data, i);
	munmap(bytes, layout->size);
	layout->header.crc =
		(uint32_t)crc32(crc32(0, (const uint8_t *)&layout->header, sizeof(layout->header)),
				(const uint8_t *)crcs, (uInt)(layout->pieces * 4));
	HEAP_TRY(write_at(descriptor, crcs, layout->pieces * 4, sizeof(layout->header)));
	return write_at(descriptor, &layout->header, sizeof(layout->header), 0);
}

struct contents {
	const struct heap_side_column *columns; // [count]
	size_t count;
	struct layout layout;
};

HEAP_MUST_CHECK
static struct heap_error *write_file(void *context, int descriptor)
{
	struct contents *contents = context;
	const struct heap_side_column *columns = contents->columns;
	struct layout *layout = &contents->layout;

	if (ftruncate(descriptor, (off_t)layout->size) != 0)
		return heap_error_create_system("it cannot be written");
	for (size_t i = 0; i < contents->count; i++)
		HEAP_TRY(write_at(descriptor, columns[i].values,
				  columns[i].count * columns[i].width, layout->start[i]));
	return write_header(descriptor, layout);
}

// True if a file of the cache directory is a side file: ID-FINGERPRINT.NAME.
static bool is_side_file(const char *name)
{
	size_t id = strspn(name, "0123456789abcdef");

	return id > 0 && name[id] == '-' && strspn(name + id + 1, "0123456789abcdef") == 8 &&
	       name[id + 9] == '.';
}

static void remove_old(const char *directory)
{
	DIR *listing = opendir(directory);
	time_t oldest = time(NULL) - MAX_AGE;
	const struct dirent *entry;

	if (!listing)
		return;
	while ((entry = readdir(listing))) {
		struct stat status;

		if (is_side_file(entry->d_name) &&
		    fstatat(dirfd(listing), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(status.st_mode) && status.st_mtime < oldest)
			unlinkat(dirfd(listing), entry->d_name, 0);
	}
	closedir(listing);
}

struct heap_error *heap_side_file_store(const struct heap_snapshot *snapshot, const char *name,
					const struct heap_side_column *columns, size_t count)
{
	CLEANUP_FREE char *directory = NULL, *path = NULL;
	struct contents contents = { .columns = columns, .count = count };

	HEAP_TRY(make_path(snapshot, name, &directory, &path));
	if (!lay_out(snapshot, columns, count, &contents.layout))
		return heap_error_create(HEAP_ERROR_ABSENT, "nothing is as large");
	HEAP_TRY(heap_trust_make_directory(directory));
	remove_old(directory);
	return heap_replace_file(path, write_file, &contents);
}
