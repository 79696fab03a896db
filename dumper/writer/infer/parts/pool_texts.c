// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/parts/pool_texts.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"
#include "lib/base/array.h"
#include "lib/base/search.h"

#include <stdlib.h>

enum {
	MIN_LENGTH = 3,    // fewer letters may be anything
	MAX_LENGTH = 4096, // is read
	MIN_BYTES = 4,     // places of a block that are no texts
};

struct texts HEAP_ARRAY(struct heap_part);

// By place; of texts at one place a certain one comes first.
static int compare(const void *left, const void *right)
{
	const struct heap_part *a = left, *b = right;

	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->type < b->type ? -1 : a->type > b->type;
}

// The bytes of a text that ends within a limit, with its NUL; 0: there is none.
static uint64_t measure(const struct inference *inference, uint64_t address, uint64_t limit)
{
	unsigned char bytes[MAX_LENGTH];
	uint64_t length = 0;

	if (limit > sizeof(bytes))
		limit = sizeof(bytes);
	pages_read(inference->pages, address, bytes, limit);
	while (length < limit &&
	       (bytes[length] >= ' ' ? bytes[length] != 0x7f
				     : bytes[length] >= '\t' && bytes[length] <= '\r'))
		length++;
	progress_steps((uint32_t)length);
	return length >= MIN_LENGTH && length < limit && bytes[length] == '\0' ? length + 1 : 0;
}

// The bytes from an offset of an object up to the next part, or the object's end; 0: in a part.
static uint64_t find_room(const struct inference *inference, heap_object_id object, uint64_t offset)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	const struct heap_part key = { .object = object, .offset = offset };
	uint32_t next = heap_partition_point(i, 0, snapshot->part_count,
					     compare(&snapshot->parts[i], &key) < 0);
	uint64_t end = objects_size(&inference->capture->objects, object);

	if (next > 0 && snapshot->parts[next - 1].object == object) {
		const struct heap_part *before = &snapshot->parts[next - 1];

		if (offset - before->offset <
		    before->elements * layouts_size(&inference->layouts, before->type))
			return 0;
	}
	if (next < snapshot->part_count && snapshot->parts[next].object == object)
		end = snapshot->parts[next].offset;
	return end > offset ? end - offset : 0;
}

// @param has_bytes  gets true if something else is there
HEAP_MUST_CHECK
static struct heap_error *find_text(const struct inference *inference, const struct hint *hint,
				    struct texts *texts, bool *has_bytes)
{
	uint64_t room, bytes;

	if (hint->either || !layouts_is_character(&inference->layouts, hint->type) ||
	    !inference_is_raw(inference, hint->object, hint->interior))
		return NULL;
	room = find_room(inference, hint->object, hint->interior);
	bytes = measure(inference, inference_address(inference, hint->object) + hint->interior,
			room);
	*has_bytes |= bytes == 0;
	if (bytes == 0)
		return NULL;
	return heap_array_append(texts,
				 ((struct heap_part){ hint->object, hint->interior, hint->type,
						      bytes, HEAP_EVIDENCE_POINTER }));
}

// Keeps texts that are not within others.
static void drop_inner(struct texts *texts)
{
	size_t count = 0;

	if (texts->count > 0)
		qsort(texts->items, texts->count, sizeof(*texts->items), compare);
	for (size_t i = 0; i < texts->count; i++) {
		const struct heap_part *text = &texts->items[i];
		const struct heap_part *last = count > 0 ? &texts->items[count - 1] : NULL;

		if (!last || last->object != text->object ||
		    text->offset >= last->offset + last->elements)
			texts->items[count++] = *text;
	}
	texts->count = count;
}

// True if all of a block's parts are not known yet, so that texts may lie between them. Of a table of buckets they are:
// the pointer to its control bytes, some of which may read as text, is none to a text.
static bool is_open(const struct inference *inference, heap_object_id object)
{
	return pools_have(&inference->pools, object) &&
	       (inference_type(inference, object) == HEAP_NO_TYPE) ==
		       (inference->claims.rank[object] == RANK_NONE);
}

