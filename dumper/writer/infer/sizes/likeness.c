// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/sizes/likeness.h"

#include "dumper/base/standard_library.h"
#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/sizes/agreement.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/hash_table.h"
#include "lib/base/search.h"
#include "lib/graph/bfs.h"

#include <stdlib.h>
#include <string.h>

enum {
	LEAST_BLOCKS = 5,   // of a type, that others are compared with
	LEAST_PROOF = 2,    // see agreement.h
	ALONE_PROOF = 3,    // where no other block of the type is known
	KEY_POINTERS = 16,  // of a block, whose targets tell blocks apart
	MAX_KEPT = 1 << 20, // choices, and types of them
	// Comparisons with types that the last pass makes at most, beside so many for each object.
	LAST_COMPARISONS = 1 << 20,
	OBJECT_COMPARISONS = 8,
	LOOKS = 16, // at a struct that may be a choice take as long as one comparison
};

// A type that blocks of a size have.
struct known {
	uint64_t size;
	heap_type_id type;
	uint32_t
		pointed; // blocks to which pointers have given it; LEAST_BLOCKS tell as much as more
	uint32_t others; // those to which casts or contents have
};

#define LIVE (UINT64_C(1) << 63)      // blocks are known to be of a type
#define UNPOINTED (UINT64_C(1) << 62) // but pointers have not told so

// Types that blocks may be of whose pointers and hints stand at the same places.
struct choice {
	uint64_t key;
	size_t first, count; // in types
};

struct likeness {
	struct HEAP_ARRAY(struct known) known;    // by size, when all are known
	struct heap_hash_table by_type;           // of the same
	struct HEAP_ARRAY(heap_type_id) structs;  // by size: all that blocks may be
	struct HEAP_ARRAY(heap_type_id) flexible; // likewise, of no one size
	struct HEAP_ARRAY(struct choice) choices;
	struct heap_hash_table by_key;          // of choices
	struct HEAP_ARRAY(heap_type_id) types;  // of choices
	struct HEAP_ARRAY(struct claim) claims; // of the last pass
	uint64_t standard;    // the bits of modules that hold a standard library alone
	uint64_t *modules;    // [types] a bit for each module that has it, LIVE and UNPOINTED
	uint64_t comparisons; // that were made, by the last pass
	bool has_unknown; // a module's types are not known: what leaked may be its own, and like the program's
	bool is_last; // nothing else is left: what no root leads to may lead to what has no name yet
};

static void likeness_deinit(struct likeness *likeness)
{
	heap_array_deinit(&likeness->known);
	heap_array_deinit(&likeness->structs);
	heap_array_deinit(&likeness->flexible);
	heap_array_deinit(&likeness->choices);
	heap_array_deinit(&likeness->types);
	heap_array_deinit(&likeness->claims);
	heap_hash_table_deinit(&likeness->by_key);
	free(likeness->modules);
	heap_hash_table_deinit(&likeness->by_type);
}

// --- what is known -----------------------------------------------------------

static void count(struct known *known, enum rank rank)
{
	if (rank <= RANK_PASSED_FLEXIBLE)
		known->pointed++;
	else
		known->others++;
}

static bool are_enough(const struct likeness *likeness, const struct known *known)
{
	return known->pointed >= (likeness->is_last && !likeness->has_unknown ? 1 : LEAST_BLOCKS) ||
	       known->others >= LEAST_BLOCKS;
}

// Counts a block of a type that is not that of the last one of its kind.
// @param place  gets that in known
HEAP_MUST_CHECK
static struct heap_error *note(struct likeness *likeness, heap_type_id type, uint64_t size,
			       enum rank rank, uint32_t *place)
{
	struct known *list = likeness->known.items;
	uint64_t hash = heap_hash_pair(type, size);

	*place = heap_hash_find(&likeness->by_type, hash, i,
				list[i].type == type && list[i].size == size);
	if (*place != HEAP_HASH_NONE) {
		count(&list[*place], rank);
		return NULL;
	}
	likeness->modules[type] |= LIVE;
	*place = (uint32_t)likeness->known.count;
	HEAP_TRY(heap_array_append(&likeness->known, (struct known){ size, type, 0, 0 }));
	count(&likeness->known.items[*place], rank);
	return heap_hash_add(&likeness->by_type, hash, *place);
}

