// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Hints: evidence of typed slots for blocks that they do not name.
 */
#include "dumper/writer/infer/explained_pointers.h"
#include "dumper/writer/infer/inference.h"
#include "dumper/writer/infer/sizes/lone_headers.h"
#include "dumper/writer/infer/sizes/smaller_structs.h"

#include "lib/base/hash.h"
#include "dumper/base/header.h"
#include "dumper/writer/base/progress.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"

#include <limits.h>
#include <stdlib.h>

enum {
	MAX_WHOLES = 64,      // structs that begin with one, whose content is compared
	FEW_HINTS = 8,        // on a block, that are found without the table
	WEAK_CLAIMS = 32,     // of a block, that are weighed: those with most slots
	MIN_TELLING_SIZE = 2, // bytes of a type that says something
	TEXT_SCORE = 3,
	FIRST_ELEMENTS = 3,      // that agree: the others are not examined
	CONTRADICTED_SHARE = 8,  // if one of so many elements contradicts, they are something else
	CHAINED_ELEMENTS = 64,   // of an array, whose pointers to their own kind are examined
	CHAINS_THAT_AGREE = 16,  // for each that does not
	EXPLAINED_ALL = 1 << 20, // pointers: more than any score of contents
	FRESH_LEAST = 256,       // blocks with new hints that are few
	FRESH_SHARE = 64,        // and one in so many
};

struct heap_error *hints_init(struct hints *hints, heap_object_id objects)
{
	return sparse_column_init(&hints->first, objects);
}

void hints_deinit(struct hints *hints)
{
	sparse_column_deinit(&hints->first);
	free(hints->list);
	free(hints->table.slots);
	for (int i = 0; i < NAMINGS; i++)
		heap_array_deinit(&hints->fresh[i].objects);
}

void hints_forget_fresh(struct hints *hints, enum naming_evidence evidence)
{
	hints->fresh[evidence].objects.count = 0;
	hints->fresh[evidence].are_many = false;
}

HEAP_MUST_CHECK
static struct heap_error *grow_hints(struct inference *inference)
{
	struct hints *hints = &inference->hints;

	HEAP_TRY(heap_reserve(hints->list, hints->capacity, (size_t)hints->count + 2));
	if (hints->count == 0)
		hints->list[hints->count++] = (struct hint){ 0 }; // NO_HINT
	return NULL;
}

// True if a char * leads to the start.
static bool is_text(const struct inference *inference, const struct hint *hint)
{
	return layouts_is_start(hint->interior) && !hint->either &&
	       layouts_is_character(&inference->layouts, hint->type);
}

// --- the table of hints on blocks that have more than a few -------------------

static bool is_same(const struct hint *one, const struct hint *other)
{
	return one->object == other->object && one->type == other->type &&
	       one->interior == other->interior && one->either == other->either;
}

// Finds the slot of a hint in the table, or the free one for it.
static uint32_t *find_slot(const struct inference *inference, const struct hint *hint)
{
	const struct hint_table *table = &inference->hints.table;
	size_t at = heap_hash_pair((uint64_t)hint->object << 32 | hint->interior,
				   (uint64_t)hint->type << 1 | hint->either) &
		    (table->size - 1);

	while (table->slots[at] != NO_HINT &&
	       !is_same(&inference->hints.list[table->slots[at]], hint)) {
		progress_step();
		at = (at + 1) & (table->size - 1);
	}
	return &table->slots[at];
}

HEAP_MUST_CHECK
static struct heap_error *grow_table(struct inference *inference)
{
	struct hint_table *table = &inference->hints.table, old = *table;

	table->size = old.size ? old.size * 2 : 4096;
	table->slots = calloc(table->size, sizeof(*table->slots));
	if (!table->slots) {
		*table = old;
		return heap_error_out_of_memory();
	}
	for (size_t i = 0; i < old.size; i++) {
		if (old.slots[i] != NO_HINT)
			*find_slot(inference, &inference->hints.list[old.slots[i]]) = old.slots[i];
	}
	free(old.slots);
	return NULL;
}

// Puts the newest hints on a block into the table.
HEAP_MUST_CHECK
static struct heap_error *tabulate(struct inference *inference, heap_object_id object, int count)
{
	struct hint_table *table = &inference->hints.table;
	uint32_t at = hints_first(&inference->hints, object);

	for (int i = 0; i < count && at != NO_HINT; i++, at = inference->hints.list[at].next) {
		if (table->count * 2 >= table->size)
			HEAP_TRY(grow_table(inference));
		*find_slot(inference, &inference->hints.list[at]) = at;
		table->count++;
	}
	return NULL;
}

