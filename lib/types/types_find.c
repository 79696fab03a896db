// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/types/types.h"

#include "lib/types/short_name.h"
#include "lib/types/spelling.h"
#include "lib/types/types_index.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

enum {
	NAME_MAX_BYTES = 4096,   // of a type's formatted name; longer names are cut
	DEPTH_MAX = 64,          // nested values; more is damage
	FRUITLESS_MAX = 1 << 20, // values without a pointer in a row; more is damage
	POINTER_SIZE = 8,        // bytes
	STORAGE_DEPTH = 4,       // structs around an array of bytes
};

// --- by name -------------------------------------------------------------------------------

static const char *const keywords[] = { "struct", "union", "class", "enum" };
static const uint8_t kinds[] = { HEAP_TYPE_STRUCT, HEAP_TYPE_UNION, HEAP_TYPE_CLASS,
				 HEAP_TYPE_ENUM };

// Skips a leading "struct " and the like. @return NULL if there is none
static const char *after_keyword(const char *name, size_t *keyword)
{
	for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++) {
		size_t length = strlen(keywords[i]);

		if (strncmp(name, keywords[i], length) == 0 && name[length] == ' ') {
			*keyword = i;
			return name + length + 1;
		}
	}
	return NULL;
}

// True if stars, brackets and parentheses are those of a declarator, as in "char *[12]", and not of a
// glob, as in "struct *", "ns::*" or "entry_[ab]".
static bool is_declarator(const char *name)
{
	size_t keyword, start = strcspn(name, "*&[(");
	const char *bare = after_keyword(name, &keyword), *rest = name + start;

	if (!start || strspn(rest, "*&[]() .0123456789") != strlen(rest))
		return false;
	if (*rest != '[' && (name[start - 1] != ' ' || bare == rest))
		return false;
	for (; *rest; rest++)
		if (*rest == '[' && rest[1] != ']' && !isdigit((unsigned char)rest[1]))
			return false;
	return true;
}

struct pattern {
	const char *name;
	const char *bare; // without its keyword
	uint8_t kind;     // that of the keyword; HEAP_TYPE_UNKNOWN: any
	bool glob;
	bool derived;     // may be the name of a pointer, an array, a struct without a name...
	bool is_standard; // has template arguments, or is of std: the short form may match
	bool unqualified; // matches names in any namespace
	bool respelled;   // matches names that are spelled in another way
	char short_bare[NAME_MAX_BYTES];
	char spelling[HEAP_SPELLING_MAX];
};

static struct pattern parse(const char *name)
{
	size_t keyword = 0;
	const char *bare = after_keyword(name, &keyword);
	struct pattern result = {
		.name = name,
		.bare = bare ? bare : name,
		.kind = bare ? kinds[keyword] : HEAP_TYPE_UNKNOWN,
	};

	result.glob = strpbrk(name, "*?[") && !is_declarator(name);
	result.derived = strpbrk(name, "*&[(") || strncmp(name, "const ", 6) == 0 ||
			 strncmp(name, "volatile ", 9) == 0 || strncmp(name, "_Atomic ", 8) == 0;
	result.is_standard =
		result.glob || strchr(result.bare, '<') || strstr(result.bare, "std::");
	heap_short_name(result.bare, result.short_bare, sizeof(result.short_bare));
	if (!heap_spell(result.bare, strlen(result.bare), false, result.spelling))
		result.spelling[0] = '\0';
	return result;
}

// True if two names differ in their spelling alone: "unsigned" and "unsigned int".
static bool matches_spelling(const struct pattern *pattern, const char *name)
{
	char text[HEAP_SPELLING_MAX];

	return pattern->spelling[0] && heap_spell(name, strlen(name), false, text) &&
	       strcmp(pattern->spelling, text) == 0;
}

static bool matches_text(const struct pattern *pattern, const char *wanted, const char *text)
{
	return strcmp(wanted, text) == 0 || (pattern->glob && fnmatch(wanted, text, 0) == 0);
}

