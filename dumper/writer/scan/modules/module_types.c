// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/modules/module_types.h"

#include "dumper/writer/base/supervisor.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/hash_table.h"
#include "lib/dwarf/dwarf_file_units.h"
#include "lib/dwarf/dwarf_types.h"
#include "lib/types/types_index.h"

#include <string.h>

enum {
	MAX_DERIVED = 32, // types around a type of the module, in a cached one
};

struct module_unit {
	struct heap_unit_types types; // which entries are which types of the snapshot's
};

struct place_type {
	uint64_t place;
	heap_type_id type;
};

struct module_types {
	struct module_unit **units; // [unit_count] NULL until one is needed
	size_t unit_count;
	struct HEAP_ARRAY(struct place_type) known; // that were looked up
	struct heap_hash_table by_place;
	uint32_t *
		numbers; // [number_count] by type of the snapshot: its number in the module's table, or 0
	uint32_t number_count;
};

static void destroy(struct module_types *types)
{
	if (!types)
		return;
	for (size_t i = 0; i < types->unit_count; i++) {
		if (!types->units[i])
			continue;
		heap_unit_types_deinit(&types->units[i]->types);
		free(types->units[i]);
	}
	heap_array_deinit(&types->known);
	heap_hash_table_deinit(&types->by_place);
	free(types->numbers);
	free(types->units);
	free(types);
}

// The types that were looked up. @return NULL: there is no memory
static struct module_types *get_lookup(struct module *module)
{
	if (!module->type_lookup)
		module->type_lookup = calloc(1, sizeof(*module->type_lookup));
	return module->type_lookup;
}

void module_types_deinit(struct modules *modules)
{
	for (size_t i = 0; i < modules->count; i++)
		destroy(modules->modules[i].type_lookup);
}

// --- from debug information ------------------------------------------------------------------

// Reads the types of one unit into the snapshot's table. Of a damaged one there are none.
HEAP_MUST_CHECK
static struct heap_error *read_unit(struct module *module, uint64_t place, struct heap_types *types,
				    struct module_unit *unit)
{
	CLEANUP_FREE heap_type_id *map = NULL;
	struct heap_error *error = heap_unit_types_read(module->dwarf, place, &unit->types);

	if (error)
		return error;
	map = calloc(unit->types.types.count, sizeof(*map));
	error = map ? heap_types_merge(types, &unit->types.types, map) : heap_error_out_of_memory();
	if (error) {
		heap_unit_types_deinit(&unit->types);
		return error;
	}
	for (size_t i = 0; i < unit->types.die_count; i++)
		unit->types.dies[i].type = map[unit->types.dies[i].type];
	// Its own table has done its work; a large program has thousands of units.
	heap_types_deinit(&unit->types.types);
	return NULL;
}

// The unit that an entry is in, its types read; NULL if there is none.
HEAP_MUST_CHECK
static struct heap_error *get_unit(struct module *module, uint64_t place, struct heap_types *types,
				   const struct module_unit **result)
{
	struct module_types *lookup = module->type_lookup;
	struct heap_dwarf_units *units;
	const struct heap_dwarf_unit *header;

	*result = NULL;
	HEAP_TRY(heap_dwarf_file_units(module->dwarf, &units));
	if (!lookup->units) {
		lookup->units = calloc(units->count + 1, sizeof(*lookup->units));
		if (!lookup->units)
			return heap_error_out_of_memory();
		lookup->unit_count = units->count;
	}
	header = heap_dwarf_units_find(units, place);
	if (!header)
		return NULL;

	struct module_unit **unit = &lookup->units[header - units->units];

	if (!*unit) {
		*unit = calloc(1, sizeof(**unit));
		if (!*unit)
			return heap_error_out_of_memory();
		HEAP_TRY(read_unit(module, header->die, types, *unit));
	}
	*result = *unit;
	return NULL;
}

// --- from the cache --------------------------------------------------------------------------

// A type of the cache is one of the module's table (dwarf_info.h) in any number of others, from the inside
// out: pointers, qualifiers, arrays. That table leaves out those that no object has.

static bool is_derived(const struct heap_type *type)
{
	return type->kind >= HEAP_TYPE_POINTER && type->kind <= HEAP_TYPE_FUNCTION;
}

