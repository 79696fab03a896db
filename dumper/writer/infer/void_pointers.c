// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/void_pointers.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/byte_lengths.h"
#include "dumper/writer/infer/callbacks.h"
#include "dumper/writer/infer/deep_content.h"
#include "dumper/writer/infer/holders.h"
#include "dumper/writer/infer/majority.h"
#include "dumper/writer/infer/self_lengths.h"
#include "dumper/writer/infer/void_arrays.h"
#include "dumper/writer/infer/void_casts.h"
#include "dumper/writer/infer/void_contexts.h"
#include "dumper/writer/scan/sites.h"
#include "lib/base/cleanup.h"
#include "lib/base/hash_table.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_DEPTH = 8,
	MAX_FLEXIBLE = 4096, // bytes of a struct with a flexible array whose pointers are visited
	SAMPLES = 64,        // targets of one place
	MIN_TAGGED = 4,      // targets, for their tags to count
	TAGGED = 80,         // per cent of them
	MIN_MEASURED = 8,    // targets, for their lengths to count
	MIN_EQUAL = 16,      // targets of one size, for their lengths to count
	MIN_VOTERS = 5,      // targets with a name, for the others to have it
	AGREEING = 95,       // per cent of them
	MIN_HANDLED = 8,     // targets, for a callback to tell their type by its size alone
};

// The targets of void pointers at one place.
enum meaning {
	MEANS_NOTHING,
	MEANS_TAGGED, // structs with an enum tag
	MEANS_LENGTH, // a struct with its own length
	MEANS_TYPE,
	MEANS_BYTES,    // as many as a number beside the pointer says
	MEANS_CAST,     // what code casts the pointer to
	MEANS_POINTERS, // an array of void pointers
	MEANS_TEXT,
};

// Void pointers at one place of a type. Those that lead to different types are told apart by the callback that
// the value has beside them, or by what leads to that.
struct void_place {
	heap_type_id type;
	uint64_t offset;
	uint64_t callback;      // or IS_CONTEXT and a context; 0: any
	struct callback beside; // the callback in the type; NO_CALLBACK: not needed
	uint32_t pointers, kept, step;
	uint32_t inner;                       // pointers into the middle of blocks, and no samples
	struct byte_pointer samples[SAMPLES]; // [kept] each step-th
	struct void_arrays arrays;            // by content
	enum meaning meaning;
	struct self_length length;   // its type also for MEANS_TYPE and MEANS_BYTES
	struct header_member number; // MEANS_BYTES: that of the bytes
	struct void_casts casts;     // MEANS_CAST
	bool is_partial; // some samples have no name, and others voted; or no cast is for them
	bool is_handled; // the callback has told the type
	bool is_mixed;   // MEANS_CAST: the targets are of several types
	enum rank rank;
};

#define IS_CONTEXT (UINT64_C(1) << 63) // no address has this bit

// The void pointers of the values of a type, so far.
enum voids {
	VOIDS_UNKNOWN,
	VOIDS_NONE,
	VOIDS_IDLE, // that the next visit wants nothing of
	VOIDS_SOME,
};

struct search {
	struct inference *inference;
	uint8_t *voids;   // [types] enum voids
	bool has_holders; // objects have such types
	struct HEAP_ARRAY(struct void_place) places;
	struct heap_hash_table by_place;
	struct self_lengths lengths;
	struct deep_content deep;
	struct deep_values values;
	uint64_t *words; // [CONTENT_WORDS + 1]
	bool by_content;
	bool by_callback; // places are being counted by callbacks
	bool by_context;  // likewise
	struct void_contexts contexts;
	heap_type_id void_pointer;
	uint64_t *claimed;
};

static void release(struct search *search)
{
	heap_array_deinit(&search->places);
	heap_hash_table_deinit(&search->by_place);
	heap_array_deinit(&search->lengths);
	deep_content_deinit(&search->deep);
	heap_array_deinit(&search->values);
	void_contexts_deinit(&search->contexts);
	free(search->words);
	free(search->voids);
}

// --- visiting ---------------------------------------------------------------------------------

// A void pointer of a value.
struct void_pointer {
	heap_type_id type; // that has it
	uint64_t offset;   // in that
	uint64_t value;    // address of the value, one element of an array
	uint64_t
		element; // from there to the element of an array in it that has the pointer; 0: the first, or none
	heap_object_id holder, target;
	bool is_sure;  // the name of its holder
	bool is_inner; // it leads into the middle of its target
};

typedef struct heap_error *(*visitor)(struct search *search, const struct void_pointer *pointer);

// Values of a type in an object.
struct values {
	heap_object_id object;
	heap_type_id type;
	uint64_t start, end; // in the object
	bool is_sure;
};

