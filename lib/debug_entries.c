// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/debug_entries.h"

#include <libdwarf/dwarf.h>
#include <stdlib.h>
#include <string.h>

#ifndef DW_FORM_GNU_addr_index
#define DW_FORM_GNU_addr_index 0x1f01
#define DW_FORM_GNU_str_index 0x1f02
#endif

enum {
	VARIES = -1,
};

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

// Bytes of an attribute of that form, or VARIES.
static int form_size(const struct heap_debug_unit *unit, uint16_t form)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_addr:
		return unit->address_size;
	case DW_FORM_ref_addr:
		return unit->version == 2 ? unit->address_size : unit->offset_size;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_sec_offset:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return unit->offset_size;
	default:
		return VARIES;
	}
}

static bool grow(void *array, size_t count, size_t *capacity, size_t size)
{
	if (count < *capacity)
		return true;

	size_t more = *capacity ? *capacity * 2 : 128;
	void *bigger = reallocarray(*(void **)array, more, size);

	if (bigger) {
		*(void **)array = bigger;
		*capacity = more;
	}
	return bigger;
}

// The attributes of one abbreviation. @return whether there was memory
static bool read_attributes(struct heap_debug_entries *entries, struct heap_debug_cursor *cursor,
			    struct heap_debug_abbreviation *abbreviation)
{
	abbreviation->attributes = entries->attribute_count;
	for (;;) {
		struct heap_debug_attribute attribute = { .name = heap_debug_unsigned(cursor) };
		int size;

		attribute.form = heap_debug_unsigned(cursor);
		if (attribute.form == DW_FORM_implicit_const)
			attribute.implicit = heap_debug_signed(cursor);
		if ((!attribute.name && !attribute.form) || cursor->bad)
			return true;
		size = form_size(entries->unit, attribute.form);
		if (size == VARIES || abbreviation->size > INT16_MAX)
			abbreviation->size = VARIES;
		else if (abbreviation->size != VARIES)
			abbreviation->size += size;
		if (!grow(&entries->attributes, entries->attribute_count,
			  &entries->attribute_capacity, sizeof(*entries->attributes)))
			return false;
		entries->attributes[entries->attribute_count++] = attribute;
		abbreviation->count++;
	}
}

static int compare_codes(const void *left, const void *right)
{
	const struct heap_debug_abbreviation *a = left, *b = right;

	return (a->code > b->code) - (a->code < b->code);
}

HEAP_MUST_CHECK
static struct heap_error *read_abbreviations(struct heap_debug_entries *entries)
{
	struct heap_debug_bytes section = entries->sections->abbreviations;
	struct heap_debug_cursor cursor =
		heap_debug_cursor(section, entries->unit->abbreviations, section.size);

	entries->count = entries->attribute_count = 0;
	entries->in_order = true;
	for (;;) {
		struct heap_debug_abbreviation abbreviation = { .code = heap_debug_unsigned(
									&cursor) };

		if (!abbreviation.code || cursor.bad)
			break;
		abbreviation.tag = heap_debug_unsigned(&cursor);
		abbreviation.wanted = is_wanted(abbreviation.tag);
		abbreviation.children = heap_debug_fixed(&cursor, 1);
		if (!read_attributes(entries, &cursor, &abbreviation) ||
		    !grow(&entries->abbreviations, entries->count, &entries->capacity,
			  sizeof(*entries->abbreviations)))
			return heap_error_out_of_memory();
		entries->abbreviations[entries->count++] = abbreviation;
		entries->in_order &= abbreviation.code == entries->count;
	}
	if (cursor.bad)
		return heap_error_create(HEAP_ERROR_FORMAT, "abbreviations end too early");
	if (!entries->in_order)
		qsort(entries->abbreviations, entries->count, sizeof(*entries->abbreviations),
		      compare_codes);
	return NULL;
}

static const struct heap_debug_abbreviation *find_abbreviation(
	const struct heap_debug_entries *entries, uint64_t code)
{
	struct heap_debug_abbreviation key = { .code = code };

	if (entries->in_order)
		return code - 1 < entries->count ? &entries->abbreviations[code - 1] : NULL;
	return bsearch(&key, entries->abbreviations, entries->count,
		       sizeof(*entries->abbreviations), compare_codes);
}

// --- values --------------------------------------------------------------------------------

enum value_class {
	VALUE_OTHER,
	VALUE_NUMBER,
	VALUE_STRING,
	VALUE_REFERENCE, // number: a place
	VALUE_BLOCK,     // bytes, number: how many
};

struct value {
	enum value_class class;
	uint64_t number;
	const uint8_t *bytes;
};

static struct value block(struct heap_debug_cursor *cursor, uint64_t size)
{
	return (struct value){ VALUE_BLOCK, size, heap_debug_skip(cursor, size) };
}

