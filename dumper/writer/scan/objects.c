// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/objects.h"

#include "dumper/writer/base/pieces.h"
#include "dumper/writer/base/progress.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	// Ranges with fewer blocks per byte than this are searched, not indexed.
	SPARSE_BYTES = 65536,
	MAX_DAMAGES = 1000,
	MAX_SUSPECTS = 1 << 16,
	MAX_CHUNKS = 65536,  // that are walked through for one suspect
	LEAST_CHUNK = 32,    // of glibc, bytes
	CHUNK_FLAGS = 7,     // of its size of a chunk, the lowest bits
	CHUNK_IN_USE = 1,    // of these: the chunk before
	CHUNK_IS_MAPPED = 2, // this one has a mapping of its own
	LARGEST_PAGE = 2 << 20,
	MAX_PIECES = 1 << 24, // the process's word on how many there are is not believed blindly
	PIECE = 2 << 20,      // bytes that are scanned at once
	LEAST_CODE = 65536,   // no code is below (vm.mmap_min_addr)
};

// Code that has been unmapped was near what is mapped still.
#define NEAR (UINT64_C(4) << 30)

// Words that would be a header if they verified, and whose second names code.
struct suspect {
	uint64_t header; // address
	uint64_t extent;
};

struct suspects {
	struct suspect *list; // [count] by address
	size_t count, capacity;
};

// A range of memory, and what is being found in it.
struct scan {
	struct objects *objects;
	const struct image *image;
	const struct heapsnap_process *process;
	struct moves *moves;
	struct tracked *tracked;
	uint64_t start, end;
	uint64_t next;  // nothing can start before: inside a live block
	uint64_t added; // where the last block that was added ends
	uint64_t low;   // where the first block with a footer begins, which may be before start
	uint32_t first; // the range's first object
	struct suspects suspects;
};

// A block's header or footer.
struct header {
	uint64_t block;
	uint64_t extent, origin;
	uint64_t address;
	uint64_t next; // where another one may begin
};

// What heapsnap_track() was told of, by address; those before `at` have been added, or left out.
struct tracked {
	struct heapsnap_piece *pieces; // [count]
	size_t count, at;
};

// What a piece of the range holds.
struct part {
	const struct scan *scan;
	uint64_t end;
	uint64_t next; // as in the scan, which this one knows nothing of
	bool has_footers;
	uint64_t last_word, last_address; // the last word that was looked at
	struct header *headers;
	size_t count, capacity;
	const struct image_mapping *code; // in which the last site was
	struct suspects suspects;
};

HEAP_MUST_CHECK
static struct heap_error *grow(struct objects *objects)
{
	uint32_t capacity = objects->capacity ? objects->capacity * 2 : 65536;

	if (capacity <= objects->capacity)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "more than 2^31 objects");

#define GROW(column) \
	do { \
		void *larger_ = realloc(objects->column, capacity * sizeof(*objects->column)); \
		if (!larger_) \
			return heap_error_out_of_memory(); \
		objects->column = larger_; \
	} while (0)

	GROW(address);
	GROW(kind);
	GROW(birth);
	GROW(flags);
#undef GROW
	objects->capacity = capacity;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add(struct objects *objects, const struct header *header)
{
	if (objects->count == objects->capacity) {
		struct heap_error *error = grow(objects);

		if (error)
			return error;
	}
	objects->address[objects->count] = header->block;
	objects->birth[objects->count] = (uint16_t)heapsnap_extent_birth(header->extent);
	objects->flags[objects->count] = (uint8_t)heapsnap_extent_flags(header->extent);
	return object_kinds_find(&objects->kinds, header->origin & HEAPSNAP_SITE_MASK,
				 heapsnap_extent_size(header->extent),
				 &objects->kind[objects->count++]);
}

// --- pieces that the program hands out itself --------------------------------------

