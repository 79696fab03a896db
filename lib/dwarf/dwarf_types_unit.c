// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_types_unit.h"

#include "lib/base/cleanup.h"
#include "lib/dwarf/dwarf_constants.h"
#include "lib/dwarf/dwarf_info_table.h"
#include "lib/types/types_index.h"

#include <stdlib.h>
#include <string.h>

enum {
	DEPTH_MAX = 1024, // DIEs inside each other; more is damage
};

enum frame_kind {
	FRAME_OTHER,
	FRAME_MEMBERS,
	FRAME_ENUMERATORS,
	FRAME_ARRAY,
	FRAME_VARIANTS, // members, and a discriminant
	FRAME_VARIANT,  // whose members are those of the frame around it
};

// --- DIEs and their types ---------------------------------------------------------------

struct heap_error *heap_unit_reader_init(struct heap_unit_reader *reader,
					 const struct heap_dwarf_units *units,
					 struct heap_unit_strings *strings,
					 struct heap_unit_scopes *elsewhere)
{
	*reader = (struct heap_unit_reader){ .units = units,
					     .strings = strings,
					     .elsewhere = elsewhere };
	return NULL;
}

void heap_unit_reader_deinit(struct heap_unit_reader *reader)
{
	heap_dwarf_dies_deinit(&reader->entries);
	heap_dwarf_dies_deinit(&reader->others);
	heap_dwarf_file_names_deinit(&reader->files);
	heap_dwarf_file_names_deinit(&reader->other_files);
	free(reader->types.types);
	free(reader->types.members);
	free(reader->types.enumerators);
	free(reader->targets);
	free(reader->member_types);
	free(reader->found);
	free(reader->slots);
	free(reader->scopes);
	free(reader->frames);
	free(reader->pending);
	free(reader->dimensions);
	free(reader->variables);
	free(reader->references);
	free(reader->text);
}

static uint32_t *found_slot(const struct heap_unit_reader *reader, uint64_t place)
{
	for (uint32_t at = heap_types_mix(0, place) & reader->slot_mask;;
	     at = (at + 1) & reader->slot_mask)
		if (!reader->slots[at] || reader->found[reader->slots[at] - 1].place == place)
			return &reader->slots[at];
}

heap_type_id heap_unit_reader_find(const struct heap_unit_reader *reader, uint64_t place)
{
	uint32_t slot = reader->slots ? *found_slot(reader, place) : 0;

	return slot ? reader->found[slot - 1].type : HEAP_NO_TYPE;
}

HEAP_MUST_CHECK
static struct heap_error *reserve_slots(struct heap_unit_reader *reader)
{
	uint32_t size = reader->slots ? reader->slot_mask + 1 : 0;

	if (reader->found_count < size / 2)
		return NULL;
	size = size ? size * 2 : 256;

	uint32_t *slots = calloc(size, sizeof(*slots));

	if (!slots)
		return heap_error_out_of_memory();
	free(reader->slots);
	reader->slots = slots;
	reader->slot_mask = size - 1;
	for (uint32_t i = 0; i < reader->found_count; i++)
		*found_slot(reader, reader->found[i].place) = i + 1;
	return NULL;
}

struct heap_error *heap_unit_reader_note(struct heap_unit_reader *reader, uint64_t place,
					 heap_type_id type)
{
	HEAP_TRY(heap_types_grow(&reader->found, reader->found_count, 1, &reader->found_capacity,
				 sizeof(*reader->found)));
	HEAP_TRY(reserve_slots(reader));

	uint32_t *slot = found_slot(reader, place);

	if (!*slot) {
		reader->found[reader->found_count++] = (struct heap_unit_entry){ place, type };
		*slot = reader->found_count;
	}
	return NULL;
}

// A type that no DIE stands for.
HEAP_MUST_CHECK
static struct heap_error *add_type(struct heap_unit_reader *reader, const struct heap_type *type,
				   uint64_t target, heap_type_id *result)
{
	struct heap_error *error =
		heap_types_grow(&reader->targets, reader->types.count, 1, &reader->target_capacity,
				sizeof(*reader->targets));

	if (error)
		return error;
	reader->targets[reader->types.count] = target;
	return heap_types_add(&reader->types, type, result);
}

