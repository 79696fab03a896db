// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/words/member_walk.h"

#include "lib/base/cleanup.h"
#include "lib/base/nearest.h"
#include "lib/types/member_path.h"
#include "shell/print/container_parts.h"
#include "shell/print/describe.h"
#include "shell/words/member_step.h"

#include <inttypes.h>
#include <string.h>

enum {
	MEMBERS_TOLD = 8, // of a type that has no such member
	MAX_LOOKS = 8,    // pointers and owners in each other before one step
};

// --- pointers --------------------------------------------------------------------

static bool find_target(const struct heap_snapshot *snapshot, const struct member_spot *spot,
			heap_object_id *object, uint64_t *interior)
{
	if (spot->object != HEAP_NO_OBJECT) {
		uint32_t edge = heap_edge_at(snapshot, spot->object, spot->offset);

		if (edge == UINT32_MAX)
			return false;
		*object = snapshot->edge_target[edge];
		*interior = snapshot->edge_interior[edge];
		return true;
	}
	for (uint64_t i = heap_snapshot_first_root_edge(snapshot, spot->root);
	     i < snapshot->root_edge_count && snapshot->root_edges[i].root == spot->root; i++) {
		if (snapshot->root_edges[i].offset == spot->offset) {
			*object = snapshot->root_edges[i].target;
			*interior = snapshot->root_edges[i].interior;
			return true;
		}
	}
	return false;
}

bool member_is_pointer(const struct heap_types *types, heap_type_id type)
{
	uint8_t kind = types->types[heap_types_strip(types, type)].kind;

	return kind == HEAP_TYPE_POINTER || kind == HEAP_TYPE_REFERENCE;
}

void member_find_own_type(const struct heap_snapshot *snapshot, struct member_spot *spot)
{
	heap_type_id type = snapshot->type[spot->object];
	uint64_t size = heap_types_size(&snapshot->types, type);

	if (type == HEAP_NO_TYPE || size == 0)
		return;
	spot->offset -= spot->offset % size; // the element that an address lies in
	spot->type = type;
}

// The place as shell/print knows places. Its bytes live until the command ends.
HEAP_MUST_CHECK
static struct heap_error *load_place(struct session *session, const struct member_spot *spot,
				     struct place *result)
{
	struct value *value = session_allocate(session, sizeof(*value));

	if (!value)
		return heap_error_out_of_memory();
	HEAP_TRY(place_load(session, spot->object, spot->root, value));
	*result = (struct place){ value, spot->offset,
				  heap_types_strip(&session->snapshot->types, spot->type) };
	return NULL;
}

// The block that a pointer leads to by its value: a weak one is no edge. @param value  gets it; 0: NULL, or not known
static bool find_by_value(struct session *session, const struct member_spot *spot, uint64_t *value,
			  struct member_spot *target)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct place place;
	struct heap_error *error = load_place(session, spot, &place);

	*value = 0;
	if (error || !place_pointer(session, &place, value) || *value == 0) {
		heap_error_destroy(error);
		return false;
	}
	target->object = heap_snapshot_find(snapshot, *value);
	if (target->object == HEAP_NO_OBJECT)
		return false;
	target->offset = *value - snapshot->address[target->object];
	return true;
}

struct heap_error *member_follow(struct session *session, struct member_spot *spot,
				 const char *so_far)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_types *types = &snapshot->types;
	heap_type_id pointer = heap_types_strip(types, spot->type);
	struct member_spot target = { .object = HEAP_NO_OBJECT, .root = UINT32_MAX };

	uint64_t value;

	if (!find_target(snapshot, spot, &target.object, &target.offset) &&
	    !find_by_value(session, spot, &value, &target))
		return value ? heap_error_create(HEAP_ERROR_ABSENT,
						 "%s points to %#" PRIx64
						 ", which is no block of the heap",
						 so_far, value)
			     : heap_error_create(HEAP_ERROR_ABSENT,
						 "%s is NULL, or points to nothing that is known",
						 so_far);
	target.type = heap_types_strip(types, types->types[pointer].target);
	target.is_pointee = true;
	if (heap_types_size(types, target.type) == 0)
		member_find_own_type(snapshot, &target);
	*spot = target;
	return NULL;
}

