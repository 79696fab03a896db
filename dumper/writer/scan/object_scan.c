// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/object_scan.h"

#include "lib/base/pieces.h"
#include "dumper/writer/base/progress.h"
#include "dumper/writer/scan/blocks/damage.h"
#include "dumper/writer/scan/blocks/header_scan.h"
#include "dumper/writer/scan/blocks/tracked.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <sys/mman.h>

enum {
	PIECE = 512 << 10, // bytes that are scanned at once
};

// A range of memory, and the blocks that are being found in it.
struct scan {
	struct objects *objects;
	struct scanned_memory memory;
	struct moves *moves;
	struct tracked *tracked;
	uint64_t next;  // nothing can start before: inside a live block
	uint64_t added; // where the last block that was added ends
	uint64_t low; // where the first block with a footer begins, which may be before the memory
	uint32_t first; // the range's first object
	struct suspects suspects;
	struct HEAP_ARRAY(uint64_t) pieces; // those with touched pages, by number in the memory
	size_t joined;                      // of them
	uint64_t passed;                    // pieces of the memory that are done
};

HEAP_MUST_CHECK
static struct heap_error *add(struct objects *objects, const struct found_header *header)
{
	return objects_add(objects, header->block, header->extent,
			   header->origin & HEAPSNAP_SITE_MASK);
}

// Cuts a piece off where what follows begins. @return false: it is an allocator's block, and that lies in it
static bool fit_piece(const struct tracked *tracked, uint64_t end, struct tracked_piece *piece)
{
	const struct tracked_piece *next = &tracked->pieces[tracked->at + 1];
	uint64_t size = heapsnap_extent_size(piece->extent), most = end - piece->address;

	if (piece->is_block && size > most)
		return false;
	// A program may declare what lies in such a block.
	if (piece->is_block && tracked->at + 1 < tracked->count &&
	    next->address - piece->address < most)
		most = next->address - piece->address;
	if (size > most)
		piece->extent -= size - most;
	return most > 0;
}

// Adds the pieces that lie in [start, end), up to there at most, and not within each other.
HEAP_MUST_CHECK
static struct heap_error *add_tracked(struct objects *objects, struct tracked *tracked,
				      uint64_t start, uint64_t end)
{
	for (tracked_skip(tracked, start); tracked_next(tracked) < end;
	     tracked_skip(tracked, start)) {
		struct tracked_piece piece = tracked->pieces[tracked->at];

		if (fit_piece(tracked, end, &piece)) {
			HEAP_TRY(objects_add(objects, piece.address, piece.extent,
					     piece.site & HEAPSNAP_SITE_MASK));
			start = piece.address + heapsnap_extent_size(piece.extent);
		}
		tracked->at++;
	}
	return NULL;
}

// Adds a block and the pieces in it. It ends where the first of them begins.
// @param after  the end of the block before
HEAP_MUST_CHECK
static struct heap_error *add_with_tracked(struct objects *objects, struct tracked *tracked,
					   struct found_header header, uint64_t after)
{
	uint64_t size = heapsnap_extent_size(header.extent);
	uint64_t first;

	HEAP_TRY(add_tracked(objects, tracked, after, header.block - HEAPSNAP_HEADER_SIZE));
	tracked_skip(tracked, header.block);
	tracked_skip_blocks(tracked, header.block + size);
	first = tracked_next(tracked);
	if (first - header.block >= size)
		return add(objects, &header);
	if (first > header.block) {
		header.extent -= size - (first - header.block);
		HEAP_TRY(add(objects, &header));
	}
	return add_tracked(objects, tracked, first, header.block + size);
}

// A block with a footer is found at its end: removes blocks that were found inside it, in earlier
// pieces. False if one that begins before it reaches into it.
static bool make_room(struct scan *scan, const struct found_header *header)
{
	struct objects *objects = scan->objects;
	struct tracked *tracked = scan->tracked;
	uint64_t end = 0;

	while (objects->count > 0 && objects_address(objects, objects->count - 1) >= header->block)
		objects_remove_last(objects);
	tracked_rewind(tracked, header->block);
	if (objects->count > 0)
		end = objects_address(objects, objects->count - 1) +
		      objects_size(objects, objects->count - 1);
	if (scan->added > header->block)
		scan->added = end;
	if (scan->low > header->block)
		scan->low = header->block;
	if (scan->first > objects->count)
		scan->first = objects->count;
	return end <= header->block;
}

// --- a range of memory ---------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *scan_piece(void *context, size_t number, void *result)
{
	const struct scan *scan = context;
	const struct scanned_memory *memory = &scan->memory;
	uint64_t start = memory->start + scan->pieces.items[number] * PIECE;
	uint64_t end = memory->end - start < PIECE ? memory->end : start + PIECE;

	return header_scan_run(result, memory, scan->moves, start, end);
}

HEAP_MUST_CHECK
static struct heap_error *join_piece(void *context, void *result)
{
	struct scan *scan = context;
	struct header_scan *piece = result;

