// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/parts/slabs.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inner_edges.h"
#include "lib/base/array.h"
#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/types/repetitions.h"

#include <stdlib.h>

enum {
	LEAST_ELEMENTS = 8, // of a slab
	LEAST_SLABS = 4,    // of one kind
	LEAST_USES = 2,     // pointers to elements behind the first, on average
};

// A place that holds pointers to arrays of one kind: a member of a type, or a root.
struct place {
	uint32_t kind;
	uint32_t holder; // a type, or the number of types + a root
	uint64_t offset;
	uint64_t starts, insides; // its pointers to first elements, and to others
};

// The arrays of one kind: of one type and length, whatever tells of them.
struct arrays {
	bool is_wanted; // enough of them may be slabs
	uint32_t count;
	uint64_t owned;   // pointers to their starts from places that mostly lead to these
	uint64_t insides; // pointers to elements behind the first; at first, all that may be such
};

struct slabs HEAP_ARRAY(struct heap_slab);

struct search {
	struct capture *capture;
	struct arrays *arrays; // [names] those of a kind, at the first of its names
	uint32_t *kinds;       // [names] the first name of its kind
	uint8_t *is_wanted;    // a bit for each object
	struct HEAP_ARRAY(struct place) places;
	struct heap_hash_table by_holder;
	struct heap_slot_table slots;
	struct heap_repetitions repetitions;
};

static void search_deinit(struct search *search)
{
	free(search->arrays);
	free(search->kinds);
	free(search->is_wanted);
	heap_array_deinit(&search->places);
	heap_hash_table_deinit(&search->by_holder);
	heap_repetitions_deinit(&search->repetitions);
	heap_slot_table_deinit(&search->slots);
}

static uint32_t kind_of(const struct search *search, heap_object_id object)
{
	return search->kinds[names_number(&search->capture->names, object)];
}

// --- candidates ------------------------------------------------------------------

// Finds the kinds of all names, and counts their objects.
HEAP_MUST_CHECK
static struct heap_error *count_kinds(struct search *search)
{
	const struct names *names = &search->capture->names;
	CLEANUP(heap_hash_table_deinit) struct heap_hash_table by_kind = { 0 };
	CLEANUP_FREE uint32_t *counts = NULL;

	HEAP_TRY(names_count(names, search->capture->objects.count, &counts));
	for (uint32_t i = 0; i < names->count; i++) {
		const struct name *name = names_get(names, i);
		uint64_t hash = heap_hash_pair(name->type, name->elements);
		uint32_t found =
			heap_hash_find(&by_kind, hash, at,
				       names_get(names, at)->type == name->type &&
					       names_get(names, at)->elements == name->elements);

		if (found == HEAP_HASH_NONE) {
			found = i;
			HEAP_TRY(heap_hash_add(&by_kind, hash, i));
		}
		search->kinds[i] = found;
		search->arrays[found].count += counts[i];
	}
	return NULL;
}

static bool is_array_of_structs(const struct heap_types *types, const struct name *name)
{
	uint8_t kind = types->types[name->type].kind;

	return name->elements >= LEAST_ELEMENTS &&
	       (kind == HEAP_TYPE_STRUCT || kind == HEAP_TYPE_CLASS || kind == HEAP_TYPE_UNION) &&
	       heap_types_size(types, name->type) > 0 &&
	       !heap_types_flexible(types, name->type, NULL, NULL);
}

// Counts the pointers that may lead to elements behind the first, whatever holds them: an upper bound.
static void count_insides(struct search *search)
{
	const struct heap_snapshot *snapshot = &search->capture->snapshot;
	uint32_t end = (uint32_t)snapshot->edge_count;

	for (uint32_t i = inner_edges_find(snapshot, 0, end); i < end;
	     i = inner_edges_find(snapshot, i + 1, end))
		search->arrays[kind_of(search, snapshot->edge_target[i])].insides++;
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++)
		search->arrays[kind_of(search, snapshot->root_edges[i].target)].insides++;
}

static bool has_uses(const struct arrays *arrays)
{
	return arrays->insides >= LEAST_USES * (uint64_t)arrays->count;
}

// Finds the kinds of which there are enough arrays. @return false if there are none
static bool find_wanted(struct search *search)
{
	const struct capture *capture = search->capture;
	const struct heap_types *types = &capture->snapshot.types;
	bool is_any = false;

	for (uint32_t i = 1; i < capture->names.count; i++) {
		struct arrays *arrays = &search->arrays[i];

		arrays->is_wanted = arrays->count >= LEAST_SLABS && has_uses(arrays) &&
				    is_array_of_structs(types, names_get(&capture->names, i));
		arrays->insides = 0;
		is_any |= arrays->is_wanted;
	}
	for (heap_object_id i = 0; is_any && i < capture->objects.count; i++) {
		if (search->arrays[kind_of(search, i)].is_wanted)
			heap_bit_set(search->is_wanted, i);
	}
	return is_any;
}

// --- pointers --------------------------------------------------------------------

// One pointer to a wanted array.
struct lead {
	heap_object_id target;
	uint64_t interior;
	uint32_t holder;
	uint64_t offset;
};

HEAP_MUST_CHECK
static struct heap_error *note(struct search *search, const struct lead *lead, uint64_t slot)
{
	uint32_t kind = kind_of(search, lead->target);
	uint64_t hash = heap_hash_pair(heap_hash_pair(kind, lead->holder), slot);
	uint32_t found = heap_hash_find(&search->by_holder, hash, i,
					search->places.items[i].kind == kind &&
						search->places.items[i].holder == lead->holder &&
						search->places.items[i].offset == slot);

