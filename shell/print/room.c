// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/print/room.h"

#include <string.h>

enum {
	MAX_LINES = 1000, // more are as good as any number
	MAX_DEPTH = 24,   // of structures in each other
	SHORT_ARRAY = 16, // elements that are shown of an array
};

// Containers are printed by their elements, whose number the type does not tell.
static uint64_t lines_of_container(const struct heap_types *types, const struct heap_type *type)
{
	const char *name = heap_types_string(types, type->name);

	if (strncmp(name, "std::", 5) != 0 && strncmp(name, "alloc::", 7) != 0)
		return 0;
	return strstr(name, "basic_string") || strstr(name, "String") ? 1 : SHORT_ARRAY + 2;
}

// Lines that a value of this type takes when it is unfolded, MAX_LINES at most.
static uint64_t lines_of(const struct heap_types *types, heap_type_id id, unsigned depth)
{
	const struct heap_type *type = &types->types[heap_types_strip(types, id)];
	uint64_t lines = 2;

	if (depth == MAX_DEPTH)
		return 1;
	if (type->kind == HEAP_TYPE_ARRAY) {
		const struct heap_type *element =
			&types->types[heap_types_strip(types, type->target)];
		uint64_t count = type->count < SHORT_ARRAY ? type->count : SHORT_ARRAY;

		if (element->flags & HEAP_TYPE_CHARACTER)
			return 1;
		lines += count * lines_of(types, type->target, depth + 1);
		return lines < MAX_LINES ? lines : MAX_LINES;
	}
	if (!heap_types_has_members(type))
		return 1;
	if (lines_of_container(types, type) > 0)
		return lines_of_container(types, type);
	for (uint32_t i = 0; i < type->members && lines < MAX_LINES; i++)
		lines += lines_of(types, types->members[type->first_member + i].type, depth + 1);
	return lines < MAX_LINES ? lines : MAX_LINES;
}

// Serves members that need no more than an equal share first, so that others get what these leave.
static void divide(struct room *room, uint64_t lines)
{
	uint64_t needs[ROOM_MEMBERS];
	uint32_t open = room->shown;
	bool changed = true;

	for (uint32_t i = 0; i < room->shown; i++) {
		needs[i] = room->shares[i];
		room->shares[i] = 0;
	}
	while (changed && open > 0) {
		uint64_t share = lines / open;

		changed = false;
		for (uint32_t i = 0; i < room->shown; i++) {
			if (room->shares[i] > 0 || needs[i] > share)
				continue;
			room->shares[i] = needs[i];
			lines -= needs[i];
			open--;
			changed = true;
		}
	}
	for (uint32_t i = 0; i < room->shown; i++) {
		if (room->shares[i] == 0)
			room->shares[i] = lines > open ? lines / open : 1;
	}
}

void room_begin(struct room *room, struct session *session, const struct heap_type *type)
{
	const struct heap_types *types = &session->snapshot->types;
	uint64_t most = session->room < ROOM_MEMBERS ? session->room : ROOM_MEMBERS;

	room->session = session;
	room->before = session->room;
	room->shown = type->members;
	if (session->room == 0)
		return;
	if (type->members > most) // a line says how many are left out
		room->shown = most > 1 ? (uint32_t)most - 1 : 1;
	for (uint32_t i = 0; i < room->shown; i++)
		room->shares[i] = lines_of(types, types->members[type->first_member + i].type, 0);
	divide(room, session->room - (type->members > most && session->room > 1));
}

bool room_take(struct room *room, uint32_t index)
{
	if (room->before == 0)
		return true;
	if (index >= room->shown)
		return false;
	room->session->room = room->shares[index];
	return true;
}

void room_end(struct room *room)
{
	room->session->room = room->before;
}

bool room_is_short(const struct session *session)
{
	return session->room > 0 && session->room < ROOM_OF_BRACES;
}

uint64_t room_take_braces(struct session *session)
{
	uint64_t before = session->room;

	if (before >= ROOM_OF_BRACES)
		session->room -= 2;
	return before;
}

uint64_t room_for_elements(struct session *session, heap_type_id type, uint64_t count)
{
	uint64_t lines = type == HEAP_NO_TYPE ? 1 : lines_of(&session->snapshot->types, type, 0);

	if (session->room == 0 || count == 0)
		return count;
	if (session->room < count * lines) {
		count = session->room / (lines < session->room ? lines : session->room);
		count = count > 1 ? count - 1 : 1; // a line says how many are left out
	}
	session->room = session->room / count ? session->room / count : 1;
	return count;
}
