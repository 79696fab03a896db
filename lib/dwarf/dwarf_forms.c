// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_forms.h"

#include "lib/dwarf/dwarf_constants.h"

int heap_dwarf_form_size(const struct heap_dwarf_unit *unit, uint16_t form)
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
		return HEAP_DWARF_FORM_VARIES;
	}
}

static struct heap_dwarf_value block(struct heap_dwarf_cursor *cursor, uint64_t size)
{
	return (struct heap_dwarf_value){ .kind = HEAP_DWARF_BLOCK_VALUE,
					  .number = size,
					  .bytes = heap_dwarf_skip(cursor, size) };
}

static struct heap_dwarf_value number(uint64_t value)
{
	return (struct heap_dwarf_value){ .kind = HEAP_DWARF_NUMBER_VALUE, .number = value };
}

static struct heap_dwarf_value string(const char *text)
{
	return (struct heap_dwarf_value){ .kind = HEAP_DWARF_STRING_VALUE, .text = text };
}

static struct heap_dwarf_value reference(uint64_t place)
{
	return (struct heap_dwarf_value){ .kind = HEAP_DWARF_REFERENCE_VALUE, .number = place };
}

static struct heap_dwarf_value address(uint64_t value)
{
	return (struct heap_dwarf_value){ .kind = HEAP_DWARF_ADDRESS_VALUE, .number = value };
}

static struct heap_dwarf_value indexed(uint64_t value)
{
	return (struct heap_dwarf_value){ .kind = HEAP_DWARF_INDEX_VALUE, .number = value };
}

static struct heap_dwarf_value indexed_string(const struct heap_dwarf_dies *dies, uint64_t index)
{
	unsigned size = dies->unit->offset_size;
	struct heap_dwarf_bytes offsets = dies->sections->string_offsets;
	uint64_t offset = HEAP_DWARF_OFFSET_MASK;

	if (index < HEAP_DWARF_OFFSET_MASK / 8 && dies->bases.string_offsets < offsets.size)
		offset = dies->bases.string_offsets + index * size;

	struct heap_dwarf_cursor cursor = heap_dwarf_cursor(offsets, offset, offsets.size);

	offset = heap_dwarf_fixed(&cursor, size);
	return string(cursor.bad ? "" : heap_dwarf_string_at(dies->sections->strings, offset));
}

// A reference within the unit.
static struct heap_dwarf_value local(const struct heap_dwarf_dies *dies, uint64_t offset)
{
	const struct heap_dwarf_unit *unit = dies->unit;
	bool inside = offset < unit->end - unit->start;

	return reference(inside ? unit->start + offset : HEAP_DWARF_NOWHERE);
}

// A reference within the file that the unit is in, or into the alternate file.
static struct heap_dwarf_value elsewhere(uint64_t section, uint64_t offset)
{
	return reference(offset <= HEAP_DWARF_OFFSET_MASK
				 ? (section << HEAP_DWARF_PLACE_SHIFT) + offset
				 : HEAP_DWARF_NOWHERE);
}

static struct heap_dwarf_value global(const struct heap_dwarf_dies *dies, uint64_t offset)
{
	// Each file has two numbers, an even one for .debug_info and an odd one for .debug_types.
	return elsewhere(dies->unit->start >> HEAP_DWARF_PLACE_SHIFT & ~UINT64_C(1), offset);
}

static struct heap_dwarf_value signature(const struct heap_dwarf_dies *dies, uint64_t number)
{
	const struct heap_dwarf_unit *unit = heap_dwarf_units_find_type(dies->units, number);

	return reference(unit ? unit->type_die : HEAP_DWARF_NOWHERE);
}

// Forms with a size of their own. @param size  from heap_dwarf_form_size()
static struct heap_dwarf_value fixed_value(const struct heap_dwarf_dies *dies,
					   struct heap_dwarf_cursor *cursor, uint16_t form,
					   int size)
{
	uint64_t raw = heap_dwarf_fixed(cursor, size);

	switch (form) {
	case DW_FORM_flag:
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_sec_offset:
		return number(raw);
	case DW_FORM_addr:
		return address(raw);
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
		return indexed(raw);
	case DW_FORM_strp:
		return string(heap_dwarf_string_at(dies->sections->strings, raw));
	case DW_FORM_line_strp:
		return string(heap_dwarf_string_at(dies->sections->line_strings, raw));
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		return string(heap_dwarf_string_at(dies->units->alternate.strings, raw));
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
		return indexed_string(dies, raw);
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
		return local(dies, raw);
	case DW_FORM_ref_addr:
		return global(dies, raw);
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
	case DW_FORM_GNU_ref_alt:
		return elsewhere(HEAP_DWARF_ALTERNATE, raw);
	case DW_FORM_ref_sig8:
		return signature(dies, raw);
	default:
		return (struct heap_dwarf_value){ .kind = HEAP_DWARF_OTHER_VALUE };
	}
}

static struct heap_dwarf_value read_value(const struct heap_dwarf_dies *dies,
					  struct heap_dwarf_cursor *cursor, uint16_t form,
					  int64_t implicit)
{
	int size = heap_dwarf_form_size(dies->unit, form);

	switch (form) {
	case DW_FORM_flag_present:
		return number(1);
	case DW_FORM_implicit_const:
		return number(implicit);
	case DW_FORM_data16:
		heap_dwarf_skip(cursor, 16);
		return (struct heap_dwarf_value){ .kind = HEAP_DWARF_OTHER_VALUE };
	case DW_FORM_udata:
		return number(heap_dwarf_unsigned(cursor));
	case DW_FORM_sdata:
		return number(heap_dwarf_signed(cursor));
	case DW_FORM_ref_udata:
		return local(dies, heap_dwarf_unsigned(cursor));
	case DW_FORM_string:
		return string(heap_dwarf_string(cursor));
	case DW_FORM_strx:
	case DW_FORM_GNU_str_index:
		return indexed_string(dies, heap_dwarf_unsigned(cursor));
	case DW_FORM_block1:
		return block(cursor, heap_dwarf_fixed(cursor, 1));
	case DW_FORM_block2:
		return block(cursor, heap_dwarf_fixed(cursor, 2));
	case DW_FORM_block4:
		return block(cursor, heap_dwarf_fixed(cursor, 4));
	case DW_FORM_block:
	case DW_FORM_exprloc:
		return block(cursor, heap_dwarf_unsigned(cursor));
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
		return indexed(heap_dwarf_unsigned(cursor));
	case DW_FORM_indirect:
		form = heap_dwarf_unsigned(cursor);
		if (form != DW_FORM_indirect && form != DW_FORM_implicit_const)
			return read_value(dies, cursor, form, 0);
		break;
	default:
		if (size != HEAP_DWARF_FORM_VARIES)
			return fixed_value(dies, cursor, form, size);
	}
	// A form that we do not know has a length that we do not know.
	cursor->bad = true;
	return (struct heap_dwarf_value){ .kind = HEAP_DWARF_OTHER_VALUE };
}

struct heap_dwarf_value heap_dwarf_form_read(const struct heap_dwarf_dies *dies,
					     struct heap_dwarf_cursor *cursor,
					     const struct heap_dwarf_attribute *attribute)
{
	return read_value(dies, cursor, attribute->form, attribute->implicit);
}
