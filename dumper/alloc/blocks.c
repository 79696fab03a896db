// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/alloc/blocks.h"

#include "dumper/alloc/epochs.h"
#include "dumper/base/system.h"
#include "dumper/trace/trace.h"

#include <string.h>

// glibc's memalign by an internal name, which no other library replaces.
extern void *__libc_memalign(size_t alignment, size_t size) __attribute__((weak));

// True if blocks lie in chunks of glibc's, with their size in the word before.
static bool has_chunks;

// True if blocks at alignments beyond malloc's own have footers.
static bool has_footers;

/*
 * glibc puts a key into the second word of a block that is freed into a thread's cache, by
 * which it knows one that is freed twice. It lies where our origin was; wiped, glibc would know
 * the block no more. So it must not look plain.
 *
 * @return a bit that it has not set; 0 in one process of 4096
 */
static uint16_t choose_mark(const char *freed)
{
	uint32_t unset = ~(uint32_t)*heapsnap_signature((const struct heapsnap_header *)freed);

	unset &= HEAPSNAP_MARKS;
	return unset ? (uint16_t)(1u << (31 - __builtin_clz(unset))) : 0;
}

/*
 * valgrind and its like put code of their own in the place of glibc's, and report who reads
 * before a block, or one that has been freed. They give a block exactly the requested bytes;
 * glibc rounds up to what a chunk holds.
 */
static void look_at_glibc(void)
{
	enum {
		SIZE = 2 * HEAPSNAP_HEADER_SIZE,
		ROUNDED = SIZE + 8
	};
	char *block = heapsnap_hot.malloc(SIZE);

	if (!block)
		return;
	has_chunks = heapsnap_next.usable_size && heapsnap_next.usable_size(block) == ROUNDED;
	heapsnap_hot.free(block);
	__asm__ volatile("" : "+r"(block) : : "memory");
	if (has_chunks)
		heapsnap_hot.plain = choose_mark(block);
}

void heapsnap_blocks_begin(void)
{
	// An allocator that has glibc's names besides its own may call us while it starts.
	heapsnap_hot.mark = 0x8000;
	if (heapsnap_next_is_glibc())
		look_at_glibc();
	if (heapsnap_hot.plain)
		heapsnap_hot.mark = heapsnap_hot.plain;
	heapsnap_process.mark = heapsnap_hot.mark;
	has_footers = has_chunks && heapsnap_next.memalign == __libc_memalign;
	heapsnap_process.has_chunks = has_chunks;
	heapsnap_process.footers_start = UINT64_MAX;
}

// --- finding what describes a block ------------------------------------------------

static bool verifies(const struct heapsnap_header *header, const void *block)
{
	return heapsnap_verifies(heapsnap_hot.secret, heapsnap_hot.mark, (uint64_t)block,
				 header->extent, header->origin);
}

// At the end of the usable bytes. Its place must depend on the chunk alone.
static struct heapsnap_header *footer_place(const void *block)
{
	size_t usable = heapsnap_next.usable_size((void *)block) & ~(size_t)7;

	return (struct heapsnap_header *)((uintptr_t)block + usable - HEAPSNAP_HEADER_SIZE);
}

static uint64_t *distance_before(const struct heapsnap_header *footer)
{
	return (uint64_t *)footer - 1;
}

// Bytes from the block to its footer, as that says.
static uint64_t footer_distance(const struct heapsnap_header *footer)
{
	return heapsnap_extent_place(footer->extent) == HEAPSNAP_FAR_BEHIND
		       ? *distance_before(footer)
		       : heapsnap_footer_distance(heapsnap_extent_size(footer->extent));
}

// True if a footer may be looked for: a wild pointer, which libc will report, must not lead us to
// memory that is not there. The word before a block is glibc's size of its chunk, which counts 16
// bytes before the block, and the lowest bits are flags.
static bool may_have_footer(const void *block)
{
	uint64_t start = __atomic_load_n(&heapsnap_process.footers_start, __ATOMIC_RELAXED);
	uint64_t end = __atomic_load_n(&heapsnap_process.footers_end, __ATOMIC_RELAXED);
	uint64_t address = (uint64_t)block, chunk;

	if (address < start || address >= end || address % (2 * HEAPSNAP_HEADER_SIZE))
		return false;
	chunk = ((const uint64_t *)block)[-1] & ~UINT64_C(7);
	return chunk % HEAPSNAP_HEADER_SIZE == 0 && chunk >= 2 * HEAPSNAP_HEADER_SIZE &&
	       chunk - HEAPSNAP_HEADER_SIZE <= end - address;
}

