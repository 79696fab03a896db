// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The index of parts: the types that have another one as a part, at which offset, and their sizes.
 */
#include "dumper/writer/infer/layout.h"

#include "dumper/writer/infer/classes/held_members.h"
#include "lib/base/hash.h"
#include "lib/base/array.h"
#include "lib/base/search.h"
#include "dumper/writer/base/progress.h"

#include <stdlib.h>

enum {
	MAX_PART_ELEMENTS = 64, // of an array inside a struct, that are known as parts
	MAX_PARTS = 1 << 16,    // of one type; later ones are searched for
	MAX_HEADERS = 16,       // structs of the same members; more of them are no headers
	MAX_DEPTH = 16,
};

// --- parts -------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *append(struct layout_index *index, const struct layout_part *part)
{
	HEAP_TRY(heap_reserve(index->parts, index->capacity, (size_t)index->count + 1));
	index->parts[index->count++] = *part;
	return NULL;
}

// @param is_held  the part is no beginning of others: see held_members.h
HEAP_MUST_CHECK
static struct heap_error *add_part(struct layouts *layouts, heap_type_id part, heap_type_id whole,
				   uint64_t offset, bool is_held)
{
	const struct layout_facts *facts = &layouts->facts[whole];
	const struct layout_part added = { part, whole, offset, facts->size };

	HEAP_TRY(append(&layouts->index, &added));
	if (offset == 0 && !is_held)
		HEAP_TRY(append(&layouts->rivals, &added));
	if (facts->fits_any)
		HEAP_TRY(append(&layouts->flexible,
				&(struct layout_part){ part, whole, offset, facts->start }));
	return NULL;
}

// A place inside of a type.
struct place {
	heap_type_id whole;
	uint64_t offset;
	size_t first;             // where the whole's own parts begin in the index
	struct held_scope *scope; // the innermost class with a name around it
	bool is_held;             // a class around it holds it: see held_members.h
	int depth;
};

HEAP_MUST_CHECK
static struct heap_error *add_parts(struct layouts *layouts, heap_type_id id,
				    const struct place *place);

// Adds the elements of an array at a place.
HEAP_MUST_CHECK
static struct heap_error *add_elements(struct layouts *layouts, const struct heap_type *array,
				       const struct place *place)
{
	const struct heap_types *types = layouts->types;
	heap_type_id element = heap_types_strip(types, array->target);
	uint64_t stride = layouts_size(layouts, element);
	uint64_t count = array->count;
	struct place inner = *place;

	if (!heap_types_has_members(&types->types[element]) &&
	    types->types[element].kind != HEAP_TYPE_ARRAY)
		return NULL;
	// Pointers lead to the elements of a flexible array, too.
	if (layouts->facts[place->whole].fits_any &&
	    place->offset == layouts->facts[place->whole].start)
		count = MAX_PART_ELEMENTS;
	inner.depth++;
	for (uint64_t i = 0; i < count && i < MAX_PART_ELEMENTS; i++) {
		inner.offset = place->offset + i * stride;
		HEAP_TRY(add_parts(layouts, element, &inner));
	}
	return NULL;
}

// Adds a member of what lies at a place.
HEAP_MUST_CHECK
static struct heap_error *add_member(struct layouts *layouts, const struct heap_member *member,
				     const struct place *place)
{
	struct place inner = *place;

	if (member->flags & (HEAP_MEMBER_VIRTUAL_BASE | HEAP_MEMBER_BIT_FIELD))
		return NULL;
	inner.offset += member->offset;
	inner.depth++;
	// A type that nothing else begins with needs no closer look.
	if (inner.offset == 0 && !inner.is_held)
		inner.is_held = held_members_have(layouts->types, place->scope, member);
	return add_parts(layouts, member->type, &inner);
}

// Adds what lies at a place: the type itself, its members, its elements.
HEAP_MUST_CHECK
static struct heap_error *add_parts(struct layouts *layouts, heap_type_id id,
				    const struct place *place)
{
	const struct heap_types *types = layouts->types;
	struct place own = *place;
	struct held_scope scope;

	id = heap_types_strip(types, id);

	const struct heap_type *type = &types->types[id];

	if (place->depth == MAX_DEPTH || layouts->index.count - place->first >= MAX_PARTS)
		return NULL;
	if (type->kind == HEAP_TYPE_ARRAY)
		return add_elements(layouts, type, place);
	if (!heap_types_has_members(type))
		return NULL;
	if (id != place->whole)
		HEAP_TRY(add_part(layouts, id, place->whole, place->offset, place->is_held));
	if (place->offset == 0 && !place->is_held)
		own.is_held = held_members_are_all(types, id);
	if (*heap_types_string(types, type->name) != '\0' || !own.scope) {
		scope.type = id;
		scope.is_read = false;
		own.scope = &scope;
	}
	for (uint32_t i = 0; i < type->members; i++)
		HEAP_TRY(add_member(layouts, &types->members[type->first_member + i], &own));
	return NULL;
}