// --- members and elements ---------------------------------------------------------

HEAP_MAKES_ERROR
static struct heap_error *no_member(struct session *session, heap_type_id type, const char *name)
{
	const struct heap_types *types = &session->snapshot->types;
	const struct heap_type *compound = &types->types[type];
	const char *names = "";
	struct heap_nearest nearest;
	uint32_t told = 0;

	heap_nearest_init(&nearest, name);
	for (uint32_t i = 0; i < compound->members; i++) {
		const char *member =
			heap_types_string(types, types->members[compound->first_member + i].name);

		heap_nearest_offer(&nearest, member);
		if (*member == '\0' || told > MEMBERS_TOLD)
			continue;
		names = session_format(session, "%s%s%s", names, told == 0 ? "" : ", ",
				       told == MEMBERS_TOLD ? "..." : member);
		told++;
	}
	if (told == 0)
		return heap_error_create(HEAP_ERROR_ABSENT, "%s has no members, and so no %s",
					 describe_type(session, type), name);

	CLEANUP_FREE char *hint = heap_nearest_hint(&nearest);

	return heap_error_create(HEAP_ERROR_ABSENT, "%s has no member %s: it has %s%s",
				 describe_type(session, type), name, names, hint ? hint : "");
}

// Bytes of the object or variable that a path has come to.
static uint64_t size_around(const struct heap_snapshot *snapshot, const struct member_spot *spot)
{
	return spot->object != HEAP_NO_OBJECT ? snapshot->size[spot->object]
					      : snapshot->roots[spot->root].size;
}

// The same member of a class derived from the one that a pointer tells: the object knows its own.
static bool find_derived(const struct heap_snapshot *snapshot, const struct member_spot *spot,
			 const char *name, struct member_spot *result)
{
	struct heap_member_place place;

	if (spot->object == HEAP_NO_OBJECT)
		return false;
	*result = *spot;
	result->type = HEAP_NO_TYPE;
	member_find_own_type(snapshot, result);
	if (result->type == HEAP_NO_TYPE ||
	    !heap_member_find(&snapshot->types, result->type, name, &place))
		return false;
	result->offset += place.offset;
	result->type = place.type;
	result->is_pointee = false;
	return true;
}

HEAP_MUST_CHECK
static struct heap_error *enter_member(struct session *session, struct member_spot *spot,
				       const char *name)
{
	const struct heap_types *types = &session->snapshot->types;
	heap_type_id type = heap_types_strip(types, spot->type);
	struct heap_member_place place;
	struct member_spot derived;

	if (heap_member_find(types, type, name, &place)) {
		spot->offset += place.offset;
		spot->type = place.type;
		spot->is_pointee = false;
		return NULL;
	}
	if (!spot->is_pointee || !find_derived(session->snapshot, spot, name, &derived))
		return no_member(session, type, name);
	*spot = derived;
	return NULL;
}

// An element, or with `last` beyond `index` a range of them.
HEAP_MUST_CHECK
static struct heap_error *enter_elements(struct session *session, struct member_spot *spot,
					 uint64_t index, uint64_t last, const char *so_far)
{
	const struct heap_types *types = &session->snapshot->types;
	heap_type_id type = heap_types_strip(types, spot->type);
	uint64_t stride, left = size_around(session->snapshot, spot);

	left = left > spot->offset ? left - spot->offset : 0;
	if (types->types[type].kind == HEAP_TYPE_ARRAY) {
		uint64_t own = heap_types_size(types, type);

		if (own > 0 && own < left)
			left = own; // more of the structure may follow
		type = heap_types_strip(types, types->types[type].target);
	}
	stride = heap_types_size(types, type);
	if (stride == 0 || last >= left / stride)
		return heap_error_create(HEAP_ERROR_ABSENT,
					 "%s[%" PRIu64 "]: there are %" PRIu64 " elements", so_far,
					 last, stride == 0 ? 0 : left / stride);
	spot->offset += index * stride;
	spot->type = type;
	spot->is_pointee = false;
	return NULL;
}