struct heap_error *heap_unit_reader_add(struct heap_unit_reader *reader, uint64_t place,
					const struct heap_type *type, uint64_t target,
					heap_type_id *result)
{
	struct heap_error *error = add_type(reader, type, target, result);

	return error ? error : heap_unit_reader_note(reader, place, *result);
}

// --- what opens a list of children ---------------------------------------------------------

static struct heap_unit_frame *top(struct heap_unit_reader *reader)
{
	return &reader->frames[reader->frame_count - 1];
}

HEAP_MUST_CHECK
static struct heap_error *push_scope(struct heap_unit_reader *reader, uint64_t start,
				     uint32_t parent, uint32_t name, uint32_t *result)
{
	struct heap_error *error =
		heap_types_grow(&reader->scopes, reader->scope_count, 1, &reader->scope_capacity,
				sizeof(*reader->scopes));

	if (error)
		return error;
	reader->scopes[reader->scope_count] = (struct heap_unit_scope){
		.start = start, .end = UINT64_MAX, .parent = parent, .name = name
	};
	*result = reader->scope_count++;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *push_frame(struct heap_unit_reader *reader,
				     const struct heap_unit_frame *frame)
{
	if (reader->frame_count >= DEPTH_MAX)
		return heap_error_create(HEAP_ERROR_FORMAT, "entries are nested too deeply");
	HEAP_TRY(heap_types_grow(&reader->frames, reader->frame_count, 1, &reader->frame_capacity,
				 sizeof(*reader->frames)));
	reader->frames[reader->frame_count++] = *frame;
	return NULL;
}

// Opens the DIE's children, if it has any; @p name is what they are qualified by.
HEAP_MUST_CHECK
static struct heap_error *open_scope(struct heap_unit_reader *reader,
				     const struct heap_dwarf_die *entry, uint32_t name,
				     struct heap_unit_frame *frame)
{
	frame->is_type_scope = true;
	return entry->children
		       ? push_scope(reader, entry->place, top(reader)->scope, name, &frame->scope)
		       : NULL;
}

// --- members -------------------------------------------------------------------------------

static int compare_members(const void *left, const void *right)
{
	const struct heap_unit_member *a = left, *b = right;

	if (a->member.offset != b->member.offset)
		return a->member.offset > b->member.offset ? 1 : -1;
	if (a->member.bit_offset != b->member.bit_offset)
		return a->member.bit_offset > b->member.bit_offset ? 1 : -1;
	return (a->order > b->order) - (a->order < b->order);
}

HEAP_MUST_CHECK
static struct heap_error *add_member(struct heap_unit_reader *reader,
				     const struct heap_dwarf_die *entry)
{
	struct heap_unit_member pending = { .type = entry->type, .order = reader->pending_count };
	bool is_placed = false;

	// Static members are only declared in the class.
	if (entry->has & (HEAP_DWARF_IS_EXTERNAL | HEAP_DWARF_IS_DECLARATION))
		return NULL;
	HEAP_TRY(heap_unit_place_member(reader, entry, &pending.member, &is_placed));
	if (!is_placed)
		return NULL;
	if (pending.member.flags & HEAP_MEMBER_VTABLE)
		reader->types.types[top(reader)->type].flags |= HEAP_TYPE_POLYMORPHIC;
	if (entry->tag == DW_TAG_member)
		HEAP_TRY(heap_unit_strings_add(reader->strings, entry->name, &pending.member.name));
	HEAP_TRY(heap_types_grow(&reader->pending, reader->pending_count, 1,
				 &reader->pending_capacity, sizeof(*reader->pending)));
	reader->pending[reader->pending_count++] = pending;
	return NULL;
}

// Moves the members of a struct that is complete to where they stand together.
HEAP_MUST_CHECK
static struct heap_error *close_members(struct heap_unit_reader *reader,
					const struct heap_unit_frame *frame)
{
	struct heap_unit_member *members = reader->pending + frame->first;
	uint32_t count = reader->pending_count - frame->first;
	bool sorted = true;

	HEAP_TRY(heap_types_grow(&reader->member_types, reader->types.member_count, count,
				 &reader->member_type_capacity, sizeof(*reader->member_types)));
	for (uint32_t i = 1; i < count; i++)
		sorted &= compare_members(&members[i - 1], &members[i]) < 0;
	if (!sorted)
		qsort(members, count, sizeof(*members), compare_members);
	reader->types.types[frame->type].first_member = reader->types.member_count;
	reader->types.types[frame->type].members = count;
	for (uint32_t i = 0; i < count; i++) {
		reader->member_types[reader->types.member_count] = members[i].type;
		HEAP_TRY(heap_types_add_member(&reader->types, &members[i].member));
	}
	reader->pending_count = frame->first;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_enumerator(struct heap_unit_reader *reader,
					 const struct heap_dwarf_die *entry)
{
	struct heap_enumerator enumerator = { .value = entry->value };

	HEAP_TRY(heap_unit_strings_add(reader->strings, entry->name, &enumerator.name));
	HEAP_TRY(heap_types_add_enumerator(&reader->types, &enumerator));
	reader->types.types[top(reader)->type].members++;
	return NULL;
}

// --- variants ------------------------------------------------------------------------------

// Rust's enums, Ada's records: a structure in which a discriminant tells what else is there
// (DWARF 5 section 5.7.10). It becomes a union of all, in which the discriminant has the type
// of an enumeration with the variants' names:
//
//	union { enum { CIRCLE = 0, SQUARE = 1 } discriminant; struct circle CIRCLE; ... };

HEAP_MUST_CHECK
static struct heap_error *open_variants(struct heap_unit_reader *reader,
					const struct heap_dwarf_die *entry,
					struct heap_unit_frame *frame)
{
	const struct heap_type type = {
		.kind = HEAP_TYPE_UNION,
		.size = reader->types.types[top(reader)->type].size,
	};
	struct heap_dwarf_die member = { .tag = DW_TAG_member, .type = entry->place };
	heap_type_id id;

	HEAP_TRY(heap_unit_reader_add(reader, entry->place, &type, HEAP_DWARF_NOWHERE, &id));
	HEAP_TRY(add_member(reader, &member));
	*frame = (struct heap_unit_frame){ .kind = FRAME_VARIANTS,
					   .type = id,
					   .scope = top(reader)->scope,
					   .first = reader->pending_count };
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_discriminant(struct heap_unit_reader *reader,
					   const struct heap_dwarf_die *entry)
{
	struct heap_unit_frame *frame = top(reader);
	struct heap_type type = { .kind = HEAP_TYPE_ENUM,
				  .first_member = reader->types.enumerator_count };
	struct heap_dwarf_die named = *entry, integer;
	struct heap_error *error = heap_unit_reader_entry(reader, entry->type, &integer);

	if (error)
		return error;
	type.size = integer.size <= 8 ? integer.size : 0;
	error = heap_unit_reader_add(reader, entry->place, &type, entry->type,
				     &frame->discriminant);
	named.name = "discriminant";
	named.type = entry->place;
	return error ? error : add_member(reader, &named);
}

static void open_variant(struct heap_unit_reader *reader, const struct heap_dwarf_die *entry,
			 struct heap_unit_frame *frame)
{
	*frame = *top(reader);
	frame->kind = FRAME_VARIANT;
	frame->has_value = entry->has & HEAP_DWARF_HAS_VALUE;
	frame->value = entry->value;
}

HEAP_MUST_CHECK
static struct heap_error *add_variant(struct heap_unit_reader *reader,
				      const struct heap_dwarf_die *entry)
{
	const struct heap_unit_frame *frame = top(reader);
	struct heap_type *type = &reader->types.types[frame->discriminant];
	struct heap_enumerator enumerator = { .value = frame->value };

	if (!frame->has_value || !frame->discriminant)
		return add_member(reader, entry);
	HEAP_TRY(heap_unit_strings_add(reader->strings, entry->name, &enumerator.name));
	// Anything between would belong to two types.
	if (type->first_member + type->members == reader->types.enumerator_count) {
		HEAP_TRY(heap_types_add_enumerator(&reader->types, &enumerator));
		type->members++;
	}
	return add_member(reader, entry);
}

HEAP_MUST_CHECK
static struct heap_error *read_member(struct heap_unit_reader *reader,
				      const struct heap_dwarf_die *entry)
{
	switch (top(reader)->kind) {
	case FRAME_MEMBERS:
		return add_member(reader, entry);
	case FRAME_VARIANTS:
		return add_discriminant(reader, entry);
	case FRAME_VARIANT:
		return add_variant(reader, entry);
	default:
		return NULL;
	}
}

HEAP_MUST_CHECK
static struct heap_error *read_variants(struct heap_unit_reader *reader,
					const struct heap_dwarf_die *entry,
					struct heap_unit_frame *frame)
{
	uint8_t kind = top(reader)->kind;

	if (entry->tag == DW_TAG_variant_part && kind == FRAME_MEMBERS && entry->children)
		return open_variants(reader, entry, frame);
	if (entry->tag == DW_TAG_variant && kind == FRAME_VARIANTS)
		open_variant(reader, entry, frame);
	return NULL;
}

// --- arrays --------------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *add_dimension(struct heap_unit_reader *reader,
					const struct heap_dwarf_die *entry)
{
	HEAP_TRY(heap_types_grow(&reader->dimensions, reader->dimension_count, 1,
				 &reader->dimension_capacity, sizeof(*reader->dimensions)));
	reader->dimensions[reader->dimension_count++] = heap_unit_dimension(reader, entry);
	return NULL;
}

static void set_dimension(struct heap_type *type, struct heap_unit_dimension dimension)
{
	type->count = dimension.count;
	type->flags |= dimension.flexible ? HEAP_TYPE_FLEXIBLE : 0;
}

// int x[2][3] is an array of 2 arrays of 3: the DIE's own type is the outer one.
HEAP_MUST_CHECK
static struct heap_error *close_array(struct heap_unit_reader *reader,
				      const struct heap_unit_frame *frame)
{
	const struct heap_unit_dimension flexible = { 0, true };
	uint32_t count = reader->dimension_count - frame->first;
	heap_type_id outer = frame->type;
	uint64_t element = reader->targets[outer];

	set_dimension(&reader->types.types[outer],
		      count ? reader->dimensions[frame->first] : flexible);
	for (uint32_t i = 1; i < count; i++) {
		struct heap_type type = { .kind = HEAP_TYPE_ARRAY };
		heap_type_id inner;

		set_dimension(&type, reader->dimensions[frame->first + i]);
		HEAP_TRY(add_type(reader, &type, element, &inner));
		reader->targets[outer] = HEAP_DWARF_NOWHERE;
		reader->types.types[outer].target = inner;
		outer = inner;
	}
	reader->dimension_count = frame->first;
	return NULL;
}

// --- types ---------------------------------------------------------------------------------

// gcc and clang call the same types differently; programmers call them as clang does.
static const char *base_name(const char *name)
{
	static const char *const names[][2] = {
		{ "short int", "short" },
		{ "short unsigned int", "unsigned short" },
		{ "long int", "long" },
		{ "long unsigned int", "unsigned long" },
		{ "long long int", "long long" },
		{ "long long unsigned int", "unsigned long long" },
	};

	for (size_t i = 0; name && i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i][0]) == 0)
			return names[i][1];
	return name;
}

