// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/words/operand.h"

#include "lib/base/cleanup.h"
#include "lib/base/nearest.h"
#include "lib/types/member_path.h"
#include "shell/base/format.h"
#include "shell/print/part.h"
#include "shell/print/container_parts.h"
#include "shell/print/describe.h"
#include "shell/words/variable.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_WORD = 1024,  // bytes of an operand
	MEMBERS_TOLD = 8, // of a type that has no such member
	MAX_LOOKS = 8,    // pointers and owners in each other before one step
};

// --- where a path begins ---------------------------------------------------------

// Where a path has come to: in an object, or in a variable.
struct spot {
	heap_object_id object; // or HEAP_NO_OBJECT
	heap_root_id root;     // or UINT32_MAX
	uint64_t offset;       // bytes from its start
	heap_type_id type;     // of what is there; HEAP_NO_TYPE: unknown
	bool is_located;       // by an address or a number, so that its own type is not known here
	bool is_pointee;       // a pointer or an address led here
	uint64_t first, count; // of a range of elements, which ends a path; count 0: there is none
};

// Which object an address lies in, if any, and where.
HEAP_MUST_CHECK
static struct heap_error *locate(struct heap_snapshot *snapshot, uint64_t address,
				 struct spot *result)
{
	HEAP_TRY(heap_snapshot_locate(snapshot, address, &result->object));
	if (result->object != HEAP_NO_OBJECT)
		result->offset = address - snapshot->address[result->object];
	result->is_located = true;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *parse_number(struct session *session, const char *word,
				       struct spot *result)
{
	char *end;
	unsigned long number = strtoul(word + 1, &end, 10);

	if (end == word + 1 || *end)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "%s: not a number after $", word);
	if (number == 0 || number > session->answer_count)
		return heap_error_create(HEAP_ERROR_ABSENT, "%s: the last answer had %zu object%s",
					 word, session->answer_count,
					 format_plural(session->answer_count));
	result->object = session->answer[number - 1].object;
	result->offset = session->answer[number - 1].interior;
	result->is_located = true;
	return NULL;
}

static bool parse_hex(const char *text, uint64_t *result)
{
	char *end;

	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		text += 2;
	if (!isxdigit((unsigned char)*text))
		return false;
	errno = 0;
	*result = strtoull(text, &end, 16);
	return errno == 0 && *end == '\0';
}

HEAP_MAKES_ERROR
static struct heap_error *no_variable(const struct heap_snapshot *snapshot, const char *word)
{
	struct heap_nearest nearest;

	if (heap_types_find(&snapshot->types, word, HEAP_NO_TYPE) != HEAP_NO_TYPE)
		return heap_error_create(HEAP_ERROR_ABSENT,
					 "%s: neither an address nor a variable, but a type: `find "
					 "type %s` has its objects",
					 word, word);
	heap_nearest_init(&nearest, word);
	for (heap_root_id i = 0; i < snapshot->root_count; i++) {
		if (snapshot->roots[i].kind <= HEAP_ROOT_LOCAL)
			heap_nearest_offer(&nearest,
					   heap_snapshot_string(snapshot, snapshot->roots[i].name));
	}

	CLEANUP_FREE char *hint = heap_nearest_hint(&nearest);

	return heap_error_create(HEAP_ERROR_ABSENT, "%s: neither an address nor a variable%s", word,
				 hint ? hint : "");
}

// An address, $N, or a variable.
HEAP_MUST_CHECK
static struct heap_error *parse_start(struct session *session, const char *word,
				      struct spot *result)
{
	uint64_t address;
	bool is_hex = parse_hex(word, &address);
	heap_root_id root = UINT32_MAX;

	if (word[0] == '$')
		return parse_number(session, word, result);
	if (!is_hex || strncmp(word, "0x", 2) != 0)
		HEAP_TRY(variable_find(session, word, &root)); // it may be called "face"
	if (root != UINT32_MAX) {
		result->root = root;
		result->type = session->snapshot->roots[root].type;
		return NULL;
	}
	if (!is_hex)
		return no_variable(session->snapshot, word);
	HEAP_TRY(locate(session->snapshot, address, result));
	return result->object != HEAP_NO_OBJECT
		       ? NULL
		       : heap_error_create(HEAP_ERROR_ABSENT, "%s: no live object is there", word);
}

