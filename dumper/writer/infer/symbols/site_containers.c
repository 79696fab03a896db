// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/symbols/site_containers.h"

#include "dumper/writer/base/progress.h"
#include "lib/types/templates.h"

enum {
	MAX_EDGES = 4096, // of a block, that are examined
};

// Those whose nodes lead back to them.
static const char *const templates[] = {
	"map<",           "multimap<",           "set<",           "multiset<",           "list<",
	"unordered_map<", "unordered_multimap<", "unordered_set<", "unordered_multiset<",
};

static bool is_container(const struct heap_types *types, heap_type_id type)
{
	const char *name = heap_types_string(types, types->types[type].name);

	for (size_t i = 0; i < sizeof(templates) / sizeof(*templates); i++) {
		if (heap_template_is_standard(name, templates[i]))
			return true;
	}
	return false;
}

// The container that the code at a site makes in blocks of a size: the one that its result is assigned to, or
// else the only one of that size that it handles. HEAP_NO_TYPE: there is none.
static heap_type_id find_container(const struct inference *inference, const struct kind *kind,
				   bool *is_result)
{
	const struct site_types *site_types = &inference->kinds.site_types[kind->site];
	const struct heap_types *types = inference->layouts.types;
	heap_type_id found = HEAP_NO_TYPE;

	for (uint32_t i = 0; i < site_types->count; i++) {
		const struct site_type *handled = &site_types->list[i];
		bool is_it = types->types[handled->type].size == kind->size &&
			     is_container(types, handled->type);

		*is_result = handled->is_result;
		if (handled->is_result)
			return is_it ? handled->type : HEAP_NO_TYPE;
		if (is_it && found != HEAP_NO_TYPE)
			return HEAP_NO_TYPE;
		if (is_it)
			found = handled->type;
	}
	return found;
}

// True if a container's pointers are as it has them: to itself, to blocks, or null, and not all of them are.
static bool is_consistent(const struct inference *inference, heap_object_id object,
			  heap_type_id type)
{
	const struct heap_slots *slots = heap_slot_table_get(&inference->layouts.slots, type);
	const struct objects *objects = &inference->capture->objects;
	uint64_t start = objects_address(objects, object);
	bool has_pointer = false;

	for (uint32_t i = 0; slots && i < slots->count; i++) {
		uint64_t word = 0;
		heap_object_id target;

		progress_step();
		pages_read(inference->pages, start + slots->list[i].offset, &word, sizeof(word));
		if (word == 0)
			continue;
		target = objects_find(objects, word);
		if (target == HEAP_NO_OBJECT ||
		    (target != object && objects_address(objects, target) != word))
			return false;
		has_pointer = true;
	}
	return has_pointer;
}

// True if an object has a pointer into another one. Of the many that an array may have, the first are examined.
static bool leads_to(const struct heap_snapshot *snapshot, heap_object_id from, heap_object_id to)
{
	uint32_t first = snapshot->edge_first[from], end = snapshot->edge_first[from + 1];

	for (uint32_t edge = first; edge < end && edge < first + MAX_EDGES; edge++) {
		progress_step();
		if (snapshot->edge_target[edge] == to)
			return true;
	}
	return false;
}

// True if an object leads to itself, at once or through a node: no other struct of two or three pointers does.
static bool is_in_ring(const struct heap_snapshot *snapshot, heap_object_id object)
{
	uint32_t end = snapshot->edge_first[object + 1];

	for (uint32_t edge = snapshot->edge_first[object]; edge < end; edge++) {
		heap_object_id target = snapshot->edge_target[edge];

		if (target == object || leads_to(snapshot, target, object))
			return true;
	}
	return false;
}

struct heap_error *site_containers_claim(struct inference *inference)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	const struct kinds *kinds = &inference->kinds;

	for (uint32_t i = 0; i < kinds->count; i++) {
		const struct kind *kind = &kinds->kinds[i];
		bool is_result = false;
		heap_type_id type = find_container(inference, kind, &is_result);

		for (uint32_t j = 0; type != HEAP_NO_TYPE && j < kind->count; j++) {
			heap_object_id object = kinds->members[kind->first + j];

			if (is_consistent(inference, object, type) &&
			    (is_result || is_in_ring(snapshot, object)))
				HEAP_TRY(claims_add(&inference->claims, RANK_TAG,
						    &(struct claim){ object, type, 1,
								     HEAP_EVIDENCE_SITE, true }));
		}
	}
	return NULL;
}
