// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/tags/enum_names.h"

#include "dumper/writer/base/progress.h"
#include "lib/base/cleanup.h"
#include "lib/base/search.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
	SKIPPED_WORDS = 2, // before what names a struct in an enumerator
	SAMPLE = 64,       // enumerators that affixes are looked for with
	AFFIXES = 128,     // different ones, at most
	MIN_COMMON = 3,    // letters that enumerators have in common
	COMMON = 75,       // per cent of them
	MIN_CORE = 3,      // letters of an enumerator's name that an affix is beside
	MAX_ENUMERATORS = 4096,
	MAX_STRUCTS = 4096, // among which an affix is looked for
	FEW_STRUCTS = 8,    // that several enumerators may name
};

size_t enum_names_fold(const char *name, char *folded)
{
	size_t length = 0;

	for (; *name && length + 1 < ENUM_NAME; name++) {
		if (isalnum((unsigned char)*name))
			folded[length++] = (char)tolower((unsigned char)*name);
	}
	folded[length] = '\0';
	return length;
}

static const char *without_scope(const char *name)
{
	const char *scope = strrchr(name, ':');

	return scope ? scope + 1 : name;
}

bool enum_names_set(const struct layouts *layouts, heap_type_id id, struct named_struct *named)
{
	const struct heap_types *types = layouts->types;
	const struct heap_type *type = &types->types[id];

	named->type = layouts_strip(layouts, id);
	return (id == named->type || type->kind == HEAP_TYPE_TYPEDEF) && type->name != 0 &&
	       layouts_is_compound(layouts, named->type) &&
	       enum_names_fold(without_scope(heap_types_string(types, type->name)), named->name) >
		       0;
}

size_t enum_names_core(const struct heap_types *types, heap_type_id tag, uint32_t enumerator,
		       int skipped, char *folded)
{
	const struct heap_type *type = &types->types[tag];
	const char *name = without_scope(
		heap_types_string(types, types->enumerators[type->first_member + enumerator].name));

	for (; skipped > 0; skipped--) {
		const char *next = strchr(name, '_');

		if (!next)
			return 0;
		name = next + 1;
	}
	return enum_names_fold(name, folded);
}

// The only struct of a name; HEAP_NO_TYPE: there is none, or several.
static heap_type_id find_struct(const struct enum_structs *structs, const char *name)
{
	size_t at =
		heap_partition_point(i, 0, structs->count, strcmp(structs->list[i].name, name) < 0);
	heap_type_id found = HEAP_NO_TYPE;

	for (; at < structs->count && strcmp(structs->list[at].name, name) == 0; at++) {
		if (found != HEAP_NO_TYPE && found != structs->list[at].type)
			return HEAP_NO_TYPE;
		found = structs->list[at].type;
	}
	progress_step();
	return found;
}

// The part of an enumerator's name that names a struct by a rule. @param core  [ENUM_NAME] @return its length
static size_t cut_core(const struct enum_structs *structs, const struct enum_naming_rule *rule,
		       uint32_t enumerator, char *core)
{
	size_t length =
		enum_names_core(structs->types, structs->tag, enumerator, rule->skipped, core);
	char common[ENUM_NAME];

	if (rule->front + rule->back == 0)
		return length;
	// Others than most are cut by none of their own letters.
	enum_names_core(structs->types, structs->tag, 0, rule->skipped, common);
	if (length <= rule->front + rule->back || memcmp(core, common, rule->front) != 0 ||
	    memcmp(core + length - rule->back, common + strlen(common) - rule->back, rule->back) !=
		    0)
		return 0;
	length -= rule->front + rule->back;
	memmove(core, core + rule->front, length);
	core[length] = '\0';
	return length;
}

heap_type_id enum_names_apply(const struct enum_structs *structs,
			      const struct enum_naming_rule *rule, uint32_t enumerator)
{
	char core[ENUM_NAME], name[2 * ENUM_NAME];

	if (cut_core(structs, rule, enumerator, core) == 0)
		return HEAP_NO_TYPE;
	strcpy(name, rule->is_before ? rule->affix : core);
	strcat(name, rule->is_before ? core : rule->affix);
	return find_struct(structs, name);
}

uint32_t enum_names_count(const struct enum_structs *structs)
{
	uint32_t count = structs->types->types[structs->tag].members;

	return count < MAX_ENUMERATORS ? count : MAX_ENUMERATORS;
}

// Counts the structs that enumerators name. Those that all name one struct have no names of structs in them, but a word in
// common that one struct has, too.
static void count_named(const struct enum_structs *structs, struct enum_naming_rule *rule)
{
	heap_type_id named[FEW_STRUCTS];
	uint32_t kept = 0;

	rule->count = 0;
	for (uint32_t i = 0; i < enum_names_count(structs); i++) {
		heap_type_id type = enum_names_apply(structs, rule, i);
		bool is_known = false;

		for (uint32_t j = 0; j < kept && !is_known; j++)
			is_known = named[j] == type;
		if (type == HEAP_NO_TYPE || is_known)
			continue;
		rule->count++;
		if (kept < FEW_STRUCTS)
			named[kept++] = type;
	}
}

