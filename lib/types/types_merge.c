// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/array.h"
#include "lib/types/types_index.h"

#include <stdlib.h>
#include <string.h>

// Merging two type tables.
//
// References between types form cycles, so equality cannot be found by descending. Names break
// the cycles:
//
// (a) Structs, unions, classes and enums with a name are matched by layout: a hash over
//     their members, in which a type that has a name counts by that name alone. A match is
//     provisional.
//
// (b) One name may have several layouts ("struct node" of two files), so that two equal
//     "struct list { struct node *head; }" may yet mean different nodes. Where a unit has
//     such names, the types that its members refer to are compared with those of the match,
//     by layout again: layouts do not change when other matches do, so one pass is enough.
//     (Two structs that differ only in the target of a pointer to a pointer stay one.)
//
// (c) All others (pointers, typedefs, arrays, structs without a name...) consist of types
//     that are matched by now. Each is looked up by exactly those, depth first.
//
// (a) alone would be wrong in the rare case of (b); (b) costs nothing where no name has two
// layouts. Members' types are equal if their hashes of 64 bits are; all else is compared.

enum {
	DEPTH_MAX = 128,    // of types without a name inside each other; more is damage
	STEPS_MAX = 4096,   // of (b) for one type; structs without a name may fan out
	NAMESAKES_MAX = 64, // types of one name that are tried for a declaration

	IN_PROGRESS = 1, // in place of a hash that is being computed
};

struct merge {
	struct heap_types *types;
	const struct heap_types *from;
	const heap_type_id *known;
	heap_type_id *map;
	uint32_t *names;  // [from->string_size] in types; NULL if strings are shared
	uint64_t *hashes; // [from->count] as in heap_types_entry.reference; 0: not yet
	uint8_t *visited; // [from->count] true: (c) has been there
	bool ambiguous;   // (b) is needed
	unsigned steps;   // that (b) may still take for the current type
};

// Flags that are the type's own, not its table's.
static uint8_t own_flags(const struct heap_type *type)
{
	return type->flags & ~HEAP_TYPE_AMBIGUOUS;
}

static int kind_for_name(uint8_t kind)
{
	// A class may be declared as a struct.
	return kind == HEAP_TYPE_CLASS ? HEAP_TYPE_STRUCT : kind;
}

static uint64_t hash_name(uint8_t kind, uint32_t name)
{
	return heap_hash_mix(heap_hash_mix(kind_for_name(kind), name), 0x6e616d65);
}

static uint64_t hash_of(const struct heap_types *types, uint32_t id)
{
	return types->index->entries[id].hash;
}

static uint32_t name_of(const struct merge *merge, uint32_t offset)
{
	return merge->names ? merge->names[offset] : offset;
}

static heap_type_id known(const struct merge *merge, heap_type_id id)
{
	return merge->known ? merge->known[id] : 0;
}

// --- hashes of layouts ---------------------------------------------------------------------

static uint64_t reference(struct merge *merge, heap_type_id id, int depth);

static uint64_t mix_member(uint64_t hash, const struct heap_member *member, uint32_t name)
{
	hash = heap_hash_mix(hash, (uint64_t)name << 32 | member->flags << 16 |
					   member->bit_offset << 8 | member->bit_size);
	return heap_hash_mix(hash, member->offset);
}

// The hash of all that a type consists of, with reference() for its members' types.
static uint64_t hash_layout(struct merge *merge, heap_type_id id, int depth)
{
	const struct heap_type *type = &merge->from->types[id];
	uint64_t hash = heap_hash_mix(type->kind, name_of(merge, type->name));

	hash = heap_hash_mix(hash, type->size);
	hash = heap_hash_mix(hash, (uint64_t)type->members << 32 | own_flags(type));
	if (type->kind == HEAP_TYPE_ENUM) {
		const struct heap_enumerator *values =
			&merge->from->enumerators[type->first_member];

		for (uint32_t i = 0; i < type->members; i++)
			hash = heap_hash_mix(heap_hash_mix(hash, name_of(merge, values[i].name)),
					     values[i].value);
	} else {
		const struct heap_member *members = &merge->from->members[type->first_member];

		for (uint32_t i = 0; i < type->members; i++) {
			hash = mix_member(hash, &members[i], name_of(merge, members[i].name));
			hash = heap_hash_mix(hash, reference(merge, members[i].type, depth));
		}
	}
	return hash;
}

