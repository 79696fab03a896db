// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_types_reader.h"

#include "lib/base/cleanup.h"
#include "lib/dwarf/dwarf_file_units.h"
#include "lib/types/types_index.h"

#include <stdlib.h>
#include <string.h>

enum {
	CHAIN_MAX = 64,  // aliases, arrays of arrays, origins of variables
	DEPTH_MAX = 100, // units that refer to each other, one after the other
};

enum unit_state {
	UNIT_UNREAD,
	UNIT_BEGUN,
	UNIT_READ,
	UNIT_DAMAGED,
};

struct heap_error *heap_types_reader_init(struct heap_types_reader *reader,
					  struct heap_dwarf_file *file)
{
	struct heap_dwarf_units *units;

	*reader = (struct heap_types_reader){ 0 };
	HEAP_TRY(heap_dwarf_file_units(file, &units));
	reader->units = units;
	HEAP_TRY(heap_types_init(&reader->types));
	HEAP_TRY(heap_unit_scopes_init(&reader->scopes, units->count));
	reader->strings.pool = &reader->types;
	reader->strings.slots = calloc(HEAP_UNIT_STRING_SLOTS, sizeof(*reader->strings.slots));
	reader->states = calloc(units->count + 1, sizeof(*reader->states));
	return reader->strings.slots && reader->states ? NULL : heap_error_out_of_memory();
}

void heap_types_reader_deinit(struct heap_types_reader *reader)
{
	heap_types_deinit(&reader->types);
	heap_unit_scopes_deinit(&reader->scopes);
	free(reader->strings.slots);
	for (size_t i = 0; reader->states && i < reader->units->count; i++)
		free(reader->states[i].found);
	free(reader->states);
	free(reader->variables);
	heap_array_deinit(&reader->pieces);
	if (reader->free_reader)
		heap_unit_reader_deinit(reader->free_reader);
	free(reader->free_reader);
}

// --- from places to types ------------------------------------------------------------------

// The state of one unit until it is merged.
struct resolving {
	struct heap_types_reader *reader;
	struct heap_unit_reader *unit;
	heap_type_id *known; // [unit's types] in the merged table, 0: it is this unit's own
	uint32_t known_count, known_capacity;
	heap_type_id *map;               // [unit's types] where they are when merged
	uint32_t next_type, next_member; // whose references are not resolved yet
};

static int compare_places(const void *left, const void *right)
{
	const struct heap_unit_entry *a = left, *b = right;

	return (a->place > b->place) - (a->place < b->place);
}

// The merged type that a DIE of another unit became; 0 with *is_open if not yet.
HEAP_MUST_CHECK
static struct heap_error *type_of_other(struct heap_types_reader *reader, uint64_t place,
					bool *is_open, heap_type_id *result)
{
	const struct heap_dwarf_unit *unit = heap_dwarf_units_find(reader->units, place);
	struct heap_unit_entry key = { .place = place }, *found;
	struct heap_types_reader_unit *state;
	struct heap_error *error = NULL;

	*is_open = false;
	*result = HEAP_NO_TYPE;
	if (!unit)
		return NULL;
	state = &reader->states[unit - reader->units->units];
	if (state->state == UNIT_BEGUN || (!state->found && reader->depth >= DEPTH_MAX)) {
		*is_open = true;
		return NULL;
	}
	if (!state->found) {
		error = heap_types_reader_read(reader, unit, true);
		// That unit is damaged; this one goes without its types.
		if (error && heap_error_code(error) == HEAP_ERROR_FORMAT) {
			heap_error_destroy(error);
			return NULL;
		}
		if (error)
			return error;
	}
	found = bsearch(&key, state->found, state->count, sizeof(key), compare_places);
	*result = found ? found->type : HEAP_NO_TYPE;
	return NULL;
}

// As many as the unit has types now.
HEAP_MUST_CHECK
static struct heap_error *grow_known(struct resolving *resolving)
{
	uint32_t count = resolving->unit->types.count;
	struct heap_error *error = heap_types_grow(
		&resolving->known, resolving->known_count, count - resolving->known_count,
		&resolving->known_capacity, sizeof(*resolving->known));

