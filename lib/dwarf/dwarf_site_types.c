// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_site_types.h"

#include "lib/base/hash.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/dwarf/dwarf_constants.h"

#include <stdlib.h>
#include <string.h>

enum {
	FIRST_SEEN = 64, // slots for variables of a function
};

struct search {
	struct heap_dwarf_code *code;
	struct heap_dwarf_site_types found;
	uint64_t *seen; // [seen_size] hash table: roots of visited variables of the function
	size_t seen_count, seen_size;
	uint8_t depth;
};

HEAP_MUST_CHECK
static struct heap_error *add(struct search *search, uint64_t type, uint32_t line,
			      enum heap_dwarf_site_type_kind kind)
{
	struct heap_dwarf_site_types *found = &search->found;

	if (!type)
		return NULL;
	HEAP_TRY(heap_reserve(found->types, found->capacity, found->count + 1));
	found->types[found->count++] = (struct heap_dwarf_site_type){
		.type = type, .depth = search->depth, .kind = kind, .line = line
	};
	return NULL;
}

// Where a root is among those seen, or where it would be: 0 stands for none.
static uint64_t *find_seen(uint64_t *seen, size_t size, uint64_t root)
{
	size_t at = (heap_hash_scatter(root) >> 32) & (size - 1);

	while (seen[at] != 0 && seen[at] != root)
		at = (at + 1) & (size - 1);
	return &seen[at];
}

HEAP_MUST_CHECK
static struct heap_error *grow_seen(struct search *search)
{
	size_t size = search->seen_size ? search->seen_size * 2 : FIRST_SEEN;
	uint64_t *larger = calloc(size, sizeof(*larger));

	if (!larger)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < search->seen_size; i++) {
		if (search->seen[i] != 0)
			*find_seen(larger, size, search->seen[i]) = search->seen[i];
	}
	free(search->seen);
	search->seen = larger;
	search->seen_size = size;
	return NULL;
}

// Notes a variable of the function; it may have been visited as a copy or as the original.
HEAP_MUST_CHECK
static struct heap_error *note(struct search *search, uint64_t root, bool *is_new)
{
	uint64_t *seen;

	if (search->seen_count * 2 >= search->seen_size) {
		struct heap_error *error = grow_seen(search);

		if (error)
			return error;
	}
	seen = find_seen(search->seen, search->seen_size, root);
	*is_new = *seen != root;
	*seen = root;
	search->seen_count += *is_new;
	return NULL;
}

// Begins with another function. A table that a large one has made is not cleared for each.
static void forget_seen(struct search *search)
{
	if (search->seen_size > FIRST_SEEN) {
		free(search->seen);
		search->seen = NULL;
		search->seen_size = 0;
	} else if (search->seen_count > 0) {
		memset(search->seen, 0, search->seen_size * sizeof(*search->seen));
	}
	search->seen_count = 0;
}

HEAP_MUST_CHECK
static struct heap_error *add_variable(struct search *search, uint64_t place, bool is_parameter)
{
	struct heap_dwarf_description entry;
	bool is_new = false;

	HEAP_TRY(heap_dwarf_code_describe(search->code, place, &entry));
	HEAP_TRY(note(search, entry.root, &is_new));
	if (!is_new)
		return NULL;
	return add(search, entry.type, entry.line,
		   is_parameter ? HEAP_DWARF_SITE_PARAMETER : HEAP_DWARF_SITE_LOCAL);
}

// Has the original of a variable passed over, too.
HEAP_MUST_CHECK
static struct heap_error *pass_over(struct search *search, uint64_t place)
{
	struct heap_dwarf_description entry;
	bool is_new;

	HEAP_TRY(heap_dwarf_code_describe(search->code, place, &entry));
	return note(search, entry.root, &is_new);
}

static bool is_function(uint16_t tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
	       tag == DW_TAG_subroutine_type;
}

// The variables of an abstract function, which has no code of its own but inlined copies.
// Those that were optimized away altogether are only there.
HEAP_MUST_CHECK
static struct heap_error *add_abstract(struct search *search, uint64_t function)
{
	const struct heap_dwarf_dies *dies;
	unsigned depth = 0, inside = 0; // inside: depth of a function in the function
	uint64_t place = function, next, end;

	do {
		uint16_t tag;
		bool children;

		HEAP_TRY(heap_dwarf_code_visit(search->code, place, heap_dwarf_ignore_attribute,
					       NULL, &dies, &tag, &children, &next));
		end = dies->unit->end;
		if (!inside && depth && (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter))
			HEAP_TRY(add_variable(search, place, tag == DW_TAG_formal_parameter));
		if (!tag && depth)
			depth--;
		if (inside && depth < inside)
			inside = 0;
		if (children)
			depth++;
		if (children && !inside && depth > 1 && is_function(tag))
			inside = depth;
		place = next;
	} while (depth && place < end);
	return NULL;
}

// The function, or copy of one, that a scope is in.
static uint32_t function_of(const struct heap_dwarf_code_unit *unit, uint32_t scope)
{
	while (unit->scopes[scope].kind == HEAP_DWARF_CODE_BLOCK)
		scope = unit->scopes[scope].parent;
	return scope;
}

static bool is_inside(const struct heap_dwarf_code_unit *unit, uint32_t scope, uint32_t other)
{
	return scope >= other && scope < unit->scopes[other].end;
}

// True if the pc is in one block of a function, and the scope of a variable is another, neither around it nor in it: code of
// one branch does not set the variables of another one. The place of a block that was optimized away is not known.
static bool is_elsewhere(const struct heap_dwarf_code_unit *unit, uint32_t scope,
			 uint32_t innermost)
{
	return unit->scopes[innermost].kind == HEAP_DWARF_CODE_BLOCK &&
	       unit->scopes[scope].range_count > 0 && !is_inside(unit, innermost, scope) &&
	       !is_inside(unit, scope, innermost);
}

