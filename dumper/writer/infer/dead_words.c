// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/dead_words.h"

#include "dumper/writer/infer/classes/held_parts.h"
#include "dumper/writer/infer/rounding_words.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>

enum {
	PAGES = 64,
	WORD = 8,
};

static const uint64_t NO_TEXT = UINT64_MAX;

// The answer of held_parts_concern() for a type.
enum knowledge {
	NOT_ASKED,
	ALL_IN_USE,
	SOME_UNUSED,
};

// The offsets of texts in blocks, by the blocks' type: 0 in blocks of characters, else the offset of a
// flexible array of characters.
struct texts {
	uint64_t *begin; // [types->count] NO_TEXT: there is none
	uint8_t *known;  // [types->count] enum knowledge
};

static void texts_deinit(struct texts *texts)
{
	free(texts->begin);
	free(texts->known);
}

static bool is_character(const struct heap_types *types, heap_type_id id)
{
	const struct heap_type *type = &types->types[heap_types_strip(types, id)];

	return (type->flags & HEAP_TYPE_CHARACTER) && type->size == 1;
}

HEAP_MUST_CHECK
static struct heap_error *texts_init(struct texts *texts, const struct heap_types *types)
{
	texts->begin = calloc((size_t)types->count + 1, sizeof(*texts->begin));
	texts->known = calloc((size_t)types->count + 1, sizeof(*texts->known));
	if (!texts->begin || !texts->known)
		return heap_error_out_of_memory();
	texts->begin[HEAP_NO_TYPE] = NO_TEXT;
	for (heap_type_id type = 1; type < types->count; type++) {
		heap_type_id element;
		uint64_t offset;

		texts->begin[type] = NO_TEXT;
		if (is_character(types, type))
			texts->begin[type] = 0;
		else if (heap_types_flexible(types, type, &offset, &element) &&
			 is_character(types, element))
			texts->begin[type] = offset;
	}
	return NULL;
}

static bool is_printable(char c)
{
	return c >= ' ' && c <= '~';
}

// True if a text ends in the second of two words. Eight characters before it distinguish that from a pointer whose
// first bytes happen to be characters and a 0: no address consists of characters alone.
static bool is_end_of_text(struct pages *pages, uint64_t address)
{
	char bytes[2 * WORD];
	size_t length = 0;

	pages_read(pages, address, bytes, sizeof(bytes));
	while (length < sizeof(bytes) && is_printable(bytes[length]))
		length++;
	return length >= WORD && length < sizeof(bytes) && bytes[length] == '\0';
}

/*
 * True if a text ends in a word of a block, or in the word before one that the program may not have asked for: the
 * allocator's size is all that is known, and it has rounded that up.
 */
static bool ends_text(const struct texts *texts, struct pages *pages, const struct capture *capture,
		      heap_object_id object, uint64_t offset)
{
	uint64_t begin = texts->begin[names_type(&capture->names, object)];
	uint64_t size = objects_size(&capture->objects, object);
	uint64_t address = objects_address(&capture->objects, object) + offset;

	if (begin == NO_TEXT || offset < begin + WORD)
		return false;
	return is_end_of_text(pages, address - WORD) ||
	       (offset >= begin + 2 * WORD &&
		offset >= size - heap_block_slack(capture->block_sizes, size) &&
		is_end_of_text(pages, address - 2 * WORD));
}

// --- buffers of streams -------------------------------------------------------------

/*
 * glibc's FILE (libio/bits/types/struct_FILE.h), which is a part of its ABI, and whose first word says that it is one.
 * The buffer's bytes are text, and behind that what was there before. Where programs link libc, its streams
 * are roots that reach all of the heap through such a pointer.
 */
enum {
	STREAM_FLAGS = 0,
	STREAM_READ_BASE = 24,
	STREAM_BUFFER = 56,
	STREAM_BUFFER_END = 64,
	STREAM_MAGIC = 0xfbad,
	MAX_ROUNDING = 32, // bytes of a block behind the buffer
};

