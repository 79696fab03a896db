// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/symbols/shapes.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/base_types.h"
#include "dumper/writer/infer/symbols/found_containers.h"
#include "dumper/writer/infer/symbols/shape_types.h"
#include "dumper/writer/infer/symbols/vector_elements.h"
#include "dumper/writer/scan/sites.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>

enum {
	LEAST_BLOCKS = 4, // fewer of one kind have no shape
};

struct naming {
	struct capture *capture;
	heap_object_id *members; // [objects] by kind
	uint32_t *first;         // [kinds + 1] of members
	struct shape_reader reader;
	struct shape_types types;
};

// --- kinds -----------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *set_one(struct naming *naming, heap_object_id object, heap_type_id type,
				  uint64_t elements)
{
	return names_set(&naming->capture->names, object, type, elements, HEAP_EVIDENCE_SHAPE);
}

HEAP_MUST_CHECK
static struct heap_error *set(struct naming *naming, uint32_t kind, heap_type_id type,
			      uint64_t elements)
{
	for (uint32_t i = naming->first[kind]; i < naming->first[kind + 1]; i++)
		HEAP_TRY(set_one(naming, naming->members[i], type, elements));
	return NULL;
}

static bool has_name(const struct naming *naming, heap_object_id object)
{
	return names_of(&naming->capture->names, object)->evidence != HEAP_EVIDENCE_NONE;
}

// True if debug information tells the types of the code that allocates a kind of blocks, or if that is not known.
static bool has_debug(const struct capture *capture, uint32_t kind)
{
	return sites_has_types(capture, capture->site_of_kind[kind]);
}

// True if nothing is known of the code that allocates a kind of blocks but its name.
static bool is_unknown(const struct capture *capture, uint32_t kind)
{
	const struct heap_site *site = &capture->snapshot.sites[capture->site_of_kind[kind]];

	return site->module == HEAP_NO_INDEX || !has_debug(capture, kind);
}

// True if its code has no debug information, and no block of it has a type or parts.
static bool is_wanted(const struct naming *naming, uint32_t kind)
{
	const struct capture *capture = naming->capture;

	if (has_debug(capture, kind))
		return false;
	for (uint32_t i = naming->first[kind]; i < naming->first[kind + 1]; i++) {
		if (has_name(naming, naming->members[i]))
			return false;
	}
	return naming->first[kind] < naming->first[kind + 1];
}

static bool are_texts(const struct naming *naming, uint32_t kind)
{
	uint32_t count = naming->first[kind + 1] - naming->first[kind];
	uint32_t step = (count + SHAPE_SAMPLES - 1) / SHAPE_SAMPLES;

	for (uint32_t i = 0; i < count; i += step) {
		if (!shape_is_text(&naming->reader, naming->members[naming->first[kind] + i]))
			return false;
	}
	return true;
}

// Names each block of a kind that reads as text and has no type: blocks beside it may be something else.
HEAP_MUST_CHECK
static struct heap_error *name_texts(struct naming *naming, uint32_t kind)
{
	for (uint32_t i = naming->first[kind]; i < naming->first[kind + 1]; i++) {
		heap_object_id object = naming->members[i];

		progress_step();
		if (!has_name(naming, object) && shape_is_text(&naming->reader, object))
			HEAP_TRY(set_one(naming, object, naming->reader.character,
					 objects_size(&naming->capture->objects, object)));
	}
	return NULL;
}

// The class of a kind's blocks, if nothing but its name and its size is known.
static heap_type_id find_opaque(const struct naming *naming, uint32_t kind)
{
	const struct capture *capture = naming->capture;
	heap_type_id id =
		naming->first[kind] < naming->first[kind + 1]
			? names_type(&capture->names, naming->members[naming->first[kind]])
			: HEAP_NO_TYPE;
	const struct heap_type *type = &capture->snapshot.types.types[id];
	bool is_opaque = type->kind == HEAP_TYPE_CLASS && type->members == 0 && type->size >= 8 &&
			 type->size == capture->objects.kinds.list[kind].size;

	if (!is_opaque || has_debug(capture, kind))
		return HEAP_NO_TYPE;
	for (uint32_t i = naming->first[kind]; i < naming->first[kind + 1]; i++) {
		if (names_type(&capture->names, naming->members[i]) != id)
			return HEAP_NO_TYPE;
	}
	return id;
}

