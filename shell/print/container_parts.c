// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/print/container_parts.h"

#include "shell/print/value_print.h"
#include "shell/print/container_text.h"
#include "shell/print/container_walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_called(const char *kind, size_t length, const char *name)
{
	return strlen(name) == length && strncmp(kind, name, length) == 0;
}

// --- what holds one value or a few -------------------------------------------------------

bool container_find_pair(const struct session *session, const struct place *element,
			 struct place *key, struct place *value)
{
	struct place pair = *element;

	// libc++ keeps a map's pair in a structure of its own.
	if (!place_find(session, element, "__cc", &pair))
		place_find(session, element, "__cc_", &pair);
	return place_find(session, &pair, "first", key) &&
	       place_find(session, &pair, "second", value);
}

// A tuple's elements are base classes; the name of each begins with its number.
bool container_find_tuple_element(struct session *session, const struct place *tuple,
				  unsigned index, struct place *result)
{
	static const struct {
		const char *begin, *member;
	} forms[] = {
		{ "_Head_base<%u,", "_M_head_impl" },
		{ "_Head_base<%uUL,", "_M_head_impl" },
		{ "__tuple_leaf<%u,", "__value_" },
		{ "__tuple_leaf<%uUL,", "__value_" },
	};
	struct place leaves = *tuple, leaf;

	if (place_find(session, tuple, "__base_", &leaf))
		leaves = leaf;
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		char begin[64];

		snprintf(begin, sizeof(begin), forms[i].begin, index);
		if (place_find_base(session, &leaves, begin, &leaf) &&
		    place_find(session, &leaf, forms[i].member, result))
			return true;
	}
	return false;
}

bool container_find_optional(const struct session *session, const struct place *place,
			     bool *engaged, struct place *value)
{
	uint64_t flag;

	if (!place_find_number(session, place, "_M_payload._M_engaged", &flag) &&
	    !place_find_number(session, place, "__engaged_", &flag))
		return false;
	*engaged = flag != 0;
	return !*engaged || place_find(session, place, "_M_payload._M_payload._M_value", value) ||
	       place_find(session, place, "__val_", value);
}

// A union of the first alternative and of the union of the others, and so on.
static bool find_alternative(const struct session *session, const struct place *place,
			     uint64_t index, struct place *result)
{
	struct place at;
	bool gnu = place_find(session, place, "_M_u", &at);

	if (!gnu && !place_find(session, place, "__impl.__data", &at) &&
	    !place_find(session, place, "__impl_.__data", &at))
		return false;
	for (uint64_t i = 0; i < index; i++) {
		if (!place_find(session, &at, gnu ? "_M_rest" : "__tail", &at))
			return false;
	}
	return gnu ? place_find(session, &at, "_M_first._M_storage._M_storage", result) ||
			       place_find(session, &at, "_M_first._M_storage", result)
		   : place_find(session, &at, "__head.__value", result);
}

bool container_find_variant(const struct session *session, const struct place *place,
			    struct place *value)
{
	static const char *const paths[] = { "_M_index", "__impl.__index", "__impl_.__index",
					     NULL };
	struct place found;
	uint64_t index;

	return place_find_first(session, place, paths, &found) &&
	       place_number(session, &found, &index) &&
	       find_alternative(session, place, index, value);
}

bool container_find_atomic(const struct session *session, const struct place *place,
			   struct place *value)
{
	static const char *const paths[] = { "_M_base._M_i", "_M_b._M_p",      "_M_i",
					     "_M_fp",        "__a_.__a_value", NULL };

	return place_find_first(session, place, paths, value);
}

// --- owners ----------------------------------------------------------------------------

static bool find_tuple_head(struct session *session, const struct place *place,
			    struct place *result)
{
	struct place tuple;

	return place_find(session, place, "_M_t._M_t", &tuple) &&
	       container_find_tuple_element(session, &tuple, 0, result);
}

static bool find_unique_pointer(struct session *session, const struct place *place,
				struct place *result)
{
	return find_tuple_head(session, place, result) ||
	       place_find(session, place, "__ptr_.__value_", result) ||
	       place_find(session, place, "__ptr_", result) ||
	       place_find(session, place, "_M_t", result);
}

bool container_find_unique(struct session *session, const struct place *place, uint64_t *pointer)
{
	struct place found;

	return find_unique_pointer(session, place, &found) &&
	       place_pointer(session, &found, pointer);
}

