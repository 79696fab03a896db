// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/blocks/header_scan.h"

#include "dumper/writer/scan/blocks/chunks.h"
#include "lib/base/array.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
	LEAST_CODE = 65536, // no code is below (vm.mmap_min_addr)
};

// Code that has been unmapped was near what is still mapped.
#define NEAR (UINT64_C(4) << 30)

HEAP_MUST_CHECK
static struct heap_error *note_header(struct header_scan *scan, struct found_header header)
{
	HEAP_TRY(heap_reserve(scan->headers, scan->capacity, (size_t)scan->count + 1));
	scan->headers[scan->count++] = header;
	return NULL;
}

// True if glibc's chunk bears out the size of a block behind its header.
static bool fits_chunk(const struct scanned_memory *memory, const struct found_header *header)
{
	uint64_t lead = heapsnap_extent_lead(header->extent);

	return chunk_fits(chunk_read(memory->image, header->block - lead),
			  lead + heapsnap_extent_size(header->extent));
}

// True if a block can have been made there. One in 65,536 words looks like a signature; hardly any of
// these names a place where code is. Where code may have been is a larger range: among millions
// of numbers some would name a place in it.
static bool may_be_site(struct header_scan *scan, const struct found_header *header)
{
	const struct scanned_memory *memory = scan->memory;
	uint64_t site = header->origin & HEAPSNAP_SITE_MASK;

	if (scan->code && site >= scan->code->start && site < scan->code->end)
		return true;
	scan->code = image_find(memory->image, site);
	if (scan->code)
		return site >= LEAST_CODE;
	return site >= LEAST_CODE && image_is_near(memory->image, site, NEAR) &&
	       (!memory->process->has_chunks || heapsnap_extent_is_behind(header->extent) ||
		fits_chunk(memory, header));
}

// Notes a header that does not verify, and may have been overwritten. Those of freed blocks are wiped.
HEAP_MUST_CHECK
static struct heap_error *suspect_header(struct header_scan *scan,
					 const struct found_header *header)
{
	const struct image_mapping *mapping =
		image_find(scan->memory->image, header->origin & HEAPSNAP_SITE_MASK);
	struct suspect suspect = { header->address, header->extent };

	return mapping && (mapping->protection & PROT_EXEC) ? suspects_add(&scan->suspects, suspect)
							    : NULL;
}

// Restores the header of a block that is being moved, with the size that it certainly has.
static bool complete(const struct header_scan *scan, struct found_header *header)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&lock);

	const struct heapsnap_move *note =
		moves_find(scan->moves, header->block, header->extent, header->origin);

	pthread_mutex_unlock(&lock);
	if (!note)
		return false;
	if (note->size < heapsnap_extent_size(header->extent))
		header->extent += note->size - heapsnap_extent_size(header->extent);
	header->origin = note->site;
	return true;
}

// --- blocks in several mappings ----------------------------------------------

// True if an allocator may have got all of [start, end) from the kernel, and nobody replaced it.
static bool is_anonymous(const struct image *image, uint64_t start, uint64_t end)
{
	while (start < end) {
		const struct image_mapping *mapping = image_find(image, start);

		if (!mapping || mapping->shared ||
		    (mapping->kind != IMAGE_ANONYMOUS && mapping->kind != IMAGE_HEAP))
			return false;
		start = mapping->end;
	}
	return true;
}

/*
 * True if a block may reach beyond the memory that was scanned, to `start` or `end`: the program
 * may have protected pages inside it, left them out of copies, or mapped something over them. What
 * merely looks like a header must not hide what comes behind it. So the site has to be in code,
 * and glibc's chunk, or what is mapped there, has to bear out the size.
 *
 * @param base, bytes  what libc gave
 */
static bool may_reach(const struct scanned_memory *memory, const struct found_header *header,
		      uint64_t base, uint64_t bytes)
{
	const struct image_mapping *code =
		image_find(memory->image, header->origin & HEAPSNAP_SITE_MASK);
	uint64_t end = base + bytes;

	if (!code || !(code->protection & PROT_EXEC))
		return false;
	if (memory->process->has_chunks && chunk_fits(chunk_read(memory->image, base), bytes))
		return true;
	return is_anonymous(memory->image, base < memory->start ? base : memory->end,
			    end > memory->end ? end : memory->start);
}

static uint64_t end_of_block(uint64_t block, uint64_t size)
{
	return block + ((size + GRANULE - 1) & ~(uint64_t)(GRANULE - 1));
}

// The block that the words would be the footer of; 0 if there can be none.
static uint64_t find_footed(const struct header_scan *scan, const struct found_header *footer)
{
	uint64_t distance = heapsnap_footer_distance(heapsnap_extent_size(footer->extent));
	uint64_t block;

	if (heapsnap_extent_place(footer->extent) == HEAPSNAP_FAR_BEHIND) {
		uint64_t far;

		if (!image_read(scan->memory->image, footer->address - 8, &far, sizeof(far)) ||
		    far <= distance || far > HEAPSNAP_SIZE_MAX)
			return 0;
		distance = far;
	}
	block = footer->address - distance;
	return block % (2 * GRANULE) == 0 && block < footer->address &&
			       block >= scan->memory->process->footers_start
		       ? block
		       : 0;
}

// False if glibc's chunk of a block with a footer is known to end elsewhere. A size that has been
// overwritten moves where the block would begin by as much: the signature may not tell.
static bool chunk_ends_behind(const struct header_scan *scan, const struct found_header *footer)
{
	const uint64_t end = footer->address + HEAPSNAP_HEADER_SIZE;
	uint64_t chunk, word;

	if (!image_read(scan->memory->image, footer->block - sizeof(word), &word, sizeof(word)))
		return true;
	chunk = chunk_read(scan->memory->image, footer->block);
	return chunk_end(footer->block, chunk) ==
	       end + (chunk_is_mapped(chunk) ? GRANULE : sizeof(word));
}

