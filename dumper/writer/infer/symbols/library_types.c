// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/symbols/library_types.h"

#include "dumper/writer/infer/class_names.h"
#include "lib/base/array.h"
#include "lib/base/hash_table.h"
#include "lib/types/templates.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_NAME = 4096,
	MAX_DEPTH = 16,   // templates in each other
	MAX_MEMBERS = 16, // of a layout
	MAX_ALIGNMENT = 16,
	WORD = 8,
};

// --- layouts of the libraries ----------------------------------------------

// "name=type;name=type", with types as library_types_substitute() has them.
struct layout {
	const char *template; // name up to its "<"
	unsigned argument;    // that must begin with value
	const char *value;    // NULL: any
	const char *members;
};

#define TREE(value) \
	"_M_key_compare=void*;_M_color=unsigned int;_M_parent=std::_Rb_tree_node<" value " >*;" \
	"_M_left=void*;_M_right=void*;_M_node_count=unsigned long"
#define HASH_TABLE \
	"_M_buckets=std::__detail::_Hash_node_base**;_M_bucket_count=unsigned long;" \
	"_M_before_begin=void*;_M_element_count=unsigned long;_M_max_load_factor=float;" \
	"_M_next_resize=unsigned long;_M_single_bucket=void*"
#define LIST(node) "_M_next=" node "*;_M_prev=" node "*;_M_size=unsigned long"
#define COUNTS "_vptr=void*;_M_use_count=int;_M_weak_count=int;"

// libstdc++ (bits/stl_tree.h, stl_list.h, hashtable_policy.h, shared_ptr_base.h, ...), then libc++.
static const struct layout layouts[] = {
	{ "std::__cxx11::basic_string<", 2, "std::allocator<",
	  "_M_dataplus=std::__cxx11::_Alloc_hider<$0>;_M_string_length=unsigned long;"
	  "_M_local_buf=char[16]" },
	{ "std::__cxx11::_Alloc_hider<", 0, NULL, "_M_p=$0*" },
	{ "std::pair<", 0, NULL, "first=$0;second=$1" },
	{ "std::vector<", 0, "bool",
	  "_M_start=unsigned long*;_M_offset=unsigned long;_M_finish=void*;"
	  "_M_finish_offset=unsigned long;_M_end_of_storage=void*" },
	{ "std::vector<", 0, NULL, "_M_start=$0[]*;_M_finish=void*;_M_end_of_storage=void*" },
	{ "std::unique_ptr<", 1, "std::default_delete<", "_M_p=$0*" },
	{ "std::shared_ptr<", 0, NULL, "_M_ptr=$0*;_M_refcount=void*" },
	{ "std::weak_ptr<", 0, NULL, "_M_ptr=$0*;_M_refcount=void*" },
	{ "std::atomic<", 0, NULL, "_M_i=$0" },
	{ "std::optional<", 0, NULL, "_M_value=$0;_M_engaged=bool" },
	{ "std::function<", 0, NULL, "_M_functor=char[16];_M_manager=void*;_M_invoker=void*" },
	{ "std::_Rb_tree_node<", 0, NULL,
	  "_M_color=unsigned int;_M_parent=void*;_M_left=$@*;_M_right=$@*;_M_value=$0" },
	{ "std::_List_node<", 0, NULL, "_M_next=void*;_M_prev=void*;_M_value=$0" },
	{ "std::_Fwd_list_node<", 0, NULL, "_M_next=$@*;_M_value=$0" },
	{ "std::__detail::_Hash_node<", 1, "true",
	  "_M_nxt=$@*;_M_value=$0;_M_hash_code=unsigned long" },
	{ "std::__detail::_Hash_node<", 1, "false", "_M_nxt=$@*;_M_value=$0" },
	{ "std::__detail::_Hash_node<", 0, "{", "_M_nxt=$@*;_M_value=$0" },
	{ "std::_Sp_counted_ptr_inplace<", 0, NULL, COUNTS "_M_value=$0" },
	{ "std::_Sp_counted_ptr<", 0, NULL, COUNTS "_M_ptr=$0" },
	{ "std::map<", 0, NULL, TREE("std::pair<$0 const, $1>") },
	{ "std::multimap<", 0, NULL, TREE("std::pair<$0 const, $1>") },
	{ "std::set<", 0, NULL, TREE("$0") },
	{ "std::multiset<", 0, NULL, TREE("$0") },
	{ "std::__cxx11::list<", 0, NULL, LIST("std::_List_node<$0>") },
	{ "std::forward_list<", 0, NULL, "_M_next=std::_Fwd_list_node<$0>*" },
	{ "std::unordered_map<", 0, NULL, HASH_TABLE },
	{ "std::unordered_multimap<", 0, NULL, HASH_TABLE },
	{ "std::unordered_set<", 0, NULL, HASH_TABLE },
	{ "std::unordered_multiset<", 0, NULL, HASH_TABLE },
	{ "std::deque<", 0, NULL,
	  "_M_map=$0**;_M_map_size=unsigned long;_M_start=void*[4];_M_finish=void*[4]" },
	{ "std::__1::pair<", 0, NULL, "first=$0;second=$1" },
	{ "std::__1::__value_type<", 0, NULL, "first=$0;second=$1" },
	{ "std::__1::__hash_value_type<", 0, NULL, "first=$0;second=$1" },
	// A short one has letters in all three, as libc++'s abi is by default.
	{ "std::__1::basic_string<", 0, "char",
	  "__cap_=unsigned long;__size_=unsigned long;__data_=$0*" },
	{ "std::__1::vector<", 0, NULL, "__begin_=$0[]*;__end_=void*;__cap_=void*" },
	{ "std::__1::shared_ptr<", 0, NULL, "__ptr_=$0*;__cntrl_=void*" },
	{ "std::__1::weak_ptr<", 0, NULL, "__ptr_=$0*;__cntrl_=void*" },
	{ "std::__1::unique_ptr<", 1, "std::__1::default_delete<", "__ptr_=$0*" },
	{ "std::__1::__tree_node<", 0, NULL,
	  "__left_=$@*;__right_=$@*;__parent_=void*;__is_black_=bool;__value_=$0" },
	{ "std::__1::__list_node<", 0, NULL, "__prev_=void*;__next_=void*;__value_=$0" },
	{ "std::__1::__hash_node<", 0, NULL, "__next_=$@*;__hash_=unsigned long;__value_=$0" },
};