// True if a name without its keyword matches, in full or in its short form.
static bool matches_bare(const struct pattern *pattern, const char *name)
{
	char text[NAME_MAX_BYTES];

	if (matches_text(pattern, pattern->bare, name) ||
	    (pattern->respelled && matches_spelling(pattern, name)))
		return true;
	if (pattern->unqualified) {
		for (const char *inner = heap_name_inside(name); inner;
		     inner = heap_name_inside(inner)) {
			if (matches_text(pattern, pattern->bare, inner))
				return true;
		}
	}
	if (!pattern->is_standard || !strstr(name, "::"))
		return false;
	heap_short_name(name, text, sizeof(text));
	return strcmp(pattern->short_bare, text) == 0 || matches_text(pattern, pattern->bare, text);
}

// Removes "(cache.c:12)" from "struct entry (cache.c:12) *": names match without the place, too.
static void strip_place(char *text)
{
	char *open = strstr(text, " (");
	char *close = open ? strchr(open, ')') : NULL;

	// Not the parentheses of a function.
	if (close && memchr(open, ':', (size_t)(close - open)) && isdigit((unsigned char)close[-1]))
		memmove(open, close + 1, strlen(close + 1) + 1);
}

// True if the name of a derived type matches, with a keyword or without.
static bool matches_derived(const struct pattern *pattern, const struct heap_types *types,
			    heap_type_id id)
{
	char text[NAME_MAX_BYTES];
	size_t keyword;

	heap_types_format(types, id, text, sizeof(text));

	if (matches_text(pattern, pattern->name, text))
		return true;
	strip_place(text);

	const char *bare = after_keyword(text, &keyword);

	if (matches_text(pattern, pattern->name, text))
		return true;
	// "struct *" stands for no "char *".
	if (pattern->kind != HEAP_TYPE_UNKNOWN && (!bare || kinds[keyword] != pattern->kind))
		return false;
	return matches_bare(pattern, bare ? bare : text);
}

static bool matches(const struct pattern *pattern, const struct heap_types *types, heap_type_id id)
{
	const struct heap_type *type = &types->types[id];

	if (type->name && (pattern->kind == HEAP_TYPE_UNKNOWN || pattern->kind == type->kind) &&
	    matches_bare(pattern, heap_types_string(types, type->name)))
		return true;
	if (!pattern->derived || (type->name && !(type->flags & HEAP_TYPE_AMBIGUOUS)))
		return false;
	return matches_derived(pattern, types, id);
}

static heap_type_id find_from(const struct pattern *pattern, const struct heap_types *types,
			      heap_type_id from)
{
	for (heap_type_id id = from; id < types->count; id++)
		if (matches(pattern, types, id))
			return id;
	return HEAP_NO_TYPE;
}

heap_type_id heap_types_find(const struct heap_types *types, const char *name, heap_type_id next)
{
	struct pattern pattern = parse(name);

	for (int way = 0;; way++) {
		bool is_last = way == 2;
		heap_type_id found;

		pattern.unqualified = way == 1;
		pattern.respelled = is_last;
		// The last result tells which names are being matched.
		if (next > 1 && !is_last && !matches(&pattern, types, next - 1))
			continue;
		found = find_from(&pattern, types, next ? next : 1);
		if (found != HEAP_NO_TYPE || next > 1 || is_last)
			return found;
	}
}

// --- pointer slots -------------------------------------------------------------------------

struct walk {
	const struct heap_types *types;
	bool (*visit)(void *context, uint64_t offset, heap_type_id pointer);
	bool (*visit_place)(void *context, const struct heap_pointer_place *place);
	void *context;
	bool beside_bytes; // the next member is in a union with bytes that are longer than a pointer
	bool found;        // a pointer, since it was last cleared
	uint32_t fruitless;
};

static bool walk_type(struct walk *walk, heap_type_id id, uint64_t offset, int depth);

static bool walk_array(struct walk *walk, const struct heap_type *type, uint64_t offset, int depth)
{
	uint64_t size = heap_types_size(walk->types, type->target);
	bool found = walk->found;

	for (uint64_t i = 0; i < type->count && size; i++) {
		walk->found = false;
		if (!walk_type(walk, type->target, offset + i * size, depth + 1))
			return false;
		// An element without pointers is like all others.
		if (!walk->found)
			break;
		found = true;
	}
	walk->found = found;
	return true;
}

