// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_dies.h"

#include "lib/base/array.h"
#include "lib/dwarf/dwarf_forms.h"
#include "lib/dwarf/dwarf_constants.h"

#include <stdlib.h>
#include <string.h>

// --- abbreviations -------------------------------------------------------------------------

static bool is_wanted(uint16_t tag)
{
	switch (tag) {
	case DW_TAG_compile_unit:
	case DW_TAG_partial_unit:
	case DW_TAG_type_unit:
	case DW_TAG_skeleton_unit:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_base_type:
	case DW_TAG_unspecified_type:
	case DW_TAG_structure_type:
	case DW_TAG_variant:
	case DW_TAG_variant_part:
	case DW_TAG_class_type:
	case DW_TAG_interface_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_enumerator:
	case DW_TAG_member:
	case DW_TAG_inheritance:
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
	case DW_TAG_ptr_to_member_type:
	case DW_TAG_array_type:
	case DW_TAG_subrange_type:
	case DW_TAG_generic_subrange:
	case DW_TAG_typedef:
	case DW_TAG_template_alias:
	case DW_TAG_const_type:
	case DW_TAG_immutable_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_packed_type:
	case DW_TAG_shared_type:
	case DW_TAG_atomic_type:
	case DW_TAG_subroutine_type:
	case DW_TAG_string_type:
	case DW_TAG_set_type:
	case DW_TAG_file_type:
	case DW_TAG_variable:
	case DW_TAG_imported_unit:
		return true;
	default:
		return false;
	}
}

// Reads the attributes of one abbreviation.
HEAP_MUST_CHECK
static struct heap_error *read_attributes(struct heap_dwarf_dies *dies,
					  struct heap_dwarf_cursor *cursor,
					  struct heap_dwarf_abbreviation *abbreviation)
{
	abbreviation->attributes = dies->attribute_count;
	for (;;) {
		struct heap_dwarf_attribute attribute = { .name = heap_dwarf_unsigned(cursor) };
		int size;

		attribute.form = heap_dwarf_unsigned(cursor);
		if (attribute.form == DW_FORM_implicit_const)
			attribute.implicit = heap_dwarf_signed(cursor);
		if ((!attribute.name && !attribute.form) || cursor->bad)
			return NULL;
		size = heap_dwarf_form_size(dies->unit, attribute.form);
		if (size == HEAP_DWARF_FORM_VARIES || abbreviation->size > INT16_MAX)
			abbreviation->size = HEAP_DWARF_FORM_VARIES;
		else if (abbreviation->size != HEAP_DWARF_FORM_VARIES)
			abbreviation->size += size;
		HEAP_TRY(heap_reserve(dies->attributes, dies->attribute_capacity,
				      dies->attribute_count + 1));
		dies->attributes[dies->attribute_count++] = attribute;
		abbreviation->count++;
	}
}

static int compare_codes(const void *left, const void *right)
{
	const struct heap_dwarf_abbreviation *a = left, *b = right;

	return (a->code > b->code) - (a->code < b->code);
}

HEAP_MUST_CHECK
static struct heap_error *read_abbreviations(struct heap_dwarf_dies *dies)
{
	struct heap_dwarf_bytes section = dies->sections->abbreviations;
	struct heap_dwarf_cursor cursor =
		heap_dwarf_cursor(section, dies->unit->abbreviations, section.size);