static const struct base {
	const char *name;
	uint8_t size, flags;
} bases[] = {
	{ "char", 1, HEAP_TYPE_SIGNED | HEAP_TYPE_CHARACTER },
	{ "signed char", 1, HEAP_TYPE_SIGNED },
	{ "unsigned char", 1, 0 },
	{ "char8_t", 1, HEAP_TYPE_CHARACTER },
	{ "char16_t", 2, HEAP_TYPE_CHARACTER },
	{ "char32_t", 4, HEAP_TYPE_CHARACTER },
	{ "wchar_t", 4, HEAP_TYPE_SIGNED | HEAP_TYPE_CHARACTER },
	{ "bool", 1, HEAP_TYPE_BOOLEAN },
	{ "short", 2, HEAP_TYPE_SIGNED },
	{ "unsigned short", 2, 0 },
	{ "int", 4, HEAP_TYPE_SIGNED },
	{ "unsigned int", 4, 0 },
	{ "long", 8, HEAP_TYPE_SIGNED },
	{ "unsigned long", 8, 0 },
	{ "long long", 8, HEAP_TYPE_SIGNED },
	{ "unsigned long long", 8, 0 },
	{ "__int128", 16, HEAP_TYPE_SIGNED },
	{ "unsigned __int128", 16, 0 },
	{ "float", 4, HEAP_TYPE_SIGNED | HEAP_TYPE_FLOAT },
	{ "double", 8, HEAP_TYPE_SIGNED | HEAP_TYPE_FLOAT },
	// Rust's
	{ "u8", 1, 0 },
	{ "i8", 1, HEAP_TYPE_SIGNED },
	{ "u16", 2, 0 },
	{ "i16", 2, HEAP_TYPE_SIGNED },
	{ "u32", 4, 0 },
	{ "i32", 4, HEAP_TYPE_SIGNED },
	{ "u64", 8, 0 },
	{ "i64", 8, HEAP_TYPE_SIGNED },
	{ "usize", 8, 0 },
	{ "isize", 8, HEAP_TYPE_SIGNED },
	{ "f32", 4, HEAP_TYPE_SIGNED | HEAP_TYPE_FLOAT },
	{ "f64", 8, HEAP_TYPE_SIGNED | HEAP_TYPE_FLOAT },
};