// The offset of the first one, if a pointer is in one of several elements of an array. Of a flexible array
// the last elements are often not in use, and hold old pointers: each counts for itself.
static uint64_t without_index(const struct layouts *layouts, heap_type_id id, uint64_t offset)
{
	uint64_t base = 0;

	if (!layouts_is_flexible(layouts, id) && layouts_size(layouts, id) > 0)
		offset %= layouts_size(layouts, id);
	for (int depth = 0; depth < MAX_DEPTH; depth++) {
		bool is_array =
			layouts->types->types[layouts_strip(layouts, id)].kind == HEAP_TYPE_ARRAY;
		uint64_t before = offset;

		id = layouts_step_in(layouts, id, &offset);
		if (id == HEAP_NO_TYPE)
			break;
		base += is_array ? 0 : before - offset;
	}
	return base + offset;
}

static bool has_void(const struct heap_slots *slots)
{
	for (uint32_t i = 0; slots && i < slots->count; i++) {
		if (slots->list[i].pointee == HEAP_NO_TYPE)
			return true;
	}
	return false;
}

// True if the pointers at one place, [first, end), are void: one, or the members of a union, which may be functions, too.
static bool are_void(const struct inference *inference, const struct heap_slots *slots,
		     uint32_t first, uint32_t end)
{
	const struct heap_types *types = inference->layouts.types;
	bool has_any = false;

	for (uint32_t i = first; i < end; i++) {
		heap_type_id pointee = slots->list[i].pointee;

		has_any |= pointee == HEAP_NO_TYPE;
		if (pointee != HEAP_NO_TYPE && types->types[pointee].kind != HEAP_TYPE_FUNCTION)
			return false;
	}
	return has_any;
}

// Finds out if values of a type have void pointers. Most have none, and their edges need not be visited.
HEAP_MUST_CHECK
static struct heap_error *find_voids(struct search *search, heap_type_id type, bool *result)
{
	const struct heap_repetition *repetition;

	if (search->voids[type] == VOIDS_UNKNOWN) {
		HEAP_TRY(heap_repetitions_find(&search->inference->repetitions, type, &repetition));
		search->voids[type] = heap_repetition_has_slots(repetition) &&
						      (has_void(repetition->slots) ||
						       has_void(repetition->flexible_slots))
					      ? VOIDS_SOME
					      : VOIDS_NONE;
	}
	*result = search->voids[type] == VOIDS_SOME;
	return NULL;
}

// Finds out which types of objects have void pointers. They do not change while claims are made.
HEAP_MUST_CHECK
static struct heap_error *find_holders(struct search *search)
{
	const uint32_t *counts;

	HEAP_TRY(inference_count_types(search->inference, &counts));
	for (heap_type_id id = 1; id < search->inference->layouts.types->count; id++) {
		bool has_voids = false;

		if (counts[id] > 0)
			HEAP_TRY(find_voids(search, id, &has_voids));
		search->has_holders |= has_voids;
	}
	return NULL;
}

// The address of the element of an array that an offset of values lies in; of a flexible one that of its header.
static uint64_t value_address(const struct search *search, const struct values *values,
			      uint64_t offset)
{
	const struct layouts *layouts = &search->inference->layouts;
	uint64_t size = layouts_size(layouts, values->type), first = 0;

	if (!layouts_is_flexible(layouts, values->type) && size > 0)
		first = offset - offset % size;
	return objects_address(&search->inference->capture->objects, values->object) +
	       values->start + first;
}

// Visits the void pointers of values.
HEAP_MUST_CHECK
static struct heap_error *visit_values(struct search *search, const struct values *values,
				       visitor visit)
{
	struct inference *inference = search->inference;
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	const struct heap_repetition *repetition;
	uint64_t end = values->end;

	// Each element of a flexible array is a place of its own: those of a long one have too few targets each.
	if (layouts_is_flexible(&inference->layouts, values->type) &&
	    end - values->start > MAX_FLEXIBLE)
		end = values->start + MAX_FLEXIBLE;
	HEAP_TRY(heap_repetitions_find(&inference->repetitions, values->type, &repetition));
	for (uint32_t i = heap_edge_from(snapshot, values->object, values->start);
	     i < snapshot->edge_first[values->object + 1]; i++) {
		uint64_t offset = snapshot->edge_slot[i] * UINT64_C(8), first_place, value;
		heap_object_id target = snapshot->edge_target[i];
		const struct heap_slots *slots;
		uint32_t first, behind;

		progress_step();
		if (offset >= end)
			break;
		offset -= values->start;
		slots = heap_repetition_slots_at(repetition, offset, &first, &behind);
		if (!slots || !are_void(inference, slots, first, behind))
			continue;
		first_place = without_index(&inference->layouts, values->type, offset);
		value = value_address(search, values, offset);
		HEAP_TRY(visit(
			search,
			&(struct void_pointer){
				values->type,
				first_place,
				value,
				objects_address(&inference->capture->objects, values->object) +
					values->start + offset - first_place - value,
				values->object,
				target,
				values->is_sure,
				!layouts_is_start(snapshot->edge_interior[i] -
						  inference_prefix(inference, target)),
			}));
	}
	return NULL;
}

