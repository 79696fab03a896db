// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/promoted.h"

#include "lib/base/cleanup.h"
#include "lib/base/demangle.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_PARTS = 64,
	MAX_DEPTH = 4,     // of structs in structs
	MAX_VISITS = 1024, // members of a struct, those without a size, too
	MAX_STEPS = 16,    // from a variable to a part: each of a struct reads all symbols
};

static const char BODY[] = ".body";

const struct heap_dwarf_variable *promoted_find_unlocated(const struct module *module,
							  const char *name)
{
	// They come last.
	for (uint32_t i = module->debug.variable_count;
	     i-- > 0 && module->debug.variables[i].address == HEAP_DWARF_NO_ADDRESS;) {
		const struct heap_dwarf_variable *variable = &module->debug.variables[i];

		if (strcmp(heap_types_string(&module->debug.types, variable->name), name) == 0)
			return variable;
	}
	return NULL;
}

// --- the members of a struct that was taken apart ------------------------------------------

// One part, as far as symbols tell.
struct part {
	bool is_known, is_pointer;
	uint64_t size; // if it is no pointer to a body
};

struct parts {
	struct part list[MAX_PARTS]; // [count] in the order of the struct
	uint32_t count;
	heap_type_id
		members[MAX_PARTS]; // [member_count] of the struct, those of structs in it, too
	uint32_t member_count;
	uint32_t visits;
};

// @return false: it cannot be told which members are parts
static bool add_members(const struct heap_types *types, heap_type_id id, int depth,
			struct parts *parts)
{
	const struct heap_type *type = &types->types[heap_types_strip(types, id)];

	if (type->kind == HEAP_TYPE_UNION || type->kind == HEAP_TYPE_ARRAY || depth > MAX_DEPTH ||
	    parts->visits++ == MAX_VISITS)
		return false;
	if (type->kind != HEAP_TYPE_STRUCT && type->kind != HEAP_TYPE_CLASS) {
		if (parts->member_count == MAX_PARTS)
			return false;
		parts->members[parts->member_count++] = id;
		return true;
	}
	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		if ((member->flags & HEAP_MEMBER_BIT_FIELD) ||
		    !add_members(types, member->type, depth + 1, parts))
			return false;
	}
	return true;
}

// Gathers the symbols "PREFIX.N" and "PREFIX.N.body", also those of parts of a body.
static void add_parts(const struct module *module, const char *prefix, size_t length,
		      struct parts *parts)
{
	for (size_t i = 0; i < module->elf->symbol_count; i++) {
		const struct heap_symbol *symbol = &module->elf->symbols[i];
		unsigned long number;
		char *end;

		if (strncmp(symbol->name, prefix, length) != 0 || symbol->name[length] != '.' ||
		    !isdigit((unsigned char)symbol->name[length + 1]))
			continue;
		number = strtoul(symbol->name + length + 1, &end, 10);
		if (number >= MAX_PARTS)
			continue;
		parts->list[number].is_known = true;
		parts->list[number].is_pointer |= *end != '\0';
		if (*end == '\0')
			parts->list[number].size = symbol->size;
		if (number >= parts->count)
			parts->count = (uint32_t)number + 1;
	}
}

static bool may_be(const struct heap_types *types, const struct part *part, heap_type_id member)
{
	if (!part->is_known)
		return true;
	return part->is_pointer ? heap_types_pointee(types, member) != HEAP_NO_TYPE
				: heap_types_size(types, member) == part->size;
}

// The only member that a part can be: the first one and the last one of the ways to distribute the parts. HEAP_NO_TYPE:
// there are several, or none.
static heap_type_id find_member(const struct heap_types *types, const struct parts *parts,
				uint32_t number)
{
	uint32_t first = 0, last = parts->member_count;

	for (uint32_t i = 0; i <= number; i++, first++) {
		while (first < parts->member_count &&
		       !may_be(types, &parts->list[i], parts->members[first]))
			first++;
	}
	for (uint32_t i = parts->count; i-- > number;) {
		while (last > 0 && !may_be(types, &parts->list[i], parts->members[last - 1]))
			last--;
		if (last-- == 0)
			return HEAP_NO_TYPE;
	}
	return first - 1 == last && last < parts->member_count ? parts->members[last]
							       : HEAP_NO_TYPE;
}

// --- names ----------------------------------------------------------------------------------

// @param at  behind the prefix, which is a struct: ".N", and more
static heap_type_id step_into(const struct module *module, const char *name, const char *at,
			      heap_type_id type)
{
	const struct heap_types *types = &module->debug.types;
	unsigned long number = strtoul(at + 1, NULL, 10);
	struct parts parts = { .count = 0 };

	if (!add_members(types, type, 0, &parts))
		return HEAP_NO_TYPE;
	add_parts(module, name, (size_t)(at - name), &parts);
	return number < parts.count ? find_member(types, &parts, (uint32_t)number) : HEAP_NO_TYPE;
}

// Follows what is behind a variable's name. HEAP_NO_TYPE: it is nothing of ours.
static heap_type_id follow(const struct module *module, const char *name, const char *at,
			   heap_type_id type)
{
	const struct heap_types *types = &module->debug.types;
	const size_t body = sizeof(BODY) - 1;

	for (int step = 0; *at && type != HEAP_NO_TYPE; step++) {
		if (step == MAX_STEPS || *at != '.')
			return HEAP_NO_TYPE;
		if (strncmp(at, BODY, body) == 0 && (at[body] == '\0' || at[body] == '.')) {
			type = heap_types_pointee(types, type);
			at += body;
		} else if (isdigit((unsigned char)at[1])) {
			type = step_into(module, name, at, type);
			at += 1 + strspn(at + 1, "0123456789");
		} else {
			return HEAP_NO_TYPE;
		}
	}
	return type;
}

struct promoted promoted_find(const struct module *module, const struct heap_symbol *symbol)
{
	const struct promoted none = { NULL, HEAP_NO_TYPE };
	const char *dot = strchr(symbol->name, '.');
	struct promoted result;
	uint64_t size;

	if (!dot || !strstr(dot, BODY))
		return none;

	CLEANUP_FREE char *linked = strndup(symbol->name, (size_t)(dot - symbol->name));
	CLEANUP_FREE char *name = linked ? heap_demangle(linked) : NULL;

	result.variable = name ? promoted_find_unlocated(module, name) : NULL;
	if (!result.variable)
		return none;
	result.type = follow(module, symbol->name, dot, result.variable->type);
	size = heap_types_size(&module->debug.types, result.type);
	return size > 0 && symbol->size % size == 0 ? result : none;
}