// --- the table ----------------------------------------------------------------

// A type that was made here, or that vtables have left opaque.
struct entry {
	uint32_t name; // as symbols spell it; in types->strings
	heap_type_id type;
	const struct layout *layout; // NULL: it has none
	bool is_complete;            // its size is known, or it can have none
};

struct library_types {
	struct heap_types *types;
	struct class_names *names; // of the types that are there without us
	struct HEAP_ARRAY(struct entry) entries;
	struct heap_hash_table by_name;
	struct heap_hash_table
		pointers; // that were added, by pointee: blocks of one are of one type
};

static bool begins(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

static const struct layout *find_layout(const char *name)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
		const struct layout *layout = &layouts[i];
		size_t length;
		const char *argument;

		if (!begins(name, layout->template) || heap_template_length(name) != strlen(name))
			continue;
		argument = heap_template_argument(name, layout->argument, &length);
		if (!layout->value || (argument && begins(argument, layout->value)))
			return layout;
	}
	return NULL;
}

static struct entry *find_entry(const struct library_types *library, const char *name)
{
	uint32_t found = heap_hash_find(
		&library->by_name, heap_hash_string(name), i,
		strcmp(heap_types_string(library->types, library->entries.items[i].name), name) ==
			0);

	return found == HEAP_HASH_NONE ? NULL : &library->entries.items[found];
}

