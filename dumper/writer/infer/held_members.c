// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/held_members.h"

#include "dumper/writer/base/progress.h"
#include "lib/types/templates.h"

#include <string.h>

enum {
	MAX_ARGUMENTS = 8, // of one template
};

static bool begins(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

// True for what a compiler makes of a lambda. That of clang is a class without a name; that of gcc a struct without one,
// whose members have the names of what they capture behind two underscores.
static bool is_closure(const struct heap_types *types, const struct heap_type *type)
{
	const char *name = heap_types_string(types, type->name);

	if (*name != '\0')
		return begins(name, "<lambda(");
	if (type->kind != HEAP_TYPE_STRUCT || type->members == 0)
		return type->kind == HEAP_TYPE_CLASS;
	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		if (!begins(heap_types_string(types, member->name), "__"))
			return false;
	}
	return true;
}

// True if a template has a type as an argument. @param name  of its instance, or of a class inside of it
static bool has_argument(const char *name, const char *argument)
{
	const size_t wanted = strlen(argument), qualified = strlen("const ");

	for (unsigned i = 0; i < MAX_ARGUMENTS && wanted > 0; i++) {
		size_t length;
		const char *found = heap_template_argument(name, i, &length);

		if (!found)
			return false;
		progress_step();
		if (length > qualified && begins(found, "const ")) {
			found += qualified;
			length -= qualified;
		}
		if (length >= wanted && strncmp(found, argument, wanted) == 0 &&
		    (length == wanted ||
		     (length == wanted + strlen(" const") && begins(found + wanted, " const"))))
			return true;
	}
	return false;
}

bool held_members_are(const struct heap_types *types, heap_type_id owner, heap_type_id scope,
		      const struct heap_member *member)
{
	const char *type = heap_types_name(types, heap_types_strip(types, member->type));

	return !(member->flags & HEAP_MEMBER_BASE) &&
	       (is_closure(types, &types->types[owner]) ||
		has_argument(heap_types_name(types, scope), type));
}
