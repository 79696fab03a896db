// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/parts/arena_pieces.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/parts/arena_owners.h"
#include "dumper/writer/infer/parts/arena_structs.h"
#include "dumper/writer/infer/parts/arena_targets.h"
#include "dumper/writer/infer/parts/chunk_pages.h"
#include "dumper/writer/infer/majority.h"
#include "dumper/writer/scan/head_words.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/search.h"

#include <stdlib.h>
#include <string.h>

enum {
	ROUNDED_PER_CENT = 95, // of an arena's chunks are powers of 2 by rounding, not by chance
	MIN_HEADERS = 4,       // with one type, for all headers to have it
	NEAR = 3,              // pieces beside a guess
	WORD = 8,
};

// --- cutting ------------------------------------------------------------------

struct cutter {
	struct arena_pieces *pieces;
	struct capture *capture;
	struct objects objects; // the pieces, and what is no arena
	struct HEAP_ARRAY(heap_site_id) sites;
	struct HEAP_ARRAY(heap_site_id) makers;
	struct HEAP_ARRAY(uint32_t) steps;
};

// Adds the columns of a new kind of pieces. The code that requested the chunks is unknown.
HEAP_MUST_CHECK
static struct heap_error *describe_kind(struct cutter *cutter, uint32_t parent, uint8_t flags)
{
	const struct capture *capture = cutter->capture;
	const uint32_t *steps = capture->backtraces.of_kind;

	HEAP_TRY(heap_array_append(&cutter->sites, capture->site_of_kind[parent]));
	HEAP_TRY(heap_array_append(&cutter->makers, flags ? capture->snapshot.site_count
							  : capture->maker_of_kind[parent]));
	return heap_array_append(&cutter->steps, steps && !flags ? steps[parent] : 0);
}

// The kinds of the heap's objects keep their numbers.
HEAP_MUST_CHECK
static struct heap_error *copy_kinds(struct cutter *cutter)
{
	const struct capture *capture = cutter->capture;
	const struct object_kinds *kinds = &capture->objects.kinds;
	const uint32_t *steps = capture->backtraces.of_kind;
	uint32_t number;

	for (uint32_t i = 0; i < kinds->count; i++) {
		HEAP_TRY(object_kinds_find(&cutter->objects.kinds, kinds->list[i].site,
					   kinds->list[i].size, &number));
		HEAP_TRY(heap_array_append(&cutter->sites, capture->site_of_kind[i]));
		HEAP_TRY(heap_array_append(&cutter->makers, capture->maker_of_kind[i]));
		HEAP_TRY(heap_array_append(&cutter->steps, steps ? steps[i] : 0));
	}
	// objects_add() has to know the kind of what it adds, which is replaced then.
	HEAP_TRY(object_kinds_find(&cutter->objects.kinds, 0, 0, &number));
	return number < cutter->sites.count ? NULL : describe_kind(cutter, 0, 0);
}

// Adds an object of a kind. The births of pieces are not needed.
HEAP_MUST_CHECK
static struct heap_error *add_plain(struct cutter *cutter, uint64_t address, uint32_t kind,
				    uint8_t flags)
{
	struct objects *objects = &cutter->objects;

	HEAP_TRY(objects_add(objects, address, 0, 0));
	objects->flags[objects->count - 1] = flags;
	objects->all_flags |= flags;
	return objects_set_kind(objects, objects->count - 1, kind);
}

HEAP_MUST_CHECK
static struct heap_error *add(struct cutter *cutter, uint64_t address, uint64_t size,
			      heap_object_id whole, uint8_t flags)
{
	const struct capture *capture = cutter->capture;
	uint32_t parent = objects_kind(&capture->objects, whole), kind;
	// No site has an address that low.
	uint64_t site = flags & (ARENA_CHUNK | ARENA_HEADER | ARENA_UNUSED)
				? flags
				: capture->objects.kinds.list[parent].site;

	HEAP_TRY(object_kinds_find(&cutter->objects.kinds, site, size, &kind));
	if (kind >= cutter->sites.count)
		HEAP_TRY(describe_kind(cutter, parent, flags));
	return add_plain(cutter, address, kind, flags);
}