// Counts an affix. @return how many there are then
static uint32_t count_affix(struct enum_naming_rule *rules, uint32_t count, int skipped,
			    bool is_before, const char *affix, size_t length)
{
	uint32_t at = 0;

	while (at < count &&
	       (rules[at].skipped != skipped || rules[at].is_before != is_before ||
		strlen(rules[at].affix) != length || strncmp(rules[at].affix, affix, length) != 0))
		at++;
	if (at == AFFIXES)
		return count;
	if (at == count) {
		rules[count] =
			(struct enum_naming_rule){ .skipped = skipped, .is_before = is_before };
		memcpy(rules[count++].affix, affix, length);
	}
	rules[at].count++;
	return count;
}

// Finds the affix that the names of most structs have beside the name of an enumerator.
static void find_affix(const struct enum_structs *structs, struct enum_naming_rule *rules,
		       struct enum_naming_rule *best)
{
	uint32_t count = 0,
		 sample = enum_names_count(structs) < SAMPLE ? enum_names_count(structs) : SAMPLE;
	char core[ENUM_NAME];

	for (uint32_t i = 0; i < sample * (SKIPPED_WORDS + 1); i++) {
		int skipped = (int)(i % (SKIPPED_WORDS + 1));
		size_t length = enum_names_core(structs->types, structs->tag,
						i / (SKIPPED_WORDS + 1), skipped, core);

		for (size_t j = 0; length >= MIN_CORE && j < structs->count; j++) {
			const char *name = structs->list[j].name;
			size_t own = strlen(name);

			progress_step();
			if (own <= length)
				continue;
			if (memcmp(name, core, length) == 0)
				count = count_affix(rules, count, skipped, false, name + length,
						    own - length);
			if (memcmp(name + own - length, core, length) == 0)
				count = count_affix(rules, count, skipped, true, name,
						    own - length);
		}
	}
	for (uint32_t i = 0; i < count; i++) {
		if (rules[i].count > best->count)
			*best = rules[i];
	}
}

// True if most enumerators begin, or end, with so many letters of the first one.
static bool is_common(const struct enum_structs *structs, const char *first, size_t length,
		      bool at_end)
{
	uint32_t sample = enum_names_count(structs) < SAMPLE ? enum_names_count(structs) : SAMPLE;
	uint32_t count = 0;
	char name[ENUM_NAME];

	for (uint32_t i = 0; i < sample; i++) {
		size_t own = enum_names_core(structs->types, structs->tag, i, 0, name);

		progress_step();
		count += own > length &&
			 memcmp(at_end ? name + own - length : name,
				at_end ? first + strlen(first) - length : first, length) == 0;
	}
	return count * UINT64_C(100) >= sample * (uint64_t)COMMON;
}

// The letters that most enumerators begin, or end, with.
static size_t find_common(const struct enum_structs *structs, bool at_end)
{
	char first[ENUM_NAME];
	size_t length = enum_names_count(structs) > 0
				? enum_names_core(structs->types, structs->tag, 0, 0, first)
				: 0;

	while (length >= MIN_COMMON && !is_common(structs, first, length, at_end))
		length--;
	return length < MIN_COMMON ? 0 : length;
}

// Tries rules that cut the letters which most enumerators have in common.
static void try_common(const struct enum_structs *structs, struct enum_naming_rule *best)
{
	size_t front = find_common(structs, false), back = find_common(structs, true);

	for (int i = 1; i < 4; i++) {
		struct enum_naming_rule rule = { .front = i & 1 ? front : 0,
						 .back = i & 2 ? back : 0 };

		if (rule.front + rule.back == 0)
			continue;
		count_named(structs, &rule);
		if (rule.count > best->count)
			*best = rule;
	}
}

struct heap_error *enum_names_find_rule(const struct enum_structs *structs, uint32_t enough,
					struct enum_naming_rule *result)
{
	CLEANUP_FREE struct enum_naming_rule *rules = NULL;

	*result = (struct enum_naming_rule){ 0 };
	for (int skipped = 0; skipped <= SKIPPED_WORDS; skipped++) {
		struct enum_naming_rule rule = { .skipped = skipped };

		count_named(structs, &rule);
		if (rule.count > result->count)
			*result = rule;
	}
	if (result->count < enough)
		try_common(structs, result);
	if (result->count >= enough || structs->count > MAX_STRUCTS)
		return NULL;
	rules = malloc(AFFIXES * sizeof(*rules));
	if (!rules)
		return heap_error_out_of_memory();
	find_affix(structs, rules, result);
	count_named(structs, result);
	return NULL;
}