bool hints_are_many(const struct inference *inference, heap_object_id object)
{
	uint32_t at = hints_first(&inference->hints, object);

	for (int i = 0; i < FEW_HINTS && at != NO_HINT; i++)
		at = inference->hints.list[at].next;
	return at != NO_HINT;
}

// --- adding ------------------------------------------------------------------

// Finds an equal hint, or NO_HINT. @param few  gets the number of hints; FEW_HINTS + 1: more
static uint32_t find_same(const struct inference *inference, const struct hint *hint, int *few)
{
	uint32_t at = hints_first(&inference->hints, hint->object);

	for (*few = 0; *few < FEW_HINTS && at != NO_HINT; ++*few) {
		if (is_same(&inference->hints.list[at], hint))
			return at;
		at = inference->hints.list[at].next;
	}
	if (at == NO_HINT)
		return NO_HINT;
	*few = FEW_HINTS + 1;
	return *find_slot(inference, hint);
}

bool hints_tell(const struct inference *inference, heap_object_id object, heap_type_id type,
		uint64_t interior)
{
	const struct hint hint = { .object = object, .type = type, .interior = (uint32_t)interior };
	int few;

	progress_step();
	return interior < UINT32_MAX && find_same(inference, &hint, &few) != NO_HINT;
}

// Notes a block for naming_follow(), unless so many wait that a look at all blocks costs little for each.
HEAP_MUST_CHECK
static struct heap_error *note_fresh(struct fresh_hints *fresh, heap_object_id object,
				     heap_object_id objects)
{
	if (fresh->objects.count < FRESH_LEAST + objects / FRESH_SHARE)
		return heap_array_append(&fresh->objects, object);
	fresh->are_many = true;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *note_news(struct inference *inference, heap_object_id object)
{
	uint8_t *news = &inference->news[object];

	kinds_note_news(&inference->kinds, kinds_of(inference, object), 1);
	for (int i = 0; i < NAMINGS; i++) {
		if (!(*news & 1 << i))
			HEAP_TRY(note_fresh(&inference->hints.fresh[i], object,
					    inference->capture->objects.count));
	}
	*news &= (uint8_t)~NEWS_NO_WHOLE;
	*news |= NEWS_SURE | NEWS_LIKELY;
	return NULL;
}

HEAP_MUST_CHECK
struct heap_error *hints_add(struct inference *inference, heap_type_id type,
			     const struct pointer *pointer, bool either)
{
	struct hint hint = {
		.next = hints_first(&inference->hints, pointer->target),
		.object = pointer->target,
		.type = type,
		.interior = (uint32_t)pointer->interior,
		.count = 1,
		.either = either,
		.is_passing = pointer->is_passing,
		.may_be_bytes = pointer->may_be_bytes,
	};
	uint32_t same;
	int few;

	// So far into a block, no place is known: edges and hints have 32 bits for it.
	if (pointer->interior >= UINT32_MAX)
		return NULL;
	same = find_same(inference, &hint, &few);
	if (same != NO_HINT) {
		inference->hints.list[same].count++;
		inference->hints.list[same].is_passing &= pointer->is_passing;
		inference->hints.list[same].may_be_bytes &= pointer->may_be_bytes;
		return NULL;
	}
	if (inference->hints.count == inference->hints.capacity)
		HEAP_TRY(grow_hints(inference));
	HEAP_TRY(sparse_column_set(&inference->hints.first, pointer->target,
				   inference->hints.count));
	inference->hints.list[inference->hints.count++] = hint;
	HEAP_TRY(note_news(inference, hint.object));
	if (is_text(inference, &hint)) {
		inference->news[hint.object] |= NEWS_TEXT;
		inference->hints.texts++;
	}
	if (few < FEW_HINTS)
		return NULL;
	return tabulate(inference, hint.object, few == FEW_HINTS ? FEW_HINTS + 1 : 1);
}

struct heap_error *hints_rebase(struct inference *inference, heap_object_id object, uint32_t bytes)
{
	struct hints *hints = &inference->hints;
	bool are_many = hints_are_many(inference, object);
	uint32_t first = hints_first(hints, object), *link = &first;

	inference->kinds.counted = UINT64_MAX;
	inference->news[object] &= (uint8_t)~NEWS_NO_WHOLE;
	while (*link != NO_HINT) {
		struct hint *hint = &hints->list[*link];

		progress_step();
		if (hint->interior < bytes) {
			*link = hint->next;
			continue;
		}
		hint->interior -= bytes;
		if (is_text(inference, hint)) {
			inference->news[object] |= NEWS_TEXT;
			hints->texts++;
		}
		link = &hint->next;
	}
	HEAP_TRY(sparse_column_set(&hints->first, object, first));
	if (are_many && hints_are_many(inference, object))
		return tabulate(inference, object, INT_MAX);
	return NULL;
}

struct heap_error *hints_unbase(struct inference *inference, heap_object_id object, uint32_t bytes)
{
	struct hints *hints = &inference->hints;

	inference->kinds.counted = UINT64_MAX;
	for (uint32_t at = hints_first(hints, object); at != NO_HINT; at = hints->list[at].next) {
		progress_step();
		hints->list[at].interior += bytes;
	}
	return hints_are_many(inference, object) ? tabulate(inference, object, INT_MAX) : NULL;
}

// --- asking ------------------------------------------------------------------

// True if all that a type has at an offset are pointers to structs.
static bool leads_to_structs(const struct inference *inference, heap_type_id type, uint64_t offset)
{
	const struct heap_slots *slots = heap_slot_table_get(&inference->layouts.slots, type);
	uint32_t first = 0, end = slots ? heap_slots_at(slots, offset, &first) : 0;
	bool are_structs = first < end;

	for (uint32_t i = first; are_structs && i < end; i++)
		are_structs = layouts_is_compound(&inference->layouts, slots->list[i].pointee);
	return are_structs;
}

// A T ** leads to a T *, be it alone, in an array or in a struct. A char ** may lead to whatever code has pointers in,
// but not to one that is declared to lead to a struct.
static enum verdict ask_pointer_hint(const struct inference *inference, const struct hint *hint,
				     heap_type_id type)
{
	const struct heap_types *types = inference->layouts.types;
	heap_type_id pointee = layouts_strip(&inference->layouts, types->types[hint->type].target);
	uint64_t stride = layouts_size(&inference->layouts, type);
	uint64_t place = stride > 0 ? (hint->interior & ~UINT32_C(7)) % stride : 0;

	if (!layouts_is_compound(&inference->layouts, pointee))
		return !hint->either && types->types[pointee].kind == HEAP_TYPE_BASE &&
				       leads_to_structs(inference, type, place)
			       ? VERDICT_AGAINST
			       : VERDICT_NONE;
	if (stride > 0 && layouts_has_pointer(&inference->layouts, type, place, pointee))
		return VERDICT_FOR;
	return hint->either ? VERDICT_NONE : VERDICT_AGAINST;
}

// True if a hint is of a base, and a type has in its middle a struct that begins with that base.
static bool has_extension(const struct inference *inference, const struct hint *hint,
			  heap_type_id type)
{
	const struct common_prefixes *prefixes = &inference->common_prefixes;
	const struct heap_types *types = inference->layouts.types;
	const struct heap_type *whole = &types->types[type];
	uint32_t base = common_prefixes_of_type(prefixes, hint->type);

	if (base == 0 || prefixes->types[base - 1] != hint->type ||
	    layouts_is_start(hint->interior) || !heap_types_has_members(whole))
		return false;
	for (uint32_t i = 0; i < whole->members; i++) {
		const struct heap_member *member = &types->members[whole->first_member + i];

		progress_step();
		if (member->offset == hint->interior &&
		    common_prefixes_of_type(
			    prefixes, layouts_strip(&inference->layouts, member->type)) == base)
			return true;
	}
	return false;
}

// True if a hint is of a container's node, and a type has what such nodes begin with at its place: the container's own
// end, to which pointers to nodes lead, too.
static bool is_end_of_nodes(const struct inference *inference, const struct hint *hint,
			    heap_type_id type)
{
	const struct heap_types *types = inference->layouts.types;
	const struct heap_type *node = &types->types[hint->type];
	const struct heap_member *first = &types->members[node->first_member];

	return heap_types_has_members(node) && node->members > 0 && first->offset == 0 &&
	       (first->flags & HEAP_MEMBER_BASE) &&
	       strncmp(heap_types_string(types, node->name), "std::", strlen("std::")) == 0 &&
	       inference_type_has(inference, type, layouts_strip(&inference->layouts, first->type),
				  hint->interior);
}

enum verdict hint_ask(const struct inference *inference, const struct hint *hint, heap_type_id type)
{
	const struct heap_types *types = inference->layouts.types;
	uint64_t interior = layouts_is_start(hint->interior) ? 0 : hint->interior;

	if (interior == 0 && hint->type == type)
		return VERDICT_FOR;
	if (types->types[hint->type].kind == HEAP_TYPE_POINTER)
		return ask_pointer_hint(inference, hint, type);
	// Bytes may be anything; a double * leads to a double.
	if (layouts_size(&inference->layouts, hint->type) < MIN_TELLING_SIZE)
		return VERDICT_NONE;
	// Many structs begin with a number. Nobody makes a union's pointer to a number lead to one of them.
	if (hint->either && layouts_is_compound(&inference->layouts, type) &&
	    !layouts_is_compound(&inference->layouts, hint->type))
		return VERDICT_NONE;
	if (inference_type_has(inference, type, hint->type, interior))
		return VERDICT_FOR;
	if (hint->either || has_extension(inference, hint, type) ||
	    is_end_of_nodes(inference, hint, type) ||
	    (interior == 0 && smaller_structs_share(&inference->layouts, type, hint->type)))
		return VERDICT_NONE;
	return VERDICT_AGAINST;
}

bool hint_is_payload(const struct inference *inference, const struct hint *hint, heap_type_id type)
{
	return hint->interior == layouts_size(&inference->layouts, type) &&
	       layouts_is_compound(&inference->layouts, type) &&
	       !layouts_is_compound(&inference->layouts, hint->type);
}

// True if only local variables say that a struct without pointers is at a place. It may be one that code sees in an
// array of numbers for a while; where it had pointers, these would lead on.
static bool is_passing(const struct inference *inference, const struct hint *hint)
{
	const struct heap_slots *slots = heap_slot_table_get(&inference->layouts.slots, hint->type);

	return hint->is_passing && !(slots && slots->count > 0);
}

// Counts the verdicts of an object's hints, and follows the majority. @param is_header  one value of the type
// and a payload may be there
static enum verdict ask_all(const struct inference *inference, heap_object_id object,
			    heap_type_id type, bool is_header)
{
	bool is_number = !layouts_is_compound(&inference->layouts, type);
	uint32_t in_favour = 0, against = 0, passing = 0;

	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (is_header && hint_is_payload(inference, hint, type))
			continue;
		switch (hint_ask(inference, hint, type)) {
		case VERDICT_FOR:
			in_favour += hint->count;
			break;
		case VERDICT_AGAINST:
			if (is_number && is_passing(inference, hint))
				passing += hint->count;
			else
				against += hint->count;
			break;
		default:
			break;
		}
	}
	if (in_favour == 0)
		against += passing;
	if (in_favour + against == 0)
		return VERDICT_NONE;
	return in_favour > against ? VERDICT_FOR : VERDICT_AGAINST;
}