// True for an array of numbers that is longer than a pointer, also if a struct has nothing else.
static bool is_storage(const struct heap_types *types, heap_type_id id)
{
	uint64_t size = heap_types_size(types, id);

	for (int depth = 0; size > POINTER_SIZE && depth < STORAGE_DEPTH; depth++) {
		const struct heap_type *type = &types->types[heap_types_strip(types, id)];

		if (type->kind == HEAP_TYPE_ARRAY) {
			heap_type_id element = heap_types_strip(types, type->target);

			return types->types[element].kind == HEAP_TYPE_BASE ||
			       types->types[element].kind == HEAP_TYPE_ENUM;
		}
		if (!heap_types_has_members(type) || type->members == 0)
			return false;
		id = types->members[type->first_member].type;
		if (heap_types_size(types, id) != size)
			return false;
	}
	return false;
}

static bool has_storage(const struct heap_types *types, const struct heap_type *type)
{
	for (uint32_t i = 0; type->kind == HEAP_TYPE_UNION && i < type->members; i++) {
		if (is_storage(types, types->members[type->first_member + i].type))
			return true;
	}
	return false;
}

static bool walk_members(struct walk *walk, const struct heap_type *type, uint64_t offset,
			 int depth)
{
	const struct heap_member *members = &walk->types->members[type->first_member];
	bool beside_bytes = walk->visit_place && has_storage(walk->types, type);

	for (uint32_t i = 0; i < type->members; i++) {
		walk->beside_bytes = beside_bytes;
		if (!(members[i].flags & (HEAP_MEMBER_VIRTUAL_BASE | HEAP_MEMBER_BIT_FIELD)) &&
		    !walk_type(walk, members[i].type, offset + members[i].offset, depth + 1))
			return false;
	}
	return true;
}

static bool call(const struct walk *walk, heap_type_id pointer, uint64_t offset, bool beside_bytes)
{
	return walk->visit_place ? walk->visit_place(walk->context,
						     &(struct heap_pointer_place){ offset, pointer,
										   beside_bytes })
				 : walk->visit(walk->context, offset, pointer);
}

static bool walk_type(struct walk *walk, heap_type_id id, uint64_t offset, int depth)
{
	heap_type_id stripped = heap_types_strip(walk->types, id);
	const struct heap_type *type = &walk->types->types[stripped];
	bool beside_bytes = walk->beside_bytes;

	walk->beside_bytes = false;
	// Structs that each contain the next one twice would take exponential time.
	if (depth > DEPTH_MAX || walk->fruitless++ > FRUITLESS_MAX)
		return true;
	switch (type->kind) {
	case HEAP_TYPE_POINTER:
	case HEAP_TYPE_REFERENCE:
		walk->found = true;
		walk->fruitless = 0;
		return call(walk, stripped, offset, beside_bytes);
	case HEAP_TYPE_ARRAY:
		return walk_array(walk, type, offset, depth);
	case HEAP_TYPE_STRUCT:
	case HEAP_TYPE_CLASS:
	case HEAP_TYPE_UNION:
		return walk_members(walk, type, offset, depth);
	default:
		return true;
	}
}

bool heap_types_visit_pointers(const struct heap_types *types, heap_type_id type,
			       bool (*visit)(void *context, uint64_t offset, heap_type_id pointer),
			       void *context)
{
	struct walk walk = { .types = types, .visit = visit, .context = context };

	return walk_type(&walk, type, 0, 0);
}

static bool stop_at_pointer(void *context, uint64_t offset, heap_type_id pointer)
{
	(void)context;
	(void)offset;
	(void)pointer;
	return false;
}

bool heap_types_has_pointers(const struct heap_types *types, heap_type_id type)
{
	return !heap_types_visit_pointers(types, type, stop_at_pointer, NULL);
}

bool heap_types_visit_places(const struct heap_types *types, heap_type_id type,
			     bool (*visit)(void *context, const struct heap_pointer_place *place),
			     void *context)
{
	struct walk walk = { .types = types, .visit_place = visit, .context = context };

	return walk_type(&walk, type, 0, 0);
}