// The type of Fortran's strings has no name.
static const char *name_of_base(const struct heap_dwarf_die *entry)
{
	return entry->tag == DW_TAG_string_type ? "character" : base_name(entry->name);
}

static bool is_derived(uint8_t kind)
{
	return kind >= HEAP_TYPE_POINTER && kind != HEAP_TYPE_TYPEDEF;
}

// clang has one name for the frames of all coroutines, each of which is in its function.
static bool is_coroutine_frame(struct heap_unit_reader *reader, const struct heap_dwarf_die *entry)
{
	uint32_t scope = top(reader)->scope;

	return scope > 0 && !reader->scopes[scope].name && entry->name &&
	       strcmp(entry->name, "__coro_frame_ty") == 0;
}

// Name, file and line of a type.
HEAP_MUST_CHECK
static struct heap_error *name_type(struct heap_unit_reader *reader,
				    const struct heap_dwarf_die *entry, struct heap_type *type)
{
	struct heap_error *error = NULL;
	const struct heap_unit_scope *scope = &reader->scopes[top(reader)->scope];

	if (is_derived(type->kind))
		return NULL;
	// In a type unit only what it specifies says which namespace the type is in.
	if (entry->specification)
		error = heap_unit_reader_name(reader, entry->specification, &type->name);
	else if (!entry->name && entry->signature && entry->children)
		error = heap_unit_reader_name(reader, entry->signature, &type->name);
	else if (is_coroutine_frame(reader, entry))
		error = heap_unit_frame_name(reader, scope->start, &type->name);
	if (error || type->name)
		;
	else if (type->kind == HEAP_TYPE_BASE)
		error = heap_unit_strings_add(reader->strings, name_of_base(entry), &type->name);
	else
		error = heap_unit_qualify(reader, scope->name, entry->name, &type->name);
	if (error || !entry->line)
		return error;
	type->line = entry->line;
	return heap_unit_strings_add(reader->strings,
				     heap_dwarf_file_names_name(&reader->files, entry->file),
				     &type->file);
}