	dies->count = dies->attribute_count = 0;
	dies->in_order = true;
	for (;;) {
		struct heap_dwarf_abbreviation abbreviation = { .code = heap_dwarf_unsigned(
									&cursor) };

		if (!abbreviation.code || cursor.bad)
			break;
		abbreviation.tag = heap_dwarf_unsigned(&cursor);
		abbreviation.wanted = is_wanted(abbreviation.tag);
		abbreviation.children = heap_dwarf_fixed(&cursor, 1);
		HEAP_TRY(read_attributes(dies, &cursor, &abbreviation));
		HEAP_TRY(
			heap_reserve(dies->abbreviations, dies->capacity, (size_t)dies->count + 1));
		dies->abbreviations[dies->count++] = abbreviation;
		dies->in_order &= abbreviation.code == dies->count;
	}
	if (cursor.bad)
		return heap_error_create(HEAP_ERROR_FORMAT, "abbreviations end too early");
	if (!dies->in_order)
		qsort(dies->abbreviations, dies->count, sizeof(*dies->abbreviations),
		      compare_codes);
	return NULL;
}

static const struct heap_dwarf_abbreviation *find_abbreviation(const struct heap_dwarf_dies *dies,
							       uint64_t code)
{
	struct heap_dwarf_abbreviation key = { .code = code };

	if (dies->in_order)
		return code - 1 < dies->count ? &dies->abbreviations[code - 1] : NULL;
	return bsearch(&key, dies->abbreviations, dies->count, sizeof(*dies->abbreviations),
		       compare_codes);
}

// --- attributes ----------------------------------------------------------------------------

static void set_number(struct heap_dwarf_die *entry, uint16_t name, uint64_t value)
{
	switch (name) {
	case DW_AT_byte_size:
		entry->size = value;
		entry->has |= HEAP_DWARF_HAS_SIZE;
		break;
	case DW_AT_data_member_location:
		entry->offset = value;
		entry->has |= HEAP_DWARF_HAS_LOCATION;
		break;
	case DW_AT_bit_size:
		entry->bit_size = value;
		break;
	case DW_AT_bit_offset:
		entry->bit_offset = value;
		entry->has |= HEAP_DWARF_HAS_BIT_OFFSET;
		break;
	case DW_AT_data_bit_offset:
		entry->data_bits = value;
		entry->has |= HEAP_DWARF_HAS_DATA_BITS;
		break;
	case DW_AT_upper_bound:
		entry->upper_bound = value;
		entry->has |= HEAP_DWARF_HAS_UPPER_BOUND;
		break;
	case DW_AT_lower_bound:
		entry->lower_bound = value;
		entry->has |= HEAP_DWARF_HAS_LOWER_BOUND;
		break;
	case DW_AT_count:
		entry->array_count = value;
		entry->has |= HEAP_DWARF_HAS_COUNT;
		break;
	case DW_AT_const_value:
	case DW_AT_discr_value:
		entry->value = value;
		entry->has |= HEAP_DWARF_HAS_VALUE;
		break;
	case DW_AT_encoding:
		entry->encoding = value;
		break;
	case DW_AT_language:
		entry->language = value;
		break;
	case DW_AT_decl_file:
		entry->file = value;
		break;
	case DW_AT_decl_line:
		entry->line = value;
		break;
	case DW_AT_declaration:
		entry->has |= value ? HEAP_DWARF_IS_DECLARATION : 0;
		break;
	case DW_AT_external:
		entry->has |= value ? HEAP_DWARF_IS_EXTERNAL : 0;
		break;
	case DW_AT_artificial:
		entry->has |= value ? HEAP_DWARF_IS_ARTIFICIAL : 0;
		break;
	case DW_AT_virtuality:
		entry->has |= value ? HEAP_DWARF_IS_VIRTUAL : 0;
		break;
	}
}

static void set_reference(struct heap_dwarf_die *entry, uint16_t name, uint64_t place)
{
	switch (name) {
	case DW_AT_type:
		entry->type = place;
		break;
	case DW_AT_specification:
	case DW_AT_abstract_origin:
		entry->specification = place;
		break;
	case DW_AT_signature:
		entry->signature = place;
		break;
	case DW_AT_import:
		entry->import = place;
		break;
	case DW_AT_containing_type:
		entry->has |= HEAP_DWARF_IS_CONTAINING;
		break;
	case DW_AT_lower_bound: // of a variable that has it
		entry->has |= HEAP_DWARF_IS_DYNAMIC;
		break;
	}
}