enum verdict hints_ask(const struct inference *inference, heap_object_id object, heap_type_id type)
{
	return ask_all(inference, object, type, false);
}

enum verdict hints_ask_named(const struct inference *inference, heap_object_id object)
{
	return ask_all(inference, object, inference_type(inference, object),
		       names_of(&inference->capture->names, object)->elements == 1);
}

heap_type_id hints_find_copy(const struct inference *inference, heap_object_id object,
			     heap_type_id type)
{
	heap_type_id found = type;
	uint32_t most = 0;

	if (!inference->layouts.facts[type].has_copies)
		return type;
	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (hint->interior != 0 || !layouts_is_copy(&inference->layouts, hint->type, type))
			continue;
		if (hint->count > most || (hint->count == most && hint->type < found))
			found = hint->type;
		most = hint->count > most ? hint->count : most;
	}
	return found;
}

// The type of a char * that points to the start of a block, or HEAP_NO_TYPE. Of several, one
// that does not depend on which hint came first.
heap_type_id hints_find_text(const struct inference *inference, heap_object_id object)
{
	heap_type_id found = HEAP_NO_TYPE;

	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (is_text(inference, hint) && (found == HEAP_NO_TYPE || hint->type < found))
			found = hint->type;
	}
	return found;
}

// --- single hints ------------------------------------------------------------