static struct entry *find_by_type(const struct library_types *library, heap_type_id type)
{
	for (size_t i = 0; type != HEAP_NO_TYPE && i < library->entries.count; i++) {
		if (library->entries.items[i].type == type)
			return &library->entries.items[i];
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_entry(struct library_types *library, const struct entry *entry)
{
	const char *name = heap_types_string(library->types, entry->name);
	uint32_t number = (uint32_t)library->entries.count;

	HEAP_TRY(heap_array_append(&library->entries, *entry));
	return heap_hash_add(&library->by_name, heap_hash_string(name), number);
}

// Adds the classes that vtables have found; only their names are known.
HEAP_MUST_CHECK
static struct heap_error *adopt_classes(struct library_types *library)
{
	const struct heap_types *types = library->types;
	const uint8_t flags = HEAP_TYPE_DECLARATION | HEAP_TYPE_POLYMORPHIC;

	for (heap_type_id id = 1; id < types->count; id++) {
		const struct heap_type *type = &types->types[id];
		const char *name = heap_types_string(types, type->name);

		if (type->kind != HEAP_TYPE_CLASS || (type->flags & flags) != flags ||
		    type->name == 0)
			continue;
		HEAP_TRY(add_entry(library, &(struct entry){ .name = type->name,
							     .type = id,
							     .layout = find_layout(name) }));
	}
	return NULL;
}

// True for a class of the standard library that is declared only.
static bool is_declared(const struct heap_types *types, heap_type_id id)
{
	const uint8_t flags = HEAP_TYPE_DECLARATION | HEAP_TYPE_POLYMORPHIC;
	const struct heap_type *type = &types->types[id];

	return (type->kind == HEAP_TYPE_CLASS || type->kind == HEAP_TYPE_STRUCT) &&
	       (type->flags & flags) == HEAP_TYPE_DECLARATION && type->size == 0 &&
	       begins(heap_types_string(types, type->name), "std::");
}

// Indexes the types of the standard library that are defined, by name.
HEAP_MUST_CHECK
static struct heap_error *index_defined(const struct heap_types *types,
					struct heap_hash_table *result)
{
	for (heap_type_id id = 1; id < types->count; id++) {
		const char *name = heap_types_string(types, types->types[id].name);

		if (types->types[id].size > 0 && begins(name, "std::"))
			HEAP_TRY(heap_hash_add(result, heap_hash_string(name), id));
	}
	return NULL;
}

static bool is_defined(const struct heap_types *types, const struct heap_hash_table *defined,
		       const char *name)
{
	return heap_hash_find(defined, heap_hash_string(name), id,
			      strcmp(heap_types_string(types, types->types[id].name), name) == 0) !=
	       HEAP_HASH_NONE;
}

static void destroy(struct library_types **library)
{
	library_types_destroy(*library);
}

struct heap_error *library_types_create(struct heap_types *types, struct library_types **result)
{
	CLEANUP(destroy) struct library_types *library = calloc(1, sizeof(*library));

	*result = NULL;
	if (!library)
		return heap_error_out_of_memory();
	library->types = types;
	HEAP_TRY(class_names_create(types, &library->names));
	HEAP_TRY(adopt_classes(library));
	*result = keep(library);
	return NULL;
}

void library_types_destroy(struct library_types *library)
{
	if (!library)
		return;
	class_names_destroy(library->names);
	heap_array_deinit(&library->entries);
	heap_hash_table_deinit(&library->by_name);
	heap_hash_table_deinit(&library->pointers);
	free(library);
}

// --- names --------------------------------------------------------------------

// A part of a name that replaces a "$" and a letter.
struct piece {
	const char *text; // NULL: there is none
	size_t length;
};

static struct piece find_argument(const char *instance, unsigned index)
{
	struct piece piece = { 0 };

	piece.text = heap_template_argument(instance, index, &piece.length);
	return piece;
}

static struct piece find_piece(const char *instance, size_t length, char key)
{
	static const char traits[] = "std::__detail::_Hashtable_traits<";
	const char *mention;

	switch (key) {
	case '@':
		return (struct piece){ instance, length };
	case 'A':
		return find_argument(instance, 0).text
			       ? find_argument(find_argument(instance, 0).text, 0)
			       : (struct piece){ 0 };
	case 'C':
		mention = strstr(instance, traits);
		return mention ? find_argument(mention, 0) : (struct piece){ 0 };
	default:
		return find_argument(instance, (unsigned)(key - '0'));
	}
}

size_t library_types_substitute(const char *pattern, const char *instance, size_t length,
				char *result, size_t size)
{
	size_t at = 0;

	for (const char *p = pattern; *p; p++) {
		struct piece piece = { p, 1 };

		if (*p == '$')
			piece = find_piece(instance, length, *++p);
		if (!piece.text || piece.length >= size - at)
			return 0;
		memcpy(result + at, piece.text, piece.length);
		at += piece.length;
	}
	result[at] = '\0';
	return at;
}

// Removes spaces and qualifiers around a name.
static void trim(const char **name, size_t *length)
{
	static const char *const words[] = { "const", "volatile" };

	for (bool again = true; again;) {
		again = false;
		while (*length > 0 && **name == ' ')
			(*name)++, (*length)--;
		while (*length > 0 && (*name)[*length - 1] == ' ')
			(*length)--;
		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
			size_t word = strlen(words[i]);

			if (*length > word + 1 && memcmp(*name, words[i], word) == 0 &&
			    (*name)[word] == ' ') {
				*name += word;
				*length -= word;
				again = true;
			} else if (*length > word &&
				   memcmp(*name + *length - word, words[i], word) == 0 &&
				   strchr(" *>&", (*name)[*length - word - 1])) {
				*length -= word;
				again = true;
			}
		}
	}
}

HEAP_MUST_CHECK
static struct heap_error *resolve(struct library_types *library, const char *name, size_t length,
				  int depth, heap_type_id *result);

struct heap_error *library_types_add_pointer(struct library_types *library, heap_type_id target,
					     heap_type_id *result)
{
	struct heap_types *types = library->types;
	uint64_t hash = heap_hash_u64(target);
	uint32_t found =
		heap_hash_find(&library->pointers, hash, id, types->types[id].target == target);

	*result = found;
	if (found != HEAP_HASH_NONE)
		return NULL;
	HEAP_TRY(heap_types_add(
		types,
		&(struct heap_type){ .kind = HEAP_TYPE_POINTER, .size = WORD, .target = target },
		result));
	return heap_hash_add(&library->pointers, hash, *result);
}

// A pointer to any type.
HEAP_MUST_CHECK
static struct heap_error *resolve_pointer(struct library_types *library, const char *name,
					  size_t length, int depth, heap_type_id *result)
{
	heap_type_id target = HEAP_NO_TYPE;

	if (length > 0)
		HEAP_TRY(resolve(library, name, length, depth + 1, &target));
	return library_types_add_pointer(library, target, result);
}

struct heap_error *library_types_add_array(struct library_types *library, heap_type_id element,
					   heap_type_id *result)
{
	return heap_types_add(library->types,
			      &(struct heap_type){ .kind = HEAP_TYPE_ARRAY,
						   .flags = HEAP_TYPE_FLEXIBLE,
						   .target = element },
			      result);
}

// "int [4]", "int []"
HEAP_MUST_CHECK
static struct heap_error *resolve_array(struct library_types *library, const char *name,
					size_t length, int depth, heap_type_id *result)
{
	size_t open = length - 1;
	heap_type_id element;

	while (open > 0 && name[open] != '[')
		open--;

	uint64_t count = strtoull(name + open + 1, NULL, 10);

	HEAP_TRY(resolve(library, name, open, depth + 1, &element));
	if (element == HEAP_NO_TYPE || count == 0)
		return library_types_add_array(library, element, result);
	return heap_types_add(
		library->types,
		&(struct heap_type){ .kind = HEAP_TYPE_ARRAY,
				     .target = element,
				     .count = count,
				     .size = count * library->types->types[element].size },
		result);
}

HEAP_MUST_CHECK
static struct heap_error *add_named(struct library_types *library, const char *name,
				    const struct base *base, heap_type_id *result)
{
	struct heap_types *types = library->types;
	struct heap_type type = {
		.kind = base ? HEAP_TYPE_BASE : HEAP_TYPE_CLASS,
		.flags = base ? base->flags : HEAP_TYPE_DECLARATION,
		.size = base ? base->size : 0,
	};

	HEAP_TRY(heap_types_add_string(types, name, &type.name));
	HEAP_TRY(heap_types_add(types, &type, result));
	return add_entry(library, &(struct entry){ .name = type.name,
						   .type = *result,
						   .layout = base ? NULL : find_layout(name),
						   .is_complete = base });
}

static heap_type_id find_base(const struct heap_types *types, const struct base *base)
{
	for (heap_type_id id = 1; id < types->count; id++) {
		const struct heap_type *type = &types->types[id];

		if (type->kind == HEAP_TYPE_BASE && type->size == base->size &&
		    strcmp(heap_types_string(types, type->name), base->name) == 0)
			return id;
	}
	return HEAP_NO_TYPE;
}

HEAP_MUST_CHECK
static struct heap_error *resolve_named(struct library_types *library, const char *name,
					heap_type_id *result)
{
	const struct entry *entry = find_entry(library, name);
	const struct base *base = NULL;

	*result = entry ? entry->type : class_names_find(library->names, name, strlen(name));
	if (*result != HEAP_NO_TYPE || strcmp(name, "void") == 0 || *name == '(' ||
	    isdigit((unsigned char)*name))
		return NULL;
	for (size_t i = 0; i < sizeof(bases) / sizeof(*bases); i++) {
		if (strcmp(bases[i].name, name) == 0)
			base = &bases[i];
	}
	if (base)
		*result = find_base(library->types, base);
	return *result == HEAP_NO_TYPE
		       ? add_named(library, name, base, result)
		       : add_entry(library,
				   &(struct entry){ .name = library->types->types[*result].name,
						    .type = *result,
						    .is_complete = true });
}

HEAP_MUST_CHECK
static struct heap_error *resolve(struct library_types *library, const char *name, size_t length,
				  int depth, heap_type_id *result)
{
	char copy[MAX_NAME];

	*result = HEAP_NO_TYPE;
	trim(&name, &length);
	if (length == 0 || length >= sizeof(copy) || depth > MAX_DEPTH)
		return NULL;
	switch (name[length - 1]) {
	case '*':
	case '&':
		return resolve_pointer(library, name, length - 1, depth, result);
	case ']':
		return resolve_array(library, name, length, depth, result);
	case ')': // a function, or a pointer to one
		return resolve_pointer(library, NULL, 0, depth, result);
	default:
		memcpy(copy, name, length);
		copy[length] = '\0';
		return resolve_named(library, copy, result);
	}
}

struct heap_error *library_types_find(struct library_types *library, const char *name,
				      size_t length, heap_type_id *result)
{
	return resolve(library, name, length, 0, result);
}

struct heap_error *library_types_add(struct library_types *library, const struct heap_type *type,
				     heap_type_id *result)
{
	const struct entry *known =
		find_entry(library, heap_types_string(library->types, type->name));

	*result = known ? known->type : HEAP_NO_TYPE;
	if (known)
		return NULL;
	HEAP_TRY(heap_types_add(library->types, type, result));
	return add_entry(
		library,
		&(struct entry){ .name = type->name, .type = *result, .is_complete = true });
}

bool library_types_is_opaque(const struct library_types *library, heap_type_id type)
{
	const struct entry *entry = find_by_type(library, type);

	return entry && !entry->layout && !entry->is_complete &&
	       !(library->types->types[type].flags & HEAP_TYPE_POLYMORPHIC) &&
	       !begins(heap_types_string(library->types, entry->name), "std::");
}

// --- layouts ------------------------------------------------------------------

static uint64_t alignment_of(const struct heap_types *types, heap_type_id id, int depth)
{
	const struct heap_type *type = &types->types[id = heap_types_strip(types, id)];
	uint64_t result = 1;

	if (type->kind == HEAP_TYPE_ARRAY)
		return alignment_of(types, type->target, depth + 1);
	if (!heap_types_has_members(type))
		return type->size == 0 || type->size > MAX_ALIGNMENT ? WORD : type->size;
	// The members of an opaque class are unknown. Most have a word among them.
	if (type->members == 0 || depth > MAX_DEPTH)
		return type->size % WORD == 0 ? WORD : type->size % 4 == 0 ? 4 : 1;
	for (uint32_t i = 0; i < type->members; i++) {
		uint64_t each =
			alignment_of(types, types->members[type->first_member + i].type, depth + 1);

		result = each > result ? each : result;
	}
	return result;
}

static uint64_t align(uint64_t offset, uint64_t alignment)
{
	return (offset + alignment - 1) / alignment * alignment;
}

struct members {
	struct heap_member list[MAX_MEMBERS];
	uint32_t count;
	uint32_t unknown; // whose size is not known; count: none
	uint64_t size;    // of all; without the unknown one
};

// Resolves the members of a layout and places them in order.
HEAP_MUST_CHECK
static struct heap_error *find_members(struct library_types *library, const struct entry *entry,
				       struct members *members)
{
	struct heap_types *types = library->types;
	char instance[MAX_NAME], pattern[256], name[MAX_NAME];
	uint64_t alignment = 1;
	uint32_t unknowns = 0;