	if (found == HEAP_HASH_NONE) {
		found = (uint32_t)search->places.count;
		HEAP_TRY(heap_array_append(&search->places,
					   (struct place){ kind, lead->holder, slot, 0, 0 }));
		HEAP_TRY(heap_hash_add(&search->by_holder, hash, found));
	}
	if (lead->interior == 0)
		search->places.items[found].starts++;
	else
		search->places.items[found].insides++;
	return NULL;
}

// True if the pointee of a slot is an element: a vector's is declared as an array of these (library_value_types.h).
static bool is_pointer_to(const struct heap_types *types, heap_type_id pointee,
			  heap_type_id element)
{
	const struct heap_type *type = &types->types[pointee];

	return pointee == element ||
	       (type->kind == HEAP_TYPE_ARRAY && heap_types_strip(types, type->target) == element);
}

// Notes a pointer to an element, if what holds it says that it is one.
HEAP_MUST_CHECK
static struct heap_error *note_lead(struct search *search, const struct lead *lead,
				    heap_type_id holder)
{
	const struct heap_types *types = &search->capture->snapshot.types;
	const struct name *name = names_of(&search->capture->names, lead->target);
	uint64_t size = heap_types_size(types, name->type);
	const struct heap_repetition *repetition;
	const struct heap_slots *slots;
	uint32_t first, end;

	progress_step();
	if (lead->interior % size != 0 || lead->interior / size >= name->elements)
		return NULL;
	HEAP_TRY(heap_repetitions_find(&search->repetitions, holder, &repetition));
	slots = heap_repetition_slots_at(repetition, lead->offset, &first, &end);
	for (uint32_t i = first; slots && i < end; i++) {
		if (is_pointer_to(types, slots->list[i].pointee, name->type))
			return note(search, lead, slots->list[i].offset);
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *note_edges(struct search *search)
{
	const struct capture *capture = search->capture;
	const struct heap_snapshot *snapshot = &capture->snapshot;

	for (heap_object_id i = 0; i < capture->objects.count; i++) {
		heap_type_id type = names_type(&capture->names, i);

		for (uint32_t j = snapshot->edge_first[i]; j < snapshot->edge_first[i + 1]; j++) {
			struct lead lead = { snapshot->edge_target[j], snapshot->edge_interior[j],
					     type, snapshot->edge_slot[j] * UINT64_C(8) };

			if (heap_bit_get(search->is_wanted, lead.target) && type != HEAP_NO_TYPE)
				HEAP_TRY(note_lead(search, &lead, type));
		}
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *note_root_edges(struct search *search)
{
	const struct heap_snapshot *snapshot = &search->capture->snapshot;

	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];
		heap_type_id type = snapshot->roots[edge->root].type;
		struct lead lead = { edge->target, edge->interior,
				     snapshot->types.count + edge->root, edge->offset };

		if (heap_bit_get(search->is_wanted, lead.target) && type != HEAP_NO_TYPE)
			HEAP_TRY(note_lead(search, &lead, type));
	}
	return NULL;
}

// --- the verdict -----------------------------------------------------------------

static void judge(struct search *search)
{
	for (size_t i = 0; i < search->places.count; i++) {
		const struct place *place = &search->places.items[i];
		struct arrays *arrays = &search->arrays[place->kind];

		arrays->insides += place->insides;
		// A stale pointer or two may lead to the middle; a slab's link leads there as often as it has elements.
		if (place->insides < place->starts)
			arrays->owned += place->starts;
	}
	for (uint32_t i = 1; i < search->capture->names.count; i++) {
		struct arrays *arrays = &search->arrays[i];

		arrays->is_wanted &= has_uses(arrays) && arrays->owned < arrays->count / 2;
	}
}

HEAP_MUST_CHECK
static struct heap_error *add_slabs(const struct search *search)
{
	struct capture *capture = search->capture;
	CLEANUP_ARRAY struct slabs slabs = { 0 };

	for (heap_object_id i = 0; i < capture->objects.count; i++) {
		if (heap_bit_get(search->is_wanted, i) &&
		    search->arrays[kind_of(search, i)].is_wanted)
			HEAP_TRY(heap_array_append(&slabs, (struct heap_slab){ i }));
	}
	capture->snapshot.slabs = keep(slabs.items);
	capture->snapshot.slab_count = (uint32_t)slabs.count;
	return NULL;
}

struct heap_error *slabs_find(struct capture *capture)
{
	CLEANUP(search_deinit) struct search search = { .capture = capture };

	if (!capture->names.of)
		return NULL;
	search.arrays = calloc((size_t)capture->names.count + 1, sizeof(*search.arrays));
	search.kinds = calloc((size_t)capture->names.count + 1, sizeof(*search.kinds));
	search.is_wanted = calloc((size_t)capture->objects.count / 8 + 1, 1);
	if (!search.arrays || !search.kinds || !search.is_wanted)
		return heap_error_out_of_memory();
	HEAP_TRY(count_kinds(&search));
	count_insides(&search);
	if (!find_wanted(&search))
		return NULL;
	HEAP_TRY(heap_slot_table_init(&search.slots, &capture->snapshot.types));
	HEAP_TRY(heap_repetitions_init(&search.repetitions, &search.slots));
	HEAP_TRY(note_edges(&search));
	HEAP_TRY(note_root_edges(&search));
	judge(&search);
	return add_slabs(&search);
}