static bool is_rounded(const struct arenas *arenas, const struct arena *arena)
{
	uint32_t powers = 0;

	if (arena->is_page)
		return arena->is_rounded;
	for (uint32_t i = 0; i < arena->count; i++)
		powers += __builtin_popcountll(arenas->chunks[arena->first + i].size) == 1;
	return powers * UINT64_C(100) >= arena->count * (uint64_t)ROUNDED_PER_CENT;
}

// Adds what is behind the chunks of a page: too little for another one, and what tells about the page.
HEAP_MUST_CHECK
static struct heap_error *add_tail(struct cutter *cutter, const struct arena *page, uint64_t start,
				   uint64_t size)
{
	const struct arena_chunk *last =
		&cutter->pieces->arenas.chunks[page->first + page->count - 1];
	uint64_t end = last->offset + last->size;

	if (end < page->end)
		HEAP_TRY(add(cutter, start + end, page->end - end, page->object, ARENA_UNUSED));
	return page->end < size ? add(cutter, start + page->end, size - page->end, page->object, 0)
				: NULL;
}

HEAP_MUST_CHECK
static struct heap_error *cut(struct cutter *cutter, const struct arena *arena)
{
	const struct arenas *arenas = &cutter->pieces->arenas;
	const struct objects *objects = &cutter->capture->objects;
	uint64_t start = objects_address(objects, arena->object);
	uint64_t size = objects_size(objects, arena->object);
	const struct arena_chunk *chunks = arenas->chunks + arena->first;
	uint8_t used = ARENA_CHUNK;

	if (is_rounded(arenas, arena))
		used |= ARENA_ROUNDED;
	else if (arena->is_page)
		used |= ARENA_SLOT;
	if (arena->start > 0)
		HEAP_TRY(add(cutter, start, arena->start, arena->object, 0));
	for (uint32_t i = 0; i < arena->count; i++) {
		uint64_t at = start + chunks[i].offset;

		if (!arena->is_page)
			HEAP_TRY(add(cutter, at, arena->header, arena->object, ARENA_HEADER));
		HEAP_TRY(add(cutter, at + arena->header, chunks[i].size, arena->object,
			     chunks[i].is_free ? ARENA_UNUSED : used));
	}
	if (arena->is_page)
		return add_tail(cutter, arena, start, size);
	if (arena->end == size)
		return NULL;
	return add(cutter, start + arena->end, size - arena->end, arena->object, ARENA_UNUSED);
}

HEAP_MUST_CHECK
static struct heap_error *cut_objects(struct cutter *cutter)
{
	const struct arenas *arenas = &cutter->pieces->arenas;
	const struct objects *objects = &cutter->capture->objects;
	uint32_t *first = cutter->pieces->first;
	uint32_t next = 0;