// The hash of a type as a part of those that refer to it.
static uint64_t reference(struct merge *merge, heap_type_id id, int depth)
{
	const struct heap_type *type = &merge->from->types[id];
	uint64_t hash;

	if (known(merge, id))
		return merge->types->index->entries[known(merge, id)].reference;
	if (merge->hashes[id])
		return merge->hashes[id];
	if (depth > DEPTH_MAX)
		return IN_PROGRESS;
	if (heap_types_is_named(type)) {
		hash = hash_name(type->kind, name_of(merge, type->name));
	} else {
		merge->hashes[id] = IN_PROGRESS;
		if (heap_types_has_members(type) || type->kind == HEAP_TYPE_ENUM) {
			hash = hash_layout(merge, id, depth + 1);
		} else {
			hash = heap_hash_mix(type->kind << 8 | own_flags(type),
					     name_of(merge, type->name));
			hash = heap_hash_mix(heap_hash_mix(hash, type->size), type->count);
			hash = heap_hash_mix(hash,
					     id ? reference(merge, type->target, depth + 1) : 0);
		}
	}
	merge->hashes[id] = hash;
	return hash;
}

// --- entering types into the index ---------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *reserve_entries(struct heap_types *types)
{
	return heap_reserve(types->index->entries, types->index->capacity, types->type_capacity);
}

// The first type of that name in the table, or HEAP_HASH_NONE.
static heap_type_id find_name(const struct heap_types *types, uint8_t kind, uint32_t name)
{
	return heap_hash_find(&types->index->names, hash_name(kind, name), id,
			      types->types[id].name == name &&
				      kind_for_name(types->types[id].kind) == kind_for_name(kind));
}

static bool is_declaration(const struct heap_types *types, heap_type_id id)
{
	return types->types[id].flags & HEAP_TYPE_DECLARATION;
}

// Marks types of one name that file and line can tell apart: their formatted names say both.
static void tell_apart(struct heap_types *types, heap_type_id first, heap_type_id id)
{
	struct heap_type *type = &types->types[id], *other = &types->types[first];

	if (!(other->flags & HEAP_TYPE_AMBIGUOUS)) {
		if (type->file == other->file && type->line == other->line)
			return;
		for (; first; first = types->index->entries[first].next)
			types->types[first].flags |= HEAP_TYPE_AMBIGUOUS;
	}
	type->flags |= HEAP_TYPE_AMBIGUOUS;
}

HEAP_MUST_CHECK
static struct heap_error *enter_name(struct heap_types *types, heap_type_id id)
{
	const struct heap_type *type = &types->types[id];
	struct heap_types_entry *entries = types->index->entries;
	uint64_t hash = hash_name(type->kind, type->name);
	heap_type_id head = find_name(types, type->kind, type->name), first, declaration = 0;

