// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/pool_texts.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"
#include "lib/base/array.h"
#include "lib/base/search.h"

#include <stdlib.h>

enum {
	MIN_LENGTH = 3,    // fewer letters may be anything
	MAX_LENGTH = 4096, // is read
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

HEAP_MUST_CHECK
static struct heap_error *find_text(const struct inference *inference, const struct hint *hint,
				    struct texts *texts)
{
	uint64_t room, bytes;

	if (hint->either || !layouts_is_character(&inference->layouts, hint->type) ||
	    !inference_is_raw(inference, hint->object, hint->interior))
		return NULL;
	room = find_room(inference, hint->object, hint->interior);
	bytes = measure(inference, inference_address(inference, hint->object) + hint->interior,
			room);
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

struct heap_error *pool_texts_add(struct inference *inference)
{
	struct heap_snapshot *snapshot = &inference->capture->snapshot;
	CLEANUP_ARRAY struct texts parts = { 0 };

	for (heap_object_id i = 0; i < inference->capture->objects.count && !progress_is_late();
	     i++) {
		// All of a table of buckets is known: the pointer to its control bytes, some of which may read
		// as text, is none to a text.
		if (!pools_have(&inference->pools, i) ||
		    (inference_type(inference, i) == HEAP_NO_TYPE) !=
			    (inference->claims.rank[i] == RANK_NONE))
			continue;
		for (uint32_t at = hints_first(&inference->hints, i); at != NO_HINT;
		     at = inference->hints.list[at].next)
			HEAP_TRY(find_text(inference, &inference->hints.list[at], &parts));
	}
	if (parts.count == 0)
		return NULL;
	drop_inner(&parts);
	for (uint32_t i = 0; i < snapshot->part_count; i++)
		HEAP_TRY(heap_array_append(&parts, snapshot->parts[i]));
	qsort(parts.items, parts.count, sizeof(*parts.items), compare);
	free(snapshot->parts);
	snapshot->parts = parts.items;
	snapshot->part_count = (uint32_t)parts.count;
	parts.items = NULL;
	return NULL;
}
