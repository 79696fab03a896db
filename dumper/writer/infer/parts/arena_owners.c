// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/parts/arena_owners.h"

#include "dumper/writer/base/progress.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/search.h"

#include <stdlib.h>

enum {
	LEAST_ADDRESS = 1 << 16,
	WORD = 8,
};

// The places of the owner's address.
struct places {
	uint32_t at; // in headers
	uint32_t in; // in the head
};

// The places of the owner in arenas with headers of one size and one start.
struct usual {
	uint32_t header;
	uint64_t start;
	struct places places;
	uint32_t lead;          // of arenas that agree
	uint32_t all, agreeing; // arenas that have an owner, and those that have it at these places
};

// There are as many as the formats that are accepted have starts.
struct usuals HEAP_ARRAY(struct usual);

static struct usual *get_usual(const struct usuals *usuals, const struct arena *arena)
{
	for (size_t i = 0; i < usuals->count; i++) {
		if (usuals->items[i].header == arena->header &&
		    usuals->items[i].start == arena->start)
			return &usuals->items[i];
	}
	return NULL;
}

static bool has_places(const struct arena *arena, const struct places *places)
{
	return arena->owner_at == places->at && arena->owner_in == places->in;
}

// Elects the places of the owner in arenas of each form: if any are those of most, they win.
HEAP_MUST_CHECK
static struct heap_error *elect(const struct arenas *arenas, struct usuals *usuals)
{
	for (uint32_t i = 0; i < arenas->count; i++) {
		const struct arena *arena = &arenas->list[i];
		const struct places own = { arena->owner_at, arena->owner_in };
		struct usual *usual = get_usual(usuals, arena);

		progress_step();
		if (own.at == ARENA_NO_OWNER)
			continue;
		if (!usual) {
			HEAP_TRY(heap_array_append(
				usuals,
				((struct usual){ arena->header, arena->start, own, 1, 0, 0 })));
			continue;
		}
		if (usual->lead == 0)
			usual->places = own;
		if (has_places(arena, &usual->places))
			usual->lead++;
		else
			usual->lead--;
	}
	return NULL;
}

/*
 * Finds the places that the owner has in most arenas (Boyer and Moore, MJRTY, 1981). Where none are those of most, the
 * vote depends on the order of arenas, and so on their addresses: nothing is usual then.
 */
HEAP_MUST_CHECK
static struct heap_error *find_usual(const struct arenas *arenas, struct usuals *usuals)
{
	HEAP_TRY(elect(arenas, usuals));
	for (uint32_t i = 0; i < arenas->count; i++) {
		const struct arena *arena = &arenas->list[i];
		struct usual *usual = get_usual(usuals, arena);

		progress_step();
		if (!usual || arena->owner_at == ARENA_NO_OWNER)
			continue;
		usual->all++;
		usual->agreeing += has_places(arena, &usual->places);
	}
	return NULL;
}

static bool is_usual(const struct usual *usual)
{
	return usual->agreeing * UINT64_C(2) > usual->all;
}

// True if a word leads to a chunk or its header, as the links of free chunks do.
static bool leads_to_chunk(const struct capture *capture, const struct arenas *arenas,
			   uint64_t word)
{
	const struct objects *objects = &capture->objects;
	heap_object_id object = objects_find(objects, word);
	const struct arena_chunk *chunks;
	uint64_t offset;
	uint32_t at;

	if (object == HEAP_NO_OBJECT)
		return false;
	at = heap_partition_point(i, 0, arenas->count, arenas->list[i].object < object);
	if (at == arenas->count || arenas->list[at].object != object)
		return false;
	offset = word - objects_address(objects, object);
	chunks = arenas->chunks + arenas->list[at].first;

	uint32_t next =
		heap_partition_point(i, 0, arenas->list[at].count, chunks[i].offset <= offset);

	return next > 0 && (chunks[next - 1].offset == offset ||
			    chunks[next - 1].offset + arenas->list[at].header == offset);
}

// True if each chunk of an arena has its owner, or a link of free chunks in that place.
static bool are_owned_or_linked(const struct capture *capture, const struct arenas *arenas,
				const struct arena *arena, const struct places *usual,
				const uint64_t *words)
{
	uint64_t owner = words[usual->in / WORD];
	uint32_t linked = 0;

	if (owner < LEAST_ADDRESS)
		return false;
	for (uint32_t i = arena->first; i < arena->first + arena->count; i++) {
		uint64_t word = words[(arenas->chunks[i].offset + usual->at) / WORD];

		progress_step();
		if (word != 0 && word != owner && !leads_to_chunk(capture, arenas, word))
			return false;
		linked += word != 0;
	}
	return linked > 0;
}

HEAP_MUST_CHECK
static struct heap_error *complete(const struct capture *capture, struct arenas *arenas,
				   struct arena *arena, const struct places *usual)
{
	uint64_t size = objects_size(&capture->objects, arena->object) / WORD * WORD;
	CLEANUP_FREE uint64_t *words = malloc(size + WORD);

	if (!words)
		return heap_error_out_of_memory();
	image_read_padded(&capture->image, objects_address(&capture->objects, arena->object), words,
			  size);
	if (!are_owned_or_linked(capture, arenas, arena, usual, words))
		return NULL;
	arena->owner_at = usual->at;
	arena->owner_in = usual->in;
	arenas_mark_free(arenas, arena, words);
	return NULL;
}

struct heap_error *arena_owners_complete(const struct capture *capture, struct arenas *arenas)
{
	CLEANUP_ARRAY struct usuals usuals = { 0 };

	HEAP_TRY(find_usual(arenas, &usuals));
	for (uint32_t i = 0; i < arenas->count && !progress_is_late(); i++) {
		struct arena *arena = &arenas->list[i];
		const struct usual *usual = get_usual(&usuals, arena);

		if (arena->owner_at == ARENA_NO_OWNER && usual && is_usual(usual))
			HEAP_TRY(complete(capture, arenas, arena, &usual->places));
	}
	return NULL;
}