// Readings of a block by its hints: equal readings count together.
struct weak_claim {
	struct layout_claim claim;
	bool either;
	bool may_be_bytes;
	bool is_read;   // a pointer into the middle of a text that is being read
	uint32_t count; // slots
};

// True if a type with pointers is the beginning of none that a block may be by its size.
static bool is_largest(const struct inference *inference, heap_type_id type, heap_object_id object)
{
	const struct layouts *layouts = &inference->layouts;
	const struct heap_slots *slots = heap_slot_table_get(&layouts->slots, type);
	uint64_t size = inference_size(inference, object);
	const struct layout_wholes exact =
		layouts_exact_wholes(layouts, type, 0, size, inference_slack(inference, object));
	const struct layout_wholes flexible = layouts_flexible_wholes(layouts, type, 0, size);

	return slots && slots->count > 0 && !layouts_is_link(layouts, type) &&
	       exact.at == exact.end && flexible.at == flexible.end;
}

// True if a chunk may be an array of a type by its hints: they tell of other elements, or no type that begins
// with that one has the chunk's size. Of the size itself, a power of 2, nothing follows.
static bool may_be_array(const struct inference *inference, heap_type_id type,
			 heap_object_id object)
{
	uint64_t stride = layouts_size(&inference->layouts, type);
	uint32_t count = 0;

	if (!(inference->capture->objects.flags[object] & ARENA_ROUNDED) ||
	    !layouts_is_compound(&inference->layouts, type))
		return false;
	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (hint->interior < stride || hint->either)
			continue;
		if (!inference_type_has(inference, type, hint->type, hint->interior))
			return false;
		count++;
	}
	return count > 0 || is_largest(inference, type, object);
}