// --- pointers --------------------------------------------------------------------

// The object that a pointer variable points to; the variable itself if it points to none.
HEAP_MUST_CHECK
static struct heap_error *follow_variable(struct heap_snapshot *snapshot, struct spot *spot)
{
	const struct heap_root *variable = &snapshot->roots[spot->root];
	heap_type_id type = heap_types_strip(&snapshot->types, variable->type);
	struct spot target = { .object = HEAP_NO_OBJECT, .root = UINT32_MAX };
	uint64_t content;

	if (variable->content_size != 8 ||
	    (type != HEAP_NO_TYPE && snapshot->types.types[type].kind != HEAP_TYPE_POINTER))
		return NULL;
	memcpy(&content, snapshot->root_content + variable->content, 8);
	HEAP_TRY(locate(snapshot, content, &target));
	if (target.object != HEAP_NO_OBJECT)
		*spot = target;
	return NULL;
}

static bool find_target(const struct heap_snapshot *snapshot, const struct spot *spot,
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

static bool is_pointer(const struct heap_types *types, heap_type_id type)
{
	uint8_t kind = types->types[heap_types_strip(types, type)].kind;

	return kind == HEAP_TYPE_POINTER || kind == HEAP_TYPE_REFERENCE;
}

// An object's own type, where no pointer says.
static void find_own_type(const struct heap_snapshot *snapshot, struct spot *spot)
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
static struct heap_error *load_place(struct session *session, const struct spot *spot,
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
static bool find_by_value(struct session *session, const struct spot *spot, uint64_t *value,
			  struct spot *target)
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

// Goes to where a pointer points. @param so_far  how the path reads up to here
HEAP_MUST_CHECK
static struct heap_error *follow(struct session *session, struct spot *spot, const char *so_far)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_types *types = &snapshot->types;
	heap_type_id pointer = heap_types_strip(types, spot->type);
	struct spot target = { .object = HEAP_NO_OBJECT, .root = UINT32_MAX };

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
		find_own_type(snapshot, &target);
	*spot = target;
	return NULL;
}

struct step {
	char name[MAX_WORD];  // of a member; of an index, all between the brackets
	uint64_t first, last; // of elements
	bool is_index, is_number, is_range;
};

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
static uint64_t size_around(const struct heap_snapshot *snapshot, const struct spot *spot)
{
	return spot->object != HEAP_NO_OBJECT ? snapshot->size[spot->object]
					      : snapshot->roots[spot->root].size;
}

// The same member of a class derived from the one that a pointer tells: the object knows its own.
static bool find_derived(const struct heap_snapshot *snapshot, const struct spot *spot,
			 const char *name, struct spot *result)
{
	struct heap_member_place place;

	if (spot->object == HEAP_NO_OBJECT)
		return false;
	*result = *spot;
	result->type = HEAP_NO_TYPE;
	find_own_type(snapshot, result);
	if (result->type == HEAP_NO_TYPE ||
	    !heap_member_find(&snapshot->types, result->type, name, &place))
		return false;
	result->offset += place.offset;
	result->type = place.type;
	result->is_pointee = false;
	return true;
}

HEAP_MUST_CHECK
static struct heap_error *enter_member(struct session *session, struct spot *spot, const char *name)
{
	const struct heap_types *types = &session->snapshot->types;
	heap_type_id type = heap_types_strip(types, spot->type);
	struct heap_member_place place;
	struct spot derived;

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
static struct heap_error *enter_elements(struct session *session, struct spot *spot, uint64_t index,
					 uint64_t last, const char *so_far)
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
static void go_to(struct spot *spot, const struct place *place)
{
	if (place->value->object != HEAP_NO_OBJECT)
		*spot = (struct spot){ .object = place->value->object, .root = UINT32_MAX };
	spot->offset = place->offset;
	spot->type = place->type;
	spot->is_pointee = false;
}

HEAP_MUST_CHECK
static struct heap_error *find_element(struct session *session, const struct spot *spot,
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
static struct heap_error *enter_container(struct session *session, struct spot *spot,
					  const struct step *step, const char *so_far)
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
static struct heap_error *look_through(struct session *session, struct spot *spot,
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
		HEAP_TRY(follow(session, spot, so_far));
		*moved = true;
	} else if (container_find_value(session, &place, &inside)) {
		go_to(spot, &inside);
		*moved = true;
	}
	return NULL;
}

// Goes on to where a step can be taken: pointers are followed, owners looked through.
HEAP_MUST_CHECK
static struct heap_error *find_start_of_step(struct session *session, struct spot *spot,
					     const struct step *step, const char *so_far)
{
	const struct heap_types *types = &session->snapshot->types;
	struct heap_member_place member;
	bool moved = true;

	for (int i = 0; moved && i < MAX_LOOKS; i++) {
		if (is_pointer(types, spot->type)) {
			HEAP_TRY(follow(session, spot, so_far));
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

// --- paths --------------------------------------------------------------------------

// A number of C. @return behind it; NULL: it is none
static const char *take_number(const char *at, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(at, &end, 0);
	return isdigit((unsigned char)*at) && errno == 0 ? end : NULL;
}

// The "]" that ends a subscript, which may have brackets and quoted texts in it. NULL: there is none
static const char *end_of_subscript(const char *at)
{
	bool is_quoted = false;

	for (int open = 0; *at; at++) {
		if (*at == '\\' && is_quoted && at[1])
			at++;
		else if (*at == '"')
			is_quoted = !is_quoted;
		else if (!is_quoted && *at == '[')
			open++;
		else if (!is_quoted && *at == ']' && open-- == 0)
			return at;
	}
	return NULL;
}

// "[3]", "[3..5]", or the key of a map: "[RED]", "[\"Ada\"]". @return behind it; NULL: it is none
static const char *take_subscript(const char *at, struct step *step)
{
	const char *end = end_of_subscript(at + 1), *rest;
	size_t length = end ? (size_t)(end - at - 1) : 0;

	if (length == 0 || length >= MAX_WORD)
		return NULL;
	memcpy(step->name, at + 1, length);
	step->name[length] = '\0';
	rest = take_number(at + 1, &step->first);
	step->last = step->first;
	step->is_range = rest && strncmp(rest, "..", 2) == 0;
	if (step->is_range)
		rest = take_number(rest + 2, &step->last);
	step->is_number = rest == end && step->first <= step->last;
	return end + 1;
}

// One step of a path: ".name", "->name", "[3]", "[3..5]". @return behind it; NULL: it is none
static const char *take_step(const char *at, struct step *step)
{
	size_t length;

	step->is_range = step->is_number = false;
	step->is_index = *at == '[';
	if (step->is_index)
		return take_subscript(at, step);
	at += at[0] == '-' ? 2 : 1;
	length = strcspn(at, ".[-");
	if (length == 0 || length >= MAX_WORD)
		return NULL;
	memcpy(step->name, at, length);
	step->name[length] = '\0';
	return at + length;
}

static bool is_variable(struct session *session, const char *word)
{
	heap_root_id root = UINT32_MAX;

	heap_error_destroy(variable_find(session, word, &root));
	return root != UINT32_MAX;
}

// How much of a word comes before its first step. Compilers call a static variable of a function
// "count.0", and the parts of a variable that they have split "table.first" and "table[1]".
static size_t start_length(struct session *session, const char *word)
{
	size_t first = strcspn(word, ".["), length = strlen(word);
	const char *arrow = strstr(word, "->");
	char start[MAX_WORD];

	if (arrow && (size_t)(arrow - word) < first)
		return (size_t)(arrow - word);
	if (length >= sizeof(start))
		return first;
	memcpy(start, word, length + 1);
	while (length > first && !is_variable(session, start)) {
		do
			length--;
		while (length > first && start[length] != '.' && start[length] != '[' &&
		       strncmp(start + length, "->", 2) != 0);
		start[length] = '\0';
	}
	return length;
}

HEAP_MUST_CHECK
static struct heap_error *load(struct session *session)
{
	struct heap_error *error = describe_load(session);

	return error ? error
		     : heap_snapshot_load(session->snapshot,
					  HEAP_COLUMN_ADDRESS | HEAP_COLUMN_SIZE |
						  HEAP_COLUMN_TYPE | HEAP_COLUMN_EDGES |
						  HEAP_COLUMN_SLOTS);
}

HEAP_MAKES_ERROR
static struct heap_error *no_step(const char *word, const char *at)
{
	return heap_error_create(HEAP_ERROR_ARGUMENT,
				 "%s: %s is neither .NAME, ->NAME, [N] nor [N..M]", word, at);
}

// True at the first of several values in a row, which an index counts.
static bool is_one_of_several(const struct heap_snapshot *snapshot, const struct spot *spot)
{
	return spot->is_pointee && spot->object != HEAP_NO_OBJECT &&
	       snapshot->elements[spot->object] > 1 &&
	       heap_types_strip(&snapshot->types, snapshot->type[spot->object]) ==
		       heap_types_strip(&snapshot->types, spot->type);
}

// Takes one step. @param at  how the word goes on from here
HEAP_MUST_CHECK
static struct heap_error *take(struct session *session, struct spot *spot, const struct step *step,
			       const char *word, const char *so_far, const char *at)
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

// Follows the steps of a word from where it begins.
HEAP_MUST_CHECK
static struct heap_error *walk(struct session *session, const char *word, const char *at,
			       struct spot *spot)
{
	HEAP_TRY(load(session));
	if (spot->is_located) {
		find_own_type(session->snapshot, spot);
		spot->is_pointee = true;
	}
	while (*at) {
		const char *so_far = session_format(session, "%.*s", (int)(at - word), word);
		struct step step;
		const char *next = take_step(at, &step);

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

// The object that the end of a path leads to: what a pointer there points to, or an owner.
HEAP_MUST_CHECK
static struct heap_error *finish(struct session *session, const char *word, struct spot *spot)
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
	if (!is_pointer(types, spot->type))
		return NULL;
	HEAP_TRY(follow(session, spot, word));
	spot->type = HEAP_NO_TYPE; // an object as a whole
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *parse(struct session *session, const char *text, struct operand *result)
{
	bool itself = text[0] == '&';
	const char *word = text + itself;
	size_t length = start_length(session, word);
	struct spot spot = { .object = HEAP_NO_OBJECT, .root = UINT32_MAX };

	if (strlen(word) >= MAX_WORD)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "%.32s...: too long", word);
	HEAP_TRY(parse_start(session, session_format(session, "%.*s", (int)length, word), &spot));
	if (word[length])
		HEAP_TRY(walk(session, word, word + length, &spot));
	if (!itself && word[length])
		HEAP_TRY(finish(session, word, &spot));
	else if (!itself && spot.root != UINT32_MAX)
		HEAP_TRY(follow_variable(session->snapshot, &spot));
	*result = (struct operand){
		.object = spot.object,
		.root = spot.object == HEAP_NO_OBJECT ? spot.root : UINT32_MAX,
		.interior = spot.offset,
		.type = word[length] && !itself ? spot.type : HEAP_NO_TYPE,
		.first = spot.first,
		.count = spot.count,
	};
	return NULL;
}

// What is at a pointer that a word stands for: `*table` is the object that `table` stands for, too, unless that is
// a pointer itself, which stands for the next object.
HEAP_MUST_CHECK
static struct heap_error *parse_starred(struct session *session, const char *text,
					struct operand *result)
{
	size_t stars = strspn(text, "*");
	const char *word = text + stars;
	struct operand operand = { 0 };

	HEAP_TRY(parse(session, word, &operand));
	if (stars > 0 && (*word == '&' || operand.count > 0 || operand.type != HEAP_NO_TYPE ||
			  operand.object == HEAP_NO_OBJECT))
		return heap_error_create(HEAP_ERROR_ABSENT, "%s: %s is no pointer to an object",
					 text, word);
	if (stars > 0)
		HEAP_TRY(load(session));
	for (size_t i = 0; i < stars; i++) {
		struct spot spot = { .object = operand.object,
				     .root = UINT32_MAX,
				     .offset = operand.interior };

		find_own_type(session->snapshot, &spot);
		if (is_pointer(&session->snapshot->types, spot.type)) {
			HEAP_TRY(follow(session, &spot, text));
			operand.object = spot.object;
			operand.interior = spot.offset;
		} else if (i + 1 < stars) {
			return heap_error_create(HEAP_ERROR_ARGUMENT,
						 "%s: %s is no pointer to a pointer", text, word);
		}
	}
	*result = operand;
	return NULL;
}

struct heap_error *operand_locate(struct session *session, const char *text, struct operand *result)
{
	struct operand operand = { 0 };

	HEAP_TRY(parse_starred(session, text, &operand));
	if (operand.count > 0)
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "%s: a range is several places; `show` takes them", text);
	*result = operand;
	return NULL;
}

struct heap_error *operand_parse_range(struct session *session, const char *text,
				       struct operand *result)
{
	HEAP_TRY(heap_snapshot_load(session->snapshot, HEAP_COLUMN_ADDRESS | HEAP_COLUMN_SIZE));
	return parse_starred(session, text, result);
}

struct heap_error *operand_parse(struct session *session, const char *text, struct operand *result)
{
	struct heap_error *error =
		heap_snapshot_load(session->snapshot, HEAP_COLUMN_ADDRESS | HEAP_COLUMN_SIZE);

	return error ? error : operand_locate(session, text, result);
}

struct heap_error *operand_parse_object(struct session *session, const char *text,
					heap_object_id *result)
{
	struct heap_error *error =
		heap_snapshot_load(session->snapshot, HEAP_COLUMN_ADDRESS | HEAP_COLUMN_SIZE);

	return error ? error : operand_locate_object(session, text, result);
}

bool operand_part(const struct session *session, const struct operand *operand,
		  struct heap_part *result)
{
	return operand->object != HEAP_NO_OBJECT && operand->interior > 0 &&
	       part_find(session, operand->object, operand->interior, result);
}

heap_node_id operand_node(const struct session *session, const struct operand *operand)
{
	if (operand->object == HEAP_NO_OBJECT)
		return heap_divided_root(session->divided, operand->root);
	return heap_divided_node(session->divided, operand->object, operand->interior);
}

bool operand_is_root(const struct session *session, const struct operand *operand)
{
	return operand->object == HEAP_NO_OBJECT && operand->interior == 0 &&
	       variable_holds_object(session->snapshot, operand->root);
}

uint64_t operand_size(const struct session *session, const struct operand *operand)
{
	const struct heap_snapshot *snapshot = session->snapshot;

	if (operand->type != HEAP_NO_TYPE)
		return heap_types_size(&snapshot->types, operand->type) *
		       (operand->count ? operand->count : 1);
	return operand->object != HEAP_NO_OBJECT ? snapshot->size[operand->object]
						 : snapshot->roots[operand->root].size;
}

uint64_t operand_pointers(const struct session *session, const struct operand *operand,
			  uint64_t *first)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	uint64_t at = heap_snapshot_first_root_edge(snapshot, operand->root);
	uint64_t end = operand->interior + operand_size(session, operand);

	while (at < snapshot->root_edge_count && snapshot->root_edges[at].root == operand->root &&
	       snapshot->root_edges[at].offset < operand->interior)
		at++;
	*first = at;
	while (at < snapshot->root_edge_count && snapshot->root_edges[at].root == operand->root &&
	       snapshot->root_edges[at].offset < end)
		at++;
	return at - *first;
}

bool operand_holds_object(const struct session *session, const struct operand *operand)
{
	uint64_t first;

	return operand->object == HEAP_NO_OBJECT && operand_pointers(session, operand, &first) > 0;
}

struct heap_error *operand_no_object(const struct session *session, const char *text,
				     const struct operand *operand)
{
	if (text[0] == '&')
		return heap_error_create(HEAP_ERROR_ABSENT,
					 "%s is a variable, not an object of the heap; %s is what "
					 "it points to",
					 text, text + 1);
	if (operand_holds_object(session, operand))
		return heap_error_create(HEAP_ERROR_ABSENT,
					 "%s: a variable, which is no object of the heap; `outrefs "
					 "%s` shows those that it points to",
					 text, text);
	return heap_error_create(HEAP_ERROR_ABSENT, "%s: a variable that points to no live object",
				 text);
}

struct heap_error *operand_locate_object(struct session *session, const char *text,
					 heap_object_id *result)
{
	struct operand operand;
	struct heap_error *error = operand_locate(session, text, &operand);

	if (error)
		return error;
	if (operand.object == HEAP_NO_OBJECT)
		return operand_no_object(session, text, &operand);
	*result = operand.object;
	return NULL;
}