// A string of a length that is known is an array.
//
// @param type  of its characters
HEAP_MUST_CHECK
static struct heap_error *add_string(struct heap_unit_reader *reader,
				     const struct heap_dwarf_die *entry,
				     const struct heap_type *type, heap_type_id *result)
{
	struct heap_type array = { .kind = HEAP_TYPE_ARRAY, .count = entry->size };

	if (!(entry->has & HEAP_DWARF_HAS_SIZE) || entry->size == 0 || entry->size > UINT32_MAX)
		return heap_unit_reader_add(reader, entry->place, type, HEAP_DWARF_NOWHERE, result);
	HEAP_TRY(add_type(reader, type, HEAP_DWARF_NOWHERE, &array.target));
	return heap_unit_reader_add(reader, entry->place, &array, HEAP_DWARF_NOWHERE, result);
}

HEAP_MUST_CHECK
static struct heap_error *read_type(struct heap_unit_reader *reader,
				    const struct heap_dwarf_die *entry,
				    struct heap_unit_frame *frame)
{
	struct heap_type type = heap_unit_type(reader, entry);
	uint64_t target = entry->type;
	bool declared = type.flags & HEAP_TYPE_DECLARATION;
	heap_type_id id;

	if (type.kind == HEAP_TYPE_UNKNOWN)
		return NULL;
	HEAP_TRY(name_type(reader, entry, &type));
	if (entry->tag == DW_TAG_string_type)
		return add_string(reader, entry, &type, &frame->type);
	if (declared && (entry->signature || (!type.name && !entry->specification))) {
		// It is defined in a type unit, and there only.
		type.kind = HEAP_TYPE_ALIAS;
		target = entry->signature;
	} else if (entry->specification && !entry->name && !(entry->has & HEAP_DWARF_HAS_SIZE)) {
		type.kind = HEAP_TYPE_ALIAS;
		target = entry->specification;
	}
	if (type.kind == HEAP_TYPE_ENUM)
		type.first_member = reader->types.enumerator_count;
	HEAP_TRY(heap_unit_reader_add(reader, entry->place, &type, target, &id));
	frame->type = id;
	if (heap_unit_is_aggregate(entry->tag)) {
		uint32_t scope = reader->scopes[top(reader)->scope].name;

		frame->kind =
			type.kind == HEAP_TYPE_ALIAS || declared ? FRAME_OTHER : FRAME_MEMBERS;
		frame->first = reader->pending_count;
		return open_scope(reader, entry, type.name ? type.name : scope, frame);
	}
	if (type.kind == HEAP_TYPE_ENUM) {
		frame->kind = FRAME_ENUMERATORS;
	} else if (type.kind == HEAP_TYPE_ARRAY) {
		frame->kind = FRAME_ARRAY;
		frame->first = reader->dimension_count;
		if (!entry->children)
			reader->types.types[id].flags |= HEAP_TYPE_FLEXIBLE;
	}
	return NULL;
}

