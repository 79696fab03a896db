// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/classes/bucket_tables.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/class_names.h"
#include "dumper/writer/infer/inference.h"
#include "dumper/writer/infer/inner_edges.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/search.h"
#include "lib/types/templates.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_DEPTH = 12,
	MAX_VISITS = 1024,   // members of one type
	MAX_CANDIDATES = 24, // of one place
	MAX_ARGUMENTS = 8,   // of one template
	MIN_BUCKET = 8,      // bytes
	MAX_ALIGNMENT = 16,  // of buckets and control bytes
	MAX_MORE = 64,       // control bytes beside those of the buckets
	MORE_SHARE = 8,      // and one for so many buckets
	MAX_SPREAD = 24,     // of their number between tables, by alignment and rounded sizes
	MIN_PROVING = 4,     // buckets whose contents speak for a type
	MIN_BUCKETS = 4,     // of one table: small structs have a few bytes behind one or two
	MIN_EXACT_TYPED = 7, // likewise behind a pointer to buckets
	MIN_EXACT = 128,     // buckets of a table whose number does, where no content can
	TOLD_WORDS = 5,      // before or behind the pointer, among which a number of buckets may be
	GROUP = 15,     // buckets that share 16 control bytes, one of which says what overflows
	MIN_GROUPS = 2, // of a table whose number of buckets does
	SAMPLES = 64,   // tables of a place
	CHECKED_BUCKETS = 128, // of a table
	AGREEING_SIZED = 20,   // per cent of the buckets, where sizes agree, too
	AGREEING = 90,         // per cent of the tables, and of the buckets that say anything
};

// Where the buckets lie.
enum direction {
	BUCKETS_BEFORE, // the pointer, which leads to the control bytes, and up to it
	BUCKETS_FIRST,  // likewise, from the start of the block on
	BUCKETS_BEHIND, // the pointer, and the control bytes before
	DIRECTIONS,
};

// A pointer in a type: one to bytes or void, inside instances of templates; or one to buckets.
struct place {
	heap_type_id type;
	uint64_t offset;
	uint32_t first, count; // candidates
	heap_type_id bucket;   // HEAP_NO_TYPE: unknown
	bool is_typed;         // the first candidate is its pointee
	bool has_pointee;      // it says what it leads to: that may be a group of control bytes
	enum direction direction;
};

// A pointer at a place that leads into the middle of a block which may be a table.
struct table {
	uint32_t place;
	heap_object_id object;
	uint64_t interior;
	uint64_t address; // of the pointer; 0: it is in a register
};

// The places of a type: [first, end) of all. Zeros: they have not been looked for.
struct places_of {
	uint32_t first, end;
	bool are_known;
};

// A class around a pointer, and the one around that.
struct scope {
	heap_type_id type;
	const struct scope *outer;
	int depth;
};

// A type that is declared in an instance of a template.
struct nested {
	heap_type_id outer, type;
};

struct search {
	struct inference *inference;
	struct places_of *places_of; // [types]
	struct HEAP_ARRAY(struct place) places;
	struct HEAP_ARRAY(heap_type_id) candidates;
	struct HEAP_ARRAY(struct table) tables;
	struct HEAP_ARRAY(struct nested) nested; // by outer type
	struct class_names *names;               // NULL: not needed so far
	uint64_t *words;                         // [CONTENT_WORDS + 1]
	unsigned visits;
};

static void release(struct search *search)
{
	free(search->places_of);
	heap_array_deinit(&search->places);
	heap_array_deinit(&search->candidates);
	heap_array_deinit(&search->tables);
	heap_array_deinit(&search->nested);
	class_names_destroy(search->names);
	free(search->words);
}

static const char *name_of(const struct search *search, heap_type_id id)
{
	const struct heap_types *types = search->inference->layouts.types;

	return heap_types_string(types, types->types[id].name);
}

// True for "name<…>", not for what is declared in such a class.
static bool is_instance(const char *name)
{
	size_t length = strchr(name, '<') ? heap_template_length(name) : 0;

	return length > 0 && name[length] == '\0';
}

// --- candidates --------------------------------------------------------------------------------

static int compare_nested(const void *left, const void *right)
{
	const struct nested *a = left, *b = right;

	if (a->outer != b->outer)
		return a->outer < b->outer ? -1 : 1;
	return a->type < b->type ? -1 : a->type > b->type;
}

// Lists the types that are declared in instances of templates.
HEAP_MUST_CHECK
static struct heap_error *find_nested(struct search *search)
{
	const struct layouts *layouts = &search->inference->layouts;