	entries[id].next = 0;
	entries[id].several = false;
	if (head == HEAP_HASH_NONE)
		return heap_hash_add(&types->index->names, hash, id);
	first = head;
	if (is_declaration(types, first)) {
		declaration = first;
		first = entries[first].next;
	}
	if (first && !is_declaration(types, id)) {
		entries[first].several = entries[id].several = true;
		tell_apart(types, first, id);
	}
	entries[id].next = first;
	if (declaration)
		entries[declaration].next = id;
	else
		heap_hash_replace(&types->index->names, hash, head, id);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *enter_layout(struct heap_types *types, heap_type_id id)
{
	return heap_hash_add(&types->index->layouts, hash_of(types, id), id);
}

HEAP_MUST_CHECK
static struct heap_error *enter(struct heap_types *types, heap_type_id id)
{
	if (!is_declaration(types, id))
		HEAP_TRY(enter_layout(types, id));
	return heap_types_is_named(&types->types[id]) ? enter_name(types, id) : NULL;
}

// --- (a) by layout -------------------------------------------------------------------------

static bool same_members(const struct merge *merge, const struct heap_type *mine,
			 const struct heap_type *theirs)
{
	for (uint32_t i = 0; i < mine->members; i++) {
		const struct heap_member *a = &merge->types->members[mine->first_member + i];
		const struct heap_member *b = &merge->from->members[theirs->first_member + i];

		if (a->name != name_of(merge, b->name) || a->offset != b->offset ||
		    a->flags != b->flags || a->bit_offset != b->bit_offset ||
		    a->bit_size != b->bit_size)
			return false;
	}
	return true;
}

static bool same_enumerators(const struct merge *merge, const struct heap_type *mine,
			     const struct heap_type *theirs)
{
	for (uint32_t i = 0; i < mine->members; i++) {
		const struct heap_enumerator *a =
			&merge->types->enumerators[mine->first_member + i];
		const struct heap_enumerator *b =
			&merge->from->enumerators[theirs->first_member + i];

		if (a->name != name_of(merge, b->name) || a->value != b->value)
			return false;
	}
	return true;
}

// True if two types are equal except for the types of their members.
static bool same_shape(const struct merge *merge, heap_type_id mine_id, heap_type_id theirs_id)
{
	const struct heap_type *mine = &merge->types->types[mine_id];
	const struct heap_type *theirs = &merge->from->types[theirs_id];

	if (mine->kind != theirs->kind || mine->name != name_of(merge, theirs->name) ||
	    mine->size != theirs->size || mine->members != theirs->members ||
	    own_flags(mine) != own_flags(theirs))
		return false;
	return mine->kind == HEAP_TYPE_ENUM ? same_enumerators(merge, mine, theirs)
					    : same_members(merge, mine, theirs);
}

static void match(struct merge *merge, heap_type_id theirs, heap_type_id mine)
{
	struct heap_types_index *index = merge->types->index;

	merge->map[theirs] = mine;
	if (index->entries[mine].stamp != index->stamp) {
		index->entries[mine].stamp = index->stamp;
		index->entries[mine].origin = 0;
	}
	merge->ambiguous |= index->entries[mine].several;
}

HEAP_MUST_CHECK
static struct heap_error *copy_enumerators(struct merge *merge, const struct heap_type *type)
{
	for (uint32_t i = 0; i < type->members; i++) {
		struct heap_enumerator value = merge->from->enumerators[type->first_member + i];

		value.name = name_of(merge, value.name);
		HEAP_TRY(heap_types_add_enumerator(merge->types, &value));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *copy_members(struct merge *merge, const struct heap_type *type)
{
	for (uint32_t i = 0; i < type->members; i++) {
		struct heap_member member = merge->from->members[type->first_member + i];

		member.name = name_of(merge, member.name);
		member.type = HEAP_NO_TYPE;
		HEAP_TRY(heap_types_add_member(merge->types, &member));
	}
	return NULL;
}

// Copies a type; (c) fills in its target and its members' types.
HEAP_MUST_CHECK
static struct heap_error *copy_type(struct merge *merge, heap_type_id id, struct heap_type *result)
{
	struct heap_types *types = merge->types;
	const struct heap_type *type = &merge->from->types[id];
	struct heap_type copy = *type;

	copy.flags = own_flags(type);
	copy.name = name_of(merge, type->name);
	copy.file = name_of(merge, type->file);
	copy.target = HEAP_NO_TYPE;
	if (type->kind == HEAP_TYPE_ENUM)
		copy.first_member = types->enumerator_count;
	else
		copy.first_member = type->members ? types->member_count : 0;
	*result = copy;
	return type->kind == HEAP_TYPE_ENUM ? copy_enumerators(merge, type)
					    : copy_members(merge, type);
}

// The declaration that a copied definition takes the place of, or 0.
static heap_type_id find_declaration(const struct heap_types *types, const struct heap_type *copy)
{
	heap_type_id id = HEAP_HASH_NONE;

	if (heap_types_is_named(copy) && !(copy->flags & HEAP_TYPE_DECLARATION))
		id = find_name(types, copy->kind, copy->name);
	if (id == HEAP_HASH_NONE || !is_declaration(types, id) || types->index->entries[id].next)
		return 0;
	return id;
}

// Adds one of their types to the table, or completes a declaration with it.
HEAP_MUST_CHECK
static struct heap_error *adopt(struct merge *merge, heap_type_id theirs, uint64_t hash)
{
	struct heap_types *types = merge->types;
	struct heap_type copy;

	HEAP_TRY(copy_type(merge, theirs, &copy));

	heap_type_id id = find_declaration(types, &copy);
	bool was_declared = id;

	if (was_declared)
		types->types[id] = copy;
	else
		HEAP_TRY(heap_types_add(types, &copy, &id));
	HEAP_TRY(reserve_entries(types));

	struct heap_types_entry *entry = &types->index->entries[id];

	entry->hash = hash;
	entry->reference = reference(merge, theirs, 0);
	entry->stamp = types->index->stamp;
	entry->origin = theirs;
	entry->several = false;
	types->index->types_end = types->count;
	HEAP_TRY(was_declared ? enter_layout(types, id) : enter(types, id));
	match(merge, theirs, id);
	return NULL;
}

// The next type of that layout after @p after (0: the first), or 0.
static heap_type_id find_layout(struct merge *merge, heap_type_id theirs, uint64_t hash,
				heap_type_id after)
{
	uint32_t folded = heap_hash_fold(hash), at = folded, id;
	bool is_before = after;

	while (heap_hash_next(&merge->types->index->layouts, folded, &at, &id)) {
		if (is_before)
			is_before = id != after;
		else if (hash_of(merge->types, id) == hash && same_shape(merge, id, theirs))
			return id;
	}
	return 0;
}

HEAP_MUST_CHECK
static struct heap_error *match_definition(struct merge *merge, heap_type_id theirs,
					   heap_type_id after)
{
	uint64_t hash = hash_layout(merge, theirs, 0);
	heap_type_id mine = find_layout(merge, theirs, hash, after);

	if (!mine)
		return adopt(merge, theirs, hash);
	match(merge, theirs, mine);
	return NULL;
}

// A declaration stands for the definition that the same unit has, or else for the only one.
HEAP_MUST_CHECK
static struct heap_error *match_declaration(struct merge *merge, heap_type_id theirs)
{
	struct heap_types *types = merge->types;
	const struct heap_types_entry *entries = types->index->entries;
	const struct heap_type *type = &merge->from->types[theirs];
	heap_type_id first = find_name(types, type->kind, name_of(merge, type->name));
	heap_type_id found;

	if (first == HEAP_HASH_NONE)
		return adopt(merge, theirs, 0);
	found = is_declaration(types, first) ? entries[first].next : first;
	if (found && entries[found].next) {
		int visited = 0;

		while (found && entries[found].stamp != types->index->stamp)
			found = ++visited < NAMESAKES_MAX ? entries[found].next : 0;
	}
	if (!found && is_declaration(types, first))
		found = first;
	if (!found)
		return adopt(merge, theirs, 0);
	match(merge, theirs, found);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *match_named(struct merge *merge)
{
	const struct heap_types *from = merge->from;

	for (heap_type_id id = 1; id < from->count; id++)
		if (known(merge, id))
			match(merge, id, known(merge, id));
		else if (heap_types_is_named(&from->types[id]) && !is_declaration(from, id))
			HEAP_TRY(match_definition(merge, id, 0));
	for (heap_type_id id = 1; id < from->count; id++)
		if (!known(merge, id) && heap_types_is_named(&from->types[id]) &&
		    is_declaration(from, id))
			HEAP_TRY(match_declaration(merge, id));
	return NULL;
}

// --- (b) ambiguous names -------------------------------------------------------------------

// One of the two tables, and how its named types map to the merged one.
struct side {
	const struct heap_types *types;
	const heap_type_id *map; // NULL: it is the merged one
};

static heap_type_id merged(struct side side, heap_type_id id)
{
	return side.map ? side.map[id] : id;
}

static bool same_reference(struct merge *merge, struct side left, heap_type_id a, struct side right,
			   heap_type_id b, int depth);

static bool same_members_references(struct merge *merge, struct side left, heap_type_id a,
				    struct side right, heap_type_id b, int depth)
{
	const struct heap_type *mine = &left.types->types[a], *theirs = &right.types->types[b];

	if (mine->members != theirs->members)
		return false;
	for (uint32_t i = 0; i < mine->members; i++)
		if (!same_reference(merge, left, left.types->members[mine->first_member + i].type,
				    right, right.types->members[theirs->first_member + i].type,
				    depth + 1))
			return false;
	return true;
}

// True if two types of equal hash, of two members, mean the same definitions.
static bool same_reference(struct merge *merge, struct side left, heap_type_id a, struct side right,
			   heap_type_id b, int depth)
{
	for (; depth < DEPTH_MAX && merge->steps; depth++, merge->steps--) {
		if (right.types == merge->from && known(merge, b)) {
			b = known(merge, b);
			right = (struct side){ merge->types, NULL };
		}
		if (left.types == merge->from && known(merge, a)) {
			a = known(merge, a);
			left = (struct side){ merge->types, NULL };
		}

		const struct heap_type *mine = &left.types->types[a];
		const struct heap_type *theirs = &right.types->types[b];

		if (heap_types_is_named(mine) || heap_types_is_named(theirs))
			return ((mine->flags | theirs->flags) & HEAP_TYPE_DECLARATION) ||
			       merged(left, a) == merged(right, b) ||
			       hash_of(merge->types, merged(left, a)) ==
				       hash_of(merge->types, merged(right, b));
		if (heap_types_has_members(mine) && heap_types_has_members(theirs))
			return same_members_references(merge, left, a, right, b, depth + 1);
		if (!a || !b)
			return true;
		a = mine->target;
		b = theirs->target;
	}
	return true;
}

// True if a match that (a) made still holds.
static bool holds(struct merge *merge, heap_type_id theirs)
{
	heap_type_id mine = merge->map[theirs];
	const struct heap_types_entry *entry = &merge->types->index->entries[mine];
	struct side left = { merge->types, NULL }, right = { merge->from, merge->map };

	if (entry->stamp == merge->types->index->stamp && entry->origin) {
		// Its members are not filled in yet: use those that it was copied from.
		mine = entry->origin;
		left = right;
	}
	merge->steps = STEPS_MAX;
	return (left.map && mine == theirs) ||
	       same_members_references(merge, left, mine, right, theirs, 0);
}

HEAP_MUST_CHECK
static struct heap_error *withdraw_matches(struct merge *merge)
{
	const struct heap_types *from = merge->from;

	for (heap_type_id id = 1; merge->ambiguous && id < from->count; id++) {
		if (known(merge, id) || !heap_types_is_named(&from->types[id]) ||
		    !heap_types_has_members(&from->types[id]) || is_declaration(from, id))
			continue;
		while (!holds(merge, id))
			HEAP_TRY(match_definition(merge, id, merge->map[id]));
	}
	return NULL;
}

// --- (c) all others ------------------------------------------------------------------------

// The line of a type without a name in a source file: lambdas that capture the same are several types, as are structs
// of several typedefs. Versions of a header have one type in several lines: 0, as for types that have no line.
static uint32_t source_line(const struct heap_types *types, const struct heap_type *type)
{
	const char *extension = strrchr(heap_types_string(types, type->file), '.');

	return extension && (extension[1] == 'c' || extension[1] == 'C') ? type->line : 0;
}

static uint64_t hash_exactly(const struct merge *merge, heap_type_id id)
{
	const struct heap_type *type = &merge->from->types[id];
	uint64_t hash =
		heap_hash_mix(type->kind << 8 | own_flags(type), name_of(merge, type->name));

	hash = heap_hash_mix(heap_hash_mix(hash, type->size), type->count);
	if (type->kind == HEAP_TYPE_ENUM)
		return heap_hash_mix(hash, merge->hashes[id]);
	if (!heap_types_has_members(type))
		return heap_hash_mix(hash, merge->map[type->target]);
	hash = heap_hash_mix(hash, source_line(merge->from, type));
	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &merge->from->members[type->first_member + i];

		hash = mix_member(hash, member, name_of(merge, member->name));
		hash = heap_hash_mix(hash, merge->map[member->type]);
	}
	return hash;
}

static bool same_exactly(const struct merge *merge, heap_type_id mine_id, heap_type_id theirs_id)
{
	const struct heap_type *mine = &merge->types->types[mine_id];
	const struct heap_type *theirs = &merge->from->types[theirs_id];

	if (!same_shape(merge, mine_id, theirs_id) || mine->count != theirs->count)
		return false;
	if (!heap_types_has_members(mine))
		return mine->kind == HEAP_TYPE_ENUM || mine->target == merge->map[theirs->target];
	if (source_line(merge->types, mine) != source_line(merge->from, theirs))
		return false;
	for (uint32_t i = 0; i < mine->members; i++)
		if (merge->types->members[mine->first_member + i].type !=
		    merge->map[merge->from->members[theirs->first_member + i].type])
			return false;
	return true;
}

static heap_type_id find_exactly(const struct merge *merge, heap_type_id theirs, uint64_t hash)
{
	uint32_t found = heap_hash_find(&merge->types->index->layouts, hash, id,
					hash_of(merge->types, id) == hash &&
						same_exactly(merge, id, theirs));

	return found == HEAP_HASH_NONE ? 0 : found;
}

// Maps a part of a copied type. A type without a name cannot be a part of itself.
static heap_type_id part_of(const struct merge *merge, heap_type_id theirs, heap_type_id part)
{
	bool named = heap_types_is_named(&merge->from->types[theirs]);

	return part == theirs && !named ? HEAP_NO_TYPE : merge->map[part];
}

// Fills in the target of a copied type and its members' types, once these are mapped.
static void fill_in(struct merge *merge, heap_type_id theirs)
{
	const struct heap_type *type = &merge->from->types[theirs];
	struct heap_type *copy = &merge->types->types[merge->map[theirs]];

	copy->target = part_of(merge, theirs, type->target);
	for (uint32_t i = 0; heap_types_has_members(type) && i < type->members; i++)
		merge->types->members[copy->first_member + i].type =
			part_of(merge, theirs, merge->from->members[type->first_member + i].type);
}

HEAP_MUST_CHECK
static struct heap_error *match_other(struct merge *merge, heap_type_id theirs, int depth);

HEAP_MUST_CHECK
static struct heap_error *match_parts(struct merge *merge, const struct heap_type *type, int depth)
{
	HEAP_TRY(match_other(merge, type->target, depth + 1));
	for (uint32_t i = 0; heap_types_has_members(type) && i < type->members; i++)
		HEAP_TRY(match_other(merge, merge->from->members[type->first_member + i].type,
				     depth + 1));
	return NULL;
}

// A type that nests too deeply, or contains itself, is unknown where that happens.
HEAP_MUST_CHECK
static struct heap_error *match_other(struct merge *merge, heap_type_id theirs, int depth)
{
	const struct heap_type *type = &merge->from->types[theirs];

	if (merge->map[theirs] || merge->visited[theirs] || type->kind == HEAP_TYPE_UNKNOWN ||
	    depth > DEPTH_MAX)
		return NULL;
	merge->visited[theirs] = true;
	HEAP_TRY(match_parts(merge, type, depth));
	reference(merge, theirs, 0);

	uint64_t hash = hash_exactly(merge, theirs);
	heap_type_id mine = find_exactly(merge, theirs, hash);

	if (mine) {
		merge->map[theirs] = mine;
		return NULL;
	}
	HEAP_TRY(adopt(merge, theirs, hash));
	fill_in(merge, theirs);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *match_others(struct merge *merge)
{
	const struct heap_types *from = merge->from;
	const struct heap_types_index *index = merge->types->index;

	for (heap_type_id id = 1; id < from->count; id++)
		HEAP_TRY(match_other(merge, id, 0));
	for (heap_type_id id = 1; id < from->count; id++) {
		const struct heap_types_entry *entry = &index->entries[merge->map[id]];

		if (!heap_types_is_named(&from->types[id]) || known(merge, id) ||
		    entry->stamp != index->stamp || entry->origin != id)
			continue;
		HEAP_TRY(match_parts(merge, &from->types[id], 0));
		fill_in(merge, id);
	}
	return NULL;
}

// --- merging -------------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *map_names(struct heap_types *types, const struct heap_types *from,
				    uint32_t *names)
{
	for (uint32_t offset = 1; offset < from->string_size;) {
		const char *string = heap_types_string(from, offset);

		HEAP_TRY(heap_types_add_string(types, string, &names[offset]));
		offset += strlen(string) + 1;
	}
	return NULL;
}

// Indexes types that were added to the table other than by merging.
HEAP_MUST_CHECK
static struct heap_error *index_types(struct heap_types *types)
{
	struct heap_types_index *index = types->index;
	heap_type_id start = index->types_end;

	HEAP_TRY(reserve_entries(types));
	if (start == types->count && start > 1)
		return NULL;

	CLEANUP_FREE uint64_t *hashes = calloc(types->count, sizeof(*hashes));
	CLEANUP_FREE heap_type_id *identity = calloc(types->count, sizeof(*identity));
	struct merge merge = { .types = types, .from = types, .map = identity, .hashes = hashes };

	if (!hashes || !identity)
		return heap_error_out_of_memory();
	for (heap_type_id id = 0; id < types->count; id++)
		identity[id] = id;
	index->entries[0] = (struct heap_types_entry){ .reference = reference(&merge, 0, 0) };
	for (heap_type_id id = start; id < types->count; id++) {
		const struct heap_type *type = &types->types[id];
		struct heap_types_entry *entry = &index->entries[id];

		*entry = (struct heap_types_entry){ .reference = reference(&merge, id, 0) };
		entry->hash = heap_types_is_named(type) ? hash_layout(&merge, id, 0)
							: hash_exactly(&merge, id);
		HEAP_TRY(enter(types, id));
		index->types_end = id + 1;
	}
	return NULL;
}

struct heap_error *heap_types_merge_known(struct heap_types *types, const struct heap_types *from,
					  const heap_type_id *known_types, heap_type_id *map)
{
	bool shared = from->strings == types->strings;
	CLEANUP_FREE uint32_t *names = calloc(shared ? 1 : from->string_size, sizeof(*names));
	CLEANUP_FREE uint64_t *hashes = calloc(from->count, sizeof(*hashes));
	CLEANUP_FREE uint8_t *visited = calloc(from->count, sizeof(*visited));
	struct merge merge = { .types = types,
			       .from = from,
			       .known = known_types,
			       .map = map,
			       .names = shared ? NULL : names,
			       .hashes = hashes,
			       .visited = visited };

	if (!names || !hashes || !visited)
		return heap_error_out_of_memory();
	memset(map, 0, from->count * sizeof(*map));
	HEAP_TRY(heap_types_make_index(types));
	if (!shared)
		HEAP_TRY(map_names(types, from, names));
	HEAP_TRY(index_types(types));
	types->index->stamp++;
	HEAP_TRY(match_named(&merge));
	HEAP_TRY(withdraw_matches(&merge));
	return match_others(&merge);
}

struct heap_error *heap_types_merge(struct heap_types *types, const struct heap_types *from,
				    heap_type_id *map)
{
	return heap_types_merge_known(types, from, NULL, map);
}