struct heap_error *heap_unit_reader_stub(struct heap_unit_reader *reader, uint64_t place,
					 heap_type_id *result)
{
	struct heap_dwarf_die entry;
	struct heap_error *error = heap_unit_reader_entry(reader, place, &entry);

	if (error)
		return error;

	struct heap_type type = heap_unit_type(reader, &entry);
	bool named = type.kind >= HEAP_TYPE_STRUCT && type.kind <= HEAP_TYPE_ENUM;

	if (named)
		type.flags = HEAP_TYPE_DECLARATION;
	if (type.kind == HEAP_TYPE_ARRAY)
		type.flags = HEAP_TYPE_FLEXIBLE;
	if (type.kind == HEAP_TYPE_BASE)
		error = heap_unit_strings_add(reader->strings, name_of_base(&entry), &type.name);
	else if (!is_derived(type.kind))
		// In a type unit only what it specifies says which namespace the type is in.
		error = heap_unit_reader_name(
			reader, entry.specification ? entry.specification : place, &type.name);
	if (named)
		type.size = 0;
	// Without a name there is nothing that a declaration could be resolved by.
	if (named && !type.name)
		type = (struct heap_type){ .kind = HEAP_TYPE_ALIAS };
	return error ? error
		     : heap_unit_reader_add(reader, place, &type, named ? 0 : entry.type, result);
}