static int compare_known(const void *left, const void *right)
{
	const struct known *a = left, *b = right;

	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return a->type < b->type ? -1 : a->type > b->type;
}

// True if a block is one struct.
static bool is_known(const struct inference *inference, heap_object_id object)
{
	return layouts_is_compound(&inference->layouts, inference_type(inference, object)) &&
	       (names_of(&inference->capture->names, object)->elements == 1 ||
		layouts_is_flexible(&inference->layouts, inference_type(inference, object)));
}

// Counts a block if it is of the same type as the last one of its kind, which most blocks are.
static bool repeats(const struct inference *inference, struct likeness *likeness,
		    heap_object_id object, uint32_t place)
{
	struct known *known = likeness->known.items;

	if (place >= likeness->known.count ||
	    known[place].type != inference_type(inference, object) ||
	    names_of(&inference->capture->names, object)->elements != 1 ||
	    known[place].size != inference_size(inference, object))
		return false;
	count(&known[place], inference->claims.name_rank[object]);
	return true;
}

// True if others are compared with a type of a block's size, which is @p place in known.
static bool is_common(const struct inference *inference, const struct likeness *likeness,
		      heap_object_id object, uint32_t place)
{
	const struct known *known = &likeness->known.items[place];

	return place < likeness->known.count && known->pointed >= LEAST_BLOCKS &&
	       known->type == inference_type(inference, object) &&
	       known->size == objects_size(&inference->capture->objects, object);
}

// True for a name that single hints have not made.
static bool is_told(enum rank rank)
{
	return rank <= RANK_VOTE;
}

// Marks the types that casts or contents alone have told.
static void mark_unpointed(struct likeness *likeness)
{
	for (size_t i = 0; i < likeness->known.count; i++) {
		const struct known *known = &likeness->known.items[i];

		if (known->pointed < LEAST_BLOCKS && known->others >= LEAST_BLOCKS)
			likeness->modules[known->type] |= UNPOINTED;
	}
}

HEAP_MUST_CHECK
static struct heap_error *learn(const struct inference *inference, struct likeness *likeness)
{
	const struct objects *objects = &inference->capture->objects;
	CLEANUP_FREE uint32_t *places = // in known, of the last block of each kind
		calloc((size_t)objects->kinds.count + 1, sizeof(*places));
	CLEANUP_FREE uint32_t *common = // by kind: the last name of which enough blocks are known
		calloc((size_t)objects->kinds.count + 1, sizeof(*common));
	CLEANUP_FREE uint32_t *unknown = // by kind: the last name by which none is known
		calloc((size_t)objects->kinds.count + 1, sizeof(*unknown));

	if (!places || !common || !unknown)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < objects->count && !progress_is_late(); i++) {
		uint32_t kind = objects_kind(objects, i), *place = &places[kind];
		uint32_t name = names_number(&inference->capture->names, i);

		progress_step();
		// More blocks of these tell nothing more, and are nearly all.
		if (name == unknown[kind] ||
		    (name == common[kind] && inference_prefix(inference, i) == 0))
			continue;
		if (!is_known(inference, i)) {
			unknown[kind] = name;
			continue;
		}
		if (is_told(inference->claims.name_rank[i]) &&
		    !repeats(inference, likeness, i, *place))
			HEAP_TRY(note(likeness, inference_type(inference, i),
				      inference_size(inference, i), inference->claims.name_rank[i],
				      place));
		if (is_common(inference, likeness, i, *place))
			common[kind] = name;
	}
	mark_unpointed(likeness);
	if (likeness->known.count > 0)
		qsort(likeness->known.items, likeness->known.count, sizeof(struct known),
		      compare_known);
	return NULL;
}

// Notes which modules have each type. Of many modules, some share a bit.
HEAP_MUST_CHECK
static struct heap_error *note_modules(const struct inference *inference, struct likeness *likeness)
{
	const struct modules *modules = &inference->capture->modules;

