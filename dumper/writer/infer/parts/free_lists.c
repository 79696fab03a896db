// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/parts/free_lists.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"
#include "lib/base/divisor.h"

#include <stdlib.h>

enum {
	MAX_HEADER = 64,  // bytes
	MIN_HEADERS = 32, // that a block has room for
	MAX_STEPS = 4096, // of a list
	MIN_STEPS = 16,   // from one header to another one
	MAX_WALKS = 4096,
};

// A list of headers that is followed.
struct walk {
	heap_type_id type;
	uint64_t link;   // offset in it
	uint64_t stride; // the largest that explains all places in blocks
	uint32_t steps;  // to another place than the first
};

static bool is_mere_link(const struct layouts *layouts, heap_type_id type)
{
	return layouts_is_link(layouts, type) &&
	       layouts->types->types[type].kind != HEAP_TYPE_UNION;
}

// The offset of a type's first pointer to its own kind. @return false if it has none, or nothing else: structs of any
// type are cast to such a link while they are free, and blocks may be arrays of them. One with a flexible array has its part in it.
static bool find_link(const struct inference *inference, heap_type_id type, uint64_t *link)
{
	const struct layouts *layouts = &inference->layouts;
	const struct heap_slot *own =
		layouts_is_compound(layouts, type) && layouts_size(layouts, type) <= MAX_HEADER &&
				!is_mere_link(layouts, type) && !layouts_is_flexible(layouts, type)
			? layouts_own_pointer(layouts, type)
			: NULL;

	*link = own ? own->offset : 0;
	return own;
}

// True if the code that makes a block has pointers to headers. Where no code is known, only a union, which has
// something else in what is in use, may be one.
static bool is_of_headers(const struct inference *inference, heap_object_id object,
			  heap_type_id type)
{
	const struct site_types *types;

	if (objects_size(&inference->capture->objects, object) <
	    MIN_HEADERS * layouts_size(&inference->layouts, type))
		return false;
	if (!inference_has_sites(inference))
		return inference->layouts.types->types[type].kind == HEAP_TYPE_UNION;
	types = inference_site_types(inference, object);
	for (uint32_t i = 0; i < types->count; i++) {
		if (types->list[i].type == type)
			return true;
	}
	return false;
}

// True if a list's headers are further apart than those of an array, and not what larger structs begin with.
static bool shows_parts(const struct inference *inference, const struct walk *walk)
{
	const struct layouts *layouts = &inference->layouts;
	const struct layout_wholes wholes =
		layouts_exact_wholes(layouts, walk->type, 0, walk->stride, 0);

	return walk->steps >= MIN_STEPS && wholes.at == wholes.end;
}

// Makes a block a pool, and those of the same code and size.
HEAP_MUST_CHECK
static struct heap_error *cut(struct inference *inference, heap_object_id object, uint64_t *cut)
{
	const struct kind *kind = &inference->kinds.kinds[kinds_of(inference, object)];
	uint32_t count = inference_has_sites(inference) ? kind->count : 1;

	if (pools_have(&inference->pools, object))
		return NULL;
	for (uint32_t i = 0; i < count; i++) {
		heap_object_id member =
			count > 1 ? inference->kinds.members[kind->first + i] : object;

		progress_step();
		if (pools_have(&inference->pools, member))
			continue;
		HEAP_TRY(pools_doubt(inference, member));
		++*cut;
	}
	return NULL;
}

// Notes a type of headers. What was an array of these is a pool, or one header with the part behind it.
HEAP_MUST_CHECK
static struct heap_error *note_header(struct inference *inference, heap_type_id type,
				      uint64_t *blocks)
{
	struct free_lists *lists = &inference->free_lists;

	if (free_lists_have(lists, type) || lists->header_count == MAX_FREE_LIST_TYPES)
		return NULL;
	lists->headers[lists->header_count++] = type;
	for (heap_object_id i = 0; i < inference->capture->objects.count; i++) {
		progress_step();
		if (inference_type(inference, i) != type ||
		    names_of(&inference->capture->names, i)->elements == 1)
			continue;
		HEAP_TRY(pools_doubt(inference, i));
		++*blocks;
	}
	return NULL;
}

/*
 * Follows a list from a header, up to its end, to what is no such block, or to where headers lie as in an array.
 *
 * @param blocks  NULL, or increased by those that become pools
 */
HEAP_MUST_CHECK
static struct heap_error *follow(struct inference *inference, uint64_t address, struct walk *walk,
				 uint64_t *blocks)
{
	const uint64_t least = 2 * layouts_size(&inference->layouts, walk->type);
	uint64_t first = UINT64_MAX;

	for (uint32_t i = 0; i < MAX_STEPS && address != 0; i++) {
		heap_object_id object = objects_find(&inference->capture->objects, address);
		uint64_t offset;

		progress_step();
		if (object == HEAP_NO_OBJECT || !is_of_headers(inference, object, walk->type))
			return NULL;
		if (blocks)
			HEAP_TRY(cut(inference, object, blocks));
		offset = address - objects_address(&inference->capture->objects, object);
		first = first == UINT64_MAX ? offset : first;
		walk->stride = heap_greatest_divisor(
			offset > first ? offset - first : first - offset, walk->stride);
		walk->steps += offset != first;
		if (walk->stride > 0 && walk->stride < least) {
			walk->steps = 0;
			return NULL;
		}
		pages_read(inference->pages, address + walk->link, &address, sizeof(address));
	}
	return NULL;
}

struct heap_error *free_lists_cut(struct inference *inference, uint64_t *blocks)
{
	const struct objects *objects = &inference->capture->objects;
	struct free_lists *lists = &inference->free_lists;

	for (; lists->hints_seen < inference->hints.count && lists->walks < MAX_WALKS;
	     lists->hints_seen++) {
		const struct hint *hint = &inference->hints.list[lists->hints_seen];
		heap_object_id object = hint->object;
		uint64_t interior = layouts_is_start(hint->interior) ? 0 : hint->interior;
		struct walk walk = { .type = hint->type };
		uint64_t address;

		progress_step();
		if (lists->hints_seen == NO_HINT || pools_have(&inference->pools, object) ||
		    inference_prefix(inference, object) > 0 ||
		    !find_link(inference, hint->type, &walk.link) ||
		    !is_of_headers(inference, object, hint->type))
			continue;
		lists->walks++;
		address = objects_address(objects, object) + interior;
		HEAP_TRY(follow(inference, address, &walk, NULL));
		if (!shows_parts(inference, &walk))
			continue;
		HEAP_TRY(note_header(inference, hint->type, blocks));
		HEAP_TRY(follow(inference, address, &walk, blocks));
	}
	return NULL;
}