// Numbers the types of the snapshot that are in the module's table.
static bool number_types(struct module *module, const struct heap_types *types)
{
	struct module_types *lookup = module->type_lookup;

	if (lookup->numbers)
		return true;
	lookup->numbers = calloc(types->count, sizeof(*lookup->numbers));
	if (!lookup->numbers)
		return false;
	lookup->number_count = types->count;
	for (uint32_t i = module->debug.types.count; i-- > 1;)
		lookup->numbers[module->type_map[i]] = i;
	return true;
}

static uint32_t number_of(const struct module_types *lookup, heap_type_id type)
{
	return type < lookup->number_count ? lookup->numbers[type] : 0;
}

uint32_t module_type_number(struct module *module, heap_type_id type,
			    const struct heap_types *types)
{
	const struct module_types *lookup = get_lookup(module);

	return lookup && number_types(module, types) ? number_of(lookup, type) : 0;
}

// Adds a type to the cache, if it can be had from the module's table.
static void note_type(struct module *module, const struct heap_dwarf_question *question,
		      heap_type_id id, const struct heap_types *types)
{
	struct heap_dwarf_answer_writer writer = { .answers = module->answers };
	heap_type_id derived[MAX_DERIVED];
	size_t count = 0;

	if (!module->answers || !number_types(module, types))
		return;
	for (; id != HEAP_NO_TYPE && !number_of(module->type_lookup, id);
	     id = types->types[id].target) {
		if (count == MAX_DERIVED || !is_derived(&types->types[id]))
			return;
		derived[count++] = id;
	}
	heap_dwarf_answer_put(&writer, number_of(module->type_lookup, id));
	while (count) {
		const struct heap_type *type = &types->types[derived[--count]];

		heap_dwarf_answer_put(&writer, type->kind);
		heap_dwarf_answer_put(&writer, type->flags);
		heap_dwarf_answer_put_string(&writer, heap_types_string(types, type->name));
		heap_dwarf_answer_put(&writer, type->size);
		heap_dwarf_answer_put(&writer, type->count);
		heap_dwarf_answer_put_string(&writer, heap_types_string(types, type->file));
		heap_dwarf_answer_put(&writer, type->line);
	}
	heap_dwarf_answer_add(&writer, question);
}

// Reads a type around the last one of a small table.
HEAP_MUST_CHECK
static struct heap_error *read_derived(struct heap_dwarf_answer *answer, struct heap_types *table)
{
	struct heap_type type = { .target = table->count - 1 };
	heap_type_id id;

	type.kind = (uint8_t)heap_dwarf_answer_next(answer);
	type.flags = (uint8_t)heap_dwarf_answer_next(answer);
	HEAP_TRY(heap_types_add_string(table, heap_dwarf_answer_next_string(answer), &type.name));
	type.size = heap_dwarf_answer_next(answer);
	type.count = heap_dwarf_answer_next(answer);
	HEAP_TRY(heap_types_add_string(table, heap_dwarf_answer_next_string(answer), &type.file));
	type.line = (uint32_t)heap_dwarf_answer_next(answer);
	answer->is_bad |= !is_derived(&type);
	return heap_types_add(table, &type, &id);
}

// Reads a type and what is around it into the snapshot's table.
HEAP_MUST_CHECK
static struct heap_error *read_type(struct heap_dwarf_answer *answer, heap_type_id base,
				    struct heap_types *types, heap_type_id *result)
{
	CLEANUP(heap_types_deinit) struct heap_types table = { 0 };
	heap_type_id known[MAX_DERIVED + 2] = { 0 }, map[MAX_DERIVED + 2];

	HEAP_TRY(heap_types_init(&table));
	// Stands for the module's; nothing of it counts.
	if (base != HEAP_NO_TYPE) {
		const struct heap_type inner = { .kind = HEAP_TYPE_BASE };

		HEAP_TRY(heap_types_add(&table, &inner, &(heap_type_id){ 0 }));
		known[table.count - 1] = base;
	}
	while (answer->at < answer->count && !answer->is_bad && table.count < MAX_DERIVED + 2)
		HEAP_TRY(read_derived(answer, &table));
	if (!heap_dwarf_answer_is_good(answer))
		return NULL;
	HEAP_TRY(heap_types_merge_known(types, &table, known, map));
	*result = map[table.count - 1];
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *recall_type(struct module *module,
				      const struct heap_dwarf_question *question,
				      struct heap_types *types, heap_type_id *result)
{
	struct heap_dwarf_answer answer;