// --- containers -----------------------------------------------------------------------

// Goes to a place that was found from here: in the same variable or object, or in another object.
static void go_to(struct member_spot *spot, const struct place *place)
{
	if (place->value->object != HEAP_NO_OBJECT)
		*spot = (struct member_spot){ .object = place->value->object, .root = UINT32_MAX };
	spot->offset = place->offset;
	spot->type = place->type;
	spot->is_pointee = false;
}

HEAP_MUST_CHECK
static struct heap_error *find_element(struct session *session, const struct member_spot *spot,
				       const char *text, uint64_t number, bool is_number,
				       const char *so_far, struct place *result)
{
	const struct container_subscript subscript = { text, number, is_number };
	struct place place;
	uint64_t count;

	HEAP_TRY(load_place(session, spot, &place));
	switch (container_find_element(session, &place, &subscript, result, &count)) {
	case CONTAINER_FOUND:
		return NULL;
	case CONTAINER_UNREADABLE:
		return heap_error_create(HEAP_ERROR_ABSENT,
					 "%s[%s]: not kept in the snapshot (see heapsnap run "
					 "--content), or of unknown type",
					 so_far, text);
	default:
		return heap_error_create(HEAP_ERROR_ABSENT,
					 "%s[%s]: no such element; there are %" PRIu64, so_far,
					 text, count);
	}
}

// An element of a class of the standard library, or a range of them that lie one behind the other.
HEAP_MUST_CHECK
static struct heap_error *enter_container(struct session *session, struct member_spot *spot,
					  const struct member_step *step, const char *so_far)
{
	uint64_t size, many = step->last - step->first;
	struct place place, last;
	const char *text;

	if (!step->is_range) {
		HEAP_TRY(find_element(session, spot, step->name, step->first, step->is_number,
				      so_far, &place));
		go_to(spot, &place);
		return NULL;
	}
	text = session_format(session, "%" PRIu64, step->first);
	HEAP_TRY(find_element(session, spot, text, step->first, true, so_far, &place));
	text = session_format(session, "%" PRIu64, step->last);
	HEAP_TRY(find_element(session, spot, text, step->last, true, so_far, &last));
	size = heap_types_size(&session->snapshot->types, place.type);
	if (place.value->object != last.value->object || last.offset < place.offset ||
	    last.offset - place.offset != many * size)
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "%s[%s]: these are not one behind the other; name one, or "
					 "`show --all %s`",
					 so_far, step->name, so_far);
	go_to(spot, &place);
	return NULL;
}

// Goes on to what a std::unique_ptr or its like points to, or what a std::optional holds.
// @param moved  gets whether it is one of these
HEAP_MUST_CHECK
static struct heap_error *look_through(struct session *session, struct member_spot *spot,
				       const char *so_far, bool *moved)
{
	size_t length;
	struct place place, inside;

	*moved = false;
	place_standard_name(session, spot->type, &length);
	if (length == 0)
		return NULL;
	HEAP_TRY(load_place(session, spot, &place));
	if (container_find_pointer(session, &place, &inside)) {
		go_to(spot, &inside);
		HEAP_TRY(member_follow(session, spot, so_far));
		*moved = true;
	} else if (container_find_value(session, &place, &inside)) {
		go_to(spot, &inside);
		*moved = true;
	}
	return NULL;
}

// Goes on to where a step can be taken: pointers are followed, owners looked through.
HEAP_MUST_CHECK
static struct heap_error *find_start_of_step(struct session *session, struct member_spot *spot,
					     const struct member_step *step, const char *so_far)
{
	const struct heap_types *types = &session->snapshot->types;
	struct heap_member_place member;
	bool moved = true;

	for (int i = 0; moved && i < MAX_LOOKS; i++) {
		if (member_is_pointer(types, spot->type)) {
			HEAP_TRY(member_follow(session, spot, so_far));
			if (step->is_index)
				return NULL; // an element of what it points to
			continue;
		}
		if (spot->type == HEAP_NO_TYPE ||
		    (step->is_index && container_has_elements(session, spot->type)) ||
		    (!step->is_index && heap_member_find(types, heap_types_strip(types, spot->type),
							 step->name, &member)))
			return NULL;
		HEAP_TRY(look_through(session, spot, so_far, &moved));
		if (step->is_index && spot->is_pointee)
			return NULL;
	}
	return NULL;
}