	likeness->modules =
		calloc((size_t)inference->layouts.types->count + 1, sizeof(*likeness->modules));
	if (!likeness->modules)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < modules->count; i++) {
		const struct module *module = &modules->modules[i];

		if (heapsnap_is_standard_library(module->path))
			likeness->standard |= UINT64_C(1) << i % 62;
		else if (module->path[0] == '/' &&
			 (!module->type_map || module->debug.types.count <= 1))
			likeness->has_unknown = true;
		for (uint32_t j = 0; module->type_map && j < module->debug.types.count; j++)
			likeness->modules[module->type_map[j]] |= UINT64_C(1) << i % 62;
	}
	return NULL;
}

static int compare_sizes(const void *left, const void *right, void *context)
{
	const struct layouts *layouts = context;
	heap_type_id a = *(const heap_type_id *)left, b = *(const heap_type_id *)right;
	uint64_t size = layouts_size(layouts, a), other = layouts_size(layouts, b);

	if (size != other)
		return size < other ? -1 : 1;
	return a < b ? -1 : a > b;
}

// True for a class that a library keeps a value of another one in, and no block is alone: a name with an underscore.
static bool is_wrapper(const struct layouts *layouts, heap_type_id id)
{
	const struct heap_types *types = layouts->types;
	const struct heap_type *type = &types->types[id];
	const char *name = heap_types_name(types, id);
	const char *own = name + strcspn(name, "<"); // where it begins behind namespaces

	while (own > name && own[-1] != ':')
		own--;
	return own > name && *own == '_' && type->members > 0 &&
	       layouts_size(layouts, types->members[type->first_member].type) ==
		       layouts_size(layouts, id);
}

HEAP_MUST_CHECK
static struct heap_error *gather_structs(const struct layouts *layouts, struct likeness *likeness)
{
	for (heap_type_id id = 1; id < layouts->types->count; id++) {
		const struct layout_facts *facts = &layouts->facts[id];

		if (!facts->is_candidate || facts->stripped != id ||
		    !layouts_is_compound(layouts, id) || is_wrapper(layouts, id))
			continue;
		if (facts->is_flexible)
			HEAP_TRY(heap_array_append(&likeness->flexible, id));
		else
			HEAP_TRY(heap_array_append(&likeness->structs, id));
	}
	if (likeness->structs.count > 0)
		qsort_r(likeness->structs.items, likeness->structs.count, sizeof(heap_type_id),
			compare_sizes, (void *)layouts);
	return NULL;
}

// --- one block ---------------------------------------------------------------

// The most that what a block of a type leads to may prove without a name: something where casts or contents alone told
// others of the type, more when nothing else is left.
static uint32_t look_ahead(const struct likeness *likeness, heap_type_id type)
{
	if (likeness->is_last)
		return AGREEMENT_STRUCT;
	return likeness->modules[type] & UNPOINTED ? AGREEMENT_AHEAD : 0;
}

// True if a type has unions, which content does not judge.
static bool has_union(const struct inference *inference, heap_type_id type)
{
	const struct heap_slots *slots = heap_slot_table_get(&inference->layouts.slots, type);

	for (uint32_t i = 1; slots && i < slots->count; i++) {
		if (slots->list[i].offset == slots->list[i - 1].offset)
			return true;
	}
	return false;
}

// True if a block may be of a type rather than of a known one: blocks are, or the modules that know the one have
// the other. What another library hides is not likely to be the rest of what the program has lost.
static bool may_be(const struct likeness *likeness, heap_type_id type, heap_type_id known)
{
	uint64_t modules = likeness->modules[type];

	return modules == 0 || (modules & (likeness->modules[known] | LIVE));
}

// True if a type is a standard library's own, of which no block is known.
static bool is_hidden(const struct likeness *likeness, heap_type_id type)
{
	uint64_t modules = likeness->modules[type];

	return modules != 0 && (modules & ~likeness->standard) == 0;
}

// True if a struct other than the best one agrees as well. When nothing else is left, how well contents agree does not
// decide: too little is known of any of them.
static bool is_rival(const struct inference *inference, const struct likeness *likeness,
		     const struct content *content, heap_type_id type, const struct agreement *best)
{
	struct agreement rival;

	progress_step();
	if (layouts_says_more(&inference->layouts, best->claim.type, type))
		return false;
	rival = agreement_of(inference, content, type, look_ahead(likeness, best->claim.type),
			     best->proof);
	if (rival.score < 0)
		return false;
	return !agreement_is_better(best, &rival) || has_union(inference, type) ||
	       (likeness->is_last && rival.proof == best->proof);
}