static int compare_parts(const void *left, const void *right)
{
	const struct layout_part *a = left, *b = right;

	if (a->part != b->part)
		return a->part < b->part ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return a->whole < b->whole ? -1 : a->whole > b->whole;
}

// --- common headers ----------------------------------------------------------

/*
 * Inheritance as C does it: structs that begin with the same members, often by a macro,
 * are handled through pointers to a struct that has those alone. Each beginning of each
 * struct gets a hash; a struct whose members hash to another one's beginning is its header.
 * Points and colours are none: other structs begin with the same numbers by chance.
 */
struct beginning {
	uint64_t hash;
	heap_type_id type;
	uint32_t members;
};

struct beginnings {
	struct beginning *all; // [count] by hash
	size_t count;
};

static uint64_t add_to_hash(const struct layouts *layouts, uint64_t hash,
			    const struct heap_member *member)
{
	const struct heap_types *types = layouts->types;
	heap_type_id type = heap_types_strip(types, member->type);
	uint64_t pointers = 0;

	// The table may contain one pointer type several times, so it is hashed by its pointee.
	for (; types->types[type].kind == HEAP_TYPE_POINTER; pointers++)
		type = heap_types_strip(types, types->types[type].target);

	// Bytes are unsigned char to the code that stores them, and char to that which only reads them.
	const uint64_t pointee =
		pointers > 0 && layouts_is_character(layouts, type) ? UINT64_MAX : type;
	const uint64_t values[] = { member->offset, pointee, pointers,
				    (uint64_t)member->bit_offset << 8 | member->bit_size };

	const char *name = heap_types_string(types, member->name);

	hash = heap_hash_fnv(hash, name, strlen(name));
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		hash = heap_hash_scatter(hash ^ values[i]) >> 1;
	return hash;
}

static bool is_plain_struct(const struct heap_type *type)
{
	return type->kind == HEAP_TYPE_STRUCT && type->members >= 2 && type->size > 0;
}

static int compare_beginnings(const void *left, const void *right)
{
	const struct beginning *a = left, *b = right;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return a->type < b->type ? -1 : a->type > b->type;
}

static void find_beginnings(const struct layouts *layouts, struct beginnings *beginnings)
{
	const struct heap_types *types = layouts->types;

	for (heap_type_id id = 1; id < types->count; id++) {
		const struct heap_type *type = &types->types[id];
		uint64_t hash = 0;

		if (!layouts->facts[id].is_candidate)
			continue;
		for (uint32_t i = 0; is_plain_struct(type) && i < type->members; i++) {
			hash = add_to_hash(layouts, hash, &types->members[type->first_member + i]);
			beginnings->all[beginnings->count++] =
				(struct beginning){ hash, id, i + 1 };
		}
	}
	if (beginnings->count > 0)
		qsort(beginnings->all, beginnings->count, sizeof(*beginnings->all),
		      compare_beginnings);
}

bool layouts_has_fractions_alone(const struct layouts *layouts, heap_type_id id)
{
	const struct heap_types *types = layouts->types;
	const struct heap_type *type = &types->types[id];

	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		if (!(types->types[heap_types_strip(types, member->type)].flags & HEAP_TYPE_FLOAT))
			return false;
	}
	return true;
}

// Adds `header` as a part of all the longer structs of a run of equal beginnings.
HEAP_MUST_CHECK
static struct heap_error *add_header(struct layouts *layouts, const struct beginning *run,
				     size_t length, heap_type_id header)
{
	const struct heap_type *types = layouts->types->types;

	for (size_t i = 0; i < length; i++) {
		if (run[i].members == types[run[i].type].members)
			continue;
		if (layouts->header[header] != LAYOUT_HEADER_OF_ANY_SIZE)
			layouts->header[header] = layouts_is_flexible(layouts, run[i].type)
							  ? LAYOUT_HEADER_OF_ANY_SIZE
							  : LAYOUT_HEADER;
		HEAP_TRY(add_part(layouts, header, run[i].type, 0, false));
	}
	return NULL;
}

// Counts the structs of a run of equal beginnings without further members.
static size_t count_headers(const struct heap_types *types, const struct beginning *run,
			    size_t length)
{
	size_t count = 0;

	for (size_t i = 0; i < length; i++)
		count += run[i].members == types->types[run[i].type].members;
	return count;
}

HEAP_MUST_CHECK
static struct heap_error *add_headers(struct layouts *layouts)
{
	const struct heap_types *types = layouts->types;
	CLEANUP_FREE struct beginning *all =
		malloc(((size_t)types->member_count + 1) * sizeof(*all));
	struct beginnings beginnings = { .all = all };

	layouts->header = calloc(types->count, 1);
	if (!all || !layouts->header)
		return heap_error_out_of_memory();
	find_beginnings(layouts, &beginnings);
	for (size_t i = 0, end; i < beginnings.count; i = end) {
		const struct beginning *run = &beginnings.all[i];

		for (end = i + 1; end < beginnings.count && beginnings.all[end].hash == run->hash;)
			end++;
		if (count_headers(types, run, end - i) > MAX_HEADERS)
			continue;
		for (size_t j = 0; j < end - i; j++) {
			if (run[j].members == types->types[run[j].type].members &&
			    !layouts_has_fractions_alone(layouts, run[j].type))
				HEAP_TRY(add_header(layouts, run, end - i, run[j].type));
		}
	}
	return NULL;
}