// --- variables -----------------------------------------------------------------------------

// True if nothing but a symbol may locate the variable: see HEAP_DWARF_NO_ADDRESS. Those of
// functions are left out, since most of them are optimised away.
static bool is_unlocated(struct heap_unit_reader *reader, const struct heap_dwarf_die *entry)
{
	uint32_t scope = top(reader)->scope;

	return !(entry->has &
		 (HEAP_DWARF_HAS_LOCATION | HEAP_DWARF_HAS_VALUE | HEAP_DWARF_IS_DECLARATION)) &&
	       !entry->location_size && (scope == 0 || reader->scopes[scope].name != 0);
}

HEAP_MUST_CHECK
static struct heap_error *add_variable(struct heap_unit_reader *reader,
				       const struct heap_unit_variable *variable)
{
	HEAP_TRY(heap_types_grow(&reader->variables, reader->variable_count, 1,
				 &reader->variable_capacity, sizeof(*reader->variables)));
	reader->variables[reader->variable_count++] = *variable;
	return NULL;
}

// Adds each part of a variable that the compiler has split.
HEAP_MUST_CHECK
static struct heap_error *add_pieces(struct heap_unit_reader *reader,
				     const struct heap_dwarf_die *entry,
				     struct heap_unit_variable variable)
{
	struct heap_dwarf_cursor cursor = { entry->location, entry->location + entry->location_size,
					    false };

	while (heap_unit_next_piece(reader, &cursor, &variable))
		HEAP_TRY(add_variable(reader, &variable));
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_variable(struct heap_unit_reader *reader,
					const struct heap_dwarf_die *entry)
{
	struct heap_unit_variable variable = {
		.place = entry->place,
		.type = entry->type,
		.specification = entry->specification,
		.line = entry->line,
		.external = entry->has & HEAP_DWARF_IS_EXTERNAL,
	};
	bool is_whole = heap_unit_locate(reader, entry, &variable);

	if (!is_whole && is_unlocated(reader, entry)) {
		variable.thread_local = true;
		variable.address = HEAP_DWARF_NO_ADDRESS;
		is_whole = true;
	}
	if (!is_whole && !entry->location_size)
		return NULL;
	if (!entry->specification)
		HEAP_TRY(heap_unit_qualify(reader, reader->scopes[top(reader)->scope].name,
					   entry->name, &variable.name));
	HEAP_TRY(heap_unit_reader_file(reader, entry, &variable.file));
	return is_whole ? add_variable(reader, &variable) : add_pieces(reader, entry, variable);
}

// References that no other DIE may make: an imported unit, the type of a local or parameter.
HEAP_MUST_CHECK
static struct heap_error *note_reference(struct heap_unit_reader *reader, uint64_t place)
{
	if (!place || (place >= reader->unit->die && place < reader->unit->end))
		return NULL;
	HEAP_TRY(heap_types_grow(&reader->references, reader->reference_count, 1,
				 &reader->reference_capacity, sizeof(*reader->references)));
	reader->references[reader->reference_count++] = place;
	return NULL;
}

// --- a unit --------------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *read_unit_entry(struct heap_unit_reader *reader,
					  const struct heap_dwarf_die *entry)
{
	reader->is_elsewhere = entry->has & HEAP_DWARF_IS_DWO && !reader->unit->split &&
			       heap_dwarf_units_full(reader->units, reader->unit) == reader->unit;
	return heap_dwarf_dies_files(&reader->entries, &reader->files);
}

// Reads one DIE. @param frame  the scope of its children
HEAP_MUST_CHECK
static struct heap_error *read_entry(struct heap_unit_reader *reader,
				     const struct heap_dwarf_die *entry,
				     struct heap_unit_frame *frame)
{
	struct heap_error *error = NULL;
	uint32_t name = 0;