struct heapsnap_header *heapsnap_find_header(const void *block)
{
	struct heapsnap_header *header = heapsnap_header_of(block);

	if (verifies(header, block) && !heapsnap_extent_is_behind(header->extent))
		return header;
	if (!may_have_footer(block))
		return NULL;
	header = footer_place(block);
	return heapsnap_extent_is_behind(header->extent) && verifies(header, block) &&
			       footer_distance(header) == (uint64_t)header - (uint64_t)block
		       ? header
		       : NULL;
}

// The start of a live block as the next allocator has it.
static void *base_of(const void *block, const struct heapsnap_header *header)
{
	if (heapsnap_extent_is_behind(header->extent))
		return (void *)block;
	return (char *)block - heapsnap_extent_lead(header->extent);
}

// --- allocating ------------------------------------------------------------------

// Begins a new birth epoch if it is time.
static void look_at_clock(void)
{
	static uint64_t epoch_start_ns;
	static uint64_t first_ns;
	uint64_t now = heapsnap_coarse_ns();
	uint64_t start = __atomic_load_n(&epoch_start_ns, __ATOMIC_RELAXED);
	uint64_t first = __atomic_load_n(&first_ns, __ATOMIC_RELAXED);

	if (first == 0) {
		first = now;
		__atomic_store_n(&first_ns, now, __ATOMIC_RELAXED);
	}
	// Epochs grow with the program's age, so that 65536 of them last for ever.
	if (now - start < 1000000000u || now - start < (now - first) / 1024 ||
	    !__atomic_compare_exchange_n(&epoch_start_ns, &start, now, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return;
	heapsnap_begin_epoch(heapsnap_coarse_realtime_ns());
}

static bool is_too_large(size_t size)
{
	if (size <= HEAPSNAP_SIZE_MAX)
		return false;
	errno = ENOMEM;
	return true;
}

// When the bytes left have run out: whether this allocation is sampled.
static bool begin_stretch(void)
{
	struct heapsnap_stretch ended;
	bool is_sampled = heapsnap_sampling_refill(&ended);

	if (ended.bytes != 0)
		heapsnap_backtraces_earn(ended.bytes);
	look_at_clock();
	if (heapsnap_each_stretch)
		heapsnap_each_stretch(ended.last + heapsnap_bytes_left);
	return is_sampled;
}

// Observes a block that is about to be made.
static struct heapsnap_making make(size_t size, uint64_t site, struct heapsnap_frame frame)
{
	bool is_sampled = !heapsnap_take_bytes(size) && begin_stretch();
	uint64_t caller =
		!is_sampled && size <= HEAPSNAP_STRETCH ? heapsnap_hop(size, site, frame) : 0;

	if (caller)
		return (struct heapsnap_making){ .site = caller };
	return heapsnap_observe(size, site, frame, is_sampled);
}

// Signs memory from the next allocator. @param place  before the block
static void *adopt(char *base, size_t size, unsigned place, unsigned flags,
		   struct heapsnap_making making)
{
	if (!base)
		return NULL;

	uint64_t extent = heapsnap_extent(size, 0, place, flags) | heapsnap_hot.birth;
	char *block = base + heapsnap_extent_lead(extent);
	bool is_special = heapsnap_sample_begin(block, size, making.backtrace, false) ||
			  place != HEAPSNAP_BEFORE || !heapsnap_is_found();

	heapsnap_sign(heapsnap_header_of(block), block, extent, making.site, is_special);
	return block;
}

// Notes, before it is signed, where a block with a footer lies.
static void note_footer(uint64_t start, uint64_t end)
{
	uint64_t *low = &heapsnap_process.footers_start, *high = &heapsnap_process.footers_end;
	uint64_t present = __atomic_load_n(low, __ATOMIC_RELAXED);

	while (start < present && !__atomic_compare_exchange_n(low, &present, start, true,
							       __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	present = __atomic_load_n(high, __ATOMIC_RELAXED);
	while (end > present && !__atomic_compare_exchange_n(high, &present, end, true,
							     __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

// The same with a footer.
static void *adopt_aligned(void *block, size_t size, unsigned flags, struct heapsnap_making making)
{
	if (!block)
		return NULL;

	struct heapsnap_header *footer = footer_place(block);
	uint64_t distance = (uint64_t)footer - (uint64_t)block;
	unsigned place = HEAPSNAP_BEHIND;

	if (distance != heapsnap_footer_distance(size)) {
		place = HEAPSNAP_FAR_BEHIND;
		__atomic_store_n(distance_before(footer), distance, __ATOMIC_RELAXED);
	}
	heapsnap_sample_begin(block, size, making.backtrace, false);
	note_footer((uint64_t)block, (uint64_t)(footer + 1));
	heapsnap_sign(footer, block, heapsnap_extent(size, 0, place, flags) | heapsnap_hot.birth,
		      making.site, true);
	return block;
}

void *heapsnap_adopt_at(char *base, size_t size, uint64_t site, unsigned flags,
			struct heapsnap_frame frame)
{
	bool has_run_out = heapsnap_bytes_left > HEAPSNAP_STRETCH;
	uint64_t caller;

	if (!base)
		return NULL;
	if (is_too_large(size)) {
		heapsnap_bytes_left += size;
		heapsnap_hot.free(base);
		errno = ENOMEM;
		return NULL;
	}
	caller = has_run_out ? 0 : heapsnap_hop(size, site, frame);
	if (caller)
		return heapsnap_adopt(base, size, caller, flags);
	return adopt(base, size, 0, flags,
		     heapsnap_observe(size, site, frame, has_run_out && begin_stretch()));
}

// Inlined, it would need registers that the other path does not.
__attribute__((noinline)) void *heapsnap_adopt_slowly(char *base, size_t size, uint64_t site)
{
	return heapsnap_adopt_at(base, size, site, 0, HEAPSNAP_FRAME_AT(site));
}

void *heapsnap_adopt_in_wrapper(char *base, size_t size, uint64_t site)
{
	return heapsnap_adopt_or(base, size, site, 0, heapsnap_adopt_slowly);
}

void *heapsnap_allocate_zeros(size_t size, uint64_t site)
{
	if (is_too_large(size))
		return NULL;
	return adopt(heapsnap_next.calloc(1, size + HEAPSNAP_HEADER_SIZE), size, 0, 0,
		     make(size, site, HEAPSNAP_FRAME_AT(site)));
}

void *heapsnap_allocate_aligned(size_t alignment, size_t size, uint64_t site, unsigned flags)
{
	if (alignment <= HEAPSNAP_HEADER_SIZE) {
		if (is_too_large(size))
			return NULL;
		return adopt(heapsnap_hot.malloc(size + HEAPSNAP_HEADER_SIZE), size, 0, flags,
			     make(size, site, HEAPSNAP_FRAME_AT(site)));
	}
	if (is_too_large(size))
		return NULL;
	heapsnap_next_init();
	// A header in front says the alignment in 5 bits.
	if (!has_footers && is_too_large(alignment << (40 - 31)))
		return NULL;
	if (has_footers)
		return adopt_aligned(
			heapsnap_next.memalign(alignment, heapsnap_footer_distance(size) +
								  HEAPSNAP_HEADER_SIZE),
			size, flags, make(size, site, HEAPSNAP_FRAME_AT(site)));
	// A whole alignment before the block; the header takes its last 16 bytes.
	return adopt(heapsnap_next.memalign(alignment, size + alignment), size,
		     (unsigned)__builtin_ctzll(alignment), flags,
		     make(size, site, HEAPSNAP_FRAME_AT(site)));
}

// --- freeing -----------------------------------------------------------------------

// Where libc's block begins of one that is not live: freed before, damaged, or not ours.
static void *dead_base(void *block)
{
	const struct heapsnap_header *header = heapsnap_header_of(block);

	if ((uintptr_t)block % HEAPSNAP_HEADER_SIZE)
		return block;
	if (header->origin >> HEAPSNAP_SITE_BITS == HEAPSNAP_WIPED ||
	    header->origin >> HEAPSNAP_SITE_BITS == HEAPSNAP_MOVING)
		return (char *)block - heapsnap_extent_lead(header->extent);
	// The word before a block that never was ours is glibc's size of it. A number that is
	// no size means a header of ours, over which the program or glibc (a key, a pointer to
	// the next free block) has written since.
	if (has_chunks && header->origin > HEAPSNAP_SIZE_MAX)
		return (void *)header;
	return block;
}

void heapsnap_release_other(void *block)
{
	if (heapsnap_is_in_arena(block))
		return;
	heapsnap_next_init();

	struct heapsnap_header *header = heapsnap_find_header(block);

	if (!header) {
		// libc says of it what it would have said without us.
		heapsnap_hot.free(dead_base(block));
		return;
	}

	void *base = base_of(block, header);

	heapsnap_trace_freed(heapsnap_sample_remove(block).number, false);
	heapsnap_wipe(header);
	heapsnap_hot.free(base);
}

// --- reallocating --------------------------------------------------------------------

// To a new block by copying, where the next allocator cannot do it in place.
static void *move_block(void *block, size_t old_size, size_t size, uint64_t site)
{
	void *moved = heapsnap_allocate_aligned(1, size, site, 0);

	if (!moved)
		return NULL;
	memcpy(moved, block, old_size < size ? old_size : size);
	heapsnap_release(block);
	return moved;
}

// All that malloc_usable_size() has promised may hold data.
static size_t size_in_use(void *block, const struct heapsnap_header *header)
{
	return heapsnap_next.usable_size ? heapsnap_usable_size(block)
					 : heapsnap_extent_size(header->extent);
}

// For a block that is not live libc decides, as it would without us.
static void *reallocate_dead(void *block, size_t size, uint64_t site)
{
	char *base = dead_base(block);
	size_t before = (size_t)((char *)block - base);

	if (before == 0)
		return heapsnap_next.realloc(base, size);
	base = heapsnap_next.realloc(base, size + before);
	// It was damaged; from here on it is whole.
	return adopt(base, size,
		     before > HEAPSNAP_HEADER_SIZE ? __builtin_ctzll(before) : HEAPSNAP_BEFORE, 0,
		     make(size, site, (struct heapsnap_frame){ 0 }));
}

// Wipes, so that the writer still knows the block, and where it is. Stamps differ by thread and
// by move: what an earlier move has left in freed memory must not look like this one.
static void begin_move(void *block, size_t size)
{
	struct heapsnap_header *header = heapsnap_header_of(block);
	struct heapsnap_move *move = &heapsnap_move;
	uint64_t number = (move->stamp + UINT64_C(0x9e3779b97f4a7c15)) ^ (uint64_t)move;

	move->extent = header->extent;
	move->site = header->origin & HEAPSNAP_SITE_MASK;
	move->size = size;
	move->stamp = (number & HEAPSNAP_SITE_MASK) | (uint64_t)HEAPSNAP_MOVING
							      << HEAPSNAP_SITE_BITS;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&move->block, (uint64_t)block, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&header->origin, move->stamp, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

// libc has moved it, and may have given its old place to others.
static void note_place(const char *base)
{
	__atomic_store_n(&heapsnap_move.block, (uint64_t)base + HEAPSNAP_HEADER_SIZE,
			 __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void end_move(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&heapsnap_move.block, 0, __ATOMIC_RELAXED);
}

void *heapsnap_reallocate(void *block, size_t size, uint64_t site)
{
	if (is_too_large(size))
		return NULL;
	if (heapsnap_is_in_arena(block))
		return move_block(block, heapsnap_extent_size(heapsnap_header_of(block)->extent),
				  size, site);
	heapsnap_next_init();

	struct heapsnap_header *header = heapsnap_find_header(block);

	if (!header)
		return reallocate_dead(block, size, site);
	if (heapsnap_extent_place(header->extent) != HEAPSNAP_BEFORE)
		return move_block(block, size_in_use(block, header), size, site);

	struct heapsnap_making making = make(size, site, HEAPSNAP_FRAME_AT(site));
	struct heapsnap_sampled sampled = { 0 };

	if (!heapsnap_is_plain(block))
		sampled = heapsnap_sample_remove(block);

	begin_move(block, size);

	char *base = heapsnap_next.realloc(heapsnap_header_of(block), size + HEAPSNAP_HEADER_SIZE);
	// A block keeps its birth when it grows, so that it differs from a new block at its place.
	uint32_t birth = heapsnap_extent_birth(heapsnap_move.extent);

	if (base) {
		note_place(base);
		heapsnap_trace_freed(sampled.number, true);
		heapsnap_sign((struct heapsnap_header *)base, base + HEAPSNAP_HEADER_SIZE,
			      heapsnap_extent(size, birth, 0, 0), making.site,
			      heapsnap_sample_begin(base + HEAPSNAP_HEADER_SIZE, size,
						    making.backtrace, true));
	} else {
		heapsnap_sign(header, block, heapsnap_move.extent, heapsnap_move.site,
			      heapsnap_sample_add(block, sampled) != NULL);
	}
	end_move();
	return base ? base + HEAPSNAP_HEADER_SIZE : NULL;
}

size_t heapsnap_usable_size(void *block)
{
	if (!block || heapsnap_is_in_arena(block) || !heapsnap_next.usable_size)
		return 0;

	const struct heapsnap_header *header = heapsnap_find_header(block);

	if (!header)
		return heapsnap_next.usable_size(block);
	if (header > (const struct heapsnap_header *)block) {
		bool is_far = heapsnap_extent_place(header->extent) == HEAPSNAP_FAR_BEHIND;

		return footer_distance(header) - (is_far ? sizeof(uint64_t) : 0);
	}

	char *base = base_of(block, header);

	return heapsnap_next.usable_size(base) - (size_t)((char *)block - base);
}