// Puts parts in order among those of the capture.
HEAP_MUST_CHECK
static struct heap_error *add_parts(struct inference *inference, struct texts *parts)
{
	struct heap_snapshot *snapshot = &inference->capture->snapshot;

	if (parts->count == 0)
		return NULL;
	for (uint32_t i = 0; i < snapshot->part_count; i++)
		HEAP_TRY(heap_array_append(parts, snapshot->parts[i]));
	qsort(parts->items, parts->count, sizeof(*parts->items), compare);
	free(snapshot->parts);
	snapshot->parts = parts->items;
	snapshot->part_count = (uint32_t)parts->count;
	parts->items = NULL;
	return NULL;
}

// --- bytes ------------------------------------------------------------------------

static bool has_edges(const struct inference *inference, const struct heap_part *part)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint32_t edge = heap_edge_from(snapshot, part->object, part->offset);

	return edge < snapshot->edge_first[part->object + 1] &&
	       snapshot->edge_slot[edge] * UINT64_C(8) < part->offset + part->elements;
}

HEAP_MUST_CHECK
static struct heap_error *find_bytes(const struct inference *inference, const struct hint *hint,
				     struct texts *bytes)
{
	uint64_t room, size = objects_size(&inference->capture->objects, hint->object);

	if (hint->either || hint->is_passing ||
	    !layouts_is_character(&inference->layouts, hint->type) ||
	    !inference_is_raw(inference, hint->object, hint->interior))
		return NULL;
	room = find_room(inference, hint->object, hint->interior);
	// What lies behind the last part may be free.
	if (room == 0 || hint->interior + room == size)
		return NULL;
	return heap_array_append(bytes,
				 ((struct heap_part){ hint->object, hint->interior, hint->type,
						      room, HEAP_EVIDENCE_POINTER }));
}

// Finds the bytes between the parts of a block: each ends where the next ones or the next part begin.
HEAP_MUST_CHECK
static struct heap_error *find_bytes_of(const struct inference *inference, heap_object_id object,
					struct texts *bytes)
{
	size_t first = bytes->count, count = 0;

	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next)
		HEAP_TRY(find_bytes(inference, &inference->hints.list[at], bytes));
	count = bytes->count - first;
	bytes->count = first;
	if (count < MIN_BYTES)
		return NULL;
	qsort(bytes->items + first, count, sizeof(*bytes->items), compare);
	for (size_t i = first; i < first + count; i++) {
		struct heap_part *part = &bytes->items[i];

		progress_step();
		if (i + 1 < first + count) {
			uint64_t next = bytes->items[i + 1].offset - part->offset;

			part->elements = next < part->elements ? next : part->elements;
		}
		if (part->elements > 0 && !has_edges(inference, part))
			bytes->items[bytes->count++] = *part;
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_bytes(struct inference *inference)
{
	CLEANUP_ARRAY struct texts bytes = { 0 };

	for (heap_object_id i = 0; i < inference->capture->objects.count && !progress_is_late();
	     i++) {
		if (is_open(inference, i))
			HEAP_TRY(find_bytes_of(inference, i, &bytes));
	}
	return add_parts(inference, &bytes);
}

struct heap_error *pool_texts_add(struct inference *inference)
{
	CLEANUP_ARRAY struct texts texts = { 0 };
	bool has_bytes = false;

	for (heap_object_id i = 0; i < inference->capture->objects.count && !progress_is_late();
	     i++) {
		if (!is_open(inference, i))
			continue;
		for (uint32_t at = hints_first(&inference->hints, i); at != NO_HINT;
		     at = inference->hints.list[at].next)
			HEAP_TRY(find_text(inference, &inference->hints.list[at], &texts,
					   &has_bytes));
	}
	drop_inner(&texts);
	HEAP_TRY(add_parts(inference, &texts));
	return has_bytes ? add_bytes(inference) : NULL;
}