	*result = HEAP_NO_TYPE;
	if (!heap_dwarf_answers_find(module->answers, question, &answer))
		return NULL;

	uint64_t number = heap_dwarf_answer_next(&answer);

	if (answer.is_bad || number >= module->debug.types.count)
		return NULL;
	if (answer.at < answer.count)
		return read_type(&answer, module->type_map[number], types, result);
	*result = module->type_map[number];
	return NULL;
}

// --- of a DIE --------------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *find_type(struct module *module, uint64_t place, struct heap_types *types,
				    heap_type_id *result)
{
	const struct heap_dwarf_question question = { HEAP_DWARF_QUESTION_TYPE, place, 0 };
	const struct module_unit *unit;
	struct heap_dwarf_units *units;

	HEAP_TRY(recall_type(module, &question, types, result));
	if (*result != HEAP_NO_TYPE)
		return NULL;
	HEAP_TRY(get_unit(module, place, types, &unit));
	if (!unit)
		return NULL;
	*result = heap_unit_types_find(&unit->types, place);
	HEAP_TRY(heap_dwarf_file_units(module->dwarf, &units));
	if (*result != HEAP_NO_TYPE && heap_dwarf_units_are_complete(units))
		note_type(module, &question, *result, types);
	return NULL;
}

heap_type_id module_type(struct module *module, uint64_t place, struct heap_types *types)
{
	struct module_types *lookup;
	heap_type_id result = HEAP_NO_TYPE;
	struct heap_error *error;

	if (place == 0)
		return HEAP_NO_TYPE;
	isolation_suspect(module->start);
	lookup = get_lookup(module);
	if (!lookup)
		return HEAP_NO_TYPE;

	uint32_t found = heap_hash_find(&lookup->by_place, heap_hash_u64(place), i,
					lookup->known.items[i].place == place);

	if (found != HEAP_HASH_NONE)
		return lookup->known.items[found].type;
	error = find_type(module, place, types, &result);
	if (!error)
		error = heap_array_append(&lookup->known, (struct place_type){ place, result });
	if (!error)
		error = heap_hash_add(&lookup->by_place, heap_hash_u64(place),
				      (uint32_t)lookup->known.count - 1);
	if (error)
		module_note_error(module, error);
	return result;
}

// --- at a site -------------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *find_site_types(struct module *module, uint64_t lookup_pc,
					  struct heap_dwarf_site_types *result)
{
	uint64_t pc = lookup_pc - module->bias;
	struct heap_dwarf_code *code;

	isolation_suspect(module->start);
	if (heap_dwarf_site_types_recall(module->answers, pc, result))
		return NULL;
	HEAP_TRY(heap_dwarf_file_code(module->dwarf, &code));
	HEAP_TRY(heap_dwarf_site_types_find(code, pc, result));
	heap_dwarf_site_types_note(module->answers, pc, result);
	return NULL;
}

struct heap_error *module_site_types(struct module *module, uint64_t lookup_pc,
				     struct heap_types *types, struct module_site_type **result,
				     size_t *count)
{
	struct heap_dwarf_site_types found = { 0 };

	*result = NULL;
	*count = 0;
	if (!module->dwarf)
		return NULL;
	HEAP_TRY(find_site_types(module, lookup_pc, &found));

	struct module_site_type *site_types = calloc(found.count + 1, sizeof(*site_types));

	for (size_t i = 0; site_types && i < found.count; i++) {
		const struct heap_dwarf_site_type *type = &found.types[i];
		heap_type_id declared = module_type(module, type->type, types);
		heap_type_id pointee = heap_types_pointee(types, declared);

		if (pointee || (type->kind == HEAP_DWARF_SITE_RETURN &&
				heap_types_is_pointer(types, declared)))
			site_types[(*count)++] =
				(struct module_site_type){ pointee, type->depth, type->kind,
							   type->line };
	}
	heap_dwarf_site_types_deinit(&found);
	*result = site_types;
	return site_types ? NULL : heap_error_out_of_memory();
}