struct heap_error *member_load(struct session *session)
{
	struct heap_error *error = describe_load(session);

	return error ? error
		     : heap_snapshot_load(session->snapshot,
					  HEAP_COLUMN_ADDRESS | HEAP_COLUMN_SIZE |
						  HEAP_COLUMN_TYPE | HEAP_COLUMN_EDGES |
						  HEAP_COLUMN_SLOTS);
}

// --- steps -----------------------------------------------------------------------

HEAP_MAKES_ERROR
static struct heap_error *no_step(const char *word, const char *at)
{
	return heap_error_create(HEAP_ERROR_ARGUMENT,
				 "%s: %s is neither .NAME, ->NAME, [N] nor [N..M]", word, at);
}

// True at the first of several values in a row, which an index counts.
static bool is_one_of_several(const struct heap_snapshot *snapshot, const struct member_spot *spot)
{
	return spot->is_pointee && spot->object != HEAP_NO_OBJECT &&
	       snapshot->elements[spot->object] > 1 &&
	       heap_types_strip(&snapshot->types, snapshot->type[spot->object]) ==
		       heap_types_strip(&snapshot->types, spot->type);
}

// Takes one step. @param at  how the word goes on from here
HEAP_MUST_CHECK
static struct heap_error *take(struct session *session, struct member_spot *spot,
			       const struct member_step *step, const char *word, const char *so_far,
			       const char *at)
{
	if (!step->is_index)
		return enter_member(session, spot, step->name);
	if (step->is_range && !step->is_number)
		return no_step(word, at);
	if (!is_one_of_several(session->snapshot, spot) &&
	    container_has_elements(session, spot->type))
		return enter_container(session, spot, step, so_far);
	if (!step->is_number)
		return no_step(word, at);
	return enter_elements(session, spot, step->first, step->last, so_far);
}

struct heap_error *member_walk(struct session *session, const char *word, const char *at,
			       struct member_spot *spot)
{
	HEAP_TRY(member_load(session));
	if (spot->is_located) {
		member_find_own_type(session->snapshot, spot);
		spot->is_pointee = true;
	}
	while (*at) {
		const char *so_far = session_format(session, "%.*s", (int)(at - word), word);
		struct member_step step;
		const char *next = member_step_parse(at, &step);

		if (!next)
			return no_step(word, at);
		if (step.is_range && *next)
			return heap_error_create(HEAP_ERROR_ARGUMENT,
						 "%s: nothing may follow a range", word);
		HEAP_TRY(find_start_of_step(session, spot, &step, so_far));
		if (spot->type == HEAP_NO_TYPE)
			return heap_error_create(HEAP_ERROR_ABSENT, "%s: its type is not known",
						 so_far);
		HEAP_TRY(take(session, spot, &step, word, so_far, at));
		spot->first = step.is_range ? step.first : 0;
		spot->count = step.is_range ? step.last - step.first + 1 : 0;
		at = next;
	}
	return NULL;
}

struct heap_error *member_finish(struct session *session, const char *word,
				 struct member_spot *spot)
{
	const struct heap_types *types = &session->snapshot->types;
	struct place place, pointer;
	size_t length;

	if (spot->count > 0)
		return NULL;
	place_standard_name(session, spot->type, &length);
	if (length > 0) {
		HEAP_TRY(load_place(session, spot, &place));
		if (container_find_pointer(session, &place, &pointer))
			go_to(spot, &pointer);
	}
	if (!member_is_pointer(types, spot->type))
		return NULL;
	HEAP_TRY(member_follow(session, spot, word));
	spot->type = HEAP_NO_TYPE; // an object as a whole
	return NULL;
}