static struct value number(uint64_t value)
{
	return (struct value){ VALUE_NUMBER, value, NULL };
}

static struct value string(const char *text)
{
	return (struct value){ VALUE_STRING, 0, (const uint8_t *)text };
}

static struct value indexed_string(const struct heap_debug_entries *entries, uint64_t index)
{
	unsigned size = entries->unit->offset_size;
	struct heap_debug_bytes offsets = entries->sections->string_offsets;
	uint64_t offset = HEAP_DEBUG_OFFSET_MASK;

	if (index < HEAP_DEBUG_OFFSET_MASK / 8 && entries->string_offsets < offsets.size)
		offset = entries->string_offsets + index * size;

	struct heap_debug_cursor cursor = heap_debug_cursor(offsets, offset, offsets.size);

	offset = heap_debug_fixed(&cursor, size);
	return string(cursor.bad ? "" : heap_debug_string_at(entries->sections->strings, offset));
}

// A reference within the unit.
static struct value local(const struct heap_debug_entries *entries, uint64_t offset)
{
	const struct heap_debug_unit *unit = entries->unit;
	bool inside = offset < unit->end - unit->start;

	return (struct value){ VALUE_REFERENCE, inside ? unit->start + offset : HEAP_DEBUG_NOWHERE,
			       NULL };
}

static struct value elsewhere(enum heap_debug_place place, uint64_t offset)
{
	uint64_t base = (uint64_t)place << HEAP_DEBUG_PLACE_SHIFT;

	return (struct value){ VALUE_REFERENCE,
			       offset <= HEAP_DEBUG_OFFSET_MASK ? base + offset
								: HEAP_DEBUG_NOWHERE,
			       NULL };
}

static struct value global(const struct heap_debug_entries *entries, uint64_t offset)
{
	bool alternate = entries->unit->start >> HEAP_DEBUG_PLACE_SHIFT == HEAP_DEBUG_ALTERNATE;

	return elsewhere(alternate ? HEAP_DEBUG_ALTERNATE : HEAP_DEBUG_INFO, offset);
}

static struct value signature(const struct heap_debug_entries *entries, uint64_t number)
{
	const struct heap_debug_unit *unit = heap_debug_units_find_type(entries->units, number);

	return (struct value){ VALUE_REFERENCE, unit ? unit->type_die : HEAP_DEBUG_NOWHERE, NULL };
}

// Forms with a size of their own. @param size  from form_size()
static struct value fixed_value(const struct heap_debug_entries *entries,
				struct heap_debug_cursor *cursor, uint16_t form, int size)
{
	uint64_t raw = heap_debug_fixed(cursor, size);

	switch (form) {
	case DW_FORM_flag:
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_sec_offset:
	case DW_FORM_addr:
		return number(raw);
	case DW_FORM_strp:
		return string(heap_debug_string_at(entries->sections->strings, raw));
	case DW_FORM_line_strp:
		return string(heap_debug_string_at(entries->sections->line_strings, raw));
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		return string(heap_debug_string_at(entries->units->alternate.strings, raw));
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
		return indexed_string(entries, raw);
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
		return local(entries, raw);
	case DW_FORM_ref_addr:
		return global(entries, raw);
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
	case DW_FORM_GNU_ref_alt:
		return elsewhere(HEAP_DEBUG_ALTERNATE, raw);
	case DW_FORM_ref_sig8:
		return signature(entries, raw);
	default:
		return (struct value){ .class = VALUE_OTHER };
	}
}

static struct value read_value(const struct heap_debug_entries *entries,
			       struct heap_debug_cursor *cursor, uint16_t form, int64_t implicit)
{
	int size = form_size(entries->unit, form);

	switch (form) {
	case DW_FORM_flag_present:
		return number(1);
	case DW_FORM_implicit_const:
		return number(implicit);
	case DW_FORM_data16:
		heap_debug_skip(cursor, 16);
		return (struct value){ .class = VALUE_OTHER };
	case DW_FORM_udata:
		return number(heap_debug_unsigned(cursor));
	case DW_FORM_sdata:
		return number(heap_debug_signed(cursor));
	case DW_FORM_ref_udata:
		return local(entries, heap_debug_unsigned(cursor));
	case DW_FORM_string:
		return string(heap_debug_string(cursor));
	case DW_FORM_strx:
	case DW_FORM_GNU_str_index:
		return indexed_string(entries, heap_debug_unsigned(cursor));
	case DW_FORM_block1:
		return block(cursor, heap_debug_fixed(cursor, 1));
	case DW_FORM_block2:
		return block(cursor, heap_debug_fixed(cursor, 2));
	case DW_FORM_block4:
		return block(cursor, heap_debug_fixed(cursor, 4));
	case DW_FORM_block:
	case DW_FORM_exprloc:
		return block(cursor, heap_debug_unsigned(cursor));
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
		heap_debug_unsigned(cursor);
		return (struct value){ .class = VALUE_OTHER };
	case DW_FORM_indirect:
		form = heap_debug_unsigned(cursor);
		if (form != DW_FORM_indirect && form != DW_FORM_implicit_const)
			return read_value(entries, cursor, form, 0);
		break;
	default:
		if (size != VARIES)
			return fixed_value(entries, cursor, form, size);
	}
	// A form that we do not know has a length that we do not know.
	cursor->bad = true;
	return (struct value){ .class = VALUE_OTHER };
}