	*members = (struct members){ .unknown = MAX_MEMBERS };
	snprintf(instance, sizeof(instance), "%s", heap_types_string(types, entry->name));
	for (const char *at = entry->layout->members; *at && members->count < MAX_MEMBERS;) {
		size_t end = strcspn(at, ";"), equals = strcspn(at, "=");
		struct heap_member *member = &members->list[members->count];

		snprintf(pattern, sizeof(pattern), "%.*s", (int)equals, at);
		HEAP_TRY(heap_types_add_string(types, pattern, &member->name));
		snprintf(pattern, sizeof(pattern), "%.*s", (int)(end - equals - 1),
			 at + equals + 1);
		HEAP_TRY(resolve(library, name,
				 library_types_substitute(pattern, instance, strlen(instance), name,
							  sizeof(name)),
				 0, &member->type));

		uint64_t size = heap_types_size(types, member->type);
		uint64_t each = alignment_of(types, member->type, 0);

		member->offset = align(members->size, each);
		alignment = each > alignment ? each : alignment;
		members->size = member->offset + size;
		if (size == 0) {
			members->unknown = members->count;
			unknowns++;
		}
		members->count++;
		at += end + (at[end] == ';');
	}
	if (unknowns > 1)
		members->count = 0;
	members->size = align(members->size, alignment);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *lay_out(struct library_types *library, size_t number, bool *changed)
{
	struct heap_types *types = library->types;
	struct entry entry = library->entries.items[number];
	struct members members;

	HEAP_TRY(find_members(library, &entry, &members));
	if (members.count == 0 || members.unknown != MAX_MEMBERS)
		return NULL;

	uint32_t first = types->member_count;

	for (uint32_t i = 0; i < members.count; i++)
		HEAP_TRY(heap_types_add_member(types, &members.list[i]));

	struct heap_type *type = &types->types[entry.type];

	type->first_member = first;
	type->members = members.count;
	type->size = members.size;
	type->flags &= (uint8_t)~HEAP_TYPE_DECLARATION;
	library->entries.items[number].is_complete = true;
	*changed = true;
	return NULL;
}

struct heap_error *library_types_complete(struct library_types *library)
{
	for (bool changed = true; changed;) {
		changed = false;
		// Resolving members adds entries.
		for (size_t i = 0; i < library->entries.count; i++) {
			if (library->entries.items[i].layout &&
			    !library->entries.items[i].is_complete)
				HEAP_TRY(lay_out(library, i, &changed));
		}
	}
	return NULL;
}

struct heap_error *library_types_define(struct heap_types *types)
{
	CLEANUP(destroy) struct library_types *library = NULL;
	CLEANUP_HASH_TABLE struct heap_hash_table defined = { 0 };
	heap_type_id count = types->count;