static bool is_open(const struct void_place *place)
{
	return place->beside.offset != NO_CALLBACK;
}

// True if a place does not tell what all of its pointers lead to.
static bool is_unclear(const struct void_place *place)
{
	return place->callback == 0 && (place->meaning == MEANS_NOTHING ||
					(place->meaning == MEANS_TYPE && place->is_partial));
}

// True if the callback beside a pointer may tell more: it knows one type, code casts the pointers of all.
static bool may_be_divided(const struct void_place *place)
{
	return is_unclear(place) || (place->callback == 0 && place->meaning == MEANS_CAST);
}

static bool is_told(const struct void_place *place)
{
	return place->meaning != MEANS_NOTHING;
}

// Has the next visit pass over the types of whose places nothing is wanted.
static void narrow(struct search *search, bool (*is_wanted)(const struct void_place *place))
{
	search->has_holders = false;
	for (heap_type_id id = 0; id < search->inference->layouts.types->count; id++) {
		if (search->voids[id] == VOIDS_SOME)
			search->voids[id] = VOIDS_IDLE;
	}
	for (size_t i = 0; i < search->places.count; i++) {
		const struct void_place *place = &search->places.items[i];

		if (!is_wanted(place))
			continue;
		search->voids[place->type] = VOIDS_SOME;
		search->has_holders = true;
	}
}

HEAP_MUST_CHECK
static struct heap_error *visit_objects(struct search *search, visitor visit)
{
	struct inference *inference = search->inference;
	size_t types = inference->layouts.types->count;
	CLEANUP_FREE bool *are_types = calloc(types + 1, sizeof(*are_types));
	CLEANUP(holders_deinit) struct holders holders = { 0 };

