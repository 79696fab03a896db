// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/words/offers.h"

#include "lib/base/cleanup.h"
#include "lib/types/member_path.h"
#include "shell/base/format.h"
#include "shell/words/operand.h"
#include "shell/words/variable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_NAME = 256, // bytes of a type's name
};

// --- the list ----------------------------------------------------------------------

void offers_deinit(struct offers *offers)
{
	for (size_t i = 0; i < offers->list.count; i++)
		free(offers->list.items[i]);
	heap_array_deinit(&offers->list);
}

// Readline writes names to the terminal unescaped.
static bool is_harmless(const char *name)
{
	char *escaped = format_name(name);
	bool same = escaped && strcmp(escaped, name) == 0;

	free(escaped);
	return same;
}

static bool begins_alike(const struct offers *offers, const char *name)
{
	return strncmp(name, offers->begin, strlen(offers->begin)) == 0;
}

void offer(struct offers *offers, const char *name)
{
	char *copy = *name && begins_alike(offers, name) && is_harmless(name) ? strdup(name) : NULL;
	struct heap_error *error = copy ? heap_array_append(&offers->list, copy) : NULL;

	if (error)
		free(copy);
	heap_error_destroy(error);
}

// Adds "&popular" for "popular" where the word begins with &.
static void offer_behind(struct offers *offers, const char *lead, const char *name)
{
	char *whole;

	if (!*name || asprintf(&whole, "%s%s", lead, name) < 0)
		return;
	offer(offers, whole);
	free(whole);
}

void offer_each(struct offers *offers, const char *const *names)
{
	for (size_t i = 0; names[i]; i++)
		offer(offers, names[i]);
}

void offer_alternatives(struct offers *offers, const char *alternatives, size_t length)
{
	const char *at = alternatives, *end = at + length;

	while (at < end) {
		const char *bar = memchr(at, '|', (size_t)(end - at));
		char name[MAX_NAME];

		snprintf(name, sizeof(name), "%.*s", (int)((bar ? bar : end) - at), at);
		offer(offers, name);
		at = bar ? bar + 1 : end;
	}
}

// --- types -------------------------------------------------------------------------

// Marks the types that objects have, or NULL: they cannot be loaded. The caller frees it.
static uint8_t *find_used(struct session *session)
{
	struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_types *types = &snapshot->types;
	struct heap_error *error = heap_snapshot_load(snapshot, HEAP_COLUMN_TYPE);
	uint8_t *used = error ? NULL : calloc((size_t)types->count + 1, 1);

	heap_error_destroy(error);
	for (heap_object_id i = 0; used && i < snapshot->object_count; i++)
		used[snapshot->type[i]] = 1;
	// An array of structures counts as one of them.
	for (heap_type_id i = 1; used && i < types->count; i++) {
		heap_type_id element = used[i] ? heap_types_counted(types, i) : HEAP_NO_TYPE;

		if (element != HEAP_NO_TYPE)
			used[heap_types_strip(types, element)] = 1;
	}
	return used;
}

static void offer_type(struct offers *offers, const struct heap_types *types, heap_type_id type)
{
	const char *name = heap_types_string(types, types->types[type].name);
	char full[MAX_NAME];
	size_t before = offers->list.count;

	if (!*name)
		return;
	heap_types_format(types, type, full, sizeof(full));
	offer(offers, full);
	if (offers->list.count == before)
		offer(offers, name);
}

void offer_types(struct offers *offers, struct session *session)
{
	const struct heap_types *types = &session->snapshot->types;
	uint8_t *used = find_used(session);
	size_t before = offers->list.count;

	for (heap_type_id i = 1; used && i < types->count; i++) {
		if (used[i])
			offer_type(offers, types, i);
	}
	for (heap_type_id i = 1; offers->list.count == before && i < types->count; i++)
		offer_type(offers, types, i);
	free(used);
}