static void sort(struct layout_index *index)
{
	if (index->count > 0)
		qsort(index->parts, index->count, sizeof(*index->parts), compare_parts);
}

struct heap_error *layouts_index_init(struct layouts *layouts)
{
	const struct heap_types *types = layouts->types;

	for (heap_type_id id = 1; id < types->count; id++) {
		if (heap_types_has_members(&types->types[id]) && layouts->facts[id].is_candidate)
			HEAP_TRY(add_parts(
				layouts, id,
				&(struct place){ .whole = id, .first = layouts->index.count }));
	}
	HEAP_TRY(add_headers(layouts));
	progress_steps((uint32_t)layouts->index.count);
	for (size_t i = 0; i < layouts->index.count; i++) {
		if (layouts->index.parts[i].offset == 0)
			layouts->facts[layouts->index.parts[i].part].is_beginning = true;
	}
	sort(&layouts->index);
	sort(&layouts->rivals);
	sort(&layouts->flexible);
	return NULL;
}

void layouts_index_deinit(struct layouts *layouts)
{
	free(layouts->index.parts);
	free(layouts->rivals.parts);
	free(layouts->flexible.parts);
	free(layouts->header);
}

// --- looking up --------------------------------------------------------------

// The first part that does not come before a key.
static const struct layout_part *lower_bound(const struct layout_index *index,
					     const struct layout_part *key)
{
	size_t at =
		heap_partition_point(i, 0, index->count, compare_parts(&index->parts[i], key) < 0);

	return index->parts + at;
}

static struct layout_wholes find_exact(const struct layout_index *index, heap_type_id part,
				       uint64_t offset, uint64_t size, uint64_t slack)
{
	const uint64_t least = size - slack;
	const struct layout_part first = { .part = part, .offset = offset, .size = least };
	const struct layout_part last = { part, UINT32_MAX, offset, size };

	return (struct layout_wholes){ lower_bound(index, &first), lower_bound(index, &last) };
}

struct layout_wholes layouts_exact_wholes(const struct layouts *layouts, heap_type_id part,
					  uint64_t offset, uint64_t size, uint64_t slack)
{
	return find_exact(&layouts->index, part, offset, size, slack);
}

struct layout_wholes layouts_smaller_wholes(const struct layouts *layouts, heap_type_id part,
					    uint64_t offset, uint64_t size)
{
	const struct layout_part first = { .part = part, .offset = offset };
	const struct layout_part last = { .part = part, .offset = offset, .size = size };

	return (struct layout_wholes){ lower_bound(&layouts->index, &first),
				       lower_bound(&layouts->index, &last) };
}

struct layout_wholes layouts_flexible_wholes(const struct layouts *layouts, heap_type_id part,
					     uint64_t offset, uint64_t size)
{
	const struct layout_part first = { .part = part, .offset = offset };
	const struct layout_part last = { part, UINT32_MAX, offset, size };

	return (struct layout_wholes){ lower_bound(&layouts->flexible, &first),
				       lower_bound(&layouts->flexible, &last) };
}

bool layouts_is_begun_by(const struct layouts *layouts, heap_type_id type, uint64_t size,
			 uint64_t slack)
{
	if (!layouts->facts[type].is_beginning)
		return false;

	const struct layout_wholes exact = layouts_exact_wholes(layouts, type, 0, size, slack);
	const struct layout_wholes flexible = layouts_flexible_wholes(layouts, type, 0, size);

	return exact.at < exact.end || flexible.at < flexible.end;
}

bool layouts_is_ambiguous(const struct layouts *layouts, heap_type_id type, uint64_t size,
			  uint64_t slack)
{
	if (slack == 0)
		return false;
	if (!layouts->facts[type].is_beginning)
		return layouts_is_link(layouts, type);

	const struct layout_wholes exact = find_exact(&layouts->rivals, type, 0, size, slack);
	const struct layout_wholes flexible = layouts_flexible_wholes(layouts, type, 0, size);

	// They are in order of size; one of the same size is but a wrapper, as of a std::tuple's only part.
	return (exact.at < exact.end && exact.end[-1].size > layouts_size(layouts, type)) ||
	       flexible.at < flexible.end;
}

bool layouts_is_indexed(const struct layouts *layouts, heap_type_id whole, heap_type_id part,
			uint64_t offset)
{
	const struct layout_part key = { part, whole, offset, layouts_size(layouts, whole) };
	const struct layout_part *found = lower_bound(&layouts->index, &key);

	return found < layouts->index.parts + layouts->index.count &&
	       compare_parts(found, &key) == 0;
}

bool layouts_is_part_inside(const struct layouts *layouts, heap_type_id part)
{
	const struct layout_part key = { .part = part, .offset = 1 };
	const struct layout_part *found = lower_bound(&layouts->index, &key);

	return found < layouts->index.parts + layouts->index.count && found->part == part;
}