const struct module_site_type *module_site_receiver(const struct module_site_type *types,
						    size_t count)
{
	// Functions inlined at the entry come first.
	for (size_t i = 0; i < count; i++) {
		if (types[i].depth == types[count - 1].depth &&
		    types[i].kind == HEAP_DWARF_SITE_PARAMETER)
			return &types[i];
	}
	return NULL;
}

// The frame of a coroutine, by the first member that the compiler gives it.
static bool is_frame(const struct heap_types *types, heap_type_id id)
{
	const struct heap_type *type = &types->types[id];
	const char *first;

	if (type->kind != HEAP_TYPE_STRUCT || type->members == 0)
		return false;
	first = heap_types_string(types, types->members[type->first_member].name);
	return strcmp(first, "_Coro_resume_fn") == 0 || strcmp(first, "__resume_fn") == 0;
}

// gcc's functions have a pointer to it as their parameter, clang's have a variable that is the frame.
heap_type_id module_frame_type(struct module *module, uint64_t pc, struct heap_types *types)
{
	struct heap_dwarf_site_types found = { 0 };
	struct heap_error *error;
	heap_type_id result = HEAP_NO_TYPE;

	if (!module->dwarf)
		return HEAP_NO_TYPE;
	error = find_site_types(module, pc, &found);
	if (error)
		module_note_error(module, error);
	for (size_t i = 0; i < found.count && result == HEAP_NO_TYPE; i++) {
		const struct heap_dwarf_site_type *type = &found.types[i];
		heap_type_id declared, frame;

		if (type->kind == HEAP_DWARF_SITE_RETURN || type->depth + 1 < found.functions)
			continue;
		declared = module_type(module, type->type, types);
		frame = heap_types_strip(types, heap_types_pointee(types, declared));
		if (frame == HEAP_NO_TYPE)
			frame = heap_types_strip(types, declared);
		result = is_frame(types, frame) ? frame : HEAP_NO_TYPE;
	}
	heap_dwarf_site_types_deinit(&found);
	return result;
}

static bool is_void_or_character(const struct heap_types *types, heap_type_id pointee)
{
	const struct heap_type *type = &types->types[heap_types_strip(types, pointee)];

	return type->kind == HEAP_TYPE_UNKNOWN || (type->kind == HEAP_TYPE_BASE && type->size == 1);
}

// True if it is that of a place into which a function puts any pointer: void **, char **.
static bool is_place(const struct heap_types *types, heap_type_id declared)
{
	heap_type_id pointee = heap_types_pointee(types, declared);

	return heap_types_is_pointer(types, pointee) &&
	       is_void_or_character(types, heap_types_pointee(types, pointee));
}

enum module_passing module_passing(struct module *module, uint64_t lookup_pc,
				   struct heap_types *types, heap_type_id *kept)
{
	struct heap_dwarf_site_types found = { 0 };
	struct heap_error *error;
	heap_type_id first = HEAP_NO_TYPE, result = HEAP_NO_TYPE;
	bool has_first = false, has_place = false, is_known;

	*kept = HEAP_NO_TYPE;
	if (!module->dwarf)
		return MODULE_PASSING_UNKNOWN;
	error = find_site_types(module, lookup_pc, &found);
	is_known = !error && found.functions > 0;
	heap_error_destroy(error); // damaged information tells nothing
	for (size_t i = 0; is_known && i < found.count; i++) {
		const struct heap_dwarf_site_type *type = &found.types[i];

		if (type->depth + 1 < found.functions || type->kind == HEAP_DWARF_SITE_LOCAL)
			continue;

		heap_type_id declared = module_type(module, type->type, types);

		if (type->kind == HEAP_DWARF_SITE_RETURN) {
			result = declared;
		} else {
			first = has_first ? first : declared;
			has_first = true;
			has_place |= is_place(types, declared);
		}
	}
	heap_dwarf_site_types_deinit(&found);
	if (!is_known)
		return MODULE_PASSING_UNKNOWN;
	if (!heap_types_is_pointer(types, result))
		return has_place ? MODULE_PASSES_ON : MODULE_KEEPS;
	*kept = heap_types_strip(types, heap_types_pointee(types, result));
	if (*kept == HEAP_NO_TYPE)
		return MODULE_PASSES_ON;
	return is_void_or_character(types, *kept) && has_first &&
			       !heap_types_is_pointer(types, first)
		       ? MODULE_PASSES_ON
		       : MODULE_KEEPS;
}