// --- variables ---------------------------------------------------------------------

// The more levels, the more variables: 0 holds an object and is the program's, 2 is any.
static bool is_of_level(const struct heap_snapshot *snapshot, heap_root_id root, int level)
{
	return level == 2 || ((level == 1 || variable_is_own(snapshot, root)) &&
			      variable_holds_object(snapshot, root));
}

void offer_variables(struct offers *offers, const struct session *session)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const char *lead = offers->begin[0] == '&' ? "&" : "";
	bool with_reserved = strncmp(offers->begin + strlen(lead), "_", 1) == 0;
	size_t before = offers->list.count;

	for (int level = 0; level <= 2 && offers->list.count == before; level++) {
		for (heap_root_id i = 0; i < snapshot->root_count; i++) {
			const struct heap_root *root = &snapshot->roots[i];
			const char *name = heap_snapshot_string(snapshot, root->name);

			if (root->kind <= HEAP_ROOT_LOCAL && (name[0] != '_' || with_reserved) &&
			    is_of_level(snapshot, i, level))
				offer_behind(offers, lead, name);
		}
	}
}

void offer_locals(struct offers *offers, const struct session *session)
{
	const struct heap_snapshot *snapshot = session->snapshot;

	for (heap_root_id i = 0; i < snapshot->root_count; i++) {
		if (snapshot->roots[i].kind == HEAP_ROOT_LOCAL)
			offer(offers, heap_snapshot_string(snapshot, snapshot->roots[i].name));
	}
}

// --- objects -----------------------------------------------------------------------

void offer_answers(struct offers *offers, struct session *session)
{
	struct heap_snapshot *snapshot = session->snapshot;
	bool by_address = offers->begin[0] == '0';
	struct heap_error *error =
		by_address ? heap_snapshot_load(snapshot, HEAP_COLUMN_ADDRESS) : NULL;

	for (size_t i = 0; !error && i < session->answer_count; i++) {
		const struct session_answer *answer = &session->answer[i];
		char name[32];

		if (by_address)
			snprintf(name, sizeof(name), "%#" PRIx64,
				 snapshot->address[answer->object] + answer->interior);
		else
			snprintf(name, sizeof(name), "$%zu", i + 1);
		offer(offers, name);
	}
	heap_error_destroy(error);
}

// --- members -----------------------------------------------------------------------

// Looks through base classes and members without a name, as member paths do.
static void offer_members_of(struct offers *offers, const struct heap_types *types,
			     heap_type_id type, const char *lead, int depth)
{
	const struct heap_type *compound = &types->types[heap_types_strip(types, type)];

	if (depth == 0 || (compound->kind != HEAP_TYPE_STRUCT &&
			   compound->kind != HEAP_TYPE_CLASS && compound->kind != HEAP_TYPE_UNION))
		return;
	for (uint32_t i = 0; i < compound->members; i++) {
		const struct heap_member *member = &types->members[compound->first_member + i];
		const char *name = heap_types_string(types, member->name);

		if (!*name || (member->flags & HEAP_MEMBER_BASE))
			offer_members_of(offers, types, member->type, lead, depth - 1);
		else
			offer_behind(offers, lead, name);
	}
}

enum {
	MAX_DEPTH = 8, // of bases and unnamed members in each other
};

// The structure that an object is made of.
static heap_type_id element_of(const struct heap_types *types, heap_type_id type)
{
	heap_type_id element = heap_types_counted(types, type);

	return element == HEAP_NO_TYPE ? type : element;
}

// The type whose members may follow a path.
HEAP_MUST_CHECK
static struct heap_error *find_type_at(struct session *session, const char *path,
				       heap_type_id *type)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct operand operand;

	HEAP_TRY(operand_parse(session, path, &operand));
	HEAP_TRY(heap_snapshot_load(session->snapshot, HEAP_COLUMN_TYPE));
	if (operand.type != HEAP_NO_TYPE)
		*type = operand.type;
	else if (operand.object != HEAP_NO_OBJECT)
		*type = element_of(&snapshot->types, snapshot->type[operand.object]);
	else
		*type = snapshot->roots[operand.root].type;
	return NULL;
}