static bool lacks_size(const struct heap_type *type)
{
	return type->kind == HEAP_TYPE_CLASS && type->size == 0 && type->members == 0;
}

/*
 * A class that is known by its vtable alone, in stripped programs, has the size of its blocks, if that is one. Its
 * name may be that of arrays, too.
 */
HEAP_MUST_CHECK
static struct heap_error *learn_sizes(struct naming *naming)
{
	const struct capture *capture = naming->capture;
	struct heap_types *types = &naming->capture->snapshot.types;
	CLEANUP_FREE uint64_t *sizes = NULL;
	heap_type_id first = 1;

	while (first < types->count && !lacks_size(&types->types[first]))
		first++;
	if (first == types->count)
		return NULL;
	sizes = calloc(types->count, sizeof(*sizes));
	if (!sizes)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < capture->objects.count; i++) {
		heap_type_id id = names_type(&capture->names, i);
		uint64_t size = objects_size(&capture->objects, i);
		bool is_alone = names_of(&capture->names, i)->evidence == HEAP_EVIDENCE_VTABLE &&
				!has_debug(capture, objects_kind(&capture->objects, i)) &&
				(sizes[id] == 0 || sizes[id] == size);

		sizes[id] = is_alone ? size : UINT64_MAX;
	}
	for (heap_type_id id = first; id < types->count; id++) {
		if (lacks_size(&types->types[id]) && sizes[id] != UINT64_MAX)
			types->types[id].size = sizes[id];
	}
	return NULL;
}

// A class that symbols have named gets the members that its blocks show.
HEAP_MUST_CHECK
static struct heap_error *fill_classes(struct naming *naming)
{
	for (uint32_t i = 0; i < naming->capture->objects.kinds.count; i++) {
		heap_type_id id = find_opaque(naming, i);
		struct shape shape;

		if (id == HEAP_NO_TYPE)
			continue;
		HEAP_TRY(shape_find(&naming->reader, &naming->members[naming->first[i]],
				    naming->first[i + 1] - naming->first[i], &shape));
		HEAP_TRY(shape_types_add_members(&naming->types, &shape, id));
	}
	return NULL;
}

// --- elements of vectors -------------------------------------------------------

// Gives the elements of one site's vectors their shape.
HEAP_MUST_CHECK
static struct heap_error *name_elements(struct naming *naming, const struct vector_buffers *buffers,
					struct vector_elements *elements)
{
	const struct capture *capture = naming->capture;
	uint32_t site = elements->samples[0].site;
	struct shape shape;
	heap_type_id type;

	elements->stride = buffers->stride[site];
	if (!vector_elements_find(&naming->reader, elements, &shape))
		return NULL;
	HEAP_TRY(shape_types_find(&naming->types, &shape, &type));
	for (size_t i = 0; i < elements->count; i++) {
		uint32_t kind = objects_kind(&capture->objects, elements->samples[i].object);
		uint32_t count = naming->first[kind + 1] - naming->first[kind];

		if (buffers->count[kind] * UINT64_C(100) >= count * (uint64_t)SHAPE_AGREEMENT &&
		    names_type(&capture->names, naming->members[naming->first[kind]]) ==
			    HEAP_NO_TYPE)
			HEAP_TRY(set(naming, kind, type,
				     capture->objects.kinds.list[kind].size / elements->stride));
	}
	return NULL;
}

static void buffers_deinit(struct vector_buffers *buffers)
{
	vector_buffers_deinit(buffers);
}

HEAP_MUST_CHECK
static struct heap_error *name_buffers(struct naming *naming)
{
	uint32_t kinds = naming->capture->objects.kinds.count;
	CLEANUP_FREE bool *wanted = calloc((size_t)kinds + 1, sizeof(*wanted));
	CLEANUP(buffers_deinit) struct vector_buffers buffers = { 0 };
	size_t end;

	bool is_any = false;