// True of a word that leads to the start of a block, at an address, if it is that of a stream to its buffer.
static bool is_stream_buffer(struct pages *pages, uint64_t address, uint64_t target, uint64_t size)
{
	uint64_t stream = address - STREAM_BUFFER, read_base = 0, end = 0;
	uint32_t flags = 0;

	pages_read(pages, stream + STREAM_FLAGS, &flags, sizeof(flags));
	if (flags >> 16 != STREAM_MAGIC)
		return false;
	pages_read(pages, stream + STREAM_READ_BASE, &read_base, sizeof(read_base));
	pages_read(pages, stream + STREAM_BUFFER_END, &end, sizeof(end));
	// setvbuf() may have been given a part of a larger block.
	return read_base - target <= size && end - target <= size &&
	       size - (end - target) < MAX_ROUNDING;
}

// True if a block may be such a buffer: a struct is none.
static bool may_be_buffer(const struct capture *capture, const struct texts *texts,
			  heap_object_id object)
{
	heap_type_id type = names_type(&capture->names, object);

	return type == HEAP_NO_TYPE || texts->begin[type] == 0;
}

// Marks the buffers of streams, in blocks and in variables. @param is_buffer  [objects]
static void find_buffers(const struct capture *capture, const struct texts *texts,
			 struct pages *pages, uint8_t *is_buffer)
{
	const struct heap_snapshot *snapshot = &capture->snapshot;
	const struct objects *objects = &capture->objects;

	for (heap_object_id object = 0; object < objects->count; object++) {
		for (uint32_t edge = snapshot->edge_first[object];
		     edge < snapshot->edge_first[object + 1] &&
		     snapshot->edge_slot[edge] <= STREAM_BUFFER / WORD;
		     edge++) {
			heap_object_id target = snapshot->edge_target[edge];

			if (snapshot->edge_slot[edge] == STREAM_BUFFER / WORD &&
			    snapshot->edge_interior[edge] == 0 &&
			    may_be_buffer(capture, texts, target) &&
			    is_stream_buffer(pages,
					     objects_address(objects, object) + STREAM_BUFFER,
					     objects_address(objects, target),
					     objects_size(objects, target)))
				is_buffer[target] = 1;
		}
	}
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];
		uint64_t address = snapshot->roots[edge->root].address + edge->offset;

		if (edge->interior == 0 && edge->offset >= STREAM_BUFFER &&
		    may_be_buffer(capture, texts, edge->target) &&
		    is_stream_buffer(pages, address, objects_address(objects, edge->target),
				     objects_size(objects, edge->target)))
			is_buffer[edge->target] = 1;
	}
}

// --- all of them ----------------------------------------------------------------------

// held_parts_concern(), asked once for each type: most blocks are of few types.
static bool concerns(const struct texts *texts, struct held_parts *held, heap_type_id type)
{
	if (texts->known[type] == NOT_ASKED)
		texts->known[type] = held_parts_concern(held, type) ? SOME_UNUSED : ALL_IN_USE;
	return texts->known[type] == SOME_UNUSED;
}

// True if any object may be of such a type: then all of them are worth a pass.
static bool concerns_any(const struct texts *texts, struct held_parts *held,
			 const struct names *names)
{
	for (uint32_t i = 0; i < names->count; i++) {
		if (concerns(texts, held, names_get(names, i)->type))
			return true;
	}
	return false;
}

// Notes which parts of blocks their containers use.
HEAP_MUST_CHECK
static struct heap_error *note_ranges(const struct texts *texts, struct held_parts *held,
				      const struct capture *capture)
{
	const struct heap_snapshot *snapshot = &capture->snapshot;
	heap_object_id objects =
		concerns_any(texts, held, &capture->names) ? capture->objects.count : 0;

	for (heap_object_id object = 0; object < objects; object++) {
		heap_type_id type = names_type(&capture->names, object);

		if (!concerns(texts, held, type))
			continue;
		for (uint32_t edge = snapshot->edge_first[object];
		     edge < snapshot->edge_first[object + 1]; edge++)
			HEAP_TRY(held_parts_note(held, type,
						 objects_address(&capture->objects, object),
						 snapshot->edge_slot[edge] * (uint64_t)WORD,
						 snapshot->edge_target[edge]));
	}
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];
		const struct heap_root *root = &snapshot->roots[edge->root];

		if (held_parts_concern(held, root->type))
			HEAP_TRY(held_parts_note(held, root->type, root->address, edge->offset,
						 edge->target));
	}
	return NULL;
}