void offer_members(struct offers *offers, struct session *session, const char *path,
		   const char *lead)
{
	heap_type_id type;
	struct heap_error *error = find_type_at(session, path, &type);

	if (error)
		heap_error_destroy(error);
	else
		offer_members_of(offers, &session->snapshot->types, type, lead, MAX_DEPTH);
}

void offer_fields(struct offers *offers, struct session *session, const char *type)
{
	const struct heap_types *types = &session->snapshot->types;
	uint8_t *used = type ? NULL : find_used(session);
	heap_type_id found = HEAP_NO_TYPE;

	while (type && (found = heap_types_find(types, type, found + 1)) != HEAP_NO_TYPE)
		offer_members_of(offers, types, element_of(types, found), "", MAX_DEPTH);
	for (heap_type_id i = 1; used && i < types->count; i++) {
		if (used[i])
			offer_members_of(offers, types, i, "", MAX_DEPTH);
	}
	free(used);
}

static void offer_enumerators(struct offers *offers, const struct heap_types *types,
			      heap_type_id owner, const char *field)
{
	struct heap_member_place place;

	if (!heap_member_find(types, owner, field, &place))
		return;

	const struct heap_type *type = &types->types[heap_types_strip(types, place.type)];

	if (type->kind == HEAP_TYPE_POINTER)
		offer(offers, "NULL");
	for (uint32_t i = 0; type->kind == HEAP_TYPE_ENUM && i < type->members; i++)
		offer(offers,
		      heap_types_string(types, types->enumerators[type->first_member + i].name));
}

void offer_values(struct offers *offers, struct session *session, const char *type,
		  const char *field)
{
	const struct heap_types *types = &session->snapshot->types;
	heap_type_id found = HEAP_NO_TYPE;

	while (type && (found = heap_types_find(types, type, found + 1)) != HEAP_NO_TYPE)
		offer_enumerators(offers, types, element_of(types, found), field);
	for (heap_type_id i = 1; !type && i < types->count; i++)
		offer_enumerators(offers, types, i, field);
}

// --- code --------------------------------------------------------------------------

static void offer_place(struct offers *offers, const struct heap_snapshot *snapshot,
			uint32_t function, uint32_t file)
{
	const char *path = heap_snapshot_string(snapshot, file);
	const char *slash = strrchr(path, '/');

	offer(offers, heap_snapshot_string(snapshot, function));
	if (*offers->begin) // of all there are, functions say enough
		offer(offers, slash ? slash + 1 : path);
}

void offer_places(struct offers *offers, const struct session *session, bool with_calls)
{
	const struct heap_snapshot *snapshot = session->snapshot;

	for (heap_site_id i = 0; i < snapshot->site_count; i++)
		offer_place(offers, snapshot, snapshot->sites[i].function, snapshot->sites[i].file);
	for (uint32_t i = 0; with_calls && i < snapshot->call_count; i++)
		offer_place(offers, snapshot, snapshot->calls[i].function, snapshot->calls[i].file);
}

void offer_modules(struct offers *offers, const struct session *session)
{
	const struct heap_snapshot *snapshot = session->snapshot;

	for (uint32_t i = 0; i < snapshot->module_count; i++) {
		const char *path = heap_snapshot_string(snapshot, snapshot->modules[i].path);
		const char *slash = strrchr(path, '/');

		offer(offers, slash ? slash + 1 : path);
	}
}

void offer_threads(struct offers *offers, const struct session *session)
{
	for (uint32_t i = 0; i < session->snapshot->thread_count; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%" PRIu32, session->snapshot->threads[i].tid);
		offer(offers, name);
	}
}
