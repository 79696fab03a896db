// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/snapshot/snapshot.h"

#include "lib/base/cleanup.h"
#include "lib/snapshot/snapshot_read.h"
#include "lib/snapshot/snapshot_tables.h"

#include <string.h>

enum {
	STRIDE = 1024,      // objects between two whose contents' start is known
	READAHEAD_MAX = 16, // blocks that are decompressed at once when reads are sequential
	BLOCK = HEAP_BLOCK_ELEMENTS,
};

// Contents follow each other without gaps: an object's start is the sum of the kept bytes of all
// objects before it. Every STRIDE-th sum is stored, and the last one. Decompressed bytes stay in a
// window from the last block on; sequential reads make it grow.
struct heap_contents {
	const struct heap_section *section;
	uint64_t *starts; // [object_count / STRIDE + 1]
	heap_object_id last;
	uint64_t last_start;
	uint8_t *window; // [window_size] from window_start, which begins a block
	uint64_t window_start, window_size;
	unsigned readahead; // blocks
};

void heap_contents_destroy(struct heap_contents *contents)
{
	if (!contents)
		return;
	free(contents->starts);
	free(contents->window);
	free(contents);
}

static void destroy_contents(struct heap_contents **contents)
{
	heap_contents_destroy(*contents);
}

static uint64_t kept_of(const struct heap_snapshot *snapshot, heap_object_id object)
{
	uint64_t size = snapshot->size[object];

	return size < snapshot->info.content_limit ? size : snapshot->info.content_limit;
}

HEAP_MUST_CHECK
static struct heap_error *find_starts(const struct heap_snapshot *snapshot,
				      struct heap_contents *contents)
{
	uint64_t start = 0;

	contents->starts =
		calloc(snapshot->object_count / STRIDE + (size_t)1, sizeof(*contents->starts));
	if (!contents->starts)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		uint64_t kept = kept_of(snapshot, i);

		if (i % STRIDE == 0)
			contents->starts[i / STRIDE] = start;
		if (kept > contents->section->count - start)
			return heap_section_damaged(HEAP_TAG_CONTENT,
						    "it holds less than was kept of the objects");
		start += kept;
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_contents(struct heap_snapshot *snapshot)
{
	if (snapshot->contents)
		return NULL;

	CLEANUP(destroy_contents) struct heap_contents *contents = calloc(1, sizeof(*contents));

	if (!contents)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_snapshot_section(snapshot, HEAP_TAG_CONTENT, &contents->section));
	HEAP_TRY(find_starts(snapshot, contents));
	snapshot->contents = keep(contents);
	return NULL;
}

static uint64_t start_of(const struct heap_snapshot *snapshot, heap_object_id object)
{
	struct heap_contents *contents = snapshot->contents;
	heap_object_id at = object / STRIDE * STRIDE;
	uint64_t start = contents->starts[object / STRIDE];

	if (contents->last >= at && contents->last <= object) {
		at = contents->last;
		start = contents->last_start;
	}
	for (; at < object; at++)
		start += kept_of(snapshot, at);
	contents->last = object;
	contents->last_start = start;
	return start;
}

HEAP_MUST_CHECK
static struct heap_error *fill_window(const struct heap_file *file, struct heap_contents *contents,
				      uint64_t start)
{
	uint64_t size = contents->section->count - start;

	if (size > contents->readahead * (uint64_t)BLOCK)
		size = contents->readahead * (uint64_t)BLOCK;
	contents->window_size = 0;

	HEAP_TRY(heap_file_read_bytes(file, contents->section, start, size, contents->window));
	contents->window_start = start;
	contents->window_size = size;
	return NULL;
}

// Moves the window to the block of `start`.
HEAP_MUST_CHECK
static struct heap_error *move_window(const struct heap_file *file, struct heap_contents *contents,
				      uint64_t start)
{
	uint64_t block = start / BLOCK * BLOCK;
	bool forward = contents->window_size > 0 &&
		       block == contents->window_start + contents->window_size;
	struct heap_error *error;

	if (!contents->window)
		contents->window = malloc(READAHEAD_MAX * BLOCK);
	if (!contents->window)
		return heap_error_out_of_memory();
	if (!forward)
		contents->readahead = 1;
	else if (contents->readahead < READAHEAD_MAX)
		contents->readahead *= 2;
	error = fill_window(file, contents, block);
	if (!error || contents->readahead == 1)
		return error;
	// The damaged block may be part of the readahead only.
	heap_error_destroy(error);
	contents->readahead = 1;
	return fill_window(file, contents, block);
}

HEAP_MUST_CHECK
static struct heap_error *copy_bytes(const struct heap_file *file, struct heap_contents *contents,
				     uint64_t start, uint8_t *buffer, size_t size)
{
	while (size > 0) {
		if (start < contents->window_start ||
		    start - contents->window_start >= contents->window_size)
			HEAP_TRY(move_window(file, contents, start));

		uint64_t skip = start - contents->window_start;
		size_t part = size;

		if (part > contents->window_size - skip)
			part = (size_t)(contents->window_size - skip);
		memcpy(buffer, contents->window + skip, part);
		buffer += part;
		start += part;
		size -= part;
	}
	return NULL;
}

struct heap_error *heap_snapshot_read_content(struct heap_snapshot *snapshot, heap_object_id object,
					      void *buffer, size_t size, size_t *kept)
{
	if (!snapshot->file || snapshot->info.content_limit == 0) {
		*kept = 0;
		return NULL;
	}
	HEAP_TRY(heap_snapshot_load(snapshot, HEAP_COLUMN_SIZE));
	HEAP_TRY(heap_snapshot_within(snapshot, find_contents(snapshot)));
	if (size > kept_of(snapshot, object))
		size = (size_t)kept_of(snapshot, object);
	HEAP_TRY(heap_snapshot_within(snapshot,
				      copy_bytes(snapshot->file, snapshot->contents,
						 start_of(snapshot, object), buffer, size)));
	*kept = size;
	return NULL;
}