static void set(struct heap_dwarf_die *entry, uint16_t name, const struct heap_dwarf_value *value)
{
	switch (value->kind) {
	case HEAP_DWARF_NUMBER_VALUE:
		set_number(entry, name, value->number);
		break;
	case HEAP_DWARF_REFERENCE_VALUE:
		set_reference(entry, name, value->number);
		break;
	case HEAP_DWARF_STRING_VALUE:
		if (name == DW_AT_name)
			entry->name = value->text;
		if (name == DW_AT_GNU_dwo_name || name == DW_AT_dwo_name)
			entry->has |= HEAP_DWARF_IS_DWO;
		break;
	case HEAP_DWARF_BLOCK_VALUE:
		if (name == DW_AT_location || name == DW_AT_data_member_location) {
			entry->location = value->bytes;
			entry->location_size = value->number;
			entry->has |= HEAP_DWARF_HAS_LOCATION;
		}
		if (name == DW_AT_data_location) {
			entry->location = value->bytes;
			entry->location_size = value->number;
			entry->has |= HEAP_DWARF_HAS_DATA_LOCATION;
		}
		if (name == DW_AT_lower_bound)
			entry->has |= HEAP_DWARF_IS_DYNAMIC;
		break;
	case HEAP_DWARF_OTHER_VALUE:
		break;
	}
}

static void set_base(struct heap_dwarf_bases *bases, uint16_t name,
		     const struct heap_dwarf_value *value)
{
	if (value->kind != HEAP_DWARF_NUMBER_VALUE)
		return;
	switch (name) {
	case DW_AT_str_offsets_base:
		bases->string_offsets = value->number;
		break;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		bases->addresses = value->number;
		break;
	case DW_AT_rnglists_base:
		bases->range_lists = value->number;
		break;
	case DW_AT_loclists_base:
		bases->location_lists = value->number;
		break;
	case DW_AT_GNU_ranges_base:
		bases->split_ranges = value->number;
		break;
	case DW_AT_stmt_list:
		bases->lines = value->number;
		bases->has_lines = true;
		break;
	}
}

// Completes a split unit's bases by those of its skeleton and its place in a package.
static void join_bases(const struct heap_dwarf_dies *dies, struct heap_dwarf_bases *bases)
{
	const struct heap_dwarf_units *units = dies->units;
	const struct heap_dwarf_unit *unit = dies->unit;

	if (unit->contribution) {
		const struct heap_dwarf_bases *parts =
			&units->contributions[unit->contribution - 1];

		bases->string_offsets += parts->string_offsets;
		bases->range_lists += parts->range_lists;
		bases->location_lists += parts->location_lists;
		bases->lines += parts->lines;
		bases->location_offsets = parts->location_lists;
		bases->range_offsets = parts->range_lists;
	}
	if (unit->skeleton) {
		const struct heap_dwarf_bases *skeleton =
			&units->skeletons[unit->skeleton - 1].bases;

		bases->addresses = skeleton->addresses;
		bases->range_offsets += unit->version < 5 ? skeleton->split_ranges : 0;
		bases->address = skeleton->address;
		bases->lines = skeleton->lines;
		bases->has_lines = skeleton->has_lines;
	}
}