	if (error)
		return error;
	memset(resolving->known + resolving->known_count, 0,
	       (count - resolving->known_count) * sizeof(*resolving->known));
	resolving->known_count = count;
	return NULL;
}

// The unit's own number of the type that a DIE anywhere became.
HEAP_MUST_CHECK
static struct heap_error *resolve(struct resolving *resolving, uint64_t place, heap_type_id *result)
{
	struct heap_unit_reader *unit = resolving->unit;
	const struct heap_type other = { .kind = HEAP_TYPE_UNKNOWN };
	heap_type_id merged;
	bool is_open;

	*result = place ? heap_unit_reader_find(unit, place) : HEAP_NO_TYPE;
	if (*result || !place || (place >= unit->unit->start && place < unit->unit->end))
		return NULL;
	HEAP_TRY(type_of_other(resolving->reader, place, &is_open, &merged));
	if (is_open) {
		struct heap_error *error = heap_unit_reader_stub(unit, place, result);

		// The place may be that of no DIE, or of a damaged one.
		if (!error || heap_error_code(error) != HEAP_ERROR_FORMAT)
			return error;
		heap_error_destroy(error);
	} else if (merged) {
		HEAP_TRY(heap_unit_reader_add(unit, place, &other, HEAP_DWARF_NOWHERE, result));
		HEAP_TRY(grow_known(resolving));
		resolving->known[*result] = merged;
	}
	return NULL;
}

// References may add types of other units, which refer to others...
HEAP_MUST_CHECK
static struct heap_error *settle(struct resolving *resolving)
{
	struct heap_unit_reader *unit = resolving->unit;
	heap_type_id target;