// --- attributes ----------------------------------------------------------------------------

static void set_number(struct heap_debug_entry *entry, uint16_t name, uint64_t value)
{
	switch (name) {
	case DW_AT_byte_size:
		entry->size = value;
		entry->has |= HEAP_DEBUG_HAS_SIZE;
		break;
	case DW_AT_data_member_location:
		entry->offset = value;
		entry->has |= HEAP_DEBUG_HAS_LOCATION;
		break;
	case DW_AT_bit_size:
		entry->bit_size = value;
		break;
	case DW_AT_bit_offset:
		entry->bit_offset = value;
		entry->has |= HEAP_DEBUG_HAS_BIT_OFFSET;
		break;
	case DW_AT_data_bit_offset:
		entry->data_bits = value;
		entry->has |= HEAP_DEBUG_HAS_DATA_BITS;
		break;
	case DW_AT_upper_bound:
		entry->upper_bound = value;
		entry->has |= HEAP_DEBUG_HAS_UPPER_BOUND;
		break;
	case DW_AT_lower_bound:
		entry->lower_bound = value;
		break;
	case DW_AT_count:
		entry->array_count = value;
		entry->has |= HEAP_DEBUG_HAS_COUNT;
		break;
	case DW_AT_const_value:
		entry->value = value;
		entry->has |= HEAP_DEBUG_HAS_VALUE;
		break;
	case DW_AT_encoding:
		entry->encoding = value;
		break;
	case DW_AT_decl_file:
		entry->file = value;
		break;
	case DW_AT_decl_line:
		entry->line = value;
		break;
	case DW_AT_stmt_list:
		entry->lines = value;
		entry->has |= HEAP_DEBUG_HAS_LINES;
		break;
	case DW_AT_declaration:
		entry->has |= value ? HEAP_DEBUG_IS_DECLARATION : 0;
		break;
	case DW_AT_external:
		entry->has |= value ? HEAP_DEBUG_IS_EXTERNAL : 0;
		break;
	case DW_AT_artificial:
		entry->has |= value ? HEAP_DEBUG_IS_ARTIFICIAL : 0;
		break;
	case DW_AT_virtuality:
		entry->has |= value ? HEAP_DEBUG_IS_VIRTUAL : 0;
		break;
	}
}

static void set_reference(struct heap_debug_entry *entry, uint16_t name, uint64_t place)
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
		entry->has |= HEAP_DEBUG_IS_CONTAINING;
		break;
	}
}

static void set(struct heap_debug_entry *entry, uint16_t name, const struct value *value)
{
	switch (value->class) {
	case VALUE_NUMBER:
		set_number(entry, name, value->number);
		break;
	case VALUE_REFERENCE:
		set_reference(entry, name, value->number);
		break;
	case VALUE_STRING:
		if (name == DW_AT_name)
			entry->name = (const char *)value->bytes;
		if (name == DW_AT_GNU_dwo_name || name == DW_AT_dwo_name)
			entry->has |= HEAP_DEBUG_IS_DWO;
		break;
	case VALUE_BLOCK:
		if (name == DW_AT_location || name == DW_AT_data_member_location) {
			entry->location = value->bytes;
			entry->location_size = value->number;
			entry->has |= HEAP_DEBUG_HAS_LOCATION;
		}
		break;
	case VALUE_OTHER:
		break;
	}
}

// A unit's own bases; its other attributes may need them, so that they are read first.
static void set_bases(struct heap_debug_entries *entries, struct heap_debug_cursor cursor,
		      const struct heap_debug_abbreviation *abbreviation)
{
	entries->string_offsets = entries->unit->version < 5 ? 0 : 2 * entries->unit->offset_size;
	entries->addresses = entries->string_offsets;
	for (uint32_t i = 0; i < abbreviation->count && !cursor.bad; i++) {
		const struct heap_debug_attribute *attribute =
			&entries->attributes[abbreviation->attributes + i];
		struct value value =
			read_value(entries, &cursor, attribute->form, attribute->implicit);

		if (attribute->name == DW_AT_str_offsets_base && value.class == VALUE_NUMBER)
			entries->string_offsets = value.number;
		if ((attribute->name == DW_AT_addr_base ||
		     attribute->name == DW_AT_GNU_addr_base) &&
		    value.class == VALUE_NUMBER)
			entries->addresses = value.number;
	}
}

