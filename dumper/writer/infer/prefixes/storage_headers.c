// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/prefixes/storage_headers.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"
#include "dumper/writer/infer/prefixes/measured_prefixes.h"
#include "lib/base/bits.h"
#include "lib/base/search.h"

#include <stdlib.h>

enum {
	MANY_HINTS = 16, // on a block: with more of them it is no single value
	MIN_BLOCKS = 4,  // in headers of a struct, for others to be such headers
	MANY_TYPES = 64, // with bytes at one place: only so many are looked at
};

// True if a struct has an array of bytes at an offset, beside another one that only aligns it.
static bool has_bytes_at(const struct layouts *layouts, heap_type_id id, uint64_t offset)
{
	const struct heap_types *types = layouts->types;
	const struct heap_type *type = &types->types[id];

	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];
		heap_type_id array = layouts_strip(layouts, member->type);

		if (member->offset == offset && types->types[array].kind == HEAP_TYPE_ARRAY &&
		    layouts_is_character(layouts,
					 layouts_strip(layouts, types->types[array].target)))
			return true;
	}
	return false;
}

bool storage_headers_may_be(const struct layouts *layouts, heap_type_id type)
{
	const struct layout_facts *facts = &layouts->facts[type];

	return facts->is_flexible && facts->is_compound && facts->start >= sizeof(uint64_t) &&
	       facts->start <= BLOCK_PREFIX_MAX && facts->start % sizeof(uint64_t) == 0 &&
	       has_bytes_at(layouts, type, facts->start);
}

bool storage_headers_have(const struct storage_headers *headers, heap_object_id object)
{
	return headers->have && heap_bit_get(headers->have, object);
}

bool storage_headers_are_own(const struct inference *inference, heap_object_id object,
			     heap_type_id type)
{
	return inference_prefix(inference, object) > 0 &&
	       storage_headers_may_be(&inference->layouts, type) &&
	       inference->layouts.facts[type].start == inference_prefix(inference, object);
}

bool storage_headers_name(const struct inference *inference, heap_object_id object)
{
	const struct claims *claims = &inference->claims;
	heap_type_id type;

	if (claims->rank[object] == RANK_NONE || claims->rank[object] < RANK_TAG ||
	    inference_prefix(inference, object) > 0)
		return false;
	type = names_type(&inference->capture->names, object);
	return type != HEAP_NO_TYPE && storage_headers_may_be(&inference->layouts, type);
}

static int compare_headers(const void *a, const void *b)
{
	const struct storage_header *one = a, *other = b;

	if (one->start != other->start)
		return one->start < other->start ? -1 : 1;
	return (one->type > other->type) - (one->type < other->type);
}

struct heap_error *storage_headers_list(struct inference *inference)
{
	struct storage_headers *headers = &inference->storage_headers;
	const struct layouts *layouts = &inference->layouts;

	if (headers->are_listed)
		return NULL;
	headers->are_listed = true;
	for (heap_type_id i = 0; i < layouts->types->count; i++) {
		progress_step();
		if (layouts->facts[i].stripped == i && storage_headers_may_be(layouts, i))
			HEAP_TRY(heap_array_append(
				&headers->types,
				((struct storage_header){ i, layouts->facts[i].start })));
	}
	if (headers->types.count > 1)
		qsort(headers->types.items, headers->types.count, sizeof(*headers->types.items),
		      compare_headers);
	return NULL;
}

// The words of a block to which slots lead as to a struct, as bits; 0: there are none where bytes of headers begin, or
// it is no single value.
static uint64_t find_starts(const struct inference *inference, heap_object_id object)
{
	const struct layouts *layouts = &inference->layouts;
	uint64_t result = 0;
	uint32_t seen = 0;

	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (++seen > MANY_HINTS)
			return 0;
		if (hint->interior > 0 && hint->interior <= BLOCK_PREFIX_MAX &&
		    hint->interior % sizeof(uint64_t) == 0 && !hint->either &&
		    layouts_is_compound(layouts, hint->type))
			result |= UINT64_C(1) << (hint->interior / sizeof(uint64_t));
	}
	return result;
}

// Tells whether the hints on a block agree with a header, and what is behind it.
//
// Where slots lead to the bytes alone, a number in the header has to tell how many there are.
//
// @param is_named  the block has the header's name
static bool agrees(const struct inference *inference, heap_object_id object, heap_type_id header,
		   bool is_named, heap_type_id *stored)
{
	const struct layouts *layouts = &inference->layouts;
	uint64_t start = layouts->facts[header].start;
	uint32_t seen = 0, agreeing = is_named;

	*stored = HEAP_NO_TYPE;
	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (++seen > MANY_HINTS)
			return false;
		if (hint->either || !layouts_is_compound(layouts, hint->type))
			continue;
		if (hint->interior < start &&
		    !layouts_has(layouts, header, hint->type, hint->interior))
			return false;
		agreeing += hint->interior < start;
		if (hint->interior == start &&
		    (*stored == HEAP_NO_TYPE || claims_prefer(layouts, hint->type, *stored)))
			*stored = hint->type;
	}
	return *stored != HEAP_NO_TYPE &&
	       (agreeing > 0 || measured_prefixes_have(inference, object, start, sizeof(char)));
}