// Reads a block of a size by one hint. @return false if that gives no type
static bool make_weak_claim(const struct inference *inference, const struct hint *hint,
			    heap_object_id object, struct weak_claim *result)
{
	const struct layouts *layouts = &inference->layouts;
	struct layout_claim claim =
		inference_fit_weakly(inference, hint->type, hint->interior, object);
	bool is_read = claim.fit == LAYOUT_NONE && layouts_is_character(layouts, hint->type);

	if (claim.fit == LAYOUT_NONE && layouts_is_start(hint->interior) &&
	    may_be_array(inference, hint->type, object))
		claim = (struct layout_claim){ LAYOUT_ARRAY, hint->type,
					       inference_size(inference, object) /
						       layouts_size(layouts, hint->type) };
	if (is_read)
		claim = (struct layout_claim){ LAYOUT_TEXT, hint->type,
					       inference_size(inference, object) };
	*result = (struct weak_claim){ claim, hint->either, hint->may_be_bytes, is_read,
				       hint->count };
	return claim.fit != LAYOUT_NONE;
}

static int compare_what(const void *left, const void *right)
{
	const struct weak_claim *a = left, *b = right;

	if (a->claim.type != b->claim.type)
		return a->claim.type < b->claim.type ? -1 : 1;
	if (a->claim.fit != b->claim.fit)
		return a->claim.fit < b->claim.fit ? -1 : 1;
	return a->either != b->either ? a->either - b->either : a->is_read - b->is_read;
}

static int compare_counts(const void *left, const void *right)
{
	const struct weak_claim *a = left, *b = right;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return compare_what(left, right);
}

/*
 * True if a block is no array of a type, since a hint says that another one is where no element begins: then
 * each is a part of something larger. A union, as libc's condition variables are, has no other structs between.
 */
static bool is_part_of_elements(const struct inference *inference, heap_type_id type,
				heap_object_id object)
{
	const struct layouts *layouts = &inference->layouts;
	bool is_union = layouts->types->types[type].kind == HEAP_TYPE_UNION;

	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (!hint->either && hint->interior > 0 &&
		    (layouts_strip(layouts, hint->type) == type ||
		     (is_union && layouts_is_compound(layouts, hint->type))) &&
		    !inference_type_has(inference, type, hint->type, hint->interior))
			return true;
	}
	return false;
}

// Leaves out arrays that other hints contradict. @return how many readings are left
static uint32_t drop_contradicted(const struct inference *inference, heap_object_id object,
				  struct weak_claim *list, uint32_t count)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct layout_claim *claim = &list[i].claim;
		bool is_array = claim->fit == LAYOUT_ARRAY || claim->fit == LAYOUT_SLACK;

		if (claim->elements > 1 && free_lists_have(&inference->free_lists, claim->type))
			continue;
		if (!is_array || !layouts_is_compound(&inference->layouts, claim->type) ||
		    !is_part_of_elements(inference, claim->type, object))
			list[kept++] = list[i];
	}
	return kept;
}

// Gathers the readings of a block by all its hints, so that each is weighed once, however many
// hints there are. @return their number; at most one per hint
static uint32_t gather(const struct inference *inference, heap_object_id object,
		       struct weak_claim *list)
{
	uint32_t count = 0, kept = 0;

	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next)
		count += make_weak_claim(inference, &inference->hints.list[at], object,
					 &list[count]);
	progress_steps(count);
	if (count > 1)
		qsort(list, count, sizeof(*list), compare_what);
	for (uint32_t i = 0; i < count; i++) {
		if (kept > 0 && compare_what(&list[kept - 1], &list[i]) == 0)
			list[kept - 1].count += list[i].count;
		else
			list[kept++] = list[i];
	}
	if (kept > WEAK_CLAIMS) {
		qsort(list, kept, sizeof(*list), compare_counts);
		kept = WEAK_CLAIMS;
	}
	return drop_contradicted(inference, object, list, kept);
}

