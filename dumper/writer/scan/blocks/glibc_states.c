// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/blocks/glibc_states.h"

#include "dumper/writer/scan/blocks/glibc_chunks.h"

enum {
	MAX_VAIN_BINS = 64,         // rings that look like bins, and belong to no arena
	MAX_STATE_BYTES = 64 << 20, // of a module's data, that arenas are searched in
};

static const struct glibc_layout layouts[] = {
	{ 0x70, true, false }, // 2.27
	{ 0x68, true, false }, // until 2.26
	{ 0x18, false, true }, // 2.43
};

const struct glibc_layout *glibc_layout(size_t number)
{
	return number < sizeof(layouts) / sizeof(layouts[0]) ? &layouts[number] : NULL;
}

// Members of struct malloc_par, mp_.
struct parameters {
	uint64_t max_count_at; // u32 n_mmaps_max
	uint64_t count_at;     // u32 n_mmaps
	uint64_t bytes_at;     // mmapped_mem
	uint64_t base_at;      // sbrk_base
	uint64_t other_base_at;
};

static const struct parameters parameter_layouts[] = {
	{ 44, 40, 56, 72, 80 },   // until 2.34; until 2.23, the base is one word further
	{ 64, 60, 80, 96, 96 },   // 2.35
	{ 72, 68, 88, 104, 104 }, // 2.43
};

// --- the first arena ------------------------------------------------------------

// True if a ring goes through a pair of words; an empty one points to itself. Chunks have their
// links at 16, and the pair stands for a chunk that begins 16 bytes before it.
static bool is_ring(struct glibc_walker *walker, uint64_t pair)
{
	uint64_t head = pair - 16;
	uint64_t next = glibc_peek(walker, pair), last = glibc_peek(walker, pair + 8);

	if (next == head && last == head)
		return true;
	return next % 16 == 0 && next >= GLIBC_PAGE && glibc_peek(walker, next + 24) == head &&
	       glibc_peek(walker, last + 16) == head;
}

// Goes from an empty ring to the first of them all. @return 0 if they are none of glibc's
static uint64_t find_bins(struct glibc_walker *walker, uint64_t pair)
{
	uint64_t first = pair, behind = pair + 16;

	while (behind - first <= 2 * GLIBC_BINS_BYTES && is_ring(walker, first - 16))
		first -= 16;
	while (behind - first <= 2 * GLIBC_BINS_BYTES && is_ring(walker, behind))
		behind += 16;
	return behind - first == GLIBC_BINS_BYTES ? first : 0;
}

// Arenas are a ring, too. That of the right layout leads back.
static const struct glibc_layout *find_layout(struct glibc_walker *walker, uint64_t bins)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		uint64_t first = bins - layouts[i].bins, arena = first;

		for (int n = 0; n < GLIBC_MAX_ARENAS && arena != 0; n++) {
			arena = glibc_next_arena(walker, &layouts[i], arena);
			if (arena == first)
				return &layouts[i];
		}
	}
	return NULL;
}

// True for the arena of a thread, which lies at the start of a heap. That may follow a file that is mapped
// writable, and then looks like a module's data.
static bool is_in_heap(struct glibc_walker *walker, uint64_t arena)
{
	uint64_t heap = glibc_find_heap(walker, arena, arena);

	return heap != 0 && arena - heap <= GLIBC_HEAP_HEADER;
}

HEAP_MUST_CHECK
static struct heap_error *find_states_in(void *context, uint64_t address, const uint64_t *words,
					 size_t count)
{
	struct glibc_walker *walker = context;

	for (size_t i = 0; i + 1 < count; i++) {
		uint64_t pair = address + i * 8;

		if (words[i] != pair - 16 || words[i + 1] != pair - 16 || pair < walker->vain_end ||
		    walker->state_count == GLIBC_MAX_STATES || walker->vain_bins == MAX_VAIN_BINS)
			continue;

		const struct glibc_state *last =
			walker->state_count > 0 ? &walker->states[walker->state_count - 1] : NULL;

		if (last && pair >= last->bins && pair - last->bins < GLIBC_BINS_BYTES)
			continue;

		uint64_t bins = find_bins(walker, pair);
		const struct glibc_layout *layout = bins ? find_layout(walker, bins) : NULL;

		if (layout && !is_in_heap(walker, bins - layout->bins)) {
			walker->states[walker->state_count++] =
				(struct glibc_state){ .layout = layout, .bins = bins };
		} else if (bins) {
			walker->vain_bins++;
			walker->vain_end = bins + GLIBC_BINS_BYTES;
		}
	}
	return NULL;
}