	HEAP_TRY(header_scan_mend(piece, scan->next));
	progress_add_done((scan->pieces.items[scan->joined] + 1 - scan->passed) * PIECE);
	progress_flush();
	scan->passed = scan->pieces.items[scan->joined++] + 1;
	for (size_t i = 0; i < piece->suspects.count; i++)
		HEAP_TRY(suspects_add(&scan->suspects, piece->suspects.list[i]));
	for (size_t i = 0; i < piece->count; i++) {
		const struct found_header *header = &piece->headers[i];

		if (heapsnap_extent_is_behind(header->extent) && !make_room(scan, header))
			continue;
		HEAP_TRY(add_with_tracked(scan->objects, scan->tracked, *header, scan->added));
		scan->added = header->block + heapsnap_extent_size(header->extent);
	}
	if (piece->count > 0)
		scan->next = piece->next;
	return NULL;
}

static void release_piece(void *result)
{
	header_scan_deinit(result);
}

static bool holds_blocks(const struct image_mapping *mapping)
{
	return !mapping->shared && (mapping->protection & PROT_READ) &&
	       (mapping->kind == IMAGE_ANONYMOUS || mapping->kind == IMAGE_HEAP);
}

static bool is_skipped(const struct image_mapping *mapping, const uint64_t (*skip)[2],
		       size_t skip_count)
{
	for (size_t i = 0; i < skip_count; i++) {
		if (mapping->start >= skip[i][0] && mapping->start < skip[i][1])
			return true;
	}
	return false;
}

// Makes one range of the scanned memory and those before it that its first block begins in.
static void take_ranges_before(struct scan *scan)
{
	struct objects *objects = scan->objects;

	while (objects->range_count > 0) {
		struct object_range *range = &objects->ranges[objects->range_count - 1];

		if (range->end <= scan->low)
			break;
		if (scan->low > range->start)
			scan->low = range->start;
		scan->first = range->first;
		free(range->starts);
		objects->range_count--;
	}
}

// Appends the range of the blocks that were found.
HEAP_MUST_CHECK
static struct heap_error *add_range(struct scan *scan)
{
	const struct scanned_memory *memory = &scan->memory;

	take_ranges_before(scan);

	struct object_range range = {
		.start = scan->low,
		.end = scan->next > memory->end ? scan->next : memory->end,
		.first = scan->first,
		.count = scan->objects->count - scan->first,
	};
	struct heap_error *error = damage_find(scan->objects, memory, &range, &scan->suspects);

	return error ? error : objects_add_range(scan->objects, &range);
}

// Finds the pieces that have touched pages. A range may have terabytes without any.
HEAP_MUST_CHECK
static struct heap_error *cut_range(struct scan *scan)
{
	const struct scanned_memory *memory = &scan->memory;
	uint64_t at = memory->start, until;

	for (;;) {
		at = image_skip_untouched(memory->image, at, memory->end, &until);
		if (at >= memory->end)
			return NULL;

		uint64_t number = (at - memory->start) / PIECE;

		HEAP_TRY(heap_array_append(&scan->pieces, number));
		at = memory->start + (number + 1) * PIECE;
	}
}

HEAP_MUST_CHECK
static struct heap_error *scan_range(struct scan *scan)
{
	const struct scanned_memory *memory = &scan->memory;

	HEAP_TRY(cut_range(scan));
	HEAP_TRY(heap_pieces_run(&(struct heap_piece_work){
		.count = scan->pieces.count,
		.part_size = sizeof(struct header_scan),
		.work = scan_piece,
		.join = join_piece,
		.release = release_piece,
		.context = scan,
	}));
	HEAP_TRY(add_tracked(scan->objects, scan->tracked, scan->added, memory->end));
	return scan->objects->count > scan->first ? add_range(scan) : NULL;
}

static void scan_deinit(struct scan *scan)
{
	suspects_deinit(&scan->suspects);
	heap_array_deinit(&scan->pieces);
}

struct heap_error *object_scan_run(struct objects *objects, const struct image *image,
				   const struct heapsnap_process *process, struct moves *moves,
				   const uint64_t (*skip)[2], size_t skip_count,
				   const struct blocks *others)
{
	CLEANUP(tracked_deinit) struct tracked tracked = { 0 };
	uint64_t scanned = 0; // where the last block ends, which may be in a later mapping

	HEAP_TRY(tracked_init(&tracked, image, process, others));
	// malloc's memory may lie in several mappings that touch (mprotect, madvise): a block
	// may cross from one into the next.
	for (size_t i = 0; i < image->mapping_count;) {
		const struct image_mapping *mapping = &image->mappings[i++];
		uint64_t start = mapping->start, end = mapping->end;

		if (!holds_blocks(mapping) || is_skipped(mapping, skip, skip_count))
			continue;
		while (i < image->mapping_count && image->mappings[i].start == end &&
		       holds_blocks(&image->mappings[i]) &&
		       !is_skipped(&image->mappings[i], skip, skip_count))
			end = image->mappings[i++].end;
		if (start < scanned)
			start = scanned;
		if (start >= end)
			continue;

		CLEANUP(scan_deinit)
		struct scan scan = {
			.objects = objects,
			.memory = { image, process, start, end },
			.moves = moves,
			.tracked = &tracked,
			.next = start,
			.added = start,
			.low = start,
			.first = objects->count,
		};

		HEAP_TRY(scan_range(&scan));
		scanned = scan.next;
	}
	return NULL;
}