// Remains of an aligned block that glibc has left in free memory do not count.
static void forget_from(struct header_scan *scan, uint64_t block)
{
	while (scan->count > 0 && scan->headers[scan->count - 1].block >= block)
		scan->count--;
	suspects_forget_from(&scan->suspects, block);
}

// True if the words describe a live block, which is filled in.
static bool read_header(struct header_scan *scan, struct found_header *header)
{
	const struct heapsnap_process *process = scan->memory->process;

	header->block = header->address + HEAPSNAP_HEADER_SIZE;
	if (heapsnap_extent_is_behind(header->extent))
		header->block = scan->has_footers ? find_footed(scan, header) : 0;
	else if (header->address % GRANULE != 0)
		return false;
	return header->block != 0 &&
	       heapsnap_verifies(process->secret, process->mark, header->block, header->extent,
				 header->origin) &&
	       (!heapsnap_extent_is_behind(header->extent) || chunk_ends_behind(scan, header));
}

// True if the block can lie where it says. Fills in where the next one may begin.
static bool has_place(struct header_scan *scan, struct found_header *header)
{
	const struct scanned_memory *memory = scan->memory;
	uint64_t size = heapsnap_extent_size(header->extent);

	if (!may_be_site(scan, header))
		return false;
	if (heapsnap_extent_is_behind(header->extent)) {
		header->next = header->address + HEAPSNAP_HEADER_SIZE;
		return header->block >= memory->start ||
		       may_reach(memory, header, header->block, header->next - header->block);
	}

	uint64_t lead = heapsnap_extent_lead(header->extent);

	header->next = end_of_block(header->block, size);
	return size <= memory->end - header->block ||
	       may_reach(memory, header, header->block - lead, lead + size);
}

static bool may_be_signed(uint64_t origin)
{
	uint64_t signature = origin >> HEAPSNAP_SITE_BITS;

	return signature != 0 && signature != HEAPSNAP_WIPED;
}

// Visits two words that may be a header or footer.
HEAP_MUST_CHECK
static struct heap_error *visit_pair(struct header_scan *scan, uint64_t address, uint64_t extent,
				     uint64_t origin)
{
	struct found_header header = { .address = address, .extent = extent, .origin = origin };

	if (origin >> HEAPSNAP_SITE_BITS == HEAPSNAP_MOVING) {
		header.block = address + HEAPSNAP_HEADER_SIZE;
		if (address % GRANULE != 0 || !complete(scan, &header))
			return NULL;
	} else if (!read_header(scan, &header)) {
		return suspect_header(scan, &header);
	}
	if (!has_place(scan, &header))
		return NULL;
	if (heapsnap_extent_is_behind(extent))
		forget_from(scan, header.block);
	if (scan->count > 0 && scan->headers[scan->count - 1].next > header.block)
		return NULL; // they overlap: one of them is left over, or an accident
	scan->next = header.next;
	return note_header(scan, header);
}

// Headers lie at multiples of 16; footers at multiples of 8, so that one may begin with the last
// word of what was visited before.
HEAP_MUST_CHECK
static struct heap_error *scan_words(void *context, uint64_t address, const uint64_t *words,
				     size_t count)
{
	struct header_scan *scan = context;
	size_t step = scan->has_footers ? 1 : 2, at = 0;
	struct heap_error *error = NULL;

	if (scan->has_footers && scan->last_address + 8 == address &&
	    scan->last_address >= scan->next && may_be_signed(words[0]))
		error = visit_pair(scan, scan->last_address, scan->last_word, words[0]);
	if (scan->next > address)
		at = scan->next - address < count * 8 ? (scan->next - address) / 8 : count;
	while (!error && at + 1 < count) {
		uint64_t next = scan->next;

		if (may_be_signed(words[at + 1]))
			error = visit_pair(scan, address + at * 8, words[at], words[at + 1]);
		if (scan->next == next)
			at += step;
		else if (scan->next - address >= count * 8)
			break;
		else
			at = (scan->next - address) / 8;
	}
	scan->last_word = words[count - 1];
	scan->last_address = address + (count - 1) * 8;
	return error;
}

// From @p start on, which no header may lie before.
HEAP_MUST_CHECK
static struct heap_error *scan_from(struct header_scan *scan, uint64_t start)
{
	scan->count = scan->suspects.count = 0;
	scan->next = start;
	scan->last_address = 0;
	return image_visit(scan->memory->image, start & ~UINT64_C(4095), scan->end, scan_words,
			   scan);
}

struct heap_error *header_scan_run(struct header_scan *scan, const struct scanned_memory *memory,
				   struct moves *moves, uint64_t start, uint64_t end)
{
	const struct heapsnap_process *process = memory->process;

	scan->memory = memory;
	scan->moves = moves;
	scan->end = end;
	scan->has_footers = process->footers_start < end && process->footers_end > start;
	// A footer may begin with the last word of the part before this one.
	return scan_from(scan, scan->has_footers && start > memory->start ? start - 8 : start);
}

struct heap_error *header_scan_mend(struct header_scan *scan, uint64_t start)
{
	const struct suspects *suspects = &scan->suspects;

	if ((scan->count == 0 || scan->headers[0].address >= start) &&
	    (suspects->count == 0 || suspects->list[0].header >= start))
		return NULL;
	if (start < scan->end)
		return scan_from(scan, start);
	scan->count = scan->suspects.count = 0;
	return NULL;
}

void header_scan_deinit(struct header_scan *scan)
{
	free(scan->headers);
	suspects_deinit(&scan->suspects);
}