	if (!wanted)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < kinds; i++)
		is_any |= wanted[i] = is_wanted(naming, i);
	if (!is_any)
		return NULL; // each pointer would be read in vain
	HEAP_TRY(vector_buffers_find(&buffers, &naming->reader.values, wanted));
	for (size_t i = 0; i < buffers.samples.count; i = end) {
		const struct vector_buffer *first = &buffers.samples.items[i];

		for (end = i;
		     end < buffers.samples.count && buffers.samples.items[end].site == first->site;)
			end++;
		HEAP_TRY(name_elements(
			naming, &buffers,
			&(struct vector_elements){ .samples = first, .count = end - i }));
	}
	return NULL;
}

// --- all kinds ---------------------------------------------------------------

// Texts first: a pointer to one of them is a field of its own class.
HEAP_MUST_CHECK
static struct heap_error *name_all(struct naming *naming)
{
	const struct object_kinds *kinds = &naming->capture->objects.kinds;

	for (uint32_t i = 0; i < kinds->count; i++) {
		if (is_wanted(naming, i) && are_texts(naming, i))
			HEAP_TRY(set(naming, i, naming->reader.character, kinds->list[i].size));
	}
	HEAP_TRY(name_buffers(naming));
	for (uint32_t i = 0; i < kinds->count && !progress_is_late(); i++) {
		uint32_t count = naming->first[i + 1] - naming->first[i];
		struct shape shape;
		heap_type_id type;

		if (count < LEAST_BLOCKS || kinds->list[i].size < 8 || !is_wanted(naming, i))
			continue;
		HEAP_TRY(shape_find(&naming->reader, &naming->members[naming->first[i]], count,
				    &shape));
		// Zeros alone show nothing.
		if (shape.count == 1 && shape.fields[0].class == FIELD_NOTHING)
			continue;
		HEAP_TRY(shape_types_find(&naming->types, &shape, &type));
		HEAP_TRY(set(naming, i, type, 1));
	}
	for (uint32_t i = 0; i < kinds->count && !progress_is_late(); i++) {
		if (is_unknown(naming->capture, i))
			HEAP_TRY(name_texts(naming, i));
	}
	return NULL;
}

// Sorts the objects by their kinds.
static void sort_members(struct naming *naming)
{
	const struct objects *objects = &naming->capture->objects;

	for (heap_object_id i = 0; i < objects->count; i++)
		naming->first[objects_kind(objects, i)]++;
	for (uint32_t i = 1; i <= objects->kinds.count; i++)
		naming->first[i] += naming->first[i - 1];
	for (heap_object_id i = objects->count; i-- > 0;)
		naming->members[--naming->first[objects_kind(objects, i)]] = i;
}

static void naming_deinit(struct naming *naming)
{
	shape_types_deinit(&naming->types);
	shape_reader_deinit(&naming->reader);
}

HEAP_MUST_CHECK
static struct heap_error *name_blocks(struct capture *capture)
{
	const struct objects *objects = &capture->objects;
	struct heap_types *types = &capture->snapshot.types;
	CLEANUP_FREE heap_object_id *members = calloc((size_t)objects->count + 1, sizeof(*members));
	CLEANUP_FREE uint32_t *first = calloc((size_t)objects->kinds.count + 1, sizeof(*first));
	CLEANUP(naming_deinit)
	struct naming naming = { .capture = capture, .members = members, .first = first };
	heap_type_id character;

	if (!members || !first)
		return heap_error_out_of_memory();
	HEAP_TRY(base_types_find_char(types, &character));
	HEAP_TRY(shape_reader_init(&naming.reader, capture, character));
	HEAP_TRY(shape_types_init(&naming.types, &naming.reader, types));
	sort_members(&naming);
	HEAP_TRY(found_containers_name(capture, &naming.reader, &naming.types));
	HEAP_TRY(name_all(&naming));
	HEAP_TRY(learn_sizes(&naming));
	return fill_classes(&naming);
}

struct heap_error *shapes_name(struct capture *capture)
{
	for (uint32_t i = 0; i < capture->objects.kinds.count; i++) {
		if (is_unknown(capture, i))
			return name_blocks(capture);
	}
	return NULL;
}