	if (!are_types)
		return heap_error_out_of_memory();
	for (heap_type_id id = 0; id < types; id++)
		are_types[id] = search->voids[id] == VOIDS_SOME;
	HEAP_TRY(holders_init(&holders, inference, are_types));
	for (heap_object_id i = holders_next(&holders, 0); i < holders.objects;
	     i = holders_next(&holders, i + 1)) {
		uint64_t prefix = inference_prefix(inference, i);

		HEAP_TRY(visit_values(
			search,
			&(struct values){ i, inference_type(inference, i), prefix,
					  prefix + inference_size(inference, i),
					  names_is_sure(&inference->capture->names, i) },
			visit));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *visit_all(struct search *search, visitor visit)
{
	struct inference *inference = search->inference;
	const struct pools *pools = &inference->pools;
	bool has_voids;

	if (search->has_holders)
		HEAP_TRY(visit_objects(search, visit));
	for (uint32_t i = 0; i < pools->count && !progress_is_late(); i++) {
		const struct heap_part *part = &pools->parts[i];
		uint64_t size = layouts_size(&inference->layouts, part->type);

		HEAP_TRY(find_voids(search, part->type, &has_voids));
		if (!has_voids)
			continue;
		HEAP_TRY(visit_values(search,
				      &(struct values){ part->object, part->type, part->offset,
							part->offset + size, false },
				      visit));
	}
	return NULL;
}

static uint64_t hash_place(const struct void_pointer *pointer, uint64_t callback)
{
	return heap_hash_mix(heap_hash_pair(pointer->type, pointer->offset), callback);
}

static struct void_place *find_place(const struct search *search,
				     const struct void_pointer *pointer, uint64_t callback)
{
	const struct void_place *list = search->places.items;
	uint32_t found =
		heap_hash_find(&search->by_place, hash_place(pointer, callback), i,
			       list[i].type == pointer->type && list[i].offset == pointer->offset &&
				       list[i].callback == callback);

	return found == HEAP_HASH_NONE ? NULL : &search->places.items[found];
}

// The callback of the value that has a pointer, or its table of functions; 0 if it has none.
// @param place  of the pointer
static uint64_t read_callback(const struct search *search, const struct void_place *place,
			      const struct void_pointer *pointer)
{
	const struct capture *capture = search->inference->capture;
	uint64_t callback = 0;

	if (is_open(place))
		pages_read(search->inference->pages,
			   pointer->value + place->beside.offset +
				   (place->beside.is_element ? pointer->element : 0),
			   &callback, sizeof(callback));
	// Code that is compiled as the program runs is in no module, and objects with functions of their own are no
	// tables: there may be as many as values.
	return modules_find(&capture->modules, callback) ? callback : 0;
}

// The context of a pointer as a callback of its place; 0 if it has none.
static uint64_t read_context(const struct search *search, const struct void_pointer *pointer)
{
	uint32_t context = search->contexts.of ? search->contexts.of[pointer->holder] : 0;

	return context ? IS_CONTEXT | context : 0;
}

// The place that tells what a pointer leads to: that with its callback or context, if all of them together do not
// tell all. @return NULL: there is none
static const struct void_place *find_telling(const struct search *search,
					     const struct void_pointer *pointer)
{
	const struct void_place *all = find_place(search, pointer, 0), *place = all;
	uint64_t callback = 0;

	if (place && is_open(place)) {
		callback = read_callback(search, place, pointer);
		place = callback ? find_place(search, pointer, callback) : NULL;
	}
	if (all && (!place || place->meaning == MEANS_NOTHING)) {
		if (all->meaning == MEANS_CAST)
			return all;
		callback = read_context(search, pointer);
		place = callback ? find_place(search, pointer, callback) : NULL;
	}
	return place && place->meaning != MEANS_NOTHING ? place : NULL;
}

// Keeps a target as a sample if it is one in so many. When there is no room, most of the samples go.
//
// An even step passes over one type where targets of two types take turns, and their order decides which. Where
// sites are not known it still is even: of mixed samples contents often tell no type there, or a wrong one.
static void keep_sample(const struct inference *inference, struct void_place *place,
			const struct void_pointer *pointer)
{
	uint32_t factor = inference_has_sites(inference) ? 3 : 2;

	if (place->pointers++ % place->step != 0)
		return;
	place->samples[place->kept++] = (struct byte_pointer){ pointer->value, pointer->target };
	if (place->kept < SAMPLES)
		return;
	for (place->kept = 0; place->kept * factor < SAMPLES; place->kept++)
		place->samples[place->kept] = place->samples[factor * place->kept];
	place->step *= factor;
}

HEAP_MUST_CHECK
static struct heap_error *count_pointer(struct search *search, const struct void_pointer *pointer)
{
	struct void_place *place = find_place(search, pointer, 0);
	uint64_t callback = 0;

	if (search->by_callback || search->by_context) {
		if (!place || !(search->by_context ? is_unclear(place) : is_open(place)))
			return NULL;
		callback = search->by_context ? read_context(search, pointer)
					      : read_callback(search, place, pointer);
		if (callback == 0)
			return NULL;
		place = find_place(search, pointer, callback);
	}
	if (!place) {
		HEAP_TRY(heap_hash_add(&search->by_place, hash_place(pointer, callback),
				       (uint32_t)search->places.count));
		HEAP_TRY(heap_array_append(&search->places,
					   ((struct void_place){ .type = pointer->type,
								 .offset = pointer->offset,
								 .callback = callback,
								 .beside.offset = NO_CALLBACK,
								 .step = 1 })));
		place = &search->places.items[search->places.count - 1];
	}
	if (pointer->is_inner) {
		place->inner++;
		return NULL;
	}
	keep_sample(search->inference, place, pointer);
	if (search->by_content)
		void_arrays_add(&place->arrays, search->inference, pointer->target);
	return NULL;
}

// --- meanings ---------------------------------------------------------------------------------

static bool are_enough(uint32_t part, uint32_t all, uint32_t per_cent)
{
	return part * UINT64_C(100) >= all * (uint64_t)per_cent;
}

static bool are_tagged(const struct search *search, const struct void_place *place)
{
	uint32_t tagged = 0;

	for (uint32_t i = 0; i < place->kept; i++)
		tagged += enum_tags_fit(search->inference, place->samples[i].target, search->words)
				  .fit != LAYOUT_NONE;
	return place->kept >= MIN_TAGGED && are_enough(tagged, place->kept, TAGGED);
}

// True if nearly all targets have their own length at a place. If all are of one size, there have to be many.
static bool are_measured(const struct search *search, const struct void_place *place,
			 const struct self_length *length)
{
	uint32_t measured = 0;
	bool have_sizes = false;

	for (uint32_t i = 0; i < place->kept; i++) {
		measured += self_lengths_hold(search->inference, length, place->samples[i].target);
		have_sizes |= inference_size(search->inference, place->samples[i].target) !=
			      inference_size(search->inference, place->samples[0].target);
	}
	return (have_sizes || place->kept >= MIN_EQUAL) &&
	       are_enough(measured, place->kept, AGREEING);
}

// Finds the only struct whose length the targets have.
static bool find_length(const struct search *search, struct void_place *place)
{
	uint32_t found = 0;

	for (size_t i = 0; place->kept >= MIN_MEASURED && i < search->lengths.count; i++) {
		if (!are_measured(search, place, &search->lengths.items[i]))
			continue;
		place->length = search->lengths.items[i];
		found++;
	}
	return found == 1;
}

// Finds out if the targets are bytes.
static bool find_bytes(const struct search *search, struct void_place *place)
{
	const struct inference *inference = search->inference;

	place->length.type = heap_types_find(inference->layouts.types, "char", 0);
	return place->length.type != HEAP_NO_TYPE &&
	       byte_lengths_find(inference, place->type, place->offset, place->samples, place->kept,
				 &place->number);
}

// True if a block is a text, or may be one.
static bool may_be_text(const struct search *search, heap_object_id object)
{
	const struct inference *inference = search->inference;
	struct content content;

	if (!claims_lack(&inference->claims, object))
		return layouts_is_character(&inference->layouts, inference_type(inference, object));
	content_read(inference, object, search->words, &content);
	return content_is_text(inference, &content, inference_size(inference, object));
}

// True if a block may as well begin with a small number as with a text of one letter.
static bool may_be_number(const struct search *search, heap_object_id object)
{
	struct content content;

	content_read(search->inference, object, search->words, &content);
	return content.count > 0 && memchr(search->words, '\0', sizeof(uint16_t));
}

// True if all targets are texts, and most are longer than numbers that look like one.
static bool find_texts(const struct search *search, struct void_place *place)
{
	uint32_t numbers = 0;

	place->length.type = heap_types_find(search->inference->layouts.types, "char", 0);
	if (place->length.type == HEAP_NO_TYPE || place->kept < MIN_TAGGED)
		return false;
	for (uint32_t i = 0; i < place->kept; i++) {
		if (!may_be_text(search, place->samples[i].target))
			return false;
		numbers += may_be_number(search, place->samples[i].target);
	}
	return numbers * 2 < place->kept;
}

// Finds the type of nearly all targets that have a name.
static bool find_vote(const struct search *search, struct void_place *place)
{
	const struct inference *inference = search->inference;
	struct majority majority = { 0 };
	uint32_t voters = 0, votes = 0;
	heap_type_id elected;

	for (uint32_t i = 0; i < place->kept; i++) {
		heap_type_id type = inference_type(inference, place->samples[i].target);

		if (!claims_are_good(&inference->claims, place->samples[i].target))
			continue;
		voters++;
		majority_add(&majority, type);
	}
	elected = (heap_type_id)majority.value;
	for (uint32_t i = 0; i < place->kept; i++)
		votes += inference_type(inference, place->samples[i].target) == elected &&
			 claims_are_good(&inference->claims, place->samples[i].target);
	place->length.type = elected;
	place->is_partial = voters < place->kept;
	return voters >= MIN_VOTERS && voters * 2 >= place->kept &&
	       are_enough(votes, voters, AGREEING) &&
	       layouts_is_compound(&inference->layouts, elected);
}

// True if nearly all targets may be of a type. Where sizes are not exact, contents speak for it, or there are many.
static bool may_all_be(const struct search *search, const struct void_place *place,
		       heap_type_id type)
{
	const struct inference *inference = search->inference;
	uint32_t agreeing = 0, proving = 0;

	for (uint32_t i = 0; i < place->kept; i++) {
		heap_object_id target = place->samples[i].target;
		struct layout_claim claim = inference_fit(inference, type, target);
		struct content content;
		int score;

		if (claim.fit == LAYOUT_NONE || claim.elements != 1 ||
		    hints_ask(inference, target, type) == VERDICT_AGAINST ||
		    (claims_are_good(&inference->claims, target) &&
		     inference_type(inference, target) != type))
			continue;
		content_read(inference, target, search->words, &content);
		score = content_score(inference, &content, type, 1);
		agreeing += score >= 0;
		proving += score > 0 || inference_slack(inference, target) == 0;
	}
	return (proving > 0 || place->kept >= MIN_HANDLED) &&
	       are_enough(agreeing, place->kept, AGREEING);
}

// True if a type is what has the pointer, or a part of that: functions get such, too. What std::function calls gets the
// union in it that has the pointer to the functor.
static bool has_pointer(const struct layouts *layouts, const struct void_place *place,
			heap_type_id type)
{
	uint64_t size = layouts_size(layouts, type);

	if (type == place->type)
		return true;
	for (uint64_t before = 0; before < size && before <= place->offset; before += 8) {
		if (layouts_has(layouts, place->type, type, place->offset - before))
			return true;
	}
	return false;
}

// Finds the structs that a function, or those of a table, handle and that the targets may be. @return false: several
static bool add_handled(const struct search *search, const struct void_place *place,
			const struct method_table *functions, heap_type_id *found)
{
	const struct inference *inference = search->inference;
	const struct method_tables *tables = &inference->pointer_tags.tables;

	for (uint32_t i = 0; functions && i < functions->receivers; i++) {
		heap_type_id type = tables->receivers.items[functions->first_receiver + i].type;

		if (type == *found || !layouts_is_compound(&inference->layouts, type) ||
		    has_pointer(&inference->layouts, place, type) ||
		    !may_all_be(search, place, type))
			continue;
		if (*found != HEAP_NO_TYPE)
			return false;
		*found = type;
	}
	return true;
}

// Likewise those of the functions of the containers on the path of a context.
static bool add_handled_by_context(const struct search *search, const struct void_place *place,
				   heap_type_id *found)
{
	const struct method_tables *tables = &search->inference->pointer_tags.tables;
	const struct void_context *context =
		void_contexts_get(&search->contexts, (uint32_t)place->callback);

	for (int depth = 0; context && depth < MAX_DEPTH; depth++) {
		for (uint32_t i = 0; i < context->count; i++) {
			if (!add_handled(search, place,
					 method_tables_find_callback(tables, context->functions[i]),
					 found))
				return false;
		}
		context = void_contexts_get(&search->contexts, context->parent);
	}
	return true;
}

// Likewise those that a function was instantiated for.
static bool add_instantiated(const struct search *search, const struct void_place *place,
			     heap_type_id *found)
{
	size_t count;
	const heap_type_id *types = template_arguments_find(&search->inference->template_arguments,
							    place->callback, &count);

	for (size_t i = 0; i < count; i++) {
		if (types[i] == *found ||
		    has_pointer(&search->inference->layouts, place, types[i]) ||
		    !may_all_be(search, place, types[i]))
			continue;
		if (*found != HEAP_NO_TYPE)
			return false;
		*found = types[i];
	}
	return true;
}

// Finds the only struct that the callback, the functions of a table, or of containers, handle and that the targets may be.
static bool find_handled(const struct search *search, struct void_place *place)
{
	const struct method_tables *tables = &search->inference->pointer_tags.tables;
	const struct method_table *functions = NULL;
	heap_type_id found = HEAP_NO_TYPE;
	bool is_clear;

	if (place->callback & IS_CONTEXT) {
		is_clear = add_handled_by_context(search, place, &found);
	} else {
		if (place->callback != 0)
			functions = method_tables_find_callback(tables, place->callback);
		if (place->callback != 0 && !functions)
			functions = method_tables_find(tables, place->callback);
		is_clear = add_handled(search, place, functions, &found);
		if (is_clear && found == HEAP_NO_TYPE)
			is_clear = add_instantiated(search, place, &found);
	}
	if (!is_clear)
		found = HEAP_NO_TYPE;
	place->length.type = found;
	place->is_handled = found != HEAP_NO_TYPE;
	return place->is_handled;
}

// True if the type of a block may be known: not if its code has no debug information.
static bool may_be_known(const struct capture *capture, heap_object_id object)
{
	return sites_has_types(capture,
			       capture->site_of_kind[objects_kind(&capture->objects, object)]);
}

// Finds the type by the contents of targets, if none has a name.
HEAP_MUST_CHECK
static struct heap_error *find_content(struct search *search, struct void_place *place,
				       bool *is_found)
{
	struct inference *inference = search->inference;

	*is_found = false;
	search->values.count = 0;
	for (uint32_t i = 0; i < place->kept; i++) {
		heap_object_id target = place->samples[i].target;

		if (inference->claims.rank[target] != RANK_NONE ||
		    pools_have(&inference->pools, target) ||
		    !may_be_known(inference->capture, target))
			return NULL;
		HEAP_TRY(heap_array_append(
			&search->values,
			((struct deep_value){ target, 0, inference_size(inference, target),
					      inference_slack(inference, target) })));
	}
	if (!search->deep.inference)
		HEAP_TRY(deep_content_init(&search->deep, inference));
	place->length.type = deep_content_choose(&search->deep, &search->values, false);
	// Those of one context are few, so that they agree with something far by chance.
	*is_found = place->length.type != HEAP_NO_TYPE &&
		    (!(place->callback & IS_CONTEXT) ||
		     deep_content_is_near(&search->deep, place->length.type));
	return NULL;
}

// Finds out if targets are among the structs that the pointer is cast to. Where nearly all are, and of one type, there
// are hardly any others; else size or contents have to speak for each.
static bool find_casts(const struct search *search, struct void_place *place)
{
	heap_type_id type = HEAP_NO_TYPE;
	uint32_t known = 0;

	place->casts = void_casts_gather(search->inference, place->type, place->offset);
	place->is_mixed = false;
	for (uint32_t i = 0; place->casts.count > 0 && i < place->kept; i++) {
		struct void_cast_choice choice = void_casts_choose(
			search->inference, &place->casts, place->samples[i].target, search->words);

		if (choice.claim.fit == LAYOUT_NONE && !choice.is_ambiguous)
			continue;
		place->is_mixed |= choice.is_ambiguous || (known > 0 && choice.claim.type != type);
		type = choice.claim.type;
		known++;
	}
	place->is_partial = !are_enough(known, place->kept, AGREEING);
	return known > 0;
}

static void means_cast(struct void_place *place)
{
	place->meaning = MEANS_CAST;
	// It is no vote, which siblings that are something else would take away.
	place->rank = RANK_EMBEDDED;
}

// Finds a meaning where nothing but the contents of the targets tells it.
HEAP_MUST_CHECK
static struct heap_error *find_meaning_by_content(struct search *search, struct void_place *place,
						  bool *is_found)
{
	*is_found = true;
	if (find_bytes(search, place)) {
		place->meaning = MEANS_BYTES;
		place->rank = RANK_TEXT;
		return NULL;
	}
	if (search->void_pointer != HEAP_NO_TYPE &&
	    void_arrays_find(&place->arrays, search->inference, search->void_pointer,
			     search->words)) {
		place->meaning = MEANS_POINTERS;
		place->length.type = search->void_pointer;
		place->rank = RANK_ARRAY;
		return NULL;
	}
	if (find_texts(search, place)) {
		place->meaning = MEANS_TEXT;
		place->rank = RANK_TEXT;
		return NULL;
	}
	HEAP_TRY(find_content(search, place, is_found));
	if (*is_found)
		place->meaning = MEANS_TYPE;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_meaning(struct search *search, struct void_place *place)
{
	bool is_found = false, has_casts;

	if (place->kept == 0)
		return NULL;
	place->rank = RANK_VOTE;
	if (are_tagged(search, place)) {
		place->meaning = MEANS_TAGGED;
		place->rank = RANK_TAG;
		return NULL;
	}
	if (find_length(search, place)) {
		place->meaning = MEANS_LENGTH;
		return NULL;
	}
	if (find_vote(search, place) || find_handled(search, place)) {
		place->meaning = MEANS_TYPE;
		return NULL;
	}
	// They lead to parts of blocks. A struct with an array of any length would fit those whose first part one leads to.
	if (place->inner > place->pointers)
		return NULL;
	has_casts = find_casts(search, place);
	if (has_casts && !place->is_partial) {
		means_cast(place);
		return NULL;
	}
	if (!search->by_content)
		return NULL;
	HEAP_TRY(find_meaning_by_content(search, place, &is_found));
	if (!is_found && has_casts)
		means_cast(place);
	return NULL;
}

// --- claims -----------------------------------------------------------------------------------

// The claim on a target; LAYOUT_NONE: it is an exception.
static struct layout_claim fit(const struct search *search, const struct void_place *place,
			       const struct void_pointer *pointer)
{
	const struct inference *inference = search->inference;
	heap_object_id target = pointer->target;
	const struct layout_claim none = { LAYOUT_NONE, HEAP_NO_TYPE, 0 };
	struct layout_claim claim;
	struct content content;

	if (place->meaning == MEANS_TAGGED)
		return enum_tags_fit(inference, target, search->words);
	if (place->meaning == MEANS_LENGTH && !self_lengths_hold(inference, &place->length, target))
		return none;
	if (pools_have(&inference->pools, target))
		return none;
	if (place->meaning == MEANS_BYTES)
		return byte_lengths_hold(inference, &place->number,
					 &(struct byte_pointer){ pointer->value, target })
			       ? (struct layout_claim){ LAYOUT_TEXT, place->length.type,
							inference_size(inference, target) }
			       : none;
	if (place->meaning == MEANS_POINTERS)
		return void_arrays_hold(inference, target, search->words)
			       ? (struct layout_claim){ LAYOUT_ARRAY, place->length.type,
							inference_size(inference, target) / 8 }
			       : none;
	if (place->meaning == MEANS_TEXT)
		return may_be_text(search, target)
			       ? (struct layout_claim){ LAYOUT_TEXT, place->length.type,
							inference_size(inference, target) }
			       : none;
	if (place->meaning == MEANS_CAST) {
		struct void_cast_choice choice =
			void_casts_choose(inference, &place->casts, target, search->words);

		return choice.is_likely || !(place->is_partial || place->is_mixed) ? choice.claim
										   : none;
	}
	claim = inference_fit(inference, place->length.type, target);
	if (claim.fit == LAYOUT_NONE)
		return none;
	content_read(inference, target, search->words, &content);
	return content_score(inference, &content, claim.type, claim.elements) >= 0 ? claim : none;
}

HEAP_MUST_CHECK
static struct heap_error *claim_target(struct search *search, const struct void_pointer *pointer)
{
	struct inference *inference = search->inference;
	const struct void_place *place = find_telling(search, pointer);
	bool is_tagged = place && place->meaning == MEANS_TAGGED;
	enum heap_evidence evidence = HEAP_EVIDENCE_VOTE;
	struct layout_claim claim;

	if (pointer->is_inner || !place ||
	    claims_rank(&inference->claims, pointer->target) <= place->rank)
		return NULL;
	claim = fit(search, place, pointer);
	if (claim.fit == LAYOUT_NONE)
		return NULL;
	if (is_tagged)
		evidence = HEAP_EVIDENCE_TAG;
	else if (place->is_handled)
		evidence = HEAP_EVIDENCE_METHODS;
	else if (place->meaning == MEANS_CAST)
		evidence = HEAP_EVIDENCE_CAST;
	++*search->claimed;
	return claims_add(&inference->claims, place->rank,
			  &(struct claim){ pointer->target, claim.type, claim.elements, evidence,
					   is_tagged && pointer->is_sure });
}

// Finds the meanings of places from a number on.
HEAP_MUST_CHECK
static struct heap_error *find_meanings(struct search *search, size_t first)
{
	for (size_t i = first; i < search->places.count && !progress_is_late(); i++)
		HEAP_TRY(find_meaning(search, &search->places.items[i]));
	return NULL;
}

// Tells the void pointers of places apart by callbacks where nothing, or not all, of them is known. One callback
// may have another type than those that voted.
HEAP_MUST_CHECK
static struct heap_error *divide_places(struct search *search)
{
	size_t count = search->places.count, open = 0;

	for (size_t i = 0; i < count; i++) {
		struct void_place *place = &search->places.items[i];

		if (may_be_divided(place))
			place->beside = callbacks_find(&search->inference->layouts, place->type,
						       place->offset);
		open += is_open(place);
	}
	if (open == 0)
		return NULL;
	search->by_callback = true;
	narrow(search, is_open);
	HEAP_TRY(visit_all(search, count_pointer));
	return find_meanings(search, count);
}

// Tells those that are left apart by their contexts.
HEAP_MUST_CHECK
static struct heap_error *divide_by_context(struct search *search)
{
	size_t count = search->places.count, types = search->inference->layouts.types->count;
	CLEANUP_FREE uint8_t *is_container = calloc(types + 1, 1);

	if (!is_container)
		return heap_error_out_of_memory();
	for (heap_type_id id = 1; id < types; id++)
		is_container[id] =
			search->voids[id] == VOIDS_SOME || search->voids[id] == VOIDS_IDLE;
	narrow(search, is_unclear);
	if (!search->has_holders)
		return NULL;
	HEAP_TRY(void_contexts_find(search->inference, is_container, &search->contexts));
	search->by_context = true;
	HEAP_TRY(visit_all(search, count_pointer));
	return find_meanings(search, count);
}

struct heap_error *void_pointers_claim(struct inference *inference, bool by_content,
				       uint64_t *claimed)
{
	CLEANUP(release)
	struct search search = {
		.inference = inference,
		.voids = calloc((size_t)inference->layouts.types->count + 1, 1),
		.words = malloc((CONTENT_WORDS + 1) * sizeof(*search.words)),
		.by_content = by_content,
		.void_pointer = void_arrays_element(inference),
		.claimed = claimed,
	};

	if (!search.words || !search.voids)
		return heap_error_out_of_memory();
	search.voids[HEAP_NO_TYPE] = VOIDS_NONE;
	HEAP_TRY(find_holders(&search));
	HEAP_TRY(visit_all(&search, count_pointer));
	if (search.places.count == 0)
		return NULL;
	HEAP_TRY(self_lengths_find(inference, &search.lengths));
	HEAP_TRY(find_meanings(&search, 0));
	HEAP_TRY(divide_places(&search));
	if (by_content)
		HEAP_TRY(divide_by_context(&search));
	narrow(&search, is_told);
	return visit_all(&search, claim_target);
}