	for (heap_object_id i = 0; i < cutter->capture->objects.count; i++) {
		first[i] = cutter->objects.count;
		if (next < arenas->count && arenas->list[next].object == i)
			HEAP_TRY(cut(cutter, &arenas->list[next++]));
		else
			HEAP_TRY(add_plain(cutter, objects_address(objects, i),
					   objects_kind(objects, i), objects->flags[i]));
	}
	first[cutter->capture->objects.count] = cutter->objects.count;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *cut_ranges(struct cutter *cutter)
{
	const struct objects *from = &cutter->capture->objects;
	const uint32_t *first = cutter->pieces->first;

	for (size_t i = 0; i < from->range_count; i++) {
		const struct object_range *range = &from->ranges[i];
		uint32_t start = first[range->first];

		HEAP_TRY(objects_add_range(
			&cutter->objects,
			&(struct object_range){ .start = range->start,
						.end = range->end,
						.first = start,
						.count = first[range->first + range->count] -
							 start }));
	}
	return NULL;
}

// --- pointers -----------------------------------------------------------------

// The piece of a whole object that holds an offset. Most pieces of a page are equal: a guess is one or two beside it.
static heap_object_id piece_at(const struct arena_pieces *pieces, const struct objects *objects,
			       heap_object_id whole, uint64_t offset)
{
	uint32_t first = pieces->first[whole], end = pieces->first[whole + 1], guess;
	uint64_t address = objects_address(&pieces->whole, whole) + offset;

	if (end - first == 1)
		return first;
	guess = first + (uint32_t)((end - first) * offset / objects_size(&pieces->whole, whole));
	for (int i = 0; i < NEAR && guess < end; i++) {
		if (objects_address(objects, guess) > address)
			guess--;
		else if (guess + 1 < end && objects_address(objects, guess + 1) <= address)
			guess++;
		else
			return guess;
	}
	return heap_partition_point(i, first, end, objects_address(objects, i) <= address) - 1;
}

// A pointer to a whole object becomes one to a piece.
static void aim(const struct arena_pieces *pieces, const struct objects *objects,
		heap_object_id *target, uint32_t *interior)
{
	heap_object_id whole = *target;

	*target = piece_at(pieces, objects, whole, *interior);
	*interior -= (uint32_t)(objects_address(objects, *target) -
				objects_address(&pieces->whole, whole));
}

static bool is_cut(const struct arena_pieces *pieces, heap_object_id whole)
{
	return pieces->first[whole + 1] - pieces->first[whole] != 1;
}

// The edges stay in order: pieces are in the order of their addresses.
static void cut_edges(const struct arena_pieces *pieces, struct capture *capture,
		      uint32_t *edge_first)
{
	struct heap_snapshot *snapshot = &capture->snapshot;
	const struct objects *objects = &capture->objects;

	for (heap_object_id i = 0; i < pieces->whole.count; i++) {
		uint32_t piece = pieces->first[i];

		edge_first[piece] = snapshot->edge_first[i];
		for (uint32_t j = snapshot->edge_first[i];
		     is_cut(pieces, i) && j < snapshot->edge_first[i + 1]; j++) {
			uint64_t offset = snapshot->edge_slot[j] * (uint64_t)WORD;
			heap_object_id owner = piece_at(pieces, objects, i, offset);

			while (piece < owner)
				edge_first[++piece] = j;
			snapshot->edge_slot[j] -= (uint32_t)((objects_address(objects, owner) -
							      objects_address(&pieces->whole, i)) /
							     WORD);
		}
		while (++piece < pieces->first[i + 1])
			edge_first[piece] = snapshot->edge_first[i + 1];
	}
	edge_first[objects->count] = snapshot->edge_count;
	for (uint32_t i = 0; i < snapshot->edge_count; i++)
		aim(pieces, objects, &snapshot->edge_target[i], &snapshot->edge_interior[i]);
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++)
		aim(pieces, objects, &snapshot->root_edges[i].target,
		    &snapshot->root_edges[i].interior);
}

// --- the rest -----------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *cut_classes(struct arena_pieces *pieces, const struct capture *capture,
				      const heap_type_id **classes)
{
	pieces->classes = calloc((size_t)capture->objects.count + 1, sizeof(*pieces->classes));
	if (!pieces->classes)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < pieces->whole.count; i++)
		pieces->classes[pieces->first[i]] = (*classes)[i];
	*classes = pieces->classes;
	return NULL;
}

// Any piece of an arena with a pointer to code may hold it.
HEAP_MUST_CHECK
static struct heap_error *cut_heads(struct arena_pieces *pieces, const struct capture *capture,
				    struct head_words *heads)
{
	uint8_t *with_code = calloc((size_t)capture->objects.count / 8 + 1, 1);

	if (!with_code)
		return heap_error_out_of_memory();
	pieces->with_code = heads->with_code;
	heads->with_code = with_code;
	for (heap_object_id i = 0; i < pieces->whole.count; i++) {
		if (!pieces->with_code || !heap_bit_get(pieces->with_code, i))
			continue;
		for (uint32_t j = pieces->first[i]; j < pieces->first[i + 1]; j++)
			heap_bit_set(with_code, j);
	}
	return NULL;
}

// Gives the pieces to the capture, which then owns them; what they replace is kept.
static void exchange(struct cutter *cutter)
{
	struct arena_pieces *pieces = cutter->pieces;
	struct capture *capture = cutter->capture;

	pieces->whole = capture->objects;
	pieces->site_of_kind = capture->site_of_kind;
	pieces->maker_of_kind = capture->maker_of_kind;
	capture->objects = cutter->objects;
	capture->site_of_kind = cutter->sites.items;
	capture->maker_of_kind = cutter->makers.items;
	pieces->step_of_kind = capture->backtraces.of_kind;
	capture->backtraces.of_kind = cutter->steps.items;
	cutter->steps.items = NULL;
	cutter->objects = (struct objects){ 0 };
	cutter->sites.items = NULL;
	cutter->makers.items = NULL;
}