// The pointers of a supposed array to elements in blocks of its kind.
struct chain {
	const struct inference *inference;
	heap_object_id object;
	heap_type_id type;
	uint64_t start, stride; // of the current element, and from one to the next
	uint32_t agree, other;  // pointers to where elements begin, and elsewhere
};

static bool follow_chain(void *context, uint64_t offset, heap_type_id pointer)
{
	struct chain *chain = context;
	const struct inference *inference = chain->inference;
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	const struct objects *objects = &inference->capture->objects;
	uint64_t prefix = inference_prefix(inference, chain->object);
	uint32_t edge;

	if (layouts_strip(&inference->layouts, snapshot->types.types[pointer].target) !=
	    chain->type)
		return true;
	edge = heap_edge_at(snapshot, chain->object, prefix + chain->start + offset);
	if (edge == UINT32_MAX || objects_kind(objects, snapshot->edge_target[edge]) !=
					  objects_kind(objects, chain->object))
		return true;
	if (snapshot->edge_interior[edge] >= prefix &&
	    (snapshot->edge_interior[edge] - prefix) % chain->stride == 0)
		chain->agree++;
	else
		chain->other++;
	return true;
}

/*
 * A page that a program divides itself is an array only if its elements agree: their pointers to their
 * own kind lead to where elements begin, there and in the pages beside it. This rules out chunks that are
 * larger than their values, and chunks with other values.
 */
static bool do_elements_agree(const struct inference *inference, heap_object_id object,
			      const struct layout_claim *claim)
{
	struct chain chain = {
		.inference = inference,
		.object = object,
		.type = claim->type,
		.stride = layouts_size(&inference->layouts, claim->type),
	};
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint64_t prefix = inference_prefix(inference, object), next = 0;

	// Only elements with edges count. Edges are in the order of their places.
	for (uint32_t i = snapshot->edge_first[object]; i < snapshot->edge_first[object + 1]; i++) {
		uint64_t place = snapshot->edge_slot[i] * UINT64_C(8), element;

		if (place < prefix)
			continue;
		element = (place - prefix) / chain.stride;
		if (element >= claim->elements || element >= CHAINED_ELEMENTS)
			break;
		if (element < next)
			continue;
		next = element + 1;
		chain.start = element * chain.stride;
		heap_types_visit_pointers(inference->layouts.types, claim->type, follow_chain,
					  &chain);
	}
	return chain.other == 0 || chain.other * CHAINS_THAT_AGREE < chain.agree;
}

bool hints_may_be_part(const struct inference *inference, const struct content *content,
		       heap_type_id part, uint64_t offset)
{
	const struct layout_wholes wholes = layouts_exact_wholes(
		&inference->layouts, part, offset, inference_size(inference, content->object),
		inference_slack(inference, content->object));

	for (const struct layout_part *at = wholes.at;
	     at < wholes.end && at - wholes.at < MAX_WHOLES; at++) {
		progress_step();
		if (content_score(inference, content, at->whole, 1) >= 0)
			return true;
	}
	return false;
}

// True if a block may be one of the structs that begin with the members of a type, as in C's inheritance, rather than
// an array of this.
static bool may_be_extended(const struct inference *inference, const struct content *content,
			    heap_type_id type)
{
	const struct layouts *layouts = &inference->layouts;
	const struct layout_wholes wholes =
		layouts_exact_wholes(layouts, type, 0, inference_size(inference, content->object),
				     inference_slack(inference, content->object));

	for (const struct layout_part *at = wholes.at;
	     at < wholes.end && at - wholes.at < MAX_WHOLES; at++) {
		progress_step();
		if (!layouts_consists_of(layouts, at->whole, type) &&
		    content_score(inference, content, at->whole, 1) >= 0)
			return true;
	}
	return false;
}

// True if a block can begin with an element of a union, whose content nothing else asks for. Where the only pointer leads
// behind the block's start, something else may lie before the elements.
static bool may_begin_with(const struct inference *inference, const struct content *content,
			   const struct layout_claim *claim)
{
	heap_type_id whole = layouts_whole_member(&inference->layouts, claim->type);

	return claim->fit != LAYOUT_ELEMENT || whole == claim->type ||
	       !layouts_is_compound(&inference->layouts, whole) ||
	       content_score(inference, content, whole, 1) >= 0;
}