	for (; resolving->next_member < unit->types.member_count; resolving->next_member++) {
		HEAP_TRY(resolve(resolving, unit->member_types[resolving->next_member], &target));
		unit->types.members[resolving->next_member].type = target;
	}
	for (; resolving->next_type < unit->types.count; resolving->next_type++) {
		uint64_t place = unit->targets[resolving->next_type];

		if (!place)
			continue;
		HEAP_TRY(resolve(resolving, place, &target));
		unit->types.types[resolving->next_type].target = target;
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *resolve_all(struct resolving *resolving)
{
	struct heap_unit_reader *unit = resolving->unit;
	heap_type_id type;

	for (uint32_t i = 0; i < unit->variable_count; i++)
		HEAP_TRY(resolve(resolving, unit->variables[i].type, &type));
	for (uint32_t i = 0; i < unit->reference_count; i++)
		HEAP_TRY(resolve(resolving, unit->references[i], &type));
	HEAP_TRY(settle(resolving));
	return grow_known(resolving);
}

// --- aliases and arrays --------------------------------------------------------------------

static heap_type_id look_through(const struct heap_types *types, heap_type_id id)
{
	for (int i = 0; i < CHAIN_MAX; i++) {
		if (types->types[id].kind != HEAP_TYPE_ALIAS)
			return id;
		id = types->types[id].target;
	}
	return HEAP_NO_TYPE;
}

static void remove_aliases(struct heap_unit_reader *unit)
{
	struct heap_types *types = &unit->types;

	for (uint32_t i = 0; i < types->member_count; i++)
		types->members[i].type = look_through(types, types->members[i].type);
	for (uint32_t i = 0; i < unit->found_count; i++)
		unit->found[i].type = look_through(types, unit->found[i].type);
	for (heap_type_id id = 1; id < types->count; id++)
		if (types->types[id].kind != HEAP_TYPE_ALIAS)
			types->types[id].target = look_through(types, types->types[id].target);
	for (heap_type_id id = 1; id < types->count; id++)
		if (types->types[id].kind == HEAP_TYPE_ALIAS)
			types->types[id] = (struct heap_type){ .kind = HEAP_TYPE_UNKNOWN };
}

// Bytes of a type of the unit, or of one that is merged already.
static uint64_t size_of(const struct resolving *resolving, heap_type_id id)
{
	const struct heap_types *types = &resolving->unit->types;
	uint64_t count = 1;

	for (int i = 0; i < CHAIN_MAX; i++) {
		const struct heap_type *type = &types->types[id];
		uint64_t size = type->size;

		if (resolving->known[id])
			size = heap_types_size(&resolving->reader->types, resolving->known[id]);
		if (size)
			return __builtin_mul_overflow(count, size, &size) ? 0 : size;
		if (type->kind == HEAP_TYPE_ARRAY &&
		    __builtin_mul_overflow(count, type->count, &count))
			return 0;
		id = type->target;
	}
	return 0;
}

static void measure_arrays(struct resolving *resolving)
{
	struct heap_types *types = &resolving->unit->types;

	for (heap_type_id id = 1; id < types->count; id++) {
		struct heap_type *type = &types->types[id];

		if (type->kind == HEAP_TYPE_ARRAY && !type->size && type->count)
			type->size = size_of(resolving, id);
		if (type->kind == HEAP_TYPE_MEMBER_POINTER && !type->size)
			type->size =
				resolving->unit->unit->address_size *
				(types->types[type->target].kind == HEAP_TYPE_FUNCTION ? 2 : 1);
	}
}

// --- variables -----------------------------------------------------------------------------

// Takes from a DIE that the variable completes what it does not say itself.
HEAP_MUST_CHECK
static struct heap_error *take_from(struct heap_unit_reader *unit,
				    struct heap_unit_variable *variable,
				    const struct heap_dwarf_die *entry)
{
	if (!variable->name && entry->name)
		HEAP_TRY(heap_unit_reader_name(unit, entry->place, &variable->name));
	if (!variable->line) {
		variable->line = entry->line;
		HEAP_TRY(heap_unit_reader_file(unit, entry, &variable->file));
	}
	if (!variable->type)
		variable->type = entry->type;
	variable->external |= (entry->has & HEAP_DWARF_IS_EXTERNAL) != 0;
	return NULL;
}

// A declaration, an abstract instance of a function's static, or one after the other.
HEAP_MUST_CHECK
static struct heap_error *complete_variable(struct heap_unit_reader *unit,
					    struct heap_unit_variable *variable)
{
	uint64_t place = variable->specification;

	for (int i = 0; place && i < CHAIN_MAX; i++) {
		struct heap_dwarf_die entry;

		HEAP_TRY(heap_unit_reader_entry(unit, place, &entry));
		HEAP_TRY(take_from(unit, variable, &entry));
		place = entry.specification;
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *complete_variables(struct heap_unit_reader *unit)
{
	for (uint32_t i = 0; i < unit->variable_count; i++)
		HEAP_TRY(complete_variable(unit, &unit->variables[i]));
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_variables(struct heap_types_reader *reader,
					struct resolving *resolving)
{
	const struct heap_unit_reader *unit = resolving->unit;

	HEAP_TRY(heap_types_grow(&reader->variables, reader->variable_count, unit->variable_count,
				 &reader->variable_capacity, sizeof(*reader->variables)));
	for (uint32_t i = 0; i < unit->variable_count; i++) {
		const struct heap_unit_variable *variable = &unit->variables[i];
		heap_type_id type = HEAP_NO_TYPE;

		// The DIE that this one completes is in a file that was not found.
		if (!variable->name && !variable->type)
			continue;
		if (variable->type)
			type = heap_unit_reader_find(unit, variable->type);
		if (variable->piece_size > 0)
			HEAP_TRY(heap_array_append(
				&reader->pieces,
				(struct heap_dwarf_piece){ reader->variable_count,
							   variable->piece_start,
							   variable->piece_size }));
		reader->variables[reader->variable_count++] = (struct heap_dwarf_variable){
			.name = variable->name,
			.type = resolving->map[type],
			.address = variable->address,
			.file = variable->file,
			.line = variable->line,
			.flags = (variable->external ? 0 : HEAP_DWARF_VARIABLE_STATIC) |
				 (variable->thread_local ? HEAP_DWARF_VARIABLE_THREAD_LOCAL : 0),
		};
	}
	return NULL;
}

// --- units ---------------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *keep_found(struct resolving *resolving,
				     struct heap_types_reader_unit *state)
{
	const struct heap_unit_reader *unit = resolving->unit;
	struct heap_unit_entry *found = calloc(unit->found_count + 1, sizeof(*found));
	uint32_t count = 0;

	if (!found)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < unit->found_count; i++) {
		uint64_t place = unit->found[i].place;
		heap_type_id type = resolving->map[unit->found[i].type];

		// Other units refer to one DIE of a type unit only.
		if (!type || place < unit->unit->die || place >= unit->unit->end ||
		    (unit->unit->type_die && unit->unit->type_die != place))
			continue;
		found[count++] = (struct heap_unit_entry){ place, type };
	}
	qsort(found, count, sizeof(*found), compare_places);
	free(state->found);
	state->found = found;
	state->count = count;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *merge(struct resolving *resolving, struct heap_types_reader_unit *state,
				bool keep_it)
{
	struct heap_types_reader *reader = resolving->reader;
	struct heap_types *types = &resolving->unit->types;

	resolving->map = calloc(types->count, sizeof(*resolving->map));
	if (!resolving->map)
		return heap_error_out_of_memory();
	remove_aliases(resolving->unit);
	measure_arrays(resolving);
	types->strings = reader->types.strings;
	types->string_size = reader->types.string_size;
	HEAP_TRY(heap_types_merge_known(&reader->types, types, resolving->known, resolving->map));
	if (keep_it)
		HEAP_TRY(keep_found(resolving, state));
	if (reader->wants_variables && state->state != UNIT_READ)
		HEAP_TRY(add_variables(reader, resolving));
	return NULL;
}

static void resolving_deinit(struct resolving *resolving)
{
	free(resolving->known);
	free(resolving->map);
}

HEAP_MUST_CHECK
static struct heap_error *read_unit(struct heap_types_reader *reader,
				    struct heap_unit_reader *unit_reader,
				    const struct heap_dwarf_unit *unit, bool keep_it)
{
	struct heap_types_reader_unit *state = &reader->states[unit - reader->units->units];
	CLEANUP(resolving_deinit)
	struct resolving resolving = { .reader = reader, .unit = unit_reader };
	bool was_read = state->state == UNIT_READ;
	struct heap_error *error;

	unit_reader->all_references = reader->all_references;
	HEAP_TRY(heap_unit_reader_read(unit_reader, unit));
	HEAP_TRY(complete_variables(unit_reader));
	HEAP_TRY(grow_known(&resolving));
	state->state = UNIT_BEGUN;
	error = resolve_all(&resolving);
	state->state = was_read ? UNIT_READ : UNIT_UNREAD;
	if (error)
		return error;
	HEAP_TRY(merge(&resolving, state, keep_it));
	if (!was_read) {
		reader->dies += unit_reader->dies;
		reader->elsewhere += unit_reader->is_elsewhere;
	}
	return NULL;
}

struct heap_error *heap_types_reader_read(struct heap_types_reader *reader,
					  const struct heap_dwarf_unit *unit, bool keep_it)
{
	struct heap_types_reader_unit *state = &reader->states[unit - reader->units->units];
	struct heap_unit_reader *unit_reader = reader->free_reader;
	struct heap_error *error = NULL;

	if (state->state == UNIT_READ && (state->found || !keep_it))
		return NULL;
	if (state->state == UNIT_DAMAGED)
		return heap_error_create(HEAP_ERROR_FORMAT, "unit is damaged");
	reader->free_reader = NULL;
	if (!unit_reader) {
		unit_reader = malloc(sizeof(*unit_reader));
		error = unit_reader ? heap_unit_reader_init(unit_reader, reader->units,
							    &reader->strings, &reader->scopes)
				    : heap_error_out_of_memory();
	}
	reader->depth++;
	if (!error)
		error = read_unit(reader, unit_reader, unit, keep_it);
	reader->depth--;
	if (!error)
		state->state = UNIT_READ;
	else if (heap_error_code(error) == HEAP_ERROR_FORMAT)
		state->state = UNIT_DAMAGED;
	if (reader->free_reader) {
		heap_unit_reader_deinit(reader->free_reader);
		free(reader->free_reader);
	}
	reader->free_reader = unit_reader;
	return error;
}