static void release(struct cutter *cutter)
{
	objects_deinit(&cutter->objects);
	heap_array_deinit(&cutter->sites);
	heap_array_deinit(&cutter->makers);
	heap_array_deinit(&cutter->steps);
}

HEAP_MUST_CHECK
static struct heap_error *cut_all(struct arena_pieces *pieces, struct capture *capture)
{
	CLEANUP(release) struct cutter cutter = { .pieces = pieces, .capture = capture };
	CLEANUP_FREE uint32_t *edge_first = NULL;

	HEAP_TRY(objects_init(&cutter.objects));
	pieces->first = calloc((size_t)capture->objects.count + 1, sizeof(*pieces->first));
	if (!pieces->first)
		return heap_error_out_of_memory();
	HEAP_TRY(copy_kinds(&cutter));
	HEAP_TRY(cut_objects(&cutter));
	HEAP_TRY(cut_ranges(&cutter));
	edge_first = calloc((size_t)cutter.objects.count + 1, sizeof(*edge_first));
	if (!edge_first)
		return heap_error_out_of_memory();
	exchange(&cutter);
	cut_edges(pieces, capture, edge_first);
	pieces->edge_first = capture->snapshot.edge_first;
	capture->snapshot.edge_first = edge_first;
	edge_first = NULL;
	return NULL;
}

struct heap_error *arena_pieces_cut(struct arena_pieces *pieces, struct capture *capture,
				    const heap_type_id **classes, struct head_words *heads)
{
	CLEANUP_FREE uint8_t *counts = NULL;

	HEAP_TRY(arena_targets_count(capture, &counts));
	HEAP_TRY(arenas_find(capture, *classes, counts, &pieces->arenas));
	HEAP_TRY(chunk_pages_find(capture, *classes, counts, &pieces->arenas));
	if (pieces->arenas.count == 0)
		return NULL;
	HEAP_TRY(arena_owners_complete(capture, &pieces->arenas));
	HEAP_TRY(arena_structs_find(&pieces->arenas, &capture->objects, &capture->snapshot.types,
				    capture_has_headers(capture)));
	HEAP_TRY(cut_all(pieces, capture));
	HEAP_TRY(cut_classes(pieces, capture, classes));
	return cut_heads(pieces, capture, heads);
}

// --- joining ------------------------------------------------------------------

// A pointer to a piece becomes one to the whole object.
static void aim_back(const struct arena_pieces *pieces, const struct objects *objects,
		     const heap_object_id *wholes, heap_object_id *target, uint32_t *interior)
{
	heap_object_id piece = *target;

	*target = wholes[piece];
	*interior += (uint32_t)(objects_address(objects, piece) -
				objects_address(&pieces->whole, *target));
}

static void join_edges(const struct arena_pieces *pieces, struct capture *capture,
		       const heap_object_id *wholes)
{
	struct heap_snapshot *snapshot = &capture->snapshot;
	const struct objects *objects = &capture->objects;

	for (heap_object_id i = 0; i < objects->count; i++) {
		uint64_t offset =
			objects_address(objects, i) - objects_address(&pieces->whole, wholes[i]);

		for (uint32_t j = snapshot->edge_first[i];
		     offset > 0 && j < snapshot->edge_first[i + 1]; j++)
			snapshot->edge_slot[j] += (uint32_t)(offset / WORD);
	}
	for (uint32_t i = 0; i < snapshot->edge_count; i++)
		aim_back(pieces, objects, wholes, &snapshot->edge_target[i],
			 &snapshot->edge_interior[i]);
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++)
		aim_back(pieces, objects, wholes, &snapshot->root_edges[i].target,
			 &snapshot->root_edges[i].interior);
}

struct parts HEAP_ARRAY(struct heap_part);

// The types of pieces without a value. No type of C has such a name.
struct unused_types {
	heap_type_id free, slack;
};

HEAP_MUST_CHECK
static struct heap_error *add_type(struct heap_types *types, const char *name, heap_type_id *result)
{
	struct heap_type type = { .kind = HEAP_TYPE_BASE, .size = 1 };