static void move_edge(struct heap_snapshot *snapshot, uint32_t from, uint32_t to)
{
	if (from == to)
		return;
	snapshot->edge_target[to] = snapshot->edge_target[from];
	snapshot->edge_slot[to] = snapshot->edge_slot[from];
	snapshot->edge_interior[to] = snapshot->edge_interior[from];
	snapshot->edge_flags[to] = snapshot->edge_flags[from];
}

// True if an edge is the next of a list, which is left behind then.
static bool take_next(const struct rounding_words *rounding, size_t *at, uint32_t edge)
{
	while (*at < rounding->count && rounding->items[*at] < edge)
		++*at;
	return *at < rounding->count && rounding->items[*at] == edge;
}

static void remove_from_objects(struct held_parts *held, const struct texts *texts,
				const uint8_t *is_buffer, const struct rounding_words *rounding,
				struct pages *pages, const struct capture *capture,
				struct heap_snapshot *snapshot)
{
	const struct objects *objects = &capture->objects;
	bool has_ranges = held_parts_has_ranges(held);
	uint32_t kept = 0, edge = 0;
	size_t next = 0;

	for (heap_object_id object = 0; object < objects->count; object++) {
		heap_type_id type = names_type(&capture->names, object);
		uint32_t end = snapshot->edge_first[object + 1];
		bool is_concerned = concerns(texts, held, type);
		struct held_range range;

		if (is_buffer[object]) {
			snapshot->edge_first[object] = kept;
			edge = end;
			continue;
		}
		// All edges of most blocks stay where they are.
		if (edge == kept && !has_ranges && !is_concerned && texts->begin[type] == NO_TEXT &&
		    (next == rounding->count || rounding->items[next] >= end)) {
			edge = kept = end;
			continue;
		}
		range = held_parts_range(held, type, objects_address(objects, object), object);
		snapshot->edge_first[object] = kept;
		for (; edge < end; edge++) {
			uint64_t offset = snapshot->edge_slot[edge] * (uint64_t)WORD;

			if (take_next(rounding, &next, edge) || !held_range_has(&range, offset) ||
			    (is_concerned &&
			     held_parts_is_dead(held, type, objects_address(objects, object),
						offset)) ||
			    ends_text(texts, pages, capture, object, offset))
				continue;
			move_edge(snapshot, edge, kept++);
		}
	}
	snapshot->edge_first[objects->count] = kept;
	snapshot->edge_count = kept;
}

static void remove_from_roots(struct held_parts *held, struct heap_snapshot *snapshot)
{
	uint64_t kept = 0;

	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		struct heap_root_edge edge = snapshot->root_edges[i];
		const struct heap_root *root = &snapshot->roots[edge.root];

		if (!held_parts_concern(held, root->type) ||
		    !held_parts_is_dead(held, root->type, root->address, edge.offset))
			snapshot->root_edges[kept++] = edge;
	}
	snapshot->root_edge_count = kept;
}

struct heap_error *dead_words_remove(struct capture *capture)
{
	CLEANUP(texts_deinit) struct texts texts = { 0 };
	CLEANUP_ARRAY struct rounding_words rounding = { 0 };
	struct pages *pages = pages_create(&capture->image, PAGES);
	struct held_parts *held = pages ? held_parts_create(capture, pages) : NULL;
	CLEANUP_FREE uint8_t *is_buffer = calloc((size_t)capture->objects.count + 1, 1);
	struct heap_error *error = held && is_buffer ? texts_init(&texts, &capture->snapshot.types)
						     : heap_error_out_of_memory();

	if (!error)
		error = note_ranges(&texts, held, capture);
	if (!error)
		error = rounding_words_find(capture, &rounding);
	if (!error) {
		find_buffers(capture, &texts, pages, is_buffer);
		remove_from_objects(held, &texts, is_buffer, &rounding, pages, capture,
				    &capture->snapshot);
		remove_from_roots(held, &capture->snapshot);
	}
	held_parts_destroy(held);
	pages_destroy(pages);
	return error;
}