// Calls a visitor for the words of all modules' data, and of the zeros behind it.
HEAP_MUST_CHECK
static struct heap_error *visit_data(struct glibc_walker *walker, image_visitor *visit)
{
	const struct image *image = walker->image;
	uint64_t end = 0; // of the data before

	for (size_t i = 0; i < image->mapping_count; i++) {
		const struct image_mapping *mapping = &image->mappings[i];
		bool is_data = mapping->kind == IMAGE_FILE ||
			       (mapping->kind == IMAGE_ANONYMOUS && mapping->start == end);

		if (!is_data || !glibc_is_writable(mapping) ||
		    mapping->end - mapping->start > MAX_STATE_BYTES) {
			// Data that is read-only after relocation lies between.
			end = mapping->kind == IMAGE_FILE ? mapping->end : 0;
			continue;
		}
		end = mapping->end;
		HEAP_TRY(image_visit(image, mapping->start, mapping->end, visit, walker));
	}
	return NULL;
}

// --- its parameters -----------------------------------------------------------------

// Where tunables were set, these do not hold.
static const struct parameters *match_parameters(struct glibc_walker *walker, uint64_t address)
{
	uint64_t trim = glibc_peek(walker, address),
		 mapping_from = glibc_peek(walker, address + 16);
	uint64_t arena_test = glibc_peek(walker, address + 24);

	if (trim < 0x20000 || mapping_from > 32 << 20 || arena_test < 1 || arena_test > 64)
		return NULL;
	for (size_t i = 0; i < sizeof(parameter_layouts) / sizeof(parameter_layouts[0]); i++) {
		const struct parameters *layout = &parameter_layouts[i];
		uint64_t word = glibc_peek(walker, address + layout->max_count_at / 8 * 8);

		if ((layout->max_count_at % 8 ? word >> 32 : word & UINT32_MAX) == 65536)
			return layout;
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_parameters_in(void *context, uint64_t address, const uint64_t *words,
					     size_t count)
{
	struct glibc_walker *walker = context;

	for (size_t i = 0; i < count; i++) {
		const uint64_t at = address + i * 8 - 8; // top_pad is its second word
		const struct parameters *layout =
			words[i] == 0x20000 ? match_parameters(walker, at) : NULL;

		if (!layout)
			continue;
		// A copy's parameters lie near its arena: in the same data.
		for (size_t j = 0; j < walker->state_count; j++) {
			struct glibc_state *state = &walker->states[j];
			uint64_t distance = at > state->bins ? at - state->bins : state->bins - at;
			uint64_t word = glibc_peek(walker, at + layout->count_at / 8 * 8);

			if (state->has_parameters || distance > 1 << 20)
				continue;
			state->has_parameters = true;
			state->mapped_count = layout->count_at % 8 ? word >> 32 : word & UINT32_MAX;
			state->mapped_bytes = glibc_peek(walker, at + layout->bytes_at);
			state->base = glibc_peek(walker, at + layout->base_at);
			if (state->base == 0)
				state->base = glibc_peek(walker, at + layout->other_base_at);
		}
	}
	return NULL;
}

// A heap by brk(2) begins where the kernel says, if no parameters tell.
static void find_bases(struct glibc_walker *walker)
{
	for (size_t i = 0; i < walker->state_count; i++) {
		struct glibc_state *state = &walker->states[i];

		for (size_t j = 0; state->base == 0 && j < walker->image->mapping_count; j++) {
			if (walker->image->mappings[j].kind == IMAGE_HEAP)
				state->base = walker->image->mappings[j].start;
		}
	}
}

struct heap_error *glibc_states_find(struct glibc_walker *walker)
{
	HEAP_TRY(visit_data(walker, find_states_in));
	if (walker->state_count == 0)
		return NULL;
	HEAP_TRY(visit_data(walker, find_parameters_in));
	find_bases(walker);
	return NULL;
}
