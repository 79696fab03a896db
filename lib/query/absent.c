// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/query/absent.h"

#include "lib/base/cleanup.h"
#include "lib/base/nearest.h"
#include "lib/base/path.h"

#include <stdio.h>
#include <string.h>

enum {
	MAX_TYPE_NAME = 256,
	MAX_LIST = 400, // bytes of the names that a message lists
};

// Ends a search. @param otherwise  said where no name is near
HEAP_MAKES_ERROR
static struct heap_error *absent(struct heap_nearest *nearest, const char *message,
				 const char *otherwise)
{
	CLEANUP_FREE char *hint = heap_nearest_hint(nearest);

	return heap_error_create(HEAP_ERROR_ABSENT, "%s%s", message,
				 hint && *hint ? hint : otherwise);
}

// The name behind "struct " and the like.
static const char *bare_name(const char *name)
{
	static const char *const keywords[] = { "struct ", "union ", "class ", "enum " };

	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
		if (strncmp(name, keywords[i], strlen(keywords[i])) == 0)
			return name + strlen(keywords[i]);
	}
	return name;
}

struct heap_error *heap_absent_type(const struct heap_types *types, const char *word)
{
	struct heap_nearest nearest;
	CLEANUP_FREE char *message = NULL;

	heap_nearest_init(&nearest, bare_name(word));
	for (heap_type_id i = 1; i < types->count; i++) {
		const char *name = heap_types_string(types, types->types[i].name);
		char full[MAX_TYPE_NAME];

		if (!*name || !heap_nearest_is_near(&nearest, name))
			continue;
		heap_types_format(types, i, full, sizeof(full));
		heap_nearest_offer_as(&nearest, name, full);
	}
	if (asprintf(&message, "%s: no such type in the snapshot", word) < 0)
		message = NULL;
	return absent(&nearest, message ? message : "no such type",
		      "; `types` lists those of objects");
}

static void offer_place(struct heap_nearest *nearest, const struct heap_snapshot *snapshot,
			uint32_t function, uint32_t file)
{
	heap_nearest_offer(nearest, heap_snapshot_string(snapshot, function));
	heap_nearest_offer(nearest, heap_base_name(heap_snapshot_string(snapshot, file)));
}

static bool is_called(const struct heap_snapshot *snapshot, const char *function)
{
	for (uint32_t i = 0; i < snapshot->call_count; i++) {
		if (strcmp(heap_snapshot_string(snapshot, snapshot->calls[i].function), function) ==
		    0)
			return true;
	}
	return false;
}

const char *heap_unprepared(const struct heap_snapshot *snapshot)
{
	switch (snapshot->info.origin) {
	case HEAP_ORIGIN_LIBRARY:
		return NULL;
	case HEAP_ORIGIN_CORE:
		return "from a core file";
	case HEAP_ORIGIN_TRACED:
		return "of a process that was only traced";
	default:
		return "by attach";
	}
}

struct heap_error *heap_absent_origins(const struct heap_snapshot *snapshot, const char *filter,
				       const char *word)
{
	return heap_error_create(HEAP_ERROR_ABSENT,
				 "%s %s: not known: the snapshot was taken %s, and nobody had "
				 "noted where and when blocks were allocated",
				 filter, word, heap_unprepared(snapshot));
}

struct heap_error *heap_absent_place(const struct heap_snapshot *snapshot, const char *filter,
				     const char *word, bool with_calls)
{
	struct heap_nearest nearest;
	CLEANUP_FREE char *message = NULL;

	heap_nearest_init(&nearest, word);
	for (heap_site_id i = 0; i < snapshot->site_count; i++)
		offer_place(&nearest, snapshot, snapshot->sites[i].function,
			    snapshot->sites[i].file);
	for (uint32_t i = 0; with_calls && i < snapshot->call_count; i++)
		offer_place(&nearest, snapshot, snapshot->calls[i].function,
			    snapshot->calls[i].file);
	if (asprintf(&message, "%s %s: nothing was allocated in a function or file of that name",
		     filter, word) < 0)
		message = NULL;
	return absent(&nearest, message ? message : "nothing was allocated there",
		      !with_calls && is_called(snapshot, word)
			      ? " itself; `frame` finds what calls from there allocated"
			      : "; `sites` lists them");
}

struct heap_error *heap_absent_module(const struct heap_snapshot *snapshot, const char *word)
{
	struct heap_nearest nearest;
	CLEANUP_FREE char *message = NULL;
	char list[MAX_LIST] = "";
	size_t length = 0;