	HEAP_TRY(heap_types_add_string(types, name, &type.name));
	return heap_types_add(types, &type, result);
}

// Adds the bytes behind the struct that a chunk is, which its allocator has added to round the size up.
HEAP_MUST_CHECK
static struct heap_error *add_slack(const struct capture *capture, heap_object_id piece,
				    const struct heap_part *part, const struct unused_types *unused,
				    struct parts *parts)
{
	const struct heap_types *types = &capture->snapshot.types;
	uint64_t size = objects_size(&capture->objects, piece);
	uint64_t used = heap_types_size(types, part->type) * part->elements;

	if (!(capture->objects.flags[piece] & ARENA_ROUNDED) || used == 0 || used >= size ||
	    heap_types_flexible(types, part->type, NULL, NULL))
		return NULL;
	return heap_array_append(
		parts, ((struct heap_part){ part->object, part->offset + used, unused->slack,
					    size - used, HEAP_EVIDENCE_POOL }));
}

// The type that nearly all headers of a size have, as far as pointers lead to them; HEAP_NO_TYPE: there is none.
static heap_type_id header_type(const struct capture *capture, uint64_t size)
{
	struct majority found = { 0 };
	uint32_t votes = 0, voters = 0;

	for (int round = 0; round < 2; round++) {
		for (heap_object_id i = 0; i < capture->objects.count; i++) {
			heap_type_id type = names_type(&capture->names, i);

			if (!(capture->objects.flags[i] & ARENA_HEADER) || type == HEAP_NO_TYPE ||
			    objects_size(&capture->objects, i) != size)
				continue;
			if (round == 0)
				majority_add(&found, type);
			votes += round == 1 && found.value == type;
			voters += round;
		}
	}
	return votes >= MIN_HEADERS && votes * UINT64_C(10) >= voters * UINT64_C(9)
		       ? (heap_type_id)found.value
		       : HEAP_NO_TYPE;
}

// The types of the headers of arenas, by their size.
static void find_headers(const struct arena_pieces *pieces, const struct capture *capture,
			 heap_type_id *headers)
{
	bool is_known[ARENA_MAX_HEADER / WORD + 1] = { true };

	headers[0] = HEAP_NO_TYPE;
	for (uint32_t i = 0; i < pieces->arenas.count; i++) {
		uint32_t size = pieces->arenas.list[i].header;

		if (!is_known[size / WORD])
			headers[size / WORD] = header_type(capture, size);
		is_known[size / WORD] = true;
	}
}

// The typed pieces of arenas, and the parts of pieces.
HEAP_MUST_CHECK
static struct heap_error *join_parts(const struct arena_pieces *pieces,
				     const struct capture *capture, const heap_object_id *wholes,
				     const struct unused_types *unused, struct parts *parts)
{
	const struct heap_snapshot *snapshot = &capture->snapshot;
	const struct objects *objects = &capture->objects;
	heap_type_id headers[ARENA_MAX_HEADER / WORD + 1];
	uint32_t next = 0, arena = 0;

	find_headers(pieces, capture, headers);
	for (heap_object_id i = 0; i < objects->count; i++) {
		heap_object_id whole = wholes[i];
		struct heap_part part = {
			whole, objects_address(objects, i) - objects_address(&pieces->whole, whole),
			names_type(&capture->names, i), names_of(&capture->names, i)->elements,
			names_of(&capture->names, i)->evidence
		};

		if (part.type == HEAP_NO_TYPE && (objects->flags[i] & ARENA_HEADER)) {
			part.type = headers[objects_size(objects, i) / WORD];
			part.elements = 1;
			part.evidence = HEAP_EVIDENCE_VOTE;
		}
		const struct arena *known = arenas_of(&pieces->arenas, &arena, whole);
		bool is_struct = known && known->type != HEAP_NO_TYPE;
		bool is_hidden = is_struct && part.offset < known->start;

		if ((objects->flags[i] & ARENA_UNUSED) && !is_struct)
			part = (struct heap_part){ whole, part.offset, unused->free,
						   objects_size(objects, i), HEAP_EVIDENCE_POOL };
		if (is_cut(pieces, whole) && part.type != HEAP_NO_TYPE && !is_hidden) {
			HEAP_TRY(heap_array_append(parts, part));
			HEAP_TRY(add_slack(capture, i, &part, unused, parts));
		}
		for (; next < snapshot->part_count && snapshot->parts[next].object == i; next++) {
			struct heap_part own = snapshot->parts[next];

			own.object = whole;
			own.offset += part.offset;
			if (!is_cut(pieces, whole) || (part.type == HEAP_NO_TYPE && !is_hidden))
				HEAP_TRY(heap_array_append(parts, own));
		}
	}
	return NULL;
}