// A unit's own bases; its other attributes may need them, so that they are read first.
static void set_bases(struct heap_dwarf_dies *dies, struct heap_dwarf_cursor cursor,
		      const struct heap_dwarf_abbreviation *abbreviation)
{
	unsigned size = dies->unit->offset_size;
	struct heap_dwarf_bases bases = { 0 };
	struct heap_dwarf_value low = { 0 };

	// Tables of DWARF 5 begin with a header, which units may leave to be known.
	if (dies->unit->version >= 5)
		bases = (struct heap_dwarf_bases){ .string_offsets = 2 * size,
						   .addresses = 2 * size,
						   .range_lists = 4 + 2 * size,
						   .location_lists = 4 + 2 * size };
	for (uint32_t i = 0; i < abbreviation->count && !cursor.bad; i++) {
		const struct heap_dwarf_attribute *attribute =
			&dies->attributes[abbreviation->attributes + i];
		struct heap_dwarf_value value = heap_dwarf_form_read(dies, &cursor, attribute);

		set_base(&bases, attribute->name, &value);
		if (attribute->name == DW_AT_low_pc)
			low = value;
	}
	dies->bases = bases;
	// A unit of several ranges has none, or 0.
	if (low.kind == HEAP_DWARF_INDEX_VALUE &&
	    !heap_dwarf_dies_address(dies, low.number, &low.number))
		low.number = 0;
	dies->bases.address = low.number;
	if (dies->unit->split)
		join_bases(dies, &dies->bases);
}

// --- DIEs -------------------------------------------------------------------------------

HEAP_MAKES_ERROR
static struct heap_error *damaged(uint64_t place, const char *what)
{
	return heap_error_create(HEAP_ERROR_FORMAT, "DIE at %#llx %s",
				 (unsigned long long)(place & HEAP_DWARF_OFFSET_MASK), what);
}

struct heap_error *heap_dwarf_dies_read(const struct heap_dwarf_dies *dies, uint64_t place,
					bool any, struct heap_dwarf_die *result, uint64_t *next)
{
	uint64_t base = dies->unit->start & ~HEAP_DWARF_OFFSET_MASK;
	struct heap_dwarf_cursor cursor =
		heap_dwarf_cursor(dies->section, place - base, dies->unit->end - base);
	uint64_t code = heap_dwarf_unsigned(&cursor);

	if (cursor.bad)
		return damaged(place, "is outside its unit");
	if (!code) {
		result->place = place;
		result->tag = 0;
		*next = base + (cursor.at - dies->section.bytes);
		return NULL;
	}

	const struct heap_dwarf_abbreviation *abbreviation = find_abbreviation(dies, code);

	if (!abbreviation)
		return damaged(place, "has no abbreviation");
	if (!abbreviation->wanted && !any) {
		result->place = place;
		result->tag = abbreviation->tag;
		result->children = abbreviation->children;
		result->wanted = false;
		if (abbreviation->size >= 0)
			heap_dwarf_skip(&cursor, abbreviation->size);
	} else {
		*result = (struct heap_dwarf_die){ .place = place,
						   .tag = abbreviation->tag,
						   .children = abbreviation->children,
						   .wanted = true };
	}
	if (result->wanted || abbreviation->size < 0) {
		for (uint32_t i = 0; i < abbreviation->count && !cursor.bad; i++) {
			const struct heap_dwarf_attribute *attribute =
				&dies->attributes[abbreviation->attributes + i];
			struct heap_dwarf_value value =
				heap_dwarf_form_read(dies, &cursor, attribute);

			if (result->wanted)
				set(result, attribute->name, &value);
		}
	}
	if (cursor.bad)
		return damaged(place, "does not end in its unit");
	*next = base + (cursor.at - dies->section.bytes);
	return NULL;
}

