// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_ranges.h"

#include "lib/dwarf/dwarf_constants.h"

struct list {
	const struct heap_dwarf_dies *dies;
	struct heap_dwarf_cursor cursor;
	uint64_t base; // that offsets are added to
};

// The kinds of entries, in any encoding.
enum entry_kind {
	END_OF_LIST,
	BASE,
	RANGE,
};

static uint64_t indexed(struct list *list, uint64_t index)
{
	uint64_t address = 0;

	if (!heap_dwarf_dies_address(list->dies, index, &address))
		list->cursor.bad = true;
	return address;
}

static uint64_t next_indexed(struct list *list)
{
	return indexed(list, heap_dwarf_unsigned(&list->cursor));
}

static uint64_t next_address(struct list *list)
{
	return heap_dwarf_fixed(&list->cursor, list->dies->unit->address_size);
}

// DWARF 5.
static enum entry_kind read_entry(struct list *list, struct heap_dwarf_range *range)
{
	switch (heap_dwarf_fixed(&list->cursor, 1)) {
	case DW_RLE_base_addressx:
		list->base = next_indexed(list);
		return BASE;
	case DW_RLE_base_address:
		list->base = next_address(list);
		return BASE;
	case DW_RLE_startx_endx:
		range->low = next_indexed(list);
		range->high = next_indexed(list);
		return RANGE;
	case DW_RLE_startx_length:
		range->low = next_indexed(list);
		range->high = range->low + heap_dwarf_unsigned(&list->cursor);
		return RANGE;
	case DW_RLE_offset_pair:
		range->low = list->base + heap_dwarf_unsigned(&list->cursor);
		range->high = list->base + heap_dwarf_unsigned(&list->cursor);
		return RANGE;
	case DW_RLE_start_end:
		range->low = next_address(list);
		range->high = next_address(list);
		return RANGE;
	case DW_RLE_start_length:
		range->low = next_address(list);
		range->high = range->low + heap_dwarf_unsigned(&list->cursor);
		return RANGE;
	default:
		return END_OF_LIST;
	}
}

// DWARF 2 to 4.
static enum entry_kind read_pair(struct list *list, struct heap_dwarf_range *range)
{
	uint64_t highest = list->dies->unit->address_size == 4 ? UINT32_MAX : UINT64_MAX;
	uint64_t low = next_address(list), high = next_address(list);

	if (low == 0 && high == 0)
		return END_OF_LIST;
	if (low == highest) {
		list->base = high;
		return BASE;
	}
	range->low = list->base + low;
	range->high = list->base + high;
	return RANGE;
}

static struct heap_dwarf_bytes section_of(const struct heap_dwarf_dies *dies)
{
	if (dies->unit->version >= 5)
		return dies->sections->range_lists;
	// These are not split: the linker must see to them.
	return dies->unit->split ? dies->units->main.ranges : dies->sections->ranges;
}

// Where in the section the list begins.
static uint64_t offset_of(const struct heap_dwarf_dies *dies, struct heap_dwarf_bytes section,
			  const struct heap_dwarf_value *value)
{
	const struct heap_dwarf_bases *bases = &dies->bases;
	uint64_t base = bases->range_lists;
	unsigned size = dies->unit->offset_size;

	if (value->kind != HEAP_DWARF_INDEX_VALUE)
		return value->number + bases->range_offsets;
	if (base > section.size || value->number >= (section.size - base) / size)
		return UINT64_MAX;

	struct heap_dwarf_cursor cursor =
		heap_dwarf_cursor(section, base + value->number * size, section.size);

	return base + heap_dwarf_fixed(&cursor, size);
}

// Visits a list's ranges in order; damage ends it.
static void visit_list(const struct heap_dwarf_dies *dies, const struct heap_dwarf_value *value,
		       uint64_t base, heap_dwarf_range_visitor *visit, void *context)
{
	struct heap_dwarf_bytes section = section_of(dies);
	uint64_t offset = offset_of(dies, section, value);
	struct list list = { .dies = dies,
			     .cursor = heap_dwarf_cursor(section, offset, section.size),
			     .base = base };

	while (!list.cursor.bad) {
		struct heap_dwarf_range range = { 0 };
		enum entry_kind entry = dies->unit->version >= 5 ? read_entry(&list, &range)
								 : read_pair(&list, &range);

		if (entry == END_OF_LIST)
			break;
		if (entry == RANGE && (list.cursor.bad || !visit(context, &range)))
			break;
	}
}

// --- extents -------------------------------------------------------------------------------

void heap_dwarf_extent_note(struct heap_dwarf_extent *extent, uint16_t name,
			    const struct heap_dwarf_value *value)
{
	switch (name) {
	case DW_AT_low_pc:
		extent->low = *value;
		break;
	case DW_AT_high_pc:
		extent->high = *value;
		break;
	case DW_AT_ranges:
		extent->ranges = *value;
		break;
	}
}

// @return false if the value is no address
static bool get_address(const struct heap_dwarf_dies *dies, const struct heap_dwarf_value *value,
			uint64_t *result)
{
	if (value->kind == HEAP_DWARF_INDEX_VALUE)
		return heap_dwarf_dies_address(dies, value->number, result);
	*result = value->number;
	return value->kind == HEAP_DWARF_ADDRESS_VALUE;
}

uint64_t heap_dwarf_extent_low(const struct heap_dwarf_dies *dies,
			       const struct heap_dwarf_extent *extent)
{
	uint64_t low;

	return get_address(dies, &extent->low, &low) ? low : 0;
}

struct filter {
	heap_dwarf_range_visitor *visit;
	void *context;
};

// Code that the linker discarded starts at 0, or at 1 in lists where 0 would end them, or at -1.
static bool visit_code(void *context, const struct heap_dwarf_range *range)
{
	const struct filter *filter = context;

	if (range->low <= 1 || range->low >= range->high)
		return true;
	return filter->visit(filter->context, range);
}

void heap_dwarf_extent_visit(const struct heap_dwarf_dies *dies,
			     const struct heap_dwarf_extent *extent, uint64_t base,
			     heap_dwarf_range_visitor *visit, void *context)
{
	struct filter filter = { visit, context };
	struct heap_dwarf_range range = { 0 };

	if (extent->ranges.kind != HEAP_DWARF_OTHER_VALUE) {
		visit_list(dies, &extent->ranges, base, visit_code, &filter);
		return;
	}
	if (!get_address(dies, &extent->low, &range.low))
		return;
	if (extent->high.kind == HEAP_DWARF_NUMBER_VALUE)
		range.high = range.low + extent->high.number;
	else if (!get_address(dies, &extent->high, &range.high))
		return;
	visit_code(&filter, &range);
}
