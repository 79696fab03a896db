// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/snapshot/snapshot.h"

#include "lib/base/cleanup.h"
#include "lib/base/memory_left.h"
#include "lib/snapshot/snapshot_read.h"
#include "lib/snapshot/snapshot_tables.h"

#include <string.h>

enum {
	STRIDE = 1024,      // objects between two whose contents' start is known
	READAHEAD_MAX = 16, // blocks that are decompressed at once when reads are sequential
	BLOCK = HEAP_BLOCK_ELEMENTS,
	MEMORY_SHARE = 4, // of what may be used, a part for blocks
};

// Contents follow each other without gaps: an object's start is the sum of the kept bytes of all
// objects before it. Every STRIDE-th sum is stored, and the last one. Decompressed bytes stay in a
// window from the last block on; sequential reads make it grow. Others come back to the same blocks, as along a
// list whose nodes lie anywhere: these blocks are kept, as many as memory allows.
struct heap_contents {
	const struct heap_section *section;
	uint64_t *starts; // [object_count / STRIDE + 1]
	heap_object_id last;
	uint64_t last_start;
	uint8_t *window; // [window_size] from window_start, which begins a block
	uint64_t window_start, window_size;
	unsigned readahead; // blocks
	uint8_t **blocks;   // [block_count] decompressed ones, or NULL
	size_t block_count, held, most_held;
	size_t oldest; // where the next one to be forgotten is looked for
};

void heap_contents_destroy(struct heap_contents *contents)
{
	if (!contents)
		return;
	for (size_t i = 0; contents->blocks && i < contents->block_count; i++)
		free(contents->blocks[i]);
	free(contents->blocks);
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
	contents->block_count = (size_t)((contents->section->count + BLOCK - 1) / BLOCK);
	contents->most_held = (size_t)(heap_memory_budget() / MEMORY_SHARE / BLOCK);
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

// Keeps the block that the window begins with. Without memory for it, it is read again.
static void hold_block(struct heap_contents *contents)
{
	size_t block = (size_t)(contents->window_start / BLOCK);
	size_t size = contents->window_size < BLOCK ? (size_t)contents->window_size : BLOCK;

	if (!contents->blocks && contents->most_held > 0)
		contents->blocks = calloc(contents->block_count, sizeof(*contents->blocks));
	if (!contents->blocks || contents->blocks[block])
		return;
	while (contents->held >= contents->most_held) {
		uint8_t **oldest = &contents->blocks[contents->oldest];

		contents->held -= *oldest != NULL;
		free(*oldest);
		*oldest = NULL;
		contents->oldest = (contents->oldest + 1) % contents->block_count;
	}
	contents->blocks[block] = malloc(size);
	if (!contents->blocks[block])
		return;
	memcpy(contents->blocks[block], contents->window, size);
	contents->held++;
}

// Makes bytes from `start` on available. @param result  gets how many there are, up to some block's end
HEAP_MUST_CHECK
static struct heap_error *find_bytes(const struct heap_file *file, struct heap_contents *contents,
				     uint64_t start, const uint8_t **bytes, uint64_t *result)
{
	uint64_t block = start / BLOCK, rest = contents->section->count - block * BLOCK;

	if (start < contents->window_start ||
	    start - contents->window_start >= contents->window_size) {
		if (contents->blocks && contents->blocks[block]) {
			*bytes = contents->blocks[block] + start % BLOCK;
			*result = (rest < BLOCK ? rest : BLOCK) - start % BLOCK;
			return NULL;
		}
		HEAP_TRY(move_window(file, contents, start));
		if (contents->readahead == 1)
			hold_block(contents);
	}
	*bytes = contents->window + (start - contents->window_start);
	*result = contents->window_size - (start - contents->window_start);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *copy_bytes(const struct heap_file *file, struct heap_contents *contents,
				     uint64_t start, uint8_t *buffer, size_t size)
{
	while (size > 0) {
		const uint8_t *bytes;
		uint64_t available;
		size_t part = size;

		HEAP_TRY(find_bytes(file, contents, start, &bytes, &available));
		if (part > available)
			part = (size_t)available;
		memcpy(buffer, bytes, part);
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