struct heap_error *heap_dwarf_dies_visit(const struct heap_dwarf_dies *dies, uint64_t place,
					 heap_dwarf_attribute_visitor *visit, void *context,
					 uint16_t *tag, bool *children, uint64_t *next)
{
	uint64_t base = dies->unit->start & ~HEAP_DWARF_OFFSET_MASK;
	struct heap_dwarf_cursor cursor =
		heap_dwarf_cursor(dies->section, place - base, dies->unit->end - base);
	uint64_t code = heap_dwarf_unsigned(&cursor);
	const struct heap_dwarf_abbreviation *abbreviation =
		code ? find_abbreviation(dies, code) : NULL;

	if (cursor.bad)
		return damaged(place, "is outside its unit");
	if (code && !abbreviation)
		return damaged(place, "has no abbreviation");
	*tag = code ? abbreviation->tag : 0;
	*children = code && abbreviation->children;
	for (uint32_t i = 0; code && i < abbreviation->count && !cursor.bad; i++) {
		const struct heap_dwarf_attribute *attribute =
			&dies->attributes[abbreviation->attributes + i];
		struct heap_dwarf_value value = heap_dwarf_form_read(dies, &cursor, attribute);

		visit(context, attribute->name, &value);
	}
	if (cursor.bad)
		return damaged(place, "does not end in its unit");
	*next = base + (cursor.at - dies->section.bytes);
	return NULL;
}

struct heap_error *heap_dwarf_dies_begin(struct heap_dwarf_dies *dies,
					 const struct heap_dwarf_units *units,
					 const struct heap_dwarf_unit *unit,
					 struct heap_dwarf_die *first)
{
	const struct heap_dwarf_unit *last = dies->unit;
	const struct heap_dwarf_sections *sections = heap_dwarf_units_sections(units, unit);
	// Type units of one source file share their abbreviations.
	bool same = last && dies->units == units && dies->sections == sections &&
		    last->abbreviations == unit->abbreviations && last->version == unit->version &&
		    last->address_size == unit->address_size &&
		    last->offset_size == unit->offset_size;
	struct heap_error *error = NULL;
	uint64_t next;

	dies->units = units;
	dies->unit = unit;
	dies->sections = sections;
	dies->section = heap_dwarf_units_section(units, unit->start);
	dies->addresses = unit->split ? units->main.addresses : sections->addresses;
	if (!same)
		error = read_abbreviations(dies);
	if (error) {
		dies->unit = NULL;
		return error;
	}

	uint64_t offset = unit->die & HEAP_DWARF_OFFSET_MASK;
	struct heap_dwarf_cursor cursor =
		heap_dwarf_cursor(dies->section, offset, unit->end & HEAP_DWARF_OFFSET_MASK);
	const struct heap_dwarf_abbreviation *abbreviation =
		find_abbreviation(dies, heap_dwarf_unsigned(&cursor));

	if (abbreviation)
		set_bases(dies, cursor, abbreviation);
	error = heap_dwarf_dies_read(dies, unit->die, true, first, &next);
	dies->language = error ? 0 : first->language;
	return error;
}

struct heap_error *heap_dwarf_dies_files(const struct heap_dwarf_dies *dies,
					 struct heap_dwarf_file_names *result)
{
	const struct heap_dwarf_sections *sections = dies->sections;

	result->count = 0;
	if (!dies->bases.has_lines)
		return NULL;
	// The line tables of split units are not split; type units have one for the names alone.
	if (dies->unit->split && !dies->unit->type_die)
		sections = &dies->units->main;
	return heap_dwarf_file_names_read(result, sections, dies->bases.lines);
}

void heap_dwarf_dies_deinit(struct heap_dwarf_dies *dies)
{
	free(dies->abbreviations);
	free(dies->attributes);
	*dies = (struct heap_dwarf_dies){ 0 };
}

bool heap_dwarf_dies_address(const struct heap_dwarf_dies *dies, uint64_t index, uint64_t *result)
{
	struct heap_dwarf_bytes section = dies->addresses;
	unsigned size = dies->unit->address_size;
	uint64_t end = HEAP_DWARF_OFFSET_MASK;

	if (index < HEAP_DWARF_OFFSET_MASK / 8 && dies->bases.addresses < section.size)
		end = dies->bases.addresses + (index + 1) * size;

	struct heap_dwarf_cursor cursor = heap_dwarf_cursor(section, end - size, end);
	uint64_t address = heap_dwarf_fixed(&cursor, size);

	if (cursor.bad)
		return false;
	*result = address;
	return true;
}