// Adds what a function handles. @param innermost  of its own scopes at the pc: itself, or a block
HEAP_MUST_CHECK
static struct heap_error *add_function(struct search *search,
				       const struct heap_dwarf_code_unit *unit, uint32_t function,
				       uint32_t innermost)
{
	const struct heap_dwarf_code_scope *scope = &unit->scopes[function];
	struct heap_dwarf_description entry;

	HEAP_TRY(heap_dwarf_code_describe(search->code, scope->place, &entry));
	forget_seen(search);
	for (uint32_t i = scope->first_variable; i < scope->end_variable; i++) {
		const struct heap_dwarf_code_variable *variable = &unit->variables[i];

		if (function_of(unit, variable->scope) != function)
			continue;
		if (is_elsewhere(unit, variable->scope, innermost))
			HEAP_TRY(pass_over(search, variable->place));
		else
			HEAP_TRY(add_variable(search, variable->place, variable->is_parameter));
	}
	if (entry.original)
		HEAP_TRY(add_abstract(search, entry.original));
	return add(search, entry.type, entry.line, HEAP_DWARF_SITE_RETURN);
}

static bool begins_at(const struct heap_dwarf_code_unit *unit, uint32_t scope, uint64_t pc)
{
	const struct heap_dwarf_code_scope *own = &unit->scopes[scope];

	for (uint32_t i = 0; i < own->range_count; i++) {
		if (unit->ranges[own->first_range + i].low == pc)
			return true;
	}
	return false;
}

static void search_deinit(struct search *search)
{
	free(search->seen);
	heap_dwarf_site_types_deinit(&search->found);
}

struct heap_error *heap_dwarf_site_types_find(struct heap_dwarf_code *code, uint64_t pc,
					      struct heap_dwarf_site_types *result)
{
	CLEANUP(search_deinit) struct search search = { .code = code };
	const struct heap_dwarf_code_unit *unit;
	uint32_t scopes[HEAP_DWARF_CODE_DEPTH], innermost = HEAP_DWARF_CODE_NONE;

	HEAP_TRY(heap_dwarf_code_find_unit(code, pc, &unit));
	for (size_t i = unit ? heap_dwarf_code_unit_find(unit, pc, scopes) : 0; i > 0; i--) {
		uint32_t scope = scopes[i - 1];

		if (innermost == HEAP_DWARF_CODE_NONE)
			innermost = scope;
		if (unit->scopes[scope].kind == HEAP_DWARF_CODE_BLOCK)
			continue;
		// All of the function is ahead of its first instruction, whatever block that is from.
		HEAP_TRY(add_function(&search, unit, scope,
				      begins_at(unit, scope, pc) ? scope : innermost));
		search.depth++;
		innermost = HEAP_DWARF_CODE_NONE;
	}
	search.found.functions = search.depth;
	search.found.is_complete = heap_dwarf_code_is_complete(code);
	*result = keep(search.found);
	return NULL;
}

void heap_dwarf_site_types_deinit(struct heap_dwarf_site_types *types)
{
	free(types->types);
	*types = (struct heap_dwarf_site_types){ 0 };
}

// --- the cache -------------------------------------------------------------------------------

enum {
	TYPE_NUMBERS = 4, // of each type
};

static struct heap_dwarf_question ask(uint64_t pc)
{
	return (struct heap_dwarf_question){ HEAP_DWARF_QUESTION_SITE_TYPES, pc, 0 };
}

void heap_dwarf_site_types_note(struct heap_dwarf_answers *cache, uint64_t pc,
				const struct heap_dwarf_site_types *types)
{
	struct heap_dwarf_answer_writer writer = { .answers = cache };
	const struct heap_dwarf_question question = ask(pc);

	if (!types->is_complete)
		return;
	heap_dwarf_answer_put(&writer, types->functions);
	for (size_t i = 0; i < types->count; i++) {
		heap_dwarf_answer_put(&writer, types->types[i].type);
		heap_dwarf_answer_put(&writer, types->types[i].depth);
		heap_dwarf_answer_put(&writer, types->types[i].kind);
		heap_dwarf_answer_put(&writer, types->types[i].line);
	}
	heap_dwarf_answer_add(&writer, &question);
}

bool heap_dwarf_site_types_recall(struct heap_dwarf_answers *cache, uint64_t pc,
				  struct heap_dwarf_site_types *result)
{
	CLEANUP(heap_dwarf_site_types_deinit) struct heap_dwarf_site_types types = { 0 };
	const struct heap_dwarf_question question = ask(pc);
	struct heap_dwarf_answer answer;

	if (!heap_dwarf_answers_find(cache, &question, &answer))
		return false;
	types.is_complete = true;
	types.functions = (uint8_t)heap_dwarf_answer_next(&answer);
	types.types = calloc(answer.count / TYPE_NUMBERS + 1, sizeof(*types.types));
	if (!types.types)
		return false;
	while (types.count < answer.count / TYPE_NUMBERS) {
		struct heap_dwarf_site_type *type = &types.types[types.count++];

		// Not in an initializer, whose expressions may be evaluated in any order.
		type->type = heap_dwarf_answer_next(&answer);
		type->depth = (uint8_t)heap_dwarf_answer_next(&answer);
		type->kind = (uint8_t)heap_dwarf_answer_next(&answer);
		type->line = (uint32_t)heap_dwarf_answer_next(&answer);
	}
	if (!heap_dwarf_answer_is_good(&answer))
		return false;
	*result = keep(types);
	return true;
}
