// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/snapshot/snapshot_read.h"

#include "lib/base/cleanup.h"
#include "lib/base/varint.h"

// --- sections ----------------------------------------------------------------

struct heap_error *heap_snapshot_section(const struct heap_snapshot *snapshot, uint32_t tag,
					 const struct heap_section **result)
{
	const struct heap_section *section = heap_file_find(snapshot->file, tag);

	if (!section)
		return heap_section_damaged(tag, "it is missing");
	HEAP_TRY(heap_file_check(snapshot->file, section));
	*result = section;
	return NULL;
}

struct heap_error *heap_snapshot_counted_section(const struct heap_snapshot *snapshot, uint32_t tag,
						 uint64_t count, const struct heap_section **result)
{
	HEAP_TRY(heap_snapshot_section(snapshot, tag, result));
	if ((*result)->count != count)
		return heap_section_damaged(tag, "it has too few or too many values");
	return NULL;
}

struct heap_error *heap_snapshot_within(const struct heap_snapshot *snapshot,
					struct heap_error *error)
{
	return snapshot->path ? heap_error_within(error, "%s", snapshot->path) : error;
}

struct heap_error *heap_snapshot_read_values(const struct heap_snapshot *snapshot,
					     const struct heap_section *section, uint8_t width,
					     uint64_t first, uint64_t count, void *values)
{
	switch (width) {
	case 1:
		return heap_file_read_bytes(snapshot->file, section, first, count, values);
	case 4:
		return heap_file_read_u32(snapshot->file, section, first, count, values);
	default:
		return heap_file_read_u64(snapshot->file, section, first, count, values);
	}
}

// --- tables ------------------------------------------------------------------

static void store(uint8_t *at, uint8_t size, uint64_t value)
{
	switch (size) {
	case 1:
		*at = (uint8_t)value;
		break;
	case 4:
		*(uint32_t *)at = (uint32_t)value;
		break;
	default:
		*(uint64_t *)at = value;
	}
}

static bool fits(uint8_t size, uint64_t value)
{
	return size == 8 || value < UINT64_C(1) << 8 * size;
}

// Stores a value in a row. @return false if the field cannot hold it, given the tables read so far
static bool decode_field(const struct heap_snapshot *snapshot, const struct heap_field *field,
			 uint64_t value, uint8_t *row)
{
	bool good = true;
	uint64_t limit = UINT64_MAX;

	switch (field->kind) {
	case HEAP_FIELD_SIGNED:
		value = (uint64_t)heap_unzigzag(value);
		break;
	case HEAP_FIELD_STRING:
		good = value < snapshot->string_size;
		break;
	case HEAP_FIELD_TYPE_STRING:
		good = value < snapshot->types.string_size;
		break;
	case HEAP_FIELD_TYPE:
		good = value < snapshot->types.count;
		break;
	case HEAP_FIELD_ROOT:
		good = value < snapshot->root_count;
		break;
	case HEAP_FIELD_OBJECT:
		good = value < snapshot->object_count;
		break;
	case HEAP_FIELD_CALL:
		good = value < snapshot->call_count;
		break;
	case HEAP_FIELD_MODULE:
		limit = snapshot->module_count;
		break;
	case HEAP_FIELD_THREAD:
		limit = snapshot->thread_count;
		break;
	case HEAP_FIELD_FRAME:
		limit = snapshot->frame_count;
		break;
	}
	if (limit != UINT64_MAX) {
		good = value <= limit;
		value = value == 0 ? HEAP_NO_INDEX : value - 1;
	}
	if (!good || !fits(field->size, value))
		return false;
	store(row + field->offset, field->size, value);
	return true;
}

struct heap_error *heap_snapshot_read_table(struct heap_snapshot *snapshot,
					    const struct heap_table *table)
{
	uint8_t *base = (uint8_t *)snapshot;
	const struct heap_section *section;

	if (table->since > HEAP_SINCE_FIRST && !heap_file_find(snapshot->file, table->tag))
		return NULL;

	HEAP_TRY(heap_snapshot_section(snapshot, table->tag, &section));
	if (section->fields < table->field_count - table->added_fields)
		return heap_section_damaged(table->tag, "its rows are too short");

	uint64_t count = section->count / section->fields;
	uint16_t fields =
		section->fields < table->field_count ? section->fields : table->field_count;

	if (table->count_size == 4 && count > HEAP_COUNT_MAX)
		return heap_section_too_long(table->tag, count, HEAP_COUNT_MAX);

	CLEANUP_FREE uint64_t *values = malloc(section->count * sizeof(*values) + 1);
	CLEANUP_FREE uint8_t *rows = calloc(count + 1, table->row_size);

	if (!values || !rows)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_file_read_u64(snapshot->file, section, 0, section->count, values));
	for (uint64_t i = 0; i < count; i++) {
		for (uint16_t j = 0; j < fields; j++) {
			if (!decode_field(snapshot, &table->fields[j],
					  values[i * section->fields + j],
					  rows + i * table->row_size))
				return heap_section_damaged(table->tag, "a value is out of range");
		}
	}
	*(uint8_t **)(base + table->array_offset) = keep(rows);
	store(base + table->count_offset, table->count_size, count);
	return NULL;
}
