// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/print/place.h"

#include "lib/base/cleanup.h"
#include "lib/base/memory_left.h"
#include "lib/types/member_path.h"
#include "lib/types/templates.h"

#include <string.h>

enum {
	MAX_DEPTH = 24,          // base classes inside each other
	MAX_VISITS = 512,        // classes visited for one name
	MAX_FOLLOWED = 16 << 20, // bytes read of one object
};

static const struct heap_type *type_of(const struct session *session, heap_type_id type)
{
	const struct heap_types *types = &session->snapshot->types;

	return &types->types[heap_types_strip(types, type)];
}

// --- members -----------------------------------------------------------------

struct search {
	const struct session *session;
	const char *name;
	size_t length;
	unsigned visits;
};

static bool is_transparent(const struct heap_member *member)
{
	return !(member->flags & HEAP_MEMBER_VIRTUAL_BASE) &&
	       ((member->flags & HEAP_MEMBER_BASE) || member->name == 0);
}

bool place_find(const struct session *session, const struct place *place, const char *path,
		struct place *result)
{
	struct heap_member_place found;

	if (!heap_member_find(&session->snapshot->types, place->type, path, &found) ||
	    found.bit_size > 0)
		return false;
	*result = (struct place){ place->value, place->offset + found.offset, found.type };
	return true;
}

static bool find_base(struct search *search, const struct place *place, int depth,
		      struct place *result)
{
	const struct heap_type *type = type_of(search->session, place->type);
	const struct heap_member *members =
		search->session->snapshot->types.members + type->first_member;

	if (!heap_types_has_members(type) || depth > MAX_DEPTH || search->visits++ > MAX_VISITS)
		return false;
	for (uint32_t i = 0; i < type->members; i++) {
		const struct place inside = { place->value, place->offset + members[i].offset,
					      members[i].type };
		size_t length;

		if (!(members[i].flags & HEAP_MEMBER_BASE) || !is_transparent(&members[i]))
			continue;

		const char *name = place_standard_name(search->session, inside.type, &length);

		if (strncmp(name, search->name, search->length) == 0) {
			*result = inside;
			return true;
		}
		if (find_base(search, &inside, depth + 1, result))
			return true;
	}
	return false;
}

bool place_find_first(const struct session *session, const struct place *place,
		      const char *const *paths, struct place *result)
{
	for (; *paths; paths++) {
		if (place_find(session, place, *paths, result))
			return true;
	}
	return false;
}

bool place_find_base(const struct session *session, const struct place *place, const char *begin,
		     struct place *result)
{
	struct search search = { session, begin, strlen(begin), 0 };

	return find_base(&search, place, 0, result);
}

// --- values ------------------------------------------------------------------

bool place_pointer(const struct session *session, const struct place *place, uint64_t *result)
{
	uint8_t kind = type_of(session, place->type)->kind;

	return (kind == HEAP_TYPE_POINTER || kind == HEAP_TYPE_REFERENCE) &&
	       value_load_pointer(session, place->value, place->offset, result);
}

bool place_number(const struct session *session, const struct place *place, uint64_t *result)
{
	const struct heap_type *type = type_of(session, place->type);

	return (type->kind == HEAP_TYPE_BASE || type->kind == HEAP_TYPE_ENUM) &&
	       value_load_number(place->value, place->offset, type->size, result);
}

bool place_find_pointer(const struct session *session, const struct place *place, const char *path,
			uint64_t *result)
{
	struct place found;

	return place_find(session, place, path, &found) && place_pointer(session, &found, result);
}

bool place_find_number(const struct session *session, const struct place *place, const char *path,
		       uint64_t *result)
{
	struct place found;

	return place_find(session, place, path, &found) && place_number(session, &found, result);
}

uint64_t place_address(const struct place *place)
{
	return place->value->address ? place->value->address + place->offset : 0;
}

heap_type_id place_pointee(const struct session *session, const struct place *place)
{
	const struct heap_type *type = type_of(session, place->type);

	return type->kind == HEAP_TYPE_POINTER
		       ? heap_types_strip(&session->snapshot->types, type->target)
		       : HEAP_NO_TYPE;
}

static bool load(struct session *session, struct value *value, uint64_t wanted, uint64_t most)
{
	struct heap_snapshot *snapshot = session->snapshot;
	uint64_t limit = snapshot->info.content_limit < most ? snapshot->info.content_limit : most;
	size_t kept = 0;

	if (wanted > limit)
		wanted = limit;

	uint8_t *bytes = session_allocate(session, wanted + 1);

	if (!bytes)
		return false;

	struct heap_error *error =
		heap_snapshot_read_content(snapshot, value->object, bytes, wanted, &kept);

	// Pointers that were not kept are known as edges.
	if (!error && kept < value->size)
		error = heap_snapshot_load(snapshot, HEAP_COLUMN_SLOTS);
	heap_error_destroy(error);
	value->bytes = bytes;
	value->kept = kept;
	return true;
}