// --- choices -------------------------------------------------------------------

// The first words of a block that hold pointers into the heap, a bit each. Those behind count as the last one.
static uint64_t find_pointers(const struct inference *inference, heap_object_id object)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint64_t bits = 0;

	progress_steps(snapshot->edge_first[object + 1] - snapshot->edge_first[object]);
	for (uint32_t i = snapshot->edge_first[object]; i < snapshot->edge_first[object + 1]; i++)
		bits |= UINT64_C(1) << (snapshot->edge_slot[i] < 63 ? snapshot->edge_slot[i] : 63);
	return bits;
}

// The type that the target of one of the first pointers of a block is known to have, or HEAP_NO_TYPE.
static heap_type_id find_target_type(const struct inference *inference, heap_object_id object,
				     uint32_t edge)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	heap_object_id target = snapshot->edge_target[edge];

	return edge - snapshot->edge_first[object] < KEY_POINTERS &&
			       claims_are_good(&inference->claims, target)
		       ? inference_type(inference, target)
		       : HEAP_NO_TYPE;
}

// Mixes in what the first pointers lead to.
static uint64_t hash_targets(const struct inference *inference, heap_object_id object,
			     uint64_t hash)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint32_t first = snapshot->edge_first[object], end = snapshot->edge_first[object + 1];

	for (uint32_t i = first; i < end && i - first < KEY_POINTERS; i++) {
		heap_type_id type = find_target_type(inference, object, i);

		progress_step();
		if (type != HEAP_NO_TYPE)
			hash = heap_hash_mix(hash,
					     (uint64_t)type << 32 | snapshot->edge_interior[i]);
		hash = heap_hash_mix(hash, i - first);
	}
	return hash;
}

// All hints count: each of them may make another type a choice.
static uint64_t hash_block(const struct inference *inference, heap_object_id object,
			   uint64_t pointers, heap_type_id best)
{
	uint64_t hash =
		heap_hash_mix(heap_hash_pair(inference_size(inference, object), pointers), best);

	hash = hash_targets(inference, object, hash);
	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		hash = heap_hash_mix(hash, (uint64_t)hint->type << 32 | hint->interior);
		hash = heap_hash_mix(hash, hint->either);
	}
	return hash;
}

// True if a pointer where a type has a slot may lead to what @p best has there, or if that has no slot there.
static bool is_compatible(const struct inference *inference, const struct heap_slot *slot,
			  heap_type_id best)
{
	const struct layouts *layouts = &inference->layouts;
	const struct heap_slots *slots = heap_slot_table_get(&layouts->slots, best);
	bool is_open = true;

	for (uint32_t i = 0; slots && i < slots->count; i++) {
		heap_type_id pointee = slots->list[i].pointee;

		if (slots->list[i].offset != slot->offset || pointee == HEAP_NO_TYPE)
			continue;
		is_open = false;
		if (pointee == slot->pointee ||
		    (layouts_is_character(layouts, pointee) &&
		     layouts_is_character(layouts, slot->pointee)) ||
		    (layouts_is_compound(layouts, pointee) &&
		     inference_type_has(inference, pointee, slot->pointee, 0)))
			return true;
	}
	return is_open;
}

// The most that prove_pointer() may find for the pointer that a block has at a type's slot.
static uint32_t most_proof(const struct inference *inference, heap_object_id object,
			   heap_type_id type, const struct heap_slot *slot, heap_type_id best)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint32_t edge = heap_edge_at(snapshot, object, slot->offset);

	if (edge == UINT32_MAX)
		return 0;
	if (snapshot->edge_target[edge] == object ||
	    find_target_type(inference, object, edge) != HEAP_NO_TYPE)
		return agreement_prove_target(inference, object, edge, type, slot->pointee);
	if (best != HEAP_NO_TYPE && !is_compatible(inference, slot, best))
		return 0;
	return layouts_is_character(&inference->layouts, slot->pointee) ? AGREEMENT_TEXT
									: AGREEMENT_STRUCT;
}