// --- entries -------------------------------------------------------------------------------

HEAP_MAKES_ERROR
static struct heap_error *damaged(uint64_t place, const char *what)
{
	return heap_error_create(HEAP_ERROR_FORMAT, "entry at %#llx %s",
				 (unsigned long long)(place & HEAP_DEBUG_OFFSET_MASK), what);
}

struct heap_error *heap_debug_entries_read(const struct heap_debug_entries *entries, uint64_t place,
					   bool any, struct heap_debug_entry *result,
					   uint64_t *next)
{
	uint64_t base = entries->unit->start & ~HEAP_DEBUG_OFFSET_MASK;
	struct heap_debug_cursor cursor =
		heap_debug_cursor(entries->section, place - base, entries->unit->end - base);
	uint64_t code = heap_debug_unsigned(&cursor);

	if (cursor.bad)
		return damaged(place, "is outside its unit");
	if (!code) {
		result->place = place;
		result->tag = 0;
		*next = base + (cursor.at - entries->section.bytes);
		return NULL;
	}

	const struct heap_debug_abbreviation *abbreviation = find_abbreviation(entries, code);

	if (!abbreviation)
		return damaged(place, "has no abbreviation");
	if (!abbreviation->wanted && !any) {
		result->place = place;
		result->tag = abbreviation->tag;
		result->children = abbreviation->children;
		result->wanted = false;
		if (abbreviation->size >= 0)
			heap_debug_skip(&cursor, abbreviation->size);
	} else {
		*result = (struct heap_debug_entry){ .place = place,
						     .tag = abbreviation->tag,
						     .children = abbreviation->children,
						     .wanted = true };
	}
	if (result->wanted || abbreviation->size < 0) {
		const struct heap_debug_attribute *attribute =
			entries->attributes + abbreviation->attributes;

		for (uint32_t i = 0; i < abbreviation->count && !cursor.bad; i++, attribute++) {
			struct value value =
				read_value(entries, &cursor, attribute->form, attribute->implicit);

			if (result->wanted)
				set(result, attribute->name, &value);
		}
	}
	if (cursor.bad)
		return damaged(place, "does not end in its unit");
	*next = base + (cursor.at - entries->section.bytes);
	return NULL;
}

struct heap_error *heap_debug_entries_begin(struct heap_debug_entries *entries,
					    const struct heap_debug_units *units,
					    const struct heap_debug_unit *unit,
					    struct heap_debug_entry *first)
{
	const struct heap_debug_unit *last = entries->unit;
	const struct heap_debug_sections *sections = heap_debug_units_sections(units, unit);
	// Type units of one source file share their abbreviations.
	bool same = last && entries->units == units && entries->sections == sections &&
		    last->abbreviations == unit->abbreviations && last->version == unit->version &&
		    last->address_size == unit->address_size &&
		    last->offset_size == unit->offset_size;
	struct heap_error *error = NULL;
	uint64_t next;

	entries->units = units;
	entries->unit = unit;
	entries->sections = sections;
	entries->section = heap_debug_units_section(units, unit->start);
	if (!same)
		error = read_abbreviations(entries);
	if (error) {
		entries->unit = NULL;
		return error;
	}

	uint64_t offset = unit->die & HEAP_DEBUG_OFFSET_MASK;
	struct heap_debug_cursor cursor =
		heap_debug_cursor(entries->section, offset, unit->end & HEAP_DEBUG_OFFSET_MASK);
	const struct heap_debug_abbreviation *abbreviation =
		find_abbreviation(entries, heap_debug_unsigned(&cursor));

	if (abbreviation)
		set_bases(entries, cursor, abbreviation);
	return heap_debug_entries_read(entries, unit->die, true, first, &next);
}

void heap_debug_entries_deinit(struct heap_debug_entries *entries)
{
	free(entries->abbreviations);
	free(entries->attributes);
	*entries = (struct heap_debug_entries){ 0 };
}

bool heap_debug_entries_address(const struct heap_debug_entries *entries, uint64_t index,
				uint64_t *result)
{
	struct heap_debug_bytes section = entries->sections->addresses;
	unsigned size = entries->unit->address_size;
	uint64_t end = HEAP_DEBUG_OFFSET_MASK;

	if (index < HEAP_DEBUG_OFFSET_MASK / 8 && entries->addresses < section.size)
		end = entries->addresses + (index + 1) * size;

	struct heap_debug_cursor cursor = heap_debug_cursor(section, end - size, end);
	uint64_t address = heap_debug_fixed(&cursor, size);

	if (cursor.bad)
		return false;
	*result = address;
	return true;
}