// True if something else lies behind the first of supposed elements: none agrees, or some before the last of those that do
// contradict. The last elements may not be in use, and hold old bytes.
static bool is_first_alone(const struct inference *inference, const struct content *content,
			   const struct layout_claim *claim)
{
	uint64_t words = layouts_size(&inference->layouts, claim->type) / 8;
	uint32_t agreeing = 0, contradicting = 0, before = 0;
	struct content_verdict verdict, zero = { 0 };
	bool knows_zero = false;

	for (uint64_t i = 1; words > 0 && i < claim->elements && i < CHAINED_ELEMENTS &&
			     (i + 1) * words <= content->count;
	     i++) {
		const struct content element = { content->object, content->words + i * words, words,
						 content->start + i * words * 8 };
		bool has_zeros = content_is_zero(&element, 0, words * 8);

		progress_step();
		verdict = has_zeros && knows_zero ? zero
						  : content_judge(inference, &element, claim->type);
		if (has_zeros) {
			zero = verdict;
			knows_zero = true;
		}
		if (verdict.contradicts) {
			contradicting++;
		} else if (verdict.score > 0) {
			agreeing++;
			before = contradicting;
		}
		if (contradicting == 0 && agreeing >= FIRST_ELEMENTS)
			return false;
	}
	return agreeing == 0 ? contradicting > 0 : before * CONTRADICTED_SHARE > agreeing;
}

// Scores the contents for a claim; below 0 if anything contradicts it.
static int weigh(const struct inference *inference, const struct content *content,
		 const struct weak_claim *weak)
{
	uint64_t size = inference_size(inference, content->object);
	bool is_text = weak->claim.fit == LAYOUT_TEXT;
	int score;

	if (!weak->is_read &&
	    hints_ask(inference, content->object, weak->claim.type) == VERDICT_AGAINST)
		return -1;
	if (is_text && weak->either && content_is_wide_text(content, size))
		return -1;
	if (is_text && weak->either)
		return content_is_sure_text(inference, content, size) ? TEXT_SCORE : -1;
	if (weak->is_read)
		return content_is_text(inference, content, size) ? TEXT_SCORE : -1;
	// A pointer behind a header leads to no element in the middle of an array.
	if (weak->claim.fit == LAYOUT_ELEMENT &&
	    content_score(inference, content, weak->claim.type, 1) < 0)
		return -1;
	if (weak->claim.fit == LAYOUT_SLACK && weak->claim.elements == 1 &&
	    hints_may_be_part(inference, content, weak->claim.type, 0))
		return -1;
	if (weak->claim.fit == LAYOUT_ARRAY && weak->claim.elements > 1 &&
	    may_be_extended(inference, content, weak->claim.type))
		return -1;
	// Contents may be left over where the last pointers of a table would be, but not where the first one is.
	if (weak->either && weak->claim.fit == LAYOUT_ARRAY &&
	    layouts_is_pointer(&inference->layouts, weak->claim.type) &&
	    content_contradicts(inference, content, weak->claim.type))
		return -1;
	if (weak->claim.elements > 1 &&
	    layouts_is_compound(&inference->layouts, weak->claim.type) &&
	    !do_elements_agree(inference, content->object, &weak->claim))
		return -1;
	// Pieces of memory of any size, too, begin with a struct by which they hang together.
	if (weak->claim.fit == LAYOUT_ARRAY && weak->claim.elements > 1 &&
	    layouts_own_pointer(&inference->layouts, weak->claim.type) &&
	    is_first_alone(inference, content, &weak->claim))
		return -1;
	if (!may_begin_with(inference, content, &weak->claim))
		return -1;
	score = content_score(inference, content, weak->claim.type, weak->claim.elements);
	// Bytes in a union may hold any pointer. Contents that anything may have do not tell that it is the union's own.
	if (weak->may_be_bytes && score <= 0)
		return -1;
	return score < 0 && is_text && content_is_text_and_rest(inference, content, size)
		       ? TEXT_SCORE
		       : score;
}

// A struct says more than a pointer, as which its first member may be seen.
static bool is_better(const struct inference *inference, const struct weak_claim *one,
		      const struct weak_claim *best)
{
	bool compound = layouts_is_compound(&inference->layouts, one->claim.type);
	bool best_compound = layouts_is_compound(&inference->layouts, best->claim.type);

	if (one->claim.fit != best->claim.fit)
		return one->claim.fit < best->claim.fit;
	return compound != best_compound ? compound : one->count > best->count;
}