static int compare_pieces(const void *left, const void *right)
{
	const struct heapsnap_piece *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

HEAP_MUST_CHECK
static struct heap_error *read_tracked(const struct image *image,
				       const struct heapsnap_process *process,
				       struct tracked *tracked)
{
	size_t count =
		process->pieces && process->piece_count <= MAX_PIECES ? process->piece_count : 0;

	tracked->pieces = calloc(count + 1, sizeof(*tracked->pieces));
	if (!tracked->pieces)
		return heap_error_out_of_memory();
	image_read_padded(image, process->pieces, tracked->pieces,
			  count * sizeof(*tracked->pieces));
	for (size_t i = 0; i < count; i++) {
		const struct heapsnap_piece *piece = &tracked->pieces[i];

		if (piece->address % 8 == 0 && heapsnap_extent_size(piece->extent) > 0)
			tracked->pieces[tracked->count++] = *piece;
	}
	qsort(tracked->pieces, tracked->count, sizeof(*tracked->pieces), compare_pieces);
	return NULL;
}

static void leave_out(struct tracked *tracked, uint64_t before)
{
	while (tracked->at < tracked->count && tracked->pieces[tracked->at].address < before)
		tracked->at++;
}

// Adds those that lie in [start, end), up to there at most, and not within each other.
HEAP_MUST_CHECK
static struct heap_error *add_tracked(struct objects *objects, struct tracked *tracked,
				      uint64_t start, uint64_t end)
{
	struct heap_error *error = NULL;

	for (leave_out(tracked, start);
	     !error && tracked->at < tracked->count && tracked->pieces[tracked->at].address < end;
	     leave_out(tracked, start)) {
		const struct heapsnap_piece *piece = &tracked->pieces[tracked->at];
		struct header header = { piece->address, piece->extent, piece->site, 0, 0 };
		uint64_t size = heapsnap_extent_size(piece->extent);

		if (size > end - piece->address)
			header.extent -= size - (end - piece->address);
		error = add(objects, &header);
		start = piece->address + heapsnap_extent_size(header.extent);
		tracked->at++;
	}
	return error;
}

// Adds a block, or what of it lies before the first piece in it, and these. @param after  of the last
HEAP_MUST_CHECK
static struct heap_error *add_with_tracked(struct objects *objects, struct tracked *tracked,
					   struct header header, uint64_t after)
{
	uint64_t size = heapsnap_extent_size(header.extent);
	struct heap_error *error =
		add_tracked(objects, tracked, after, header.block - HEAPSNAP_HEADER_SIZE);
	uint64_t first;

	leave_out(tracked, header.block);
	first = tracked->at < tracked->count ? tracked->pieces[tracked->at].address : UINT64_MAX;
	if (first - header.block >= size)
		return error ? error : add(objects, &header);
	if (!error && first > header.block) {
		header.extent -= size - (first - header.block);
		error = add(objects, &header);
	}
	return error ? error : add_tracked(objects, tracked, first, header.block + size);
}

// --- a piece of memory -------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *note_header(struct part *part, struct header header)
{
	if (part->count == part->capacity) {
		size_t capacity = part->capacity ? part->capacity * 2 : 4096;
		void *larger = realloc(part->headers, capacity * sizeof(*part->headers));

		if (!larger)
			return heap_error_out_of_memory();
		part->headers = larger;
		part->capacity = capacity;
	}
	part->headers[part->count++] = header;
	return NULL;
}

// Whether a block can have been made there. Of words that hold anything, one in 65,536 looks like
// a signature; hardly any of these names a place where code is, or may have been.
static bool may_be_site(struct part *part, uint64_t site)
{
	const struct image *image = part->scan->image;

	if (part->code && site >= part->code->start && site < part->code->end)
		return true;
	part->code = image_find(image, site);
	return site >= LEAST_CODE && (part->code || image_is_near(image, site, NEAR));
}

HEAP_MUST_CHECK
static struct heap_error *note_suspect(struct suspects *suspects, struct suspect suspect)
{
	if (suspects->count == MAX_SUSPECTS)
		return NULL;
	if (suspects->count == suspects->capacity) {
		size_t capacity = suspects->capacity ? suspects->capacity * 2 : 64;
		void *larger = realloc(suspects->list, capacity * sizeof(*suspects->list));

		if (!larger)
			return heap_error_out_of_memory();
		suspects->list = larger;
		suspects->capacity = capacity;
	}
	suspects->list[suspects->count++] = suspect;
	return NULL;
}

// A header that does not verify is no damage yet: other pairs of words look like that too. Freed
// headers do not, they are wiped.
HEAP_MUST_CHECK
static struct heap_error *suspect_header(struct part *part, const struct header *header)
{
	const struct image_mapping *mapping =
		image_find(part->scan->image, header->origin & HEAPSNAP_SITE_MASK);
	struct suspect suspect = { header->address, header->extent };

	return mapping && (mapping->protection & PROT_EXEC) ? note_suspect(&part->suspects, suspect)
							    : NULL;
}

// Of a block that is being moved: the header that it had, with the size that it certainly has.
static bool complete(const struct scan *scan, struct header *header)
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

// --- glibc's chunks ----------------------------------------------------------

// The chunk that glibc says to begin 16 bytes before `base`, by the word before that: its size and
// flags. 0 if there can be none.
static uint64_t read_chunk(const struct image *image, uint64_t base)
{
	uint64_t word, size;

	if (!image_read(image, base - sizeof(word), &word, sizeof(word)))
		return 0;
	size = word & ~(uint64_t)CHUNK_FLAGS;
	return size % GRANULE == 0 && size >= LEAST_CHUNK && size < HEAPSNAP_SIZE_MAX ? word : 0;
}

static uint64_t end_of_chunk(uint64_t base, uint64_t chunk)
{
	return base + (chunk & ~(uint64_t)CHUNK_FLAGS);
}

// True if glibc has rounded so many bytes up to such a chunk.
static bool chunk_fits(uint64_t chunk, uint64_t bytes)
{
	bool is_mapped = (chunk & CHUNK_IS_MAPPED) != 0;
	uint64_t overhead = is_mapped ? 16 : 8;
	uint64_t usable = (chunk & ~(uint64_t)CHUNK_FLAGS) - overhead;

	return usable >= bytes && usable - bytes < (is_mapped ? LARGEST_PAGE : LEAST_CHUNK);
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
static bool may_reach(const struct scan *scan, const struct header *header, uint64_t base,
		      uint64_t bytes)
{
	const struct image_mapping *code =
		image_find(scan->image, header->origin & HEAPSNAP_SITE_MASK);
	uint64_t end = base + bytes;

	if (!code || !(code->protection & PROT_EXEC))
		return false;
	if (scan->process->has_chunks && chunk_fits(read_chunk(scan->image, base), bytes))
		return true;
	return is_anonymous(scan->image, base < scan->start ? base : scan->end,
			    end > scan->end ? end : scan->start);
}

static uint64_t end_of_block(uint64_t block, uint64_t size)
{
	return block + ((size + GRANULE - 1) & ~(uint64_t)(GRANULE - 1));
}

// Whose footer the words would be; 0 if nobody's.
static uint64_t find_footed(const struct part *part, const struct header *footer)
{
	uint64_t distance = heapsnap_footer_distance(heapsnap_extent_size(footer->extent));
	uint64_t block;

	if (heapsnap_extent_place(footer->extent) == HEAPSNAP_FAR_BEHIND) {
		uint64_t far;

		if (!image_read(part->scan->image, footer->address - 8, &far, sizeof(far)) ||
		    far <= distance || far > HEAPSNAP_SIZE_MAX)
			return 0;
		distance = far;
	}
	block = footer->address - distance;
	return block % (2 * GRANULE) == 0 && block < footer->address &&
			       block >= part->scan->process->footers_start
		       ? block
		       : 0;
}

// False if glibc's chunk of a block with a footer is known to end elsewhere. A size that has been
// overwritten moves where the block would begin by as much: the signature may not tell.
static bool chunk_ends_behind(const struct part *part, const struct header *footer)
{
	const uint64_t end = footer->address + HEAPSNAP_HEADER_SIZE;
	uint64_t chunk, word;

	if (!image_read(part->scan->image, footer->block - sizeof(word), &word, sizeof(word)))
		return true;
	chunk = read_chunk(part->scan->image, footer->block);
	return end_of_chunk(footer->block, chunk) ==
	       end + (chunk & CHUNK_IS_MAPPED ? GRANULE : sizeof(word));
}

// Remains of an aligned block that glibc has left in free memory do not count.
static void forget_from(struct part *part, uint64_t block)
{
	while (part->count > 0 && part->headers[part->count - 1].block >= block)
		part->count--;
	while (part->suspects.count > 0 &&
	       part->suspects.list[part->suspects.count - 1].header >= block)
		part->suspects.count--;
}

// True if the words describe a live block, which is filled in.
static bool read_header(struct part *part, struct header *header)
{
	const struct scan *scan = part->scan;

	header->block = header->address + HEAPSNAP_HEADER_SIZE;
	if (heapsnap_extent_is_behind(header->extent))
		header->block = part->has_footers ? find_footed(part, header) : 0;
	else if (header->address % GRANULE != 0)
		return false;
	return header->block != 0 &&
	       heapsnap_verifies(scan->process->secret, scan->process->mark, header->block,
				 header->extent, header->origin) &&
	       (!heapsnap_extent_is_behind(header->extent) || chunk_ends_behind(part, header));
}

// True if the block can lie where it says. Fills in where the next one may begin.
static bool has_place(struct part *part, struct header *header)
{
	const struct scan *scan = part->scan;
	uint64_t size = heapsnap_extent_size(header->extent);

	if (!may_be_site(part, header->origin & HEAPSNAP_SITE_MASK))
		return false;
	if (heapsnap_extent_is_behind(header->extent)) {
		header->next = header->address + HEAPSNAP_HEADER_SIZE;
		return header->block >= scan->start ||
		       may_reach(scan, header, header->block, header->next - header->block);
	}

	uint64_t lead = heapsnap_extent_lead(header->extent);

	header->next = end_of_block(header->block, size);
	return size <= scan->end - header->block ||
	       may_reach(scan, header, header->block - lead, lead + size);
}

static bool may_be_signed(uint64_t origin)
{
	uint64_t signature = origin >> HEAPSNAP_SITE_BITS;

	return signature != 0 && signature != HEAPSNAP_WIPED;
}

// Two words that may be a header or footer.
HEAP_MUST_CHECK
static struct heap_error *look_at(struct part *part, uint64_t address, uint64_t extent,
				  uint64_t origin)
{
	struct header header = { .address = address, .extent = extent, .origin = origin };

	if (origin >> HEAPSNAP_SITE_BITS == HEAPSNAP_MOVING) {
		header.block = address + HEAPSNAP_HEADER_SIZE;
		if (address % GRANULE != 0 || !complete(part->scan, &header))
			return NULL;
	} else if (!read_header(part, &header)) {
		return suspect_header(part, &header);
	}
	if (!has_place(part, &header))
		return NULL;
	if (heapsnap_extent_is_behind(extent))
		forget_from(part, header.block);
	if (part->count > 0 && part->headers[part->count - 1].next > header.block)
		return NULL; // they overlap: one of them is left over, or an accident
	part->next = header.next;
	return note_header(part, header);
}

// Headers lie at multiples of 16; footers at multiples of 8, so that one may begin with the last
// word of what was visited before.
HEAP_MUST_CHECK
static struct heap_error *scan_words(void *context, uint64_t address, const uint64_t *words,
				     size_t count)
{
	struct part *part = context;
	size_t step = part->has_footers ? 1 : 2, at = 0;
	struct heap_error *error = NULL;

	if (part->has_footers && part->last_address + 8 == address &&
	    part->last_address >= part->next && may_be_signed(words[0]))
		error = look_at(part, part->last_address, part->last_word, words[0]);
	if (part->next > address)
		at = part->next - address < count * 8 ? (part->next - address) / 8 : count;
	while (!error && at + 1 < count) {
		uint64_t next = part->next;

		if (may_be_signed(words[at + 1]))
			error = look_at(part, address + at * 8, words[at], words[at + 1]);
		if (part->next == next)
			at += step;
		else if (part->next - address >= count * 8)
			break;
		else
			at = (part->next - address) / 8;
	}
	part->last_word = words[count - 1];
	part->last_address = address + (count - 1) * 8;
	return error;
}

// From @p start on, which no header may lie before.
HEAP_MUST_CHECK
static struct heap_error *scan_from(struct part *part, uint64_t start)
{
	const struct scan *scan = part->scan;

	part->count = part->suspects.count = 0;
	part->next = start;
	part->last_address = 0;
	return image_visit(scan->image, start & ~UINT64_C(4095), part->end, scan_words, part);
}

HEAP_MUST_CHECK
static struct heap_error *scan_piece(void *context, size_t number, void *result)
{
	const struct scan *scan = context;
	struct part *part = result;
	uint64_t start = scan->start + number * (uint64_t)PIECE;

	part->scan = scan;
	part->end = scan->end - start < PIECE ? scan->end : start + PIECE;
	part->has_footers =
		scan->process->footers_start < part->end && scan->process->footers_end > start;
	// A footer may begin with the last word of the piece before this one.
	return scan_from(part, part->has_footers && number > 0 ? start - 8 : start);
}

// Looks again at a piece that begins inside a block. What the block holds may have looked like
// damage; one in 65,536 words looks like a signature, and may have hidden what comes after.
HEAP_MUST_CHECK
static struct heap_error *mend_piece(struct part *part, uint64_t start)
{
	if ((part->count == 0 || part->headers[0].address >= start) &&
	    (part->suspects.count == 0 || part->suspects.list[0].header >= start))
		return NULL;
	if (start < part->end)
		return scan_from(part, start);
	part->count = part->suspects.count = 0;
	return NULL;
}

// A block with a footer is found at its end. What was taken for blocks inside it, in earlier
// pieces, is none. False if one that begins before it reaches into it.
static bool make_room(struct scan *scan, const struct header *header)
{
	struct objects *objects = scan->objects;
	struct tracked *tracked = scan->tracked;
	uint64_t end = 0;

	while (objects->count > 0 && objects->address[objects->count - 1] >= header->block)
		objects->count--;
	while (tracked->at > 0 && tracked->pieces[tracked->at - 1].address >= header->block)
		tracked->at--;
	if (objects->count > 0)
		end = objects->address[objects->count - 1] +
		      objects_size(objects, objects->count - 1);
	if (scan->added > header->block)
		scan->added = end;
	if (scan->low > header->block)
		scan->low = header->block;
	if (scan->first > objects->count)
		scan->first = objects->count;
	return end <= header->block;
}

HEAP_MUST_CHECK
static struct heap_error *join_piece(void *context, void *result)
{
	struct scan *scan = context;
	struct part *part = result;
	struct heap_error *error = mend_piece(part, scan->next);

	progress_add_done(PIECE);
	progress_flush();
	for (size_t i = 0; !error && i < part->suspects.count; i++)
		error = note_suspect(&scan->suspects, part->suspects.list[i]);
	for (size_t i = 0; !error && i < part->count; i++) {
		const struct header *header = &part->headers[i];

		if (heapsnap_extent_is_behind(header->extent) && !make_room(scan, header))
			continue;
		error = add_with_tracked(scan->objects, scan->tracked, *header, scan->added);
		scan->added = header->block + heapsnap_extent_size(header->extent);
	}
	if (part->count > 0)
		scan->next = part->next;
	return error;
}

static void release_piece(void *result)
{
	struct part *part = result;

	free(part->headers);
	free(part->suspects.list);
}

// --- damage ------------------------------------------------------------------

// The first of the range's blocks that begins after an address; the range's end if none does.
static uint32_t first_after(const struct objects *objects, const struct object_range *range,
			    uint64_t address)
{
	uint32_t low = range->first, high = range->first + range->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (objects->address[middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

// True if glibc has given a chunk at `base` to somebody, and not got it back; or has it in a
// cache. The bit that says so is in the size of the chunk behind it.
static bool is_in_use(const struct scan *scan, uint64_t base, uint64_t chunk)
{
	return (read_chunk(scan->image, end_of_chunk(base, chunk)) & CHUNK_IN_USE) != 0;
}

/*
 * In glibc's chunks, a header belongs just behind the chunk of a live block, or in a chunk just
 * before one. What has been overrun from below has lost the size of its own chunk, too; else the
 * chunk is in use.
 */
static bool is_damaged_chunk(const struct scan *scan, const struct suspect *suspect,
			     uint64_t before, uint64_t after)
{
	uint64_t own = read_chunk(scan->image, suspect->header);
	bool is_behind = before != 0 &&
			 end_of_chunk(before, read_chunk(scan->image, before)) == suspect->header;

	if (own == 0 || end_of_chunk(suspect->header, own) > scan->end + HEAPSNAP_HEADER_SIZE)
		return is_behind;
	return (is_behind || end_of_chunk(suspect->header, own) == after) &&
	       is_in_use(scan, suspect->header, own);
}

// Walks from chunk to chunk, none of which begins beyond `end`. @return the last one that it reached
static uint64_t walk_chunks(const struct scan *scan, uint64_t base, uint64_t end)
{
	for (int i = 0; i < MAX_CHUNKS && base < end; i++) {
		uint64_t chunk = read_chunk(scan->image, base);

		if (chunk == 0 || end_of_chunk(base, chunk) > end)
			break;
		base = end_of_chunk(base, chunk);
	}
	return base;
}

/*
 * True if a chunk that is in use ends where a footer does. The chunks from a live block on lead
 * there, or those from there on lead to a live block.
 *
 * @param walked  the last chunk that was reached so far, at or behind the live block before
 */
static bool is_damaged_footer(const struct scan *scan, const struct suspect *suspect,
			      uint64_t *walked, uint64_t after)
{
	const uint64_t end = suspect->header + HEAPSNAP_HEADER_SIZE + sizeof(uint64_t);

	if ((read_chunk(scan->image, end) & CHUNK_IN_USE) == 0)
		return false;
	*walked = walk_chunks(scan, *walked, end);
	return *walked == end || walk_chunks(scan, end, after) == after;
}

// Where glibc's chunk of a block begins. The word before the block is glibc's own if the block has
// a footer; else it is signed, and no size.
static uint64_t base_of(const struct scan *scan, uint64_t block)
{
	uint64_t extent;

	if (scan->process->has_chunks && read_chunk(scan->image, block) != 0)
		return block;
	if (!image_read(scan->image, block - HEAPSNAP_HEADER_SIZE, &extent, sizeof(extent)))
		extent = 0;
	return block -
	       (scan->process->has_chunks ? heapsnap_extent_lead(extent) : HEAPSNAP_HEADER_SIZE);
}

// Other allocators round up to size classes, the coarsest by a quarter.
static bool is_followed_by(uint64_t base, uint64_t size, uint64_t next)
{
	return base != 0 && next - base >= size &&
	       next - base - size <= size / 4 + HEAPSNAP_HEADER_SIZE;
}

// True if the header belongs to a block: its neighbours tell.
// @param walked  the last chunk that was reached for the suspects before this one
static bool is_damage(const struct scan *scan, const struct object_range *range,
		      const struct suspect *suspect, uint64_t *walked)
{
	const struct objects *objects = scan->objects;
	uint32_t at = first_after(objects, range, suspect->header);
	uint64_t before = 0, after = scan->end, size = 0;

	if (at > range->first) {
		before = base_of(scan, objects->address[at - 1]);
		size = objects_size(objects, at - 1) + HEAPSNAP_HEADER_SIZE;
	}
	if (at < range->first + range->count)
		after = base_of(scan, objects->address[at]);
	if (scan->process->has_chunks && suspect->header % GRANULE == 8) {
		if (*walked < before)
			*walked = before;
		return is_damaged_footer(scan, suspect, walked, after);
	}
	if (scan->process->has_chunks)
		return is_damaged_chunk(scan, suspect, before, after);
	if (heapsnap_extent_birth(suspect->extent) > scan->process->epoch)
		return false;
	return is_followed_by(before, size, suspect->header) ||
	       is_followed_by(suspect->header,
			      heapsnap_extent_size(suspect->extent) + HEAPSNAP_HEADER_SIZE, after);
}

HEAP_MUST_CHECK
static struct heap_error *find_damages(const struct scan *scan, const struct object_range *range)
{
	struct objects *objects = scan->objects;
	uint64_t walked = scan->start + GRANULE; // where the first chunk of a heap begins

	if (scan->suspects.count > 0 && !objects->damages) {
		objects->damages = calloc(MAX_DAMAGES, sizeof(*objects->damages));
		if (!objects->damages)
			return heap_error_out_of_memory();
	}
	for (size_t i = 0; i < scan->suspects.count; i++) {
		const struct suspect *suspect = &scan->suspects.list[i];

		if (objects->damage_count < MAX_DAMAGES && is_damage(scan, range, suspect, &walked))
			objects->damages[objects->damage_count++] = suspect->header;
	}
	return NULL;
}

// --- all of it ---------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *index_range(struct objects *objects, struct object_range *range)
{
	if (range->count == 0 || (range->end - range->start) / range->count > SPARSE_BYTES)
		return NULL;

	size_t words = (range->end - range->start) / (GRANULE * GRANULES_PER_WORD) + 1;
	uint32_t before = 0;

	range->starts = calloc(words, sizeof(*range->starts));
	if (!range->starts)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < range->count; i++) {
		uint64_t granule = (objects->address[range->first + i] - range->start) / GRANULE;
		uint64_t bit = UINT64_C(1) << granule % GRANULES_PER_WORD;
		uint64_t *bits = &range->starts[granule / GRANULES_PER_WORD].bits;

		if (*bits & bit) {
			// Pieces of 8 bytes: they have to be searched for.
			free(range->starts);
			range->starts = NULL;
			return NULL;
		}
		*bits |= bit;
	}
	for (size_t i = 0; i < words; i++) {
		range->starts[i].before = before;
		before += (uint32_t)__builtin_popcountll(range->starts[i].bits);
	}
	return NULL;
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
	struct objects *objects = scan->objects;

	take_ranges_before(scan);

	struct object_range *ranges =
		realloc(objects->ranges, (objects->range_count + 1) * sizeof(*ranges));

	if (!ranges)
		return heap_error_out_of_memory();
	objects->ranges = ranges;

	struct object_range *range = &ranges[objects->range_count++];

	*range = (struct object_range){
		.start = scan->low,
		.end = scan->next > scan->end ? scan->next : scan->end,
		.first = scan->first,
		.count = objects->count - scan->first,
	};

	struct heap_error *error = find_damages(scan, range);

	return error ? error : index_range(objects, range);
}

// @param scanned  gets where the range's last block ends
HEAP_MUST_CHECK
static struct heap_error *scan_range(struct scan *scan, uint64_t *scanned)
{
	struct heap_error *error = pieces_run(&(struct piece_work){
		.count = (scan->end - scan->start + PIECE - 1) / PIECE,
		.part_size = sizeof(struct part),
		.work = scan_piece,
		.join = join_piece,
		.release = release_piece,
		.context = scan,
	});

	if (!error)
		error = add_tracked(scan->objects, scan->tracked, scan->added, scan->end);
	if (!error && scan->objects->count > scan->first)
		error = add_range(scan);
	*scanned = scan->next;
	free(scan->suspects.list);
	return error;
}

struct heap_error *objects_init(struct objects *objects, const struct image *image,
				const struct heapsnap_process *process, struct moves *moves,
				const uint64_t (*skip)[2], size_t skip_count)
{
	struct tracked tracked = { 0 };
	uint64_t scanned = 0; // where the last block ends, which may be in a later mapping
	struct heap_error *error = grow(objects);

	if (!error)
		error = read_tracked(image, process, &tracked);
	// malloc's memory may lie in several mappings that touch (mprotect, madvise): a block
	// may cross from one into the next.
	for (size_t i = 0; !error && i < image->mapping_count;) {
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
		if (start < end)
			error = scan_range(
				&(struct scan){
					.objects = objects,
					.image = image,
					.process = process,
					.moves = moves,
					.tracked = &tracked,
					.start = start,
					.end = end,
					.next = start,
					.added = start,
					.low = start,
					.first = objects->count,
				},
				&scanned);
	}
	free(tracked.pieces);
	return error;
}

void objects_deinit(struct objects *objects)
{
	for (size_t i = 0; i < objects->range_count; i++)
		free(objects->ranges[i].starts);
	free(objects->ranges);
	free(objects->damages);
	free(objects->address);
	free(objects->kind);
	object_kinds_deinit(&objects->kinds);
	free(objects->birth);
	free(objects->flags);
}

heap_object_id objects_search(const struct objects *objects, const struct object_range *range,
			      uint64_t address)
{
	uint32_t after = first_after(objects, range, address);

	if (after == range->first)
		return HEAP_NO_OBJECT;

	uint64_t offset = address - objects->address[after - 1];

	return offset < objects_size(objects, after - 1) || offset == 0 ? after - 1
									: HEAP_NO_OBJECT;
}