bool container_find_shared(const struct session *session, const struct place *place,
			   uint64_t *pointer, uint64_t *control)
{
	return (place_find_pointer(session, place, "_M_ptr", pointer) &&
		place_find_pointer(session, place, "_M_refcount._M_pi", control)) ||
	       (place_find_pointer(session, place, "__ptr_", pointer) &&
		place_find_pointer(session, place, "__cntrl_", control));
}

bool container_find_pointer(struct session *session, const struct place *place,
			    struct place *pointer)
{
	size_t length;
	const char *kind = place_standard_name(session, place->type, &length);

	if (is_called(kind, length, "unique_ptr"))
		return find_unique_pointer(session, place, pointer) &&
		       place_pointee(session, pointer) != HEAP_NO_TYPE;
	return (is_called(kind, length, "shared_ptr") || is_called(kind, length, "weak_ptr")) &&
	       (place_find(session, place, "_M_ptr", pointer) ||
		place_find(session, place, "__ptr_", pointer));
}

bool container_find_value(struct session *session, const struct place *place, struct place *value)
{
	size_t length;
	const char *kind = place_standard_name(session, place->type, &length);
	bool engaged = false;

	if (is_called(kind, length, "optional"))
		return container_find_optional(session, place, &engaged, value) && engaged;
	if (is_called(kind, length, "variant"))
		return container_find_variant(session, place, value);
	return is_called(kind, length, "atomic") && container_find_atomic(session, place, value);
}

// --- elements --------------------------------------------------------------------------

bool container_has_elements(const struct session *session, heap_type_id type)
{
	size_t length;
	const char *kind = place_standard_name(session, type, &length);

	return length > 0 &&
	       (is_called(kind, length, "tuple") || container_walk_is_known(kind, length));
}

// True if a key matches the typed word: as displayed, or a whole string without quotes.
static bool is_key(struct session *session, const struct place *key, const char *typed)
{
	size_t length;
	const char *shown = value_describe(session, key->value, key->type, key->offset);
	const char *text;

	if (strcmp(shown, typed) == 0)
		return true;
	if (*shown != '"')
		return false;
	text = container_text_read(session, key, &length);
	if (!text)
		return false;
	return (strlen(typed) == length && memcmp(text, typed, length) == 0) ||
	       (strlen(typed) == length + 2 && typed[0] == '"' && typed[length + 1] == '"' &&
		memcmp(text, typed + 1, length) == 0);
}

// Maps whose keys take one line are displayed by them, others by the number of the element.
static bool is_by_key(struct session *session, const struct place *key)
{
	const char *text = value_describe(session, key->value, key->type, key->offset);

	return *text && strncmp(text, "std::", strlen("std::")) != 0;
}

// True if an element is the one of that subscript. @param result  gets what is displayed behind it
static bool is_element(struct session *session, const struct container_walk *walk,
		       const struct place *element, const struct container_subscript *subscript,
		       struct place *result)
{
	struct place key, value;

	*result = *element;
	if (walk->keyed && container_find_pair(session, element, &key, &value) &&
	    is_by_key(session, &key)) {
		*result = value;
		return is_key(session, &key, subscript->text);
	}
	return subscript->is_number && subscript->number == walk->index - 1;
}

enum container_found container_find_element(struct session *session, const struct place *place,
					    const struct container_subscript *subscript,
					    struct place *result, uint64_t *count)
{
	size_t length;
	const char *kind = place_standard_name(session, place->type, &length);
	struct container_walk walk;

	*count = 0;
	if (is_called(kind, length, "tuple"))
		return subscript->is_number && subscript->number < UINT32_MAX &&
				       container_find_tuple_element(
					       session, place, (unsigned)subscript->number, result)
			       ? CONTAINER_FOUND
			       : CONTAINER_NO_ELEMENT;
	if (!container_walk_begin(session, place, kind, length, &walk) || walk.unknown)
		return CONTAINER_UNREADABLE;
	while (!session_must_stop(session)) {
		const void *mark = session_mark(session);
		struct place element;

		if (!container_walk_next(session, &walk, &element))
			break;
		if (is_element(session, &walk, &element, subscript, result))
			return CONTAINER_FOUND;
		session_release(session, mark);
	}
	*count = walk.index;
	return walk.has_length && walk.index < walk.length ? CONTAINER_UNREADABLE
							   : CONTAINER_NO_ELEMENT;
}