// Finds the storage header of a block whose bytes begin at an offset.
static heap_type_id find_at(const struct inference *inference, heap_object_id object,
			    uint64_t start, heap_type_id *stored)
{
	const struct storage_header *list = inference->storage_headers.types.items;
	size_t count = inference->storage_headers.types.count;
	size_t first = heap_partition_point(i, 0, count, list[i].start < start);

	for (size_t i = first; i < count && i - first < MANY_TYPES && list[i].start == start; i++) {
		if (agrees(inference, object, list[i].type, false, stored))
			return list[i].type;
	}
	return HEAP_NO_TYPE;
}

heap_type_id storage_headers_find(const struct inference *inference, heap_object_id object,
				  heap_type_id *stored)
{
	uint64_t size = objects_size(&inference->capture->objects, object), starts;
	heap_type_id found = HEAP_NO_TYPE;

	if (!hints_have(&inference->hints, object))
		return HEAP_NO_TYPE;
	if (storage_headers_name(inference, object)) {
		heap_type_id name = names_type(&inference->capture->names, object);

		return agrees(inference, object, name, true, stored) ? name : HEAP_NO_TYPE;
	}
	starts = find_starts(inference, object);
	for (uint64_t start = sizeof(uint64_t);
	     found == HEAP_NO_TYPE && start <= BLOCK_PREFIX_MAX && start < size;
	     start += sizeof(uint64_t)) {
		if (starts >> (start / sizeof(uint64_t)) & 1)
			found = find_at(inference, object, start, stored);
	}
	return found;
}

// The name of a block, if others of that name are known to be storage headers.
static heap_type_id known_header(const struct inference *inference, heap_object_id object)
{
	const uint32_t *counts = inference->storage_headers.counts;
	heap_type_id name;

	if (!counts || !storage_headers_name(inference, object))
		return HEAP_NO_TYPE;
	name = names_type(&inference->capture->names, object);
	return counts[name] < MIN_BLOCKS ? HEAP_NO_TYPE : name;
}

heap_type_id storage_headers_expect(const struct inference *inference, heap_object_id object)
{
	const struct layouts *layouts = &inference->layouts;
	heap_type_id header = known_header(inference, object);
	uint64_t rest = objects_size(&inference->capture->objects, object);
	const struct site_types *types;

	if (header == HEAP_NO_TYPE || !inference_has_sites(inference) ||
	    rest <= layouts->facts[header].start)
		return HEAP_NO_TYPE;
	rest -= layouts->facts[header].start;
	types = inference_site_types(inference, object);
	for (uint32_t i = 0; i < types->count; i++) {
		heap_type_id type = types->list[i].type;

		if (!layouts_has(layouts, header, type, 0) &&
		    layouts_fit(layouts, type, rest, layouts_slack(layouts, rest)).fit <=
			    LAYOUT_FLEXIBLE)
			return header;
	}
	return HEAP_NO_TYPE;
}

heap_type_id storage_headers_find_text(const struct inference *inference, heap_object_id object,
				       heap_type_id *stored)
{
	const struct layouts *layouts = &inference->layouts;
	heap_type_id name = hints_have(&inference->hints, object) ? known_header(inference, object)
								  : HEAP_NO_TYPE;

	if (name == HEAP_NO_TYPE)
		return HEAP_NO_TYPE;
	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (hint->interior != layouts->facts[name].start || hint->either ||
		    !layouts_is_character(layouts, hint->type))
			continue;
		*stored = hint->type;
		return name;
	}
	return HEAP_NO_TYPE;
}

struct heap_error *storage_headers_note(struct inference *inference, heap_object_id object,
					heap_type_id header)
{
	struct storage_headers *headers = &inference->storage_headers;
	const struct layouts *layouts = &inference->layouts;
	uint64_t size = objects_size(&inference->capture->objects, object);

	if (!headers->have)
		headers->have = calloc((size_t)inference->capture->objects.count / 8 + 1, 1);
	if (!headers->counts)
		headers->counts = calloc((size_t)inference->layouts.types->count + 1,
					 sizeof(*headers->counts));
	if (!headers->have || !headers->counts)
		return heap_error_out_of_memory();
	heap_bit_set(headers->have, object);
	headers->counts[header]++;
	return heap_array_append(
		&headers->blocks,
		((struct stored_block){
			.object = object,
			.header = header,
			.elements = layouts_fit(layouts, header, size, layouts_slack(layouts, size))
					    .elements,
			.evidence = inference->claims.name_rank[object] != RANK_NONE
					    ? names_of(&inference->capture->names, object)->evidence
					    : HEAP_EVIDENCE_EMBEDDING }));
}

void storage_headers_deinit(struct storage_headers *headers)
{
	heap_array_deinit(&headers->types);
	heap_array_deinit(&headers->blocks);
	free(headers->have);
	free(headers->counts);
}