	heap_nearest_init(&nearest, word);
	for (uint32_t i = 0; i < snapshot->module_count; i++) {
		const char *name =
			heap_base_name(heap_snapshot_string(snapshot, snapshot->modules[i].path));

		heap_nearest_offer(&nearest, name);
		if (length + strlen(name) + 8 < sizeof(list))
			length += (size_t)snprintf(list + length, sizeof(list) - length, "%s%s",
						   length ? ", " : "; there are ", name);
	}
	if (asprintf(&message, "module %s: no such module", word) < 0)
		message = NULL;
	return absent(&nearest, message ? message : "no such module", list);
}

struct heap_error *heap_absent_member(const struct heap_types *types, const uint8_t *among,
				      const char *name)
{
	struct heap_nearest nearest;
	CLEANUP_FREE char *message = NULL;
	char list[MAX_LIST] = "", owner[MAX_TYPE_NAME] = "";
	size_t length = 0, owners = 0;

	heap_nearest_init(&nearest, name);
	for (heap_type_id i = 1; i < types->count; i++) {
		const struct heap_type *type = &types->types[i];

		if ((among && !among[i]) ||
		    (type->kind != HEAP_TYPE_STRUCT && type->kind != HEAP_TYPE_CLASS &&
		     type->kind != HEAP_TYPE_UNION))
			continue;
		if (owners++ == 0)
			heap_types_format(types, i, owner, sizeof(owner));
		for (uint32_t j = 0; j < type->members; j++) {
			const char *member = heap_types_string(
				types, types->members[type->first_member + j].name);

			heap_nearest_offer(&nearest, member);
			if (owners == 1 && *member && length + strlen(member) + 4 < sizeof(list))
				length += (size_t)snprintf(list + length, sizeof(list) - length,
							   "%s%s", length ? ", " : "; it has ",
							   member);
		}
	}
	if (owners == 1 ? asprintf(&message, "field %s: %s has no such member", name, owner) < 0
			: asprintf(&message, "field %s: no such member of any %s", name,
				   among ? "of these types" : "type") < 0)
		message = NULL;
	return absent(&nearest, message ? message : "no such member", owners == 1 ? list : "");
}

struct heap_error *heap_absent_value(const struct heap_types *types, heap_type_id type,
				     const char *field)
{
	const struct heap_type *bare = &types->types[heap_types_strip(types, type)];
	char name[MAX_TYPE_NAME];

	heap_types_format(types, type, name, sizeof(name));
	if (bare->kind == HEAP_TYPE_ARRAY)
		return heap_error_create(HEAP_ERROR_ABSENT,
					 "field %s: it is %s, no single value; ask for an element, "
					 "as %s[0]",
					 field, name, field);
	for (uint32_t i = 0; heap_types_has_members(bare) && i < bare->members; i++) {
		const char *member =
			heap_types_string(types, types->members[bare->first_member + i].name);

		if (*member)
			return heap_error_create(HEAP_ERROR_ABSENT,
						 "field %s: it is %s, no single value; ask for a "
						 "member, as %s.%s",
						 field, name, field, member);
	}
	return heap_error_create(HEAP_ERROR_ABSENT, "field %s: it is %s, no single value", field,
				 name);
}

struct heap_error *heap_absent_enumerator(const struct heap_types *types, heap_type_id type,
					  const char *field, const char *value)
{
	const struct heap_type *bare = &types->types[heap_types_strip(types, type)];
	struct heap_nearest nearest;
	CLEANUP_FREE char *message = NULL;
	char list[MAX_LIST] = "", name[MAX_TYPE_NAME];
	size_t length = 0;

	heap_types_format(types, type, name, sizeof(name));
	heap_nearest_init(&nearest, value);
	for (uint32_t i = 0; i < bare->members; i++) {
		const char *enumerator =
			heap_types_string(types, types->enumerators[bare->first_member + i].name);

		heap_nearest_offer(&nearest, enumerator);
		if (length + strlen(enumerator) + 4 < sizeof(list))
			length += (size_t)snprintf(list + length, sizeof(list) - length, "%s%s",
						   length ? ", " : "; it has ", enumerator);
	}
	if (asprintf(&message, "field %s: %s has no value %s", field, name, value) < 0)
		message = NULL;
	return absent(&nearest, message ? message : "no such value", list);
}