	for (heap_type_id id = 1; id < layouts->types->count; id++) {
		const char *name = name_of(search, id);
		size_t length = layouts_is_compound(layouts, id) && strchr(name, '<')
					? heap_template_length(name)
					: 0;
		struct nested nested = { .type = id };

		progress_step();
		if (length == 0 || strncmp(name + length, "::", 2) != 0)
			continue;
		nested.outer = class_names_find(search->names, name, length);
		if (nested.outer != HEAP_NO_TYPE)
			HEAP_TRY(heap_array_append(&search->nested, nested));
	}
	if (search->nested.count > 0)
		qsort(search->nested.items, search->nested.count, sizeof(*search->nested.items),
		      compare_nested);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *know_names(struct search *search)
{
	if (search->names)
		return NULL;
	HEAP_TRY(class_names_create(search->inference->layouts.types, &search->names));
	return find_nested(search);
}

static bool may_be_bucket(const struct layouts *layouts, heap_type_id type)
{
	return (layouts_is_compound(layouts, type) ||
		layouts->types->types[type].kind == HEAP_TYPE_POINTER) &&
	       layouts_size(layouts, type) >= MIN_BUCKET && !layouts_is_flexible(layouts, type) &&
	       !layouts_is_link(layouts, type);
}

HEAP_MUST_CHECK
static struct heap_error *add_candidate(struct search *search, struct place *place,
					heap_type_id type)
{
	const struct layouts *layouts = &search->inference->layouts;

	// A union that only delays a constructor stands for what it constructs.
	type = layouts_whole_member(layouts, type);
	if (type == HEAP_NO_TYPE || !may_be_bucket(layouts, type) || place->count == MAX_CANDIDATES)
		return NULL;
	for (uint32_t i = 0; i < place->count; i++) {
		if (search->candidates.items[place->first + i] == type)
			return NULL;
	}
	place->count++;
	return heap_array_append(&search->candidates, type);
}

// Adds the types that the arguments of a name mention, at any depth.
//
// @param length  of the name, which need not end there
HEAP_MUST_CHECK
static struct heap_error *add_arguments(struct search *search, struct place *place,
					const char *name, size_t length, int depth)
{
	const char *open = memchr(name, '<', length);

	for (unsigned i = 0; open && depth < MAX_DEPTH && i < MAX_ARGUMENTS; i++) {
		size_t own = 0;
		const char *argument = heap_template_argument(name, i, &own);

		if (!argument)
			break;
		HEAP_TRY(add_candidate(search, place,
				       class_names_find(search->names, argument, own)));
		HEAP_TRY(add_arguments(search, place, argument, own, depth + 1));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_declared(struct search *search, struct place *place,
				       heap_type_id outer)
{
	const struct nested *list = search->nested.items;
	size_t first = heap_partition_point(i, 0, search->nested.count, list[i].outer < outer);

	for (size_t i = first; i < search->nested.count && list[i].outer == outer; i++)
		HEAP_TRY(add_candidate(search, place, list[i].type));
	return NULL;
}

// --- places ------------------------------------------------------------------------------------

// The pointee of a pointer, if it says anything of its target.
static heap_type_id find_pointee(const struct layouts *layouts, const struct heap_type *pointer)
{
	heap_type_id pointee = layouts_strip(layouts, pointer->target);

	return layouts_is_character(layouts, pointee) ? HEAP_NO_TYPE : pointee;
}

// True if a type may be a group of control bytes: it has no pointers.
static bool may_be_control(const struct layouts *layouts, heap_type_id type)
{
	const struct heap_slots *slots = heap_slot_table_get(&layouts->slots, type);

	return layouts_is_compound(layouts, type) && slots && slots->count == 0;
}

// @param pointee  HEAP_NO_TYPE: bytes or void
HEAP_MUST_CHECK
static struct heap_error *add_place(struct search *search, heap_type_id type, uint64_t offset,
				    heap_type_id pointee, const struct scope *scope)
{
	struct place place = { .type = type,
			       .offset = offset,
			       .first = (uint32_t)search->candidates.count };

	HEAP_TRY(add_candidate(search, &place, pointee));
	place.is_typed = place.count > 0;
	place.has_pointee = pointee != HEAP_NO_TYPE;
	if (place.has_pointee && !may_be_control(&search->inference->layouts, pointee))
		scope = NULL;
	for (; scope; scope = scope->outer) {
		const char *name = name_of(search, scope->type);

		if (!is_instance(name))
			continue;
		HEAP_TRY(know_names(search));
		HEAP_TRY(add_declared(search, &place, scope->type));
		HEAP_TRY(add_arguments(search, &place, name, strlen(name), 0));
	}
	return place.count > 0 ? heap_array_append(&search->places, place) : NULL;
}

// Finds the places in a part of a type.
//
// @param scope  the classes around the part
HEAP_MUST_CHECK
static struct heap_error *find_places_in(struct search *search, heap_type_id whole,
					 heap_type_id part, uint64_t offset,
					 const struct scope *scope)
{
	const struct layouts *layouts = &search->inference->layouts;
	heap_type_id id = layouts_strip(layouts, part);
	const struct heap_type *type = &layouts->types->types[id];
	const struct scope own = { id, scope, scope ? scope->depth + 1 : 0 };

	if (type->kind == HEAP_TYPE_POINTER)
		return add_place(search, whole, offset, find_pointee(layouts, type), scope);
	if (!heap_types_has_members(type) || own.depth > MAX_DEPTH)
		return NULL;
	for (uint32_t i = 0; i < type->members && search->visits < MAX_VISITS; i++) {
		const struct heap_member *member = &layouts->types->members[type->first_member + i];

		search->visits++;
		if (!(member->flags & (HEAP_MEMBER_VIRTUAL_BASE | HEAP_MEMBER_BIT_FIELD)))
			HEAP_TRY(find_places_in(search, whole, member->type,
						offset + member->offset, &own));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_places(struct search *search, heap_type_id type,
				      const struct places_of **result)
{
	struct places_of *places = &search->places_of[type];

	*result = places;
	if (places->are_known)
		return NULL;
	places->are_known = true;
	places->first = (uint32_t)search->places.count;
	search->visits = 0;
	if (layouts_size(&search->inference->layouts, type) > 0)
		HEAP_TRY(find_places_in(search, type, type, 0, NULL));
	progress_steps(search->visits);
	places->end = (uint32_t)search->places.count;
	return NULL;
}

// --- tables ------------------------------------------------------------------------------------

// True if a block has no name that says more than that it is bytes.
static bool may_be_table(const struct inference *inference, heap_object_id object)
{
	const struct claims *claims = &inference->claims;
	enum rank rank = claims->rank[object];

	if (pools_have(&inference->pools, object) || inference_prefix(inference, object) > 0 ||
	    (inference->capture->objects.flags[object] & (ARENA_CHUNK | ARENA_UNUSED)))
		return false;
	return rank == RANK_NONE ||
	       (rank >= RANK_STRING && rank == claims->name_rank[object] &&
		layouts_is_character(&inference->layouts, inference_type(inference, object)));
}

// Notes a pointer at an offset of a value, if it may lead into a table.
HEAP_MUST_CHECK
static struct heap_error *note_pointer(struct search *search, const struct places_of *places,
				       uint64_t offset, heap_object_id target, uint64_t interior,
				       uint64_t address)
{
	if (interior < MIN_BUCKET || interior % MIN_BUCKET != 0 || interior >= UINT32_MAX ||
	    !may_be_table(search->inference, target))
		return NULL;
	for (uint32_t i = places->first; i < places->end; i++) {
		if (search->places.items[i].offset == offset)
			return heap_array_append(&search->tables,
						 ((struct table){ i, target, interior, address }));
	}
	return NULL;
}

// Visits the pointers of values of a type in an object.
HEAP_MUST_CHECK
static struct heap_error *visit_values(struct search *search, heap_object_id object,
				       heap_type_id type, uint64_t start, uint64_t end,
				       uint32_t edge)
{
	const struct heap_snapshot *snapshot = &search->inference->capture->snapshot;
	const struct layouts *layouts = &search->inference->layouts;
	uint64_t size = layouts_size(layouts, type);
	const struct places_of *places;

	HEAP_TRY(find_places(search, type, &places));
	if (places->first == places->end)
		return NULL;
	if (layouts_is_flexible(layouts, type))
		end = start + size;
	for (uint32_t i = edge; i < snapshot->edge_first[object + 1]; i++) {
		uint64_t offset = snapshot->edge_slot[i] * UINT64_C(8);

		progress_step();
		if (offset >= end)
			break;
		HEAP_TRY(note_pointer(
			search, places, (offset - start) % size, snapshot->edge_target[i],
			snapshot->edge_interior[i],
			objects_address(&search->inference->capture->objects, object) + offset));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *visit_roots(struct search *search)
{
	struct inference *inference = search->inference;
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;

	for (uint64_t i = 0; i < snapshot->root_edge_count && !progress_is_late(); i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];
		const uint64_t address = snapshot->roots[edge->root].address;
		const struct places_of *places;
		struct root_value value;

		progress_step();
		HEAP_TRY(inference_root_value(inference, &snapshot->roots[edge->root], &value));
		if (value.type == HEAP_NO_TYPE ||
		    layouts_size(&inference->layouts, value.type) == 0)
			continue;
		HEAP_TRY(find_places(search, value.type, &places));
		if (places->first < places->end)
			HEAP_TRY(note_pointer(search, places,
					      edge->offset %
						      layouts_size(&inference->layouts, value.type),
					      edge->target, edge->interior,
					      address ? address + edge->offset : 0));
	}
	return NULL;
}

// Finds all pointers that may lead into tables: those of blocks, parts of blocks, and variables.
HEAP_MUST_CHECK
static struct heap_error *find_tables(struct search *search)
{
	const struct inference *inference = search->inference;
	const struct capture *capture = inference->capture;
	const struct heap_snapshot *snapshot = &capture->snapshot;
	const heap_object_id count = capture->objects.count;
	const struct pools *pools = &inference->pools;

	for (heap_object_id i = inner_edges_next(snapshot, 0, count);
	     i < count && !progress_is_late(); i = inner_edges_next(snapshot, i + 1, count)) {
		heap_type_id type = names_type(&capture->names, i);
		uint64_t prefix = inference_prefix(inference, i);

		progress_step();
		if (type != HEAP_NO_TYPE)
			HEAP_TRY(visit_values(search, i, type, prefix,
					      prefix + inference_size(inference, i),
					      heap_edge_from(snapshot, i, prefix)));
	}
	for (uint32_t i = 0; i < pools->count && !progress_is_late(); i++) {
		const struct heap_part *part = &pools->parts[i];

		HEAP_TRY(visit_values(search, part->object, part->type, part->offset,
				      part->offset +
					      part->elements *
						      layouts_size(&inference->layouts, part->type),
				      pools_first_edge(pools, i)));
	}
	return visit_roots(search);
}

static int compare_tables(const void *left, const void *right)
{
	const struct table *a = left, *b = right;

	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	return a->interior < b->interior ? -1 : a->interior > b->interior;
}

// --- the type of buckets -------------------------------------------------------------------------

// True if there are pointers in a part of a block: it is not one of control bytes.
static bool has_pointers(const struct inference *inference, heap_object_id object, uint64_t start,
			 uint64_t end)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint32_t first = heap_edge_from(snapshot, object, start);

	return first < snapshot->edge_first[object + 1] &&
	       snapshot->edge_slot[first] * UINT64_C(8) < end;
}

// Finds the buckets of a table, if the sizes agree with the type and direction of its place.
static bool locate(const struct inference *inference, const struct table *table,
		   const struct place *place, struct heap_part *result)
{
	uint64_t size = inference_size(inference, table->object);
	uint64_t slack = inference_slack(inference, table->object);
	uint64_t stride = layouts_size(&inference->layouts, place->bucket);
	uint64_t before = table->interior, behind = size - before;
	uint64_t room = place->direction != BUCKETS_BEHIND ? before : behind;
	uint64_t control = place->direction != BUCKETS_BEHIND ? behind : before;
	uint64_t count = room / stride, rest = room % stride, offset = before;

	if (before >= size || count == 0 || control < count ||
	    control - count > MAX_MORE + count / MORE_SHARE +
				      (place->direction != BUCKETS_BEHIND ? slack : 0) ||
	    rest >= MAX_ALIGNMENT + (place->direction == BUCKETS_BEHIND ? slack : 0))
		return false;
	if (place->direction == BUCKETS_BEHIND
		    ? has_pointers(inference, table->object, 0, before)
		    : has_pointers(inference, table->object, before, size))
		return false;
	if (place->direction != BUCKETS_BEHIND)
		offset = place->direction == BUCKETS_FIRST ? 0 : rest;
	*result = (struct heap_part){ .object = table->object,
				      .offset = offset,
				      .type = place->bucket,
				      .elements = count,
				      .evidence = HEAP_EVIDENCE_POINTER };
	return true;
}

// The evidence for a type.
struct evidence {
	uint32_t tables, located;
	uint32_t proving, against;      // buckets
	uint64_t least_more, most_more; // control bytes beside those of the buckets
	uint64_t size;                  // of the first table
	uint64_t most_buckets;
	bool have_sizes; // the tables differ in size
	bool is_exact;   // a large table has a number of buckets as only hash tables do
	int64_t score;
};

// Scores the contents of a bucket for its type.
static int score_bucket(const struct search *search, const struct heap_part *part, uint64_t number)
{
	uint64_t stride = layouts_size(&search->inference->layouts, part->type);
	struct content content;

	progress_step();
	content_read_part(search->inference, part->object, part->offset + number * stride, stride,
			  search->words, &content);
	return content_score(search->inference, &content, part->type, 1);
}

// Compares the buckets of a table with their type.
static void compare_buckets(const struct search *search, const struct heap_part *part,
			    struct evidence *evidence)
{
	uint64_t step = part->elements / CHECKED_BUCKETS + 1;

	for (uint64_t i = 0; i < part->elements; i += step) {
		int score = score_bucket(search, part, i);

		evidence->proving += score > 0;
		evidence->against += score < 0;
		evidence->score += score;
	}
}

// True for a number of buckets that hash tables have, of one bucket or a group more than that for each value of some
// bits of the hash. The last bucket of all groups may be missing: its control byte marks the end.
static bool is_number_of_table(uint64_t count, bool is_typed)
{
	uint64_t least = is_typed ? MIN_EXACT_TYPED : MIN_EXACT, groups = (count + 1) / GROUP;

	if (count >= least && ((count & (count - 1)) == 0 || (count & (count + 1)) == 0))
		return true;
	return (count + 1) % GROUP == 0 && groups >= MIN_GROUPS && (groups & (groups - 1)) == 0;
}

// True if a number beside the pointer to a table is that of its buckets, or the mask for them, and as only hash tables have.
//
// @param least, most  of the buckets that the table may have, as far as is known of its size
static bool is_number_told(const struct inference *inference, const struct table *table,
			   const struct place *place, uint64_t least, uint64_t most)
{
	uint64_t words[2 * TOLD_WORDS + 1] = { 0 };

	if (table->address < TOLD_WORDS * sizeof(*words))
		return false;
	pages_read(inference->pages, table->address - TOLD_WORDS * sizeof(*words), words,
		   sizeof(words));
	for (int i = 0; i < 2 * (2 * TOLD_WORDS + 1); i++) {
		uint64_t count = words[i / 2] + i % 2;

		if (count >= least && count <= most && is_number_of_table(count, place->is_typed))
			return true;
	}
	return false;
}

// True if a table has a number of buckets as only hash tables do. Where blocks may be larger than what was asked for, a
// number beside the pointer has to tell it, too.
static bool is_exact_table(const struct inference *inference, const struct table *table,
			   const struct place *place, uint64_t count)
{
	uint64_t slack = inference_slack(inference, table->object);
	uint64_t more = slack / layouts_size(&inference->layouts, place->bucket);

	if (slack == 0)
		return is_number_of_table(count, place->is_typed);
	return is_number_told(inference, table, place, more < count ? count - more : 1, count);
}

// Counts a table whose sizes agree.
static void count_table(const struct inference *inference, const struct table *table,
			const struct place *place, const struct heap_part *part,
			struct evidence *evidence)
{
	uint64_t size = inference_size(inference, table->object), count = part->elements;
	uint64_t control =
		place->direction != BUCKETS_BEHIND ? size - table->interior : table->interior;
	uint64_t more = control - count;

	if (evidence->located++ == 0) {
		evidence->size = size;
		evidence->least_more = evidence->most_more = more;
	}
	evidence->have_sizes |= evidence->size != size;
	if (count > evidence->most_buckets)
		evidence->most_buckets = count;
	if (more < evidence->least_more)
		evidence->least_more = more;
	if (more > evidence->most_more)
		evidence->most_more = more;
	evidence->is_exact |= is_exact_table(inference, table, place, count);
}

static struct evidence weigh(const struct search *search, size_t first, size_t end,
			     const struct place *place)
{
	size_t step = (end - first) / SAMPLES + 1;
	struct evidence evidence = { 0 };

	for (size_t i = first; i < end; i += step) {
		const struct table *table = &search->tables.items[i];
		struct heap_part part;

		evidence.tables++;
		if (!locate(search->inference, table, place, &part))
			continue;
		count_table(search->inference, table, place, &part, &evidence);
		compare_buckets(search, &part, &evidence);
	}
	return evidence;
}

// True if nearly all tables agree, and enough buckets. Those that are not in use may have any contents, so that fewer
// have to where the numbers of buckets are those of hash tables. Elsewhere a pointer to a struct in the middle of a block is
// more often one into an array, or to a part of a larger struct.
static bool is_enough(const struct place *place, const struct evidence *evidence)
{
	bool is_number = evidence->have_sizes || evidence->is_exact;
	uint64_t spread = evidence->most_more - evidence->least_more;
	uint32_t least = is_number ? AGREEING_SIZED : AGREEING;

	if (evidence->located * 100 < evidence->tables * AGREEING ||
	    evidence->proving * 100 < (evidence->proving + evidence->against) * least ||
	    evidence->most_buckets < MIN_BUCKETS ||
	    spread > MAX_SPREAD + evidence->most_buckets / MORE_SHARE)
		return false;
	if (evidence->proving >= MIN_PROVING)
		return is_number || !place->has_pointee;
	return is_number && !place->has_pointee && evidence->against == 0;
}

// Chooses the type of the buckets of a place's tables, [first, end): the first one of those that agree best.
static void choose(const struct search *search, struct place *place, size_t first, size_t end)
{
	struct place best = *place, tried = *place;
	int64_t score = INT64_MIN;

	for (uint32_t i = 0; i < place->count * DIRECTIONS; i++) {
		struct evidence evidence;

		tried.bucket = search->candidates.items[place->first + i / DIRECTIONS];
		tried.direction = i % DIRECTIONS;
		tried.is_typed = place->is_typed && i / DIRECTIONS == 0;
		if (tried.is_typed && tried.direction != BUCKETS_BEHIND)
			continue;
		evidence = weigh(search, first, end, &tried);
		if (!is_enough(&tried, &evidence) || evidence.score <= score)
			continue;
		score = evidence.score;
		best = tried;
	}
	*place = best;
}

// Follows the pointers of the buckets of a table. Those that are not in use may have any contents.
HEAP_MUST_CHECK
static struct heap_error *follow_buckets(const struct search *search, const struct heap_part *part)
{
	uint64_t stride = layouts_size(&search->inference->layouts, part->type);

	for (uint64_t i = 0; i < part->elements && !progress_is_late(); i++) {
		struct heap_part bucket = *part;

		if (score_bucket(search, part, i) < 0)
			continue;
		bucket.offset += i * stride;
		bucket.elements = 1;
		HEAP_TRY(pools_follow(search->inference, &bucket));
	}
	return NULL;
}

// Makes the buckets of a table a part of its block.
HEAP_MUST_CHECK
static struct heap_error *apply(const struct search *search, const struct place *place,
				const struct table *table, uint64_t *found)
{
	struct inference *inference = search->inference;
	struct evidence evidence = { 0 };
	struct heap_part part;

	if (!may_be_table(inference, table->object) || !locate(inference, table, place, &part))
		return NULL;
	// Buckets that are not in use may have any contents.
	compare_buckets(search, &part, &evidence);
	if (evidence.against > 0 && evidence.proving == 0)
		return NULL;
	++*found;
	HEAP_TRY(pools_add_array(inference, &part));
	return follow_buckets(search, &part);
}

HEAP_MUST_CHECK
static struct heap_error *name_tables(struct search *search, uint64_t *found)
{
	const struct table *tables = search->tables.items;

	if (search->tables.count == 0)
		return NULL;
	qsort(search->tables.items, search->tables.count, sizeof(*tables), compare_tables);
	for (size_t first = 0, end; first < search->tables.count; first = end) {
		struct place *place = &search->places.items[tables[first].place];

		for (end = first + 1; end < search->tables.count; end++) {
			if (tables[end].place != tables[first].place)
				break;
		}
		choose(search, place, first, end);
		for (size_t i = first; place->bucket != HEAP_NO_TYPE && i < end; i++)
			HEAP_TRY(apply(search, place, &tables[i], found));
	}
	return NULL;
}

struct heap_error *bucket_tables_find(struct inference *inference, uint64_t *found)
{
	CLEANUP(release)
	struct search search = {
		.inference = inference,
		.places_of = calloc((size_t)inference->layouts.types->count + 1,
				    sizeof(*search.places_of)),
		.words = malloc((CONTENT_WORDS + 1) * sizeof(*search.words)),
	};

	if (!search.places_of || !search.words)
		return heap_error_out_of_memory();
	HEAP_TRY(find_tables(&search));
	return name_tables(&search, found);
}