static bool follow(struct session *session, const struct place *from, uint64_t address,
		   uint64_t bytes, bool whole, struct place *result)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_object_id object = heap_snapshot_find(snapshot, address);

	if (object == HEAP_NO_OBJECT)
		return false;

	uint64_t interior = address - snapshot->address[object];
	uint64_t most = MAX_FOLLOWED;
	uint64_t size = snapshot->size[object];
	struct value *value = session_allocate(session, sizeof(*value));

	if (!value || interior > size || bytes > size - interior)
		return false;
	*value = (struct value){ .size = size,
				 .object = object,
				 .address = snapshot->address[object],
				 .depth = from->value->depth + 1 };
	if (whole && interior + bytes > MAX_FOLLOWED)
		most = heap_memory_budget();
	if (!load(session, value, interior + bytes, most))
		return false;
	*result = (struct place){ value, interior, snapshot->type[object] };
	return true;
}

bool place_follow(struct session *session, const struct place *from, uint64_t address,
		  uint64_t bytes, struct place *result)
{
	return follow(session, from, address, bytes, false, result);
}

bool place_follow_whole(struct session *session, const struct place *from, uint64_t address,
			uint64_t bytes, struct place *result)
{
	return follow(session, from, address, bytes, true, result);
}

struct heap_error *place_load(struct session *session, heap_object_id object, heap_root_id root,
			      struct value *result)
{
	struct heap_snapshot *snapshot = session->snapshot;
	uint64_t wanted;
	size_t kept;

	if (object == HEAP_NO_OBJECT) {
		const struct heap_root *variable = &snapshot->roots[root];

		*result = (struct value){ .bytes = snapshot->root_content + variable->content,
					  .kept = variable->content_size,
					  .size = variable->size,
					  .object = HEAP_NO_OBJECT,
					  .address = variable->address };
		return NULL;
	}
	wanted = snapshot->size[object];
	if (wanted > snapshot->info.content_limit)
		wanted = snapshot->info.content_limit;
	if (wanted > MAX_FOLLOWED)
		wanted = MAX_FOLLOWED;

	uint8_t *bytes = session_allocate(session, wanted + 1);

	if (!bytes)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_snapshot_read_content(snapshot, object, bytes, wanted, &kept));
	if (kept < snapshot->size[object]) // the edges say what bytes that were not kept do not
		HEAP_TRY(heap_snapshot_load(snapshot, HEAP_COLUMN_SLOTS));
	*result = (struct value){ .bytes = bytes,
				  .kept = kept,
				  .size = snapshot->size[object],
				  .object = object,
				  .address = snapshot->address[object] };
	return NULL;
}

// --- names -------------------------------------------------------------------

static const char *skip_any(const char *name, const char *const *prefixes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return name + strlen(prefixes[i]);
	}
	return name;
}

const char *place_skip_standard(const char *name)
{
	static const char *const versions[] = { "__1::",     "__2::",      "__ndk1::",
						"__cxx11::", "__detail::", "__debug::" };
	static const char *const modules[] = { "alloc::vec::", "alloc::string::", "alloc::rc::",
					       "alloc::sync::", "alloc::collections::vec_deque::" };
	const char *rest;

	if (strncmp(name, "std::", strlen("std::")) == 0)
		return skip_any(name + strlen("std::"), versions,
				sizeof(versions) / sizeof(*versions));
	rest = skip_any(name, modules, sizeof(modules) / sizeof(*modules));
	return rest == name ? NULL : rest;
}

const char *place_standard_name(const struct session *session, heap_type_id type, size_t *length)
{
	const struct heap_types *types = &session->snapshot->types;
	const char *name =
		place_skip_standard(heap_types_string(types, type_of(session, type)->name));

	*length = name ? strcspn(name, "<") : 0;
	// Not what is inside a class: std::vector<int>::iterator.
	if (name && name[*length] == '<' && name[strlen(name) - 1] != '>')
		*length = 0;
	return name ? name : "";
}

static heap_type_id find_compound(const struct heap_types *types, const char *name, size_t length)
{
	for (heap_type_id id = 1; id < types->count; id++) {
		const struct heap_type *type = &types->types[id];
		const char *other = heap_types_string(types, type->name);

		if (heap_types_has_members(type) && type->size > 0 &&
		    strncmp(other, name, length) == 0 && other[length] == '\0')
			return id;
	}
	return HEAP_NO_TYPE;
}

heap_type_id place_mentioned_type(struct session *session, heap_type_id type, const char *name)
{
	size_t length;
	const char *mention = heap_template_mention(&session->snapshot->types, type, name, &length);

	if (!mention)
		return HEAP_NO_TYPE;

	// Thousands of maps of one type ask for the same.
	struct session_mention *known = &session->mentions[((uintptr_t)mention >> 2) % 64];

	if (known->mention != mention) {
		known->mention = mention;
		known->type = find_compound(&session->snapshot->types, mention, length);
	}
	return known->type;
}
