// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/classes/class_claims.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/classes/declared_classes.h"
#include "dumper/writer/infer/inference.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/hash_table.h"
#include "lib/base/search.h"

#include <stdlib.h>

enum {
	MAX_WHOLES = 256,
};

// The sizes of the blocks that one site made of one class.
struct class_site {
	heap_type_id class;
	heap_site_id site;
	uint64_t least, largest;
};

// The classes whose sizes are not known.
struct opaque_classes {
	uint64_t *least; // [types] the size of the smallest block with its vtable; 0: there is none
	struct HEAP_ARRAY(struct class_site) sites;
	struct heap_hash_table by_site;
};

static void release(struct opaque_classes *opaque)
{
	free(opaque->least);
	heap_array_deinit(&opaque->sites);
	heap_hash_table_deinit(&opaque->by_site);
}

static struct class_site *find_site(const struct opaque_classes *opaque, heap_type_id class,
				    heap_site_id site)
{
	struct class_site *list = opaque->sites.items;
	uint32_t found = heap_hash_find(&opaque->by_site, heap_hash_pair(class, site), i,
					list[i].class == class && list[i].site == site);

	return found == HEAP_HASH_NONE ? NULL : &list[found];
}

HEAP_MUST_CHECK
static struct heap_error *note_size(const struct inference *inference, heap_object_id object,
				    heap_type_id class, struct opaque_classes *opaque)
{
	uint64_t size = objects_size(&inference->capture->objects, object);
	heap_site_id site = inference_site(inference, object);
	struct class_site *known = find_site(opaque, class, site);

	if (opaque->least[class] == 0 || size < opaque->least[class])
		opaque->least[class] = size;
	if (!known) {
		HEAP_TRY(heap_hash_add(&opaque->by_site, heap_hash_pair(class, site),
				       (uint32_t)opaque->sites.count));
		return heap_array_append(&opaque->sites,
					 ((struct class_site){ class, site, size, size }));
	}
	known->least = size < known->least ? size : known->least;
	known->largest = size > known->largest ? size : known->largest;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *note_sizes(const struct inference *inference, const heap_type_id *classes,
				     struct opaque_classes *opaque)
{
	const struct heap_types *types = inference->layouts.types;
	const heap_object_id objects = inference->capture->objects.count;

	opaque->least = calloc((size_t)types->count + 1, sizeof(*opaque->least));
	if (!opaque->least)
		return heap_error_out_of_memory();
	for (heap_object_id i = heap_next_set_u32(classes, 0, objects); i < objects;
	     i = heap_next_set_u32(classes, i + 1, objects)) {
		progress_step();
		if (heap_types_size(types, classes[i]) == 0)
			HEAP_TRY(note_size(inference, i, classes[i], opaque));
	}
	return NULL;
}

// True if a struct has a class as its first member, and is not derived from it.
static bool begins_with(const struct layouts *layouts, heap_type_id whole, heap_type_id class)
{
	const struct heap_types *types = layouts->types;
	const struct heap_type *type = &types->types[whole];
	const struct heap_member *first = &types->members[type->first_member];

	if ((type->kind != HEAP_TYPE_STRUCT && type->kind != HEAP_TYPE_CLASS) ||
	    type->members == 0 || first->offset != 0 ||
	    (first->flags & (HEAP_MEMBER_BASE | HEAP_MEMBER_VIRTUAL_BASE)))
		return false;
	return layouts_has(layouts, layouts_strip(layouts, first->type), class, 0);
}

// True if a struct of a block's size begins with an object of the class.
static bool is_ambiguous(const struct inference *inference, heap_object_id object,
			 heap_type_id class)
{
	const struct layouts *layouts = &inference->layouts;
	uint64_t size = objects_size(&inference->capture->objects, object);
	struct layout_wholes wholes;

	if (heap_types_size(layouts->types, class) == size)
		return false;
	wholes = layouts_exact_wholes(layouts, class, 0, size, layouts_slack(layouts, size));
	for (int i = 0; wholes.at + i < wholes.end && i < MAX_WHOLES; i++) {
		progress_step();
		if (wholes.at[i].whole != class && begins_with(layouts, wholes.at[i].whole, class))
			return true;
	}
	return false;
}

// True if a block has a vtable pointer at its start, and the same one after each so many bytes.
static bool is_array(const struct inference *inference, heap_object_id object, uint64_t stride)
{
	const struct objects *objects = &inference->capture->objects;
	uint64_t size = objects_size(objects, object), first, next;

	if (stride % 8 != 0 || size < 2 * stride || size % stride != 0)
		return false;
	pages_read(inference->pages, objects_address(objects, object), &first, sizeof(first));
	pages_read(inference->pages, objects_address(objects, object) + stride, &next,
		   sizeof(next));
	return next == first;
}

// True if a block may begin with an object of a class of unknown size, and go on with something else.
static bool may_be_larger(const struct inference *inference, heap_object_id object,
			  heap_type_id class, const struct opaque_classes *opaque)
{
	uint64_t size = objects_size(&inference->capture->objects, object);
	uint64_t least = opaque->least[class];
	const struct class_site *site = find_site(opaque, class, inference_site(inference, object));

	if (size <= least + layouts_slack(&inference->layouts, size))
		return false;
	return !(inference_has_sites(inference) && site && site->least != site->largest) &&
	       !is_array(inference, object, least);
}

// Claims the block of a class whose size is not known, for the struct that begins with such an object if it is larger.
HEAP_MUST_CHECK
static struct heap_error *claim_declared(struct inference *inference, heap_object_id object,
					 heap_type_id class, const struct opaque_classes *opaque,
					 const struct declared_classes *declared)
{
	uint64_t size = objects_size(&inference->capture->objects, object);
	heap_type_id whole;

	if (declared_classes_find_whole(declared, &inference->layouts, class, size,
					layouts_slack(&inference->layouts, size), &whole))
		return whole == HEAP_NO_TYPE
			       ? NULL
			       : claims_add(&inference->claims, RANK_EMBEDDED,
					    &(struct claim){ object, whole, 1,
							     HEAP_EVIDENCE_EMBEDDING, false });
	if (may_be_larger(inference, object, class, opaque))
		return NULL;
	return claims_add(&inference->claims, RANK_VTABLE,
			  &(struct claim){ object, class, 1, HEAP_EVIDENCE_VTABLE, true });
}

// Claims the block of a class whose size is known.
HEAP_MUST_CHECK
static struct heap_error *claim(struct inference *inference, heap_object_id object,
				heap_type_id class)
{
	if (is_ambiguous(inference, object, class))
		return hints_add(inference, class, &(struct pointer){ .target = object }, false);
	return claims_add(&inference->claims, RANK_VTABLE,
			  &(struct claim){ object, class, 1, HEAP_EVIDENCE_VTABLE, true });
}

struct heap_error *class_claims_add(struct inference *inference, const heap_type_id *classes)
{
	const struct objects *objects = &inference->capture->objects;
	CLEANUP(release) struct opaque_classes opaque = { 0 };
	CLEANUP(declared_classes_deinit) struct declared_classes declared = { 0 };

	HEAP_TRY(note_sizes(inference, classes, &opaque));
	if (opaque.sites.count > 0)
		HEAP_TRY(declared_classes_init(&declared, &inference->layouts));
	for (heap_object_id i = heap_next_set_u32(classes, 0, objects->count); i < objects->count;
	     i = heap_next_set_u32(classes, i + 1, objects->count)) {
		uint64_t size = heap_types_size(inference->layouts.types, classes[i]);

		progress_step();
		if (size == 0)
			HEAP_TRY(claim_declared(inference, i, classes[i], &opaque, &declared));
		else if (size <= objects_size(objects, i))
			HEAP_TRY(claim(inference, i, classes[i]));
	}
	return NULL;
}