	switch (entry->tag) {
	case DW_TAG_compile_unit:
	case DW_TAG_partial_unit:
	case DW_TAG_type_unit:
	case DW_TAG_skeleton_unit:
		return read_unit_entry(reader, entry);
	case DW_TAG_namespace:
	case DW_TAG_module:
		error = heap_unit_qualify(reader, reader->scopes[top(reader)->scope].name,
					  heap_unit_scope_text(entry), &name);
		return error ? error : open_scope(reader, entry, name, frame);
	case DW_TAG_subprogram:
		return open_scope(reader, entry, 0, frame);
	case DW_TAG_member:
	case DW_TAG_inheritance:
		return read_member(reader, entry);
	case DW_TAG_variant_part:
	case DW_TAG_variant:
		return read_variants(reader, entry, frame);
	case DW_TAG_enumerator:
		return top(reader)->kind == FRAME_ENUMERATORS ? add_enumerator(reader, entry)
							      : NULL;
	case DW_TAG_variable:
		return read_variable(reader, entry);
	case DW_TAG_imported_unit:
		return note_reference(reader, entry->import);
	case DW_TAG_subrange_type:
	case DW_TAG_generic_subrange:
		if (top(reader)->kind == FRAME_ARRAY)
			return add_dimension(reader, entry);
		return read_type(reader, entry, frame);
	default:
		return entry->wanted ? read_type(reader, entry, frame) : NULL;
	}
}

HEAP_MUST_CHECK
static struct heap_error *close_frame(struct heap_unit_reader *reader, uint64_t end)
{
	struct heap_unit_frame frame = *top(reader);

	reader->frame_count--;
	if (frame.is_type_scope)
		reader->scopes[frame.scope].end = end;
	if (frame.kind == FRAME_MEMBERS || frame.kind == FRAME_VARIANTS)
		return close_members(reader, &frame);
	if (frame.kind == FRAME_ARRAY)
		return close_array(reader, &frame);
	return NULL;
}

static void forget(struct heap_unit_reader *reader)
{
	reader->types.count = reader->types.member_count = reader->types.enumerator_count = 0;
	reader->found_count = 0;
	if (reader->slots)
		memset(reader->slots, 0, ((size_t)reader->slot_mask + 1) * sizeof(*reader->slots));
	reader->scope_count = reader->frame_count = reader->pending_count = 0;
	reader->dimension_count = reader->variable_count = reader->reference_count = 0;
	reader->dies = 0;
}

// Type 0, the scope that is no scope, and the frame that the unit's DIE is in.
HEAP_MUST_CHECK
static struct heap_error *begin(struct heap_unit_reader *reader)
{
	const struct heap_type unknown = { .kind = HEAP_TYPE_UNKNOWN };
	const struct heap_unit_frame frame = { .kind = FRAME_OTHER };
	uint32_t zero;

	HEAP_TRY(add_type(reader, &unknown, HEAP_DWARF_NOWHERE, &zero));
	HEAP_TRY(push_scope(reader, reader->unit->start, 0, 0, &zero));
	return push_frame(reader, &frame);
}

HEAP_MUST_CHECK
static struct heap_error *read_next(struct heap_unit_reader *reader)
{
	struct heap_dwarf_die entry;
	uint64_t next;

	HEAP_TRY(heap_dwarf_dies_read(&reader->entries, reader->position, reader->all_references,
				      &entry, &next));
	if (!entry.tag) {
		if (reader->frame_count > 1)
			HEAP_TRY(close_frame(reader, next));
	} else {
		struct heap_unit_frame frame = { .kind = FRAME_OTHER, .scope = top(reader)->scope };

		reader->dies++;
		HEAP_TRY(read_entry(reader, &entry, &frame));
		if (reader->all_references && entry.type &&
		    (entry.tag == DW_TAG_variable || entry.tag == DW_TAG_formal_parameter))
			HEAP_TRY(note_reference(reader, entry.type));
		if (entry.children)
			HEAP_TRY(push_frame(reader, &frame));
	}
	reader->position = next;
	return NULL;
}

struct heap_error *heap_unit_reader_read(struct heap_unit_reader *reader,
					 const struct heap_dwarf_unit *unit)
{
	struct heap_dwarf_die first;

	forget(reader);
	reader->unit = unit;
	reader->position = unit->die;
	HEAP_TRY(heap_dwarf_dies_begin(&reader->entries, reader->units, unit, &first));
	HEAP_TRY(begin(reader));
	while (reader->position < unit->end)
		HEAP_TRY(read_next(reader));
	while (reader->frame_count > 1)
		HEAP_TRY(close_frame(reader, unit->end));
	return NULL;
}
