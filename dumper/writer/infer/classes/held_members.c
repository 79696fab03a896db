// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/classes/held_members.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/classes/argument_types.h"

#include <string.h>

static bool begins(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

// The closure of clang is a class without a name; that of gcc a struct without one, whose members have the names of what they
// capture behind two underscores.
bool held_members_are_all(const struct heap_types *types, heap_type_id owner)
{
	const struct heap_type *type = &types->types[owner];
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

static void read_arguments(const struct heap_types *types, struct held_scope *scope)
{
	static const char word[] = "const ";

	scope->is_read = true;
	heap_template_list(heap_types_name(types, scope->type), &scope->arguments);
	for (unsigned i = 0; i < scope->arguments.count; i++) {
		struct heap_template_text *argument = &scope->arguments.list[i];

		if (argument->length > strlen(word) && begins(argument->text, word)) {
			argument->text += strlen(word);
			argument->length -= strlen(word);
		}
		argument->length = argument_types_strip(argument->text, argument->length);
	}
}

bool held_members_have(const struct heap_types *types, struct held_scope *scope,
		       const struct heap_member *member)
{
	heap_type_id type = heap_types_strip(types, member->type);
	const char *name = heap_types_name(types, type);

	if (member->flags & HEAP_MEMBER_BASE || !heap_types_has_members(&types->types[type]))
		return false;
	if (!scope->is_read)
		read_arguments(types, scope);
	for (unsigned i = 0; i < scope->arguments.count; i++) {
		const struct heap_template_text *argument = &scope->arguments.list[i];

		progress_step();
		if (argument->length > 0 && strncmp(argument->text, name, argument->length) == 0 &&
		    name[argument->length] == '\0')
			return true;
	}
	return false;
}