// Scores an alternative of a union. One that has a number where there is a pointer is worse than those that do
// not: structs with pointers would get more points than the array of pointers that they are held against. Then come the
// contents; members may agree equally well with them: then the one that explains more pointers is better.
static int score_alternative(const struct inference *inference, heap_object_id object,
			     const struct layout_claim *claim, int score)
{
	struct explained_pointers explained =
		explained_pointers_find(inference, object, claim->type);
	bool explains_all = explained.count == explained.asked || claim->fit == LAYOUT_TEXT;

	return score * (EXPLAINED_ASKED + 1) + (int)explained.count +
	       (explains_all ? EXPLAINED_ALL : 0);
}

// The best reading; among a union's alternatives, the one that agrees best.
static struct layout_claim choose(const struct inference *inference, const struct content *content,
				  const struct weak_claim *list, uint32_t count)
{
	static const struct weak_claim nothing = { .claim = { LAYOUT_NONE, HEAP_NO_TYPE, 0 } };
	struct weak_claim best = nothing, either = nothing;
	int either_score = 0;
	bool several = false;

	for (uint32_t i = 0; i < count; i++) {
		int score = weigh(inference, content, &list[i]);

		if (score < 0)
			continue;
		if (!list[i].either) {
			if (is_better(inference, &list[i], &best))
				best = list[i];
			continue;
		}
		score = score_alternative(inference, content->object, &list[i].claim, score);
		if (either.claim.fit == LAYOUT_NONE || score > either_score) {
			either = list[i];
			either_score = score;
			several = false;
		} else if (score == either_score && list[i].claim.type != either.claim.type) {
			several = true;
		}
	}
	if (best.claim.fit != LAYOUT_NONE)
		return best.claim;
	return several ? nothing.claim : either.claim;
}

// True if contents agree with the elements behind the first one: they have its pointers.
static bool has_elements(const struct inference *inference, const struct content *content,
			 const struct layout_claim *claim)
{
	uint64_t stride = layouts_size(&inference->layouts, claim->type), words = stride / 8;

	return stride % 8 == 0 && words < content->count &&
	       content_score(inference,
			     &(struct content){ content->object, content->words + words,
						content->count - words, content->start + stride },
			     claim->type, claim->elements - 1) > 0;
}

// Limits what a pointer says of a block to its beginning, unless contents say that it is an array: to a header, if something else
// is behind it. A single object that a pointer to its base leads to begins with that. Where nothing says that there is but one,
// the rest may be anything.
static void limit_to_one(const struct inference *inference, const struct content *content,
			 struct layout_claim *claim)
{
	const struct capture *capture = inference->capture;
	bool is_single = single_objects_have(&inference->single_objects, capture, content->object);

	if ((claim->fit != LAYOUT_ARRAY && claim->fit != LAYOUT_SLACK) || claim->elements <= 1 ||
	    !layouts_is_compound(&inference->layouts, claim->type))
		return;
	if (lone_headers_are(inference, content, claim)) {
		*claim = (struct layout_claim){ LAYOUT_SLACK, claim->type, 1 };
		return;
	}
	if (has_elements(inference, content, claim))
		return;
	if (is_single)
		*claim = (struct layout_claim){ LAYOUT_SLACK, claim->type, 1 };
	else if (layouts_is_base(&inference->layouts, claim->type) &&
		 !(capture->objects.flags[content->object] & HEAPSNAP_BLOCK_NEW_ARRAY))
		claim->fit = LAYOUT_NONE;
}

// A block that is larger than a struct, and that pointers to its base lead to, is neither the base nor an array of it, as
// where a struct has things of its own behind it that no type tells of.
static void extend_base(const struct inference *inference, heap_object_id object,
			struct layout_claim *claim)
{
	if ((claim->fit == LAYOUT_ARRAY || claim->fit == LAYOUT_SLACK) &&
	    layouts_is_compound(&inference->layouts, claim->type))
		*claim = derived_structs_extend(inference, object, claim, LAYOUT_SLACK);
}

struct heap_error *hints_weigh(const struct inference *inference, const struct content *content,
			       struct layout_claim *result)
{
	struct weak_claim few[FEW_HINTS];
	CLEANUP_FREE struct weak_claim *many = NULL;
	struct weak_claim *list = few;
	uint32_t count = 0;

	for (uint32_t at = hints_first(&inference->hints, content->object); at != NO_HINT;
	     at = inference->hints.list[at].next)
		count++;
	if (count > FEW_HINTS) {
		list = many = malloc(count * sizeof(*many));
		if (!many)
			return heap_error_out_of_memory();
	}
	count = gather(inference, content->object, list);
	for (uint32_t i = 0; i < count; i++)
		limit_to_one(inference, content, &list[i].claim);
	*result = choose(inference, content, list, count);
	extend_base(inference, content->object, result);
	return NULL;
}