// True if enough may be proved for a type, of a block with such pointers.
// @param best  that agrees with the block, HEAP_NO_TYPE: none is known yet
static bool is_choice(const struct inference *inference, heap_object_id object, uint64_t pointers,
		      heap_type_id type, heap_type_id best)
{
	const struct heap_slots *slots = heap_slot_table_get(&inference->layouts.slots, type);
	uint64_t size = inference_size(inference, object);
	uint32_t most = agreement_prove_hints(inference, object, type);

	progress_step();
	for (uint32_t i = 0; slots && i < slots->count && most < LEAST_PROOF; i++) {
		const struct heap_slot *slot = &slots->list[i];
		uint64_t word = slot->offset / 8;

		// Huge arrays, which stand for flexible ones, have many more.
		if (slot->offset >= size)
			break;
		if (slot->pointee != HEAP_NO_TYPE && pointers >> (word < 63 ? word : 63) & 1)
			most += most_proof(inference, object, type, slot, best);
	}
	return most >= LEAST_PROOF;
}

HEAP_MUST_CHECK
static struct heap_error *consider(const struct inference *inference, struct likeness *likeness,
				   heap_object_id object, uint64_t pointers, heap_type_id type,
				   heap_type_id best)
{
	if (type == best || !is_choice(inference, object, pointers, type, best) ||
	    (best == HEAP_NO_TYPE ? is_hidden(likeness, type) : !may_be(likeness, type, best)))
		return NULL;
	return heap_array_append(&likeness->types, type);
}

// The first of the known types that have blocks of a size; known.count if there is none.
static size_t find_known(const struct likeness *likeness, uint64_t size)
{
	const struct known *known = likeness->known.items;
	const size_t count = likeness->known.count;
	size_t first = heap_partition_point(at, (size_t)0, count, known[at].size < size);

	return first < count && known[first].size == size ? first : count;
}

// Gathers the known types that a block may be of.
HEAP_MUST_CHECK
static struct heap_error *gather_known(const struct inference *inference, struct likeness *likeness,
				       heap_object_id object, uint64_t pointers)
{
	const struct known *known = likeness->known.items;
	const size_t count = likeness->known.count;
	uint64_t size = inference_size(inference, object);

	for (size_t i = find_known(likeness, size); i < count && known[i].size == size; i++) {
		if (are_enough(likeness, &known[i]))
			HEAP_TRY(consider(inference, likeness, object, pointers, known[i].type,
					  HEAP_NO_TYPE));
	}
	return NULL;
}

// Gathers the types that a block may be of; as well as of the best one, if that is known.
HEAP_MUST_CHECK
static struct heap_error *gather_rivals(const struct inference *inference,
					struct likeness *likeness, heap_object_id object,
					uint64_t pointers, heap_type_id best)
{
	const struct layouts *layouts = &inference->layouts;
	const heap_type_id *structs = likeness->structs.items;
	const size_t count = likeness->structs.count;
	uint64_t size = inference_size(inference, object);
	uint64_t least = size - inference_slack(inference, object);
	size_t first = heap_partition_point(at, (size_t)0, count,
					    layouts_size(layouts, structs[at]) < least);
	size_t end =
		heap_partition_point(at, first, count, layouts_size(layouts, structs[at]) <= size);

	for (size_t i = first; i < end; i++)
		HEAP_TRY(consider(inference, likeness, object, pointers, structs[i], best));
	for (size_t i = 0; i < likeness->flexible.count; i++)
		HEAP_TRY(consider(inference, likeness, object, pointers,
				  likeness->flexible.items[i], best));
	likeness->comparisons += (LOOKS + end - first + likeness->flexible.count) / LOOKS;
	return NULL;
}

// Forgets the choices when they are many: each block may have pointers at other places.
static void limit_choices(struct likeness *likeness)
{
	if (likeness->types.count < MAX_KEPT && likeness->choices.count < MAX_KEPT)
		return;
	likeness->types.count = likeness->choices.count = 0;
	heap_hash_table_deinit(&likeness->by_key);
}