// A column of the whole objects: those that are cut have nothing of their own.
#define JOIN_COLUMN(column) \
	do { \
		for (heap_object_id i_ = 0; (column) && i_ < pieces->whole.count; i_++) { \
			(column)[i_] = (column)[pieces->first[i_]]; \
			if (is_cut(pieces, i_)) \
				(column)[i_] = 0; \
		} \
	} while (0)

HEAP_MUST_CHECK
static struct heap_error *join_columns(const struct arena_pieces *pieces, struct capture *capture)
{
	struct heap_snapshot *snapshot = &capture->snapshot;

	JOIN_COLUMN(capture->names.of);
	JOIN_COLUMN(snapshot->conflict_type);
	JOIN_COLUMN(snapshot->conflicts);
	JOIN_COLUMN(snapshot->tag);
	for (uint32_t i = 0; i < pieces->arenas.count; i++) {
		const struct arena *arena = &pieces->arenas.list[i];
		bool is_struct = arena->type != HEAP_NO_TYPE;

		HEAP_TRY(names_set(&capture->names, arena->object, arena->type, is_struct,
				   is_struct ? HEAP_EVIDENCE_EMBEDDING : HEAP_EVIDENCE_POOL));
	}
	return NULL;
}

// Gives the capture its objects back.
static void restore(struct arena_pieces *pieces, struct capture *capture, struct head_words *heads)
{
	objects_deinit(&capture->objects);
	capture->objects = pieces->whole;
	pieces->whole = (struct objects){ 0 };
	free(capture->snapshot.edge_first);
	capture->snapshot.edge_first = pieces->edge_first;
	free(capture->site_of_kind);
	capture->site_of_kind = pieces->site_of_kind;
	free(capture->maker_of_kind);
	capture->maker_of_kind = pieces->maker_of_kind;
	free(heads->with_code);
	heads->with_code = pieces->with_code;
	free(capture->backtraces.of_kind);
	capture->backtraces.of_kind = pieces->step_of_kind;
	pieces->step_of_kind = NULL;
	pieces->edge_first = NULL;
	pieces->site_of_kind = pieces->maker_of_kind = NULL;
	pieces->with_code = NULL;
}

struct heap_error *arena_pieces_join(struct arena_pieces *pieces, struct capture *capture,
				     struct head_words *heads)
{
	CLEANUP_FREE heap_object_id *wholes = NULL;
	CLEANUP_ARRAY struct parts parts = { 0 };
	struct unused_types unused;

	if (pieces->arenas.count == 0)
		return NULL;
	wholes = malloc(((size_t)capture->objects.count + 1) * sizeof(*wholes));
	if (!wholes)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < pieces->whole.count; i++) {
		for (uint32_t j = pieces->first[i]; j < pieces->first[i + 1]; j++)
			wholes[j] = i;
	}
	HEAP_TRY(add_type(&capture->snapshot.types, "free memory", &unused.free));
	HEAP_TRY(add_type(&capture->snapshot.types, "slack memory", &unused.slack));
	HEAP_TRY(join_parts(pieces, capture, wholes, &unused, &parts));
	free(capture->snapshot.parts);
	capture->snapshot.parts = parts.items;
	capture->snapshot.part_count = (uint32_t)parts.count;
	parts.items = NULL;
	join_edges(pieces, capture, wholes);
	HEAP_TRY(join_columns(pieces, capture));
	restore(pieces, capture, heads);
	return NULL;
}

void arena_pieces_deinit(struct arena_pieces *pieces)
{
	arenas_deinit(&pieces->arenas);
	objects_deinit(&pieces->whole);
	free(pieces->first);
	free(pieces->edge_first);
	free(pieces->site_of_kind);
	free(pieces->maker_of_kind);
	free(pieces->step_of_kind);
	free(pieces->classes);
	free(pieces->with_code);
}