	HEAP_TRY(index_defined(types, &defined));
	for (heap_type_id id = 1; id < count; id++) {
		const char *name = heap_types_string(types, types->types[id].name);
		const struct layout *layout = is_declared(types, id) ? find_layout(name) : NULL;

		if (!layout || is_defined(types, &defined, name))
			continue;
		if (!library)
			HEAP_TRY(library_types_create(types, &library));
		HEAP_TRY(add_entry(library, &(struct entry){ .name = types->types[id].name,
							     .type = id,
							     .layout = layout }));
	}
	return library ? library_types_complete(library) : NULL;
}

HEAP_MUST_CHECK
static struct heap_error *set_size(struct library_types *library, heap_type_id id, uint64_t size,
				   int depth)
{
	struct entry *entry = find_by_type(library, id);
	struct members members;

	if (!entry || entry->is_complete || size == 0 || depth > MAX_DEPTH)
		return NULL;
	if (entry->layout) {
		struct entry copy = *entry;

		HEAP_TRY(find_members(library, &copy, &members));
		if (members.count == 0 || members.unknown == MAX_MEMBERS || size <= members.size)
			return NULL;
		return set_size(library, members.list[members.unknown].type, size - members.size,
				depth + 1);
	}
	if (!library_types_is_opaque(library, id))
		return NULL;
	library->types->types[id].size = size;
	library->types->types[id].flags &= (uint8_t)~HEAP_TYPE_DECLARATION;
	entry->is_complete = true;
	return NULL;
}

struct heap_error *library_types_set_size(struct library_types *library, heap_type_id type,
					  uint64_t size)
{
	return set_size(library, type, size, 0);
}