// The known types that a block may be of, all that it may be of, or those beside the best one. Programs have thousands of
// types, and lose many blocks of one: they are gathered once for all blocks alike.
// @param best    HEAP_NO_TYPE: not known yet
// @param all     of what is not known as well, though there is no best one
// @param result  its types are valid until the next call
HEAP_MUST_CHECK
static struct heap_error *find_choice(const struct inference *inference, struct likeness *likeness,
				      heap_object_id object, heap_type_id best, bool all,
				      struct choice *result)
{
	uint64_t pointers = find_pointers(inference, object);
	uint64_t key = heap_hash_mix(hash_block(inference, object, pointers, best), all);
	uint32_t found =
		heap_hash_find(&likeness->by_key, key, i, likeness->choices.items[i].key == key);

	if (found != HEAP_HASH_NONE) {
		*result = likeness->choices.items[found];
		return NULL;
	}
	limit_choices(likeness);
	*result = (struct choice){ key, likeness->types.count, 0 };
	if (best == HEAP_NO_TYPE && !all)
		HEAP_TRY(gather_known(inference, likeness, object, pointers));
	else
		HEAP_TRY(gather_rivals(inference, likeness, object, pointers, best));
	result->count = likeness->types.count - result->first;
	HEAP_TRY(heap_array_append(&likeness->choices, *result));
	return heap_hash_add(&likeness->by_key, key, (uint32_t)likeness->choices.count - 1);
}

// The best of the types that a block may be of. @param best  in: what it must prove; fit LAYOUT_NONE: there is none
static void find_best(const struct inference *inference, const struct likeness *likeness,
		      const struct content *content, const struct choice *choice,
		      struct agreement *best)
{
	for (size_t i = choice->first; i < choice->first + choice->count; i++) {
		heap_type_id type = likeness->types.items[i];
		struct agreement own = agreement_of(inference, content, type,
						    look_ahead(likeness, type), best->proof);

		if (own.score > 0 && agreement_is_better(&own, best) &&
		    (!agreement_is_uniform(inference, type) ||
		     agreement_prove_hints(inference, content->object, type) > 0))
			*best = own;
	}
}

// Takes the best type of a choice, unless another one agrees as well.
// @param all  see find_choice()
HEAP_MUST_CHECK
static struct heap_error *choose(const struct inference *inference, struct likeness *likeness,
				 heap_object_id object, bool all, uint64_t *words,
				 struct layout_claim *result)
{
	struct agreement best = { { .fit = LAYOUT_NONE }, all ? ALONE_PROOF : LEAST_PROOF, 0 };
	struct content content;
	struct choice choice;

	HEAP_TRY(find_choice(inference, likeness, object, HEAP_NO_TYPE, all, &choice));
	likeness->comparisons += choice.count;
	// Its content, which is a page of the process away, is read only if there is a choice.
	if (choice.count == 0)
		return NULL;
	content_read(inference, object, words, &content);
	// As an array of texts is.
	if (all && agreement_is_all_texts(inference, &content))
		return NULL;
	find_best(inference, likeness, &content, &choice, &best);
	if (best.claim.fit == LAYOUT_NONE)
		return NULL;
	HEAP_TRY(likeness->is_last
			 ? find_choice(inference, likeness, object, HEAP_NO_TYPE, true, &choice)
			 : find_choice(inference, likeness, object, best.claim.type, false,
				       &choice));
	likeness->comparisons += choice.count;
	for (size_t i = choice.first; i < choice.first + choice.count; i++) {
		heap_type_id type = likeness->types.items[i];

		if (type != best.claim.type && is_rival(inference, likeness, &content, type, &best))
			return NULL;
	}
	*result = best.claim;
	return NULL;
}

// The only struct that a block is alike; LAYOUT_NONE if there is none.
HEAP_MUST_CHECK
static struct heap_error *find(const struct inference *inference, struct likeness *likeness,
			       heap_object_id object, uint64_t *words, struct layout_claim *result)
{
	result->fit = LAYOUT_NONE;
	// A block of another size than the known ones cannot be like any.
	if (find_known(likeness, inference_size(inference, object)) < likeness->known.count)
		HEAP_TRY(choose(inference, likeness, object, false, words, result));
	if (result->fit == LAYOUT_NONE && likeness->is_last && !likeness->has_unknown)
		HEAP_TRY(choose(inference, likeness, object, true, words, result));
	return NULL;
}

// True if the last pass takes too long: there are thousands of structs of a size, and what leaked leads to anything.
static bool is_too_much(const struct inference *inference, const struct likeness *likeness)
{
	return likeness->is_last &&
	       likeness->comparisons >
		       LAST_COMPARISONS +
			       OBJECT_COMPARISONS * (uint64_t)inference->capture->objects.count;
}

// Finds the blocks that roots lead to.
HEAP_MUST_CHECK
static struct heap_error *reach(const struct heap_snapshot *snapshot, struct heap_bfs *reached)
{
	HEAP_TRY(heap_bfs_init(reached, snapshot));
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++)
		heap_bfs_add(reached, snapshot->root_edges[i].target);
	progress_steps(snapshot->edge_count);
	return heap_bfs_run(reached, &(struct heap_bfs_options){ 0 });
}

// Claims a block. The last pass gathers its claims first: see claim_all().
HEAP_MUST_CHECK
static struct heap_error *claim_block(struct inference *inference, struct likeness *likeness,
				      heap_object_id object, const struct layout_claim *claim,
				      uint64_t *claimed)
{
	const struct claim own = { object, claim->type, claim->elements, HEAP_EVIDENCE_VOTE,
				   false };

	if (claim->fit == LAYOUT_NONE)
		return NULL;
	if (likeness->is_last)
		return heap_array_append(&likeness->claims, own);
	++*claimed;
	return claims_add(&inference->claims, RANK_VOTE, &own);
}

// Claims the blocks that have no name. Where the last pass takes too long, it claims none: which blocks come first must
// not decide.
HEAP_MUST_CHECK
static struct heap_error *claim_all(struct inference *inference, struct likeness *likeness,
				    const struct heap_bfs *reached, uint64_t *words,
				    uint64_t *claimed)
{
	const heap_object_id count = inference->capture->objects.count;
	const struct claims *claims = &inference->claims;

	for (heap_object_id i = claims_next(claims, RANK_NONE, 0, count);
	     i < count && !progress_is_late(); i = claims_next(claims, RANK_NONE, i + 1, count)) {
		struct layout_claim claim;

		progress_step();
		if (!claims_lack(claims, i) || inference_prefix(inference, i) != 0 ||
		    (likeness->is_last && heap_bfs_has(reached, i)))
			continue;
		HEAP_TRY(find(inference, likeness, i, words, &claim));
		if (is_too_much(inference, likeness))
			return NULL;
		HEAP_TRY(claim_block(inference, likeness, i, &claim, claimed));
	}
	*claimed += likeness->claims.count;
	for (size_t i = 0; i < likeness->claims.count; i++)
		HEAP_TRY(claims_add(&inference->claims, RANK_VOTE, &likeness->claims.items[i]));
	return NULL;
}

struct heap_error *likeness_claim(struct inference *inference, bool is_last, uint64_t *claimed)
{
	CLEANUP(likeness_deinit) struct likeness likeness = { .is_last = is_last };
	CLEANUP(heap_bfs_deinit) struct heap_bfs reached = { 0 };
	CLEANUP_FREE uint64_t *words = NULL;
	struct heap_snapshot snapshot = inference->capture->snapshot;
	const heap_object_id count = inference->capture->objects.count;
	const struct claims *claims = &inference->claims;

	if (inference_has_sites(inference) || claims_next(claims, RANK_NONE, 0, count) == count)
		return NULL;
	words = malloc((CONTENT_WORDS + 1) * sizeof(*words));
	if (!words)
		return heap_error_out_of_memory();
	HEAP_TRY(note_modules(inference, &likeness));
	HEAP_TRY(learn(inference, &likeness));
	HEAP_TRY(gather_structs(&inference->layouts, &likeness));
	snapshot.object_count = count; // else it is known when it is written
	if (is_last)
		HEAP_TRY(reach(&snapshot, &reached));
	return claim_all(inference, &likeness, &reached, words, claimed);
}
