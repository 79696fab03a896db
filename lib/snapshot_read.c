// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/snapshot.h"

#include "lib/cleanup.h"
#include "lib/snapshot_info.h"
#include "lib/snapshot_tables.h"
#include "lib/varint.h"

#include <inttypes.h>
#include <string.h>

enum {
	CONTENT_STRIDE = 1024, // objects between two known starts of contents
};

HEAP_MAKES_ERROR
static struct heap_error *damaged(const char *section, const char *why)
{
	return heap_error_create(HEAP_ERROR_FORMAT, "section '%s' is damaged: %s", section, why);
}

static void tag_name(uint32_t tag, char name[5])
{
	for (int i = 0; i < 4; i++)
		name[i] = (char)(tag >> 8 * i);
	name[4] = '\0';
}

HEAP_MUST_CHECK
static struct heap_error *find_section(const struct heap_file *file, uint32_t tag,
				       const struct heap_section **result)
{
	char name[5];

	*result = heap_file_find(file, tag);
	if (*result)
		return NULL;
	tag_name(tag, name);
	return heap_error_create(HEAP_ERROR_FORMAT, "section '%s' is missing", name);
}

// Reads a whole section of bytes, and a NUL after them.
HEAP_MUST_CHECK
static struct heap_error *read_bytes(const struct heap_file *file, uint32_t tag, void *result,
				     uint64_t *size)
{
	const struct heap_section *section;
	struct heap_error *error = find_section(file, tag, &section);

	if (error)
		return error;

	CLEANUP_FREE uint8_t *bytes = malloc(section->count + 1);

	if (!bytes)
		return heap_error_out_of_memory();
	error = heap_file_read_bytes(file, section, 0, section->count, bytes);
	if (error)
		return error;
	bytes[section->count] = '\0';
	*size = section->count;
	*(uint8_t **)result = keep(bytes);
	return NULL;
}

// Strings must begin with the empty one and end with a NUL.
HEAP_MUST_CHECK
static struct heap_error *read_strings(const struct heap_file *file, uint32_t tag, char **strings,
				       uint64_t *size)
{
	struct heap_error *error = read_bytes(file, tag, strings, size);
	char name[5];

	if (error)
		return error;
	tag_name(tag, name);
	if (*size == 0 || *size > UINT32_MAX || (*strings)[0] != '\0' ||
	    (*strings)[*size - 1] != '\0')
		return damaged(name, "its strings have no end");
	return NULL;
}

// --- info --------------------------------------------------------------------

static void set_info(struct heap_info *info, const char *key, size_t key_length, const char *value)
{
	for (size_t i = 0; i < heap_info_text_count; i++) {
		if (strlen(heap_info_texts[i].key) == key_length &&
		    memcmp(heap_info_texts[i].key, key, key_length) == 0)
			*(const char **)((char *)info + heap_info_texts[i].offset) = value;
	}
	for (size_t i = 0; i < heap_info_number_count; i++) {
		if (strlen(heap_info_numbers[i].key) == key_length &&
		    memcmp(heap_info_numbers[i].key, key, key_length) == 0)
			*(uint64_t *)((char *)info + heap_info_numbers[i].offset) =
				strtoull(value, NULL, 10);
	}
}

HEAP_MUST_CHECK
static struct heap_error *read_info(struct heap_snapshot *snapshot)
{
	uint64_t size;
	struct heap_error *error =
		read_bytes(snapshot->file, HEAP_TAG_INFO, &snapshot->info_bytes, &size);

	for (size_t i = 0; i < heap_info_text_count; i++)
		*(const char **)((char *)&snapshot->info + heap_info_texts[i].offset) = "";
	if (error)
		return error;
	for (char *at = snapshot->info_bytes; at < snapshot->info_bytes + size;
	     at += strlen(at) + 1) {
		char *equals = strchr(at, '=');

		if (equals)
			set_info(&snapshot->info, at, (size_t)(equals - at), equals + 1);
	}
	return NULL;
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

// Whether a field may hold that, given the tables that have been read.
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

HEAP_MUST_CHECK
static struct heap_error *read_table(struct heap_snapshot *snapshot, const struct heap_table *table)
{
	uint8_t *base = (uint8_t *)snapshot;
	const struct heap_section *section;
	struct heap_error *error = find_section(snapshot->file, table->tag, &section);

	if (error)
		return error;
	if (section->fields < table->field_count)
		return damaged(table->name, "its rows are too short");

	uint64_t count = section->count / section->fields;
	CLEANUP_FREE uint64_t *values = malloc(section->count * sizeof(*values) + 1);
	CLEANUP_FREE uint8_t *rows = calloc(count + 1, table->row_size);

	if (!values || !rows)
		return heap_error_out_of_memory();
	if (table->count_size == 4 && count >= UINT32_MAX)
		return damaged(table->name, "it has too many rows");
	error = heap_file_read_u64(snapshot->file, section, 0, section->count, values);
	if (error)
		return error;
	for (uint64_t i = 0; i < count; i++) {
		for (uint16_t j = 0; j < table->field_count; j++) {
			if (!decode_field(snapshot, &table->fields[j],
					  values[i * section->fields + j],
					  rows + i * table->row_size))
				return damaged(table->name, "a value is out of range");
		}
	}
	*(uint8_t **)(base + table->array_offset) = keep(rows);
	store(base + table->count_offset, table->count_size, count);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_epochs(struct heap_snapshot *snapshot)
{
	const struct heap_section *section;
	struct heap_error *error = find_section(snapshot->file, HEAP_TAG_EPOCHS, &section);

	if (error)
		return error;
	if (section->count == 0 || section->count > UINT32_MAX)
		return damaged("epoc", "it has no epochs");
	snapshot->epochs = malloc(section->count * sizeof(*snapshot->epochs));
	if (!snapshot->epochs)
		return heap_error_out_of_memory();
	snapshot->epoch_count = (uint32_t)section->count;
	return heap_file_read_u64(snapshot->file, section, 0, section->count, snapshot->epochs);
}

// What descriptions of single fields cannot say.
HEAP_MUST_CHECK
static struct heap_error *check_tables(const struct heap_snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot->thread_count; i++) {
		const struct heap_thread *thread = &snapshot->threads[i];

		if (thread->first_frame > snapshot->frame_count ||
		    thread->frames > snapshot->frame_count - thread->first_frame)
			return damaged("thrd", "a thread's frames do not exist");
	}
	for (uint32_t i = 0; i < snapshot->root_count; i++) {
		const struct heap_root *root = &snapshot->roots[i];

		if (root->kind >= HEAP_ROOT_KINDS || root->content > snapshot->root_content_size ||
		    root->content_size > snapshot->root_content_size - root->content)
			return damaged("root", "a root's value does not exist");
	}
	for (uint64_t i = 1; i < snapshot->root_edge_count; i++) {
		if (snapshot->root_edges[i].root < snapshot->root_edges[i - 1].root)
			return damaged("redg", "it is not sorted");
	}
	return heap_types_check(&snapshot->types);
}

HEAP_MUST_CHECK
static struct heap_error *read_counts(struct heap_snapshot *snapshot)
{
	const struct heap_section *section;
	struct heap_error *error =
		find_section(snapshot->file, heap_object_columns[0].tag, &section);

	if (error)
		return error;
	if (section->count >= UINT32_MAX)
		return damaged("oadr", "it has too many objects");
	snapshot->object_count = (uint32_t)section->count;
	error = find_section(snapshot->file, HEAP_TAG_EDGE_TARGETS, &section);
	if (error)
		return error;
	if (section->count >= UINT32_MAX)
		return damaged("etgt", "it has too many edges");
	snapshot->edge_count = (uint32_t)section->count;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_tables(struct heap_snapshot *snapshot)
{
	uint64_t size;
	struct heap_error *error = read_info(snapshot);

	if (!error)
		error = read_strings(snapshot->file, HEAP_TAG_STRINGS, &snapshot->strings,
				     &snapshot->string_size);
	if (!error)
		error = read_strings(snapshot->file, HEAP_TAG_TYPE_STRINGS,
				     &snapshot->types.strings, &size);
	if (error)
		return error;
	snapshot->types.string_size = (uint32_t)size;
	error = read_counts(snapshot);
	for (size_t i = 0; !error && i < heap_table_count; i++)
		error = read_table(snapshot, &heap_tables[i]);
	if (!error)
		error = read_epochs(snapshot);
	if (!error)
		error = read_bytes(snapshot->file, HEAP_TAG_ROOT_CONTENT, &snapshot->root_content,
				   &snapshot->root_content_size);
	return error ? error : check_tables(snapshot);
}

struct heap_error *heap_snapshot_open(const char *path, struct heap_snapshot **result)
{
	struct heap_snapshot *snapshot = calloc(1, sizeof(*snapshot));
	struct heap_error *error;

	if (!snapshot)
		return heap_error_out_of_memory();
	snapshot->path = strdup(path);
	error = snapshot->path ? heap_file_open(path, &snapshot->file) : heap_error_out_of_memory();
	if (!error)
		error = heap_error_within(read_tables(snapshot), "%s", path);
	if (error) {
		heap_snapshot_close(snapshot);
		return error;
	}
	*result = snapshot;
	return NULL;
}

void heap_snapshot_close(struct heap_snapshot *snapshot)
{
	if (!snapshot)
		return;
	heap_types_deinit(&snapshot->types);
	heap_file_close(snapshot->file);
	free(snapshot->path);
	free(snapshot->info_bytes);
	free(snapshot->strings);
	free(snapshot->modules);
	free(snapshot->sites);
	free(snapshot->roots);
	free(snapshot->root_edges);
	free(snapshot->threads);
	free(snapshot->frames);
	free(snapshot->mappings);
	free(snapshot->damages);
	free(snapshot->epochs);
	free(snapshot->root_content);
	for (size_t i = 0; i < 7; i++)
		free(*(void **)((char *)snapshot + heap_object_columns[i].array_offset));
	free(snapshot->edge_first);
	free(snapshot->edge_target);
	free(snapshot->edge_slot);
	free(snapshot->edge_interior);
	free(snapshot->edge_flags);
	free(snapshot->content_start);
	free(snapshot);
}

// --- columns -----------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *read_column(const struct heap_file *file, uint32_t tag, uint8_t width,
				      uint64_t count, void *result)
{
	const struct heap_section *section;
	struct heap_error *error = find_section(file, tag, &section);
	char name[5];

	if (error)
		return error;
	tag_name(tag, name);
	if (section->count != count)
		return damaged(name, "it has another number of elements");

	CLEANUP_FREE void *column = malloc(count * width + 1);

	if (!column)
		return heap_error_out_of_memory();
	if (width == 1)
		error = heap_file_read_bytes(file, section, 0, count, column);
	else if (width == 4)
		error = heap_file_read_u32(file, section, 0, count, column);
	else
		error = heap_file_read_u64(file, section, 0, count, column);
	if (error)
		return error;
	*(void **)result = keep(column);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *check_ids(const uint32_t *ids, uint64_t count, uint64_t limit,
				    const char *section)
{
	for (uint64_t i = 0; i < count; i++) {
		if (ids[i] >= limit)
			return damaged(section, "a value is out of range");
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *check_addresses(const uint64_t *address, uint64_t count)
{
	for (uint64_t i = 1; i < count; i++) {
		if (address[i] <= address[i - 1])
			return damaged("oadr", "its addresses do not ascend");
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *check_column(const struct heap_snapshot *snapshot, unsigned column,
				       const void *values)
{
	switch (column) {
	case HEAP_COLUMN_ADDRESS:
		return check_addresses(values, snapshot->object_count);
	case HEAP_COLUMN_TYPE:
		return check_ids(values, snapshot->object_count, snapshot->types.count, "otyp");
	case HEAP_COLUMN_SITE:
		return check_ids(values, snapshot->object_count, snapshot->site_count, "osit");
	case HEAP_COLUMN_BIRTH:
		return check_ids(values, snapshot->object_count, snapshot->epoch_count, "obir");
	default:
		return NULL;
	}
}

HEAP_MUST_CHECK
static struct heap_error *load_column(struct heap_snapshot *snapshot, unsigned number)
{
	const struct heap_column *column = &heap_object_columns[number];
	void **place = (void **)((char *)snapshot + column->array_offset);
	CLEANUP_FREE void *values = NULL;
	struct heap_error *error;

	if (*place)
		return NULL;
	error = read_column(snapshot->file, column->tag, column->width, snapshot->object_count,
			    &values);
	if (!error)
		error = check_column(snapshot, 1u << number, values);
	if (!error)
		*place = keep(values);
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *read_edge_counts(struct heap_snapshot *snapshot, uint32_t **result)
{
	CLEANUP_FREE uint32_t *counts = NULL;
	uint64_t sum = 0;
	struct heap_error *error = read_column(snapshot->file, HEAP_TAG_EDGE_COUNTS, 4,
					       snapshot->object_count, &counts);

	if (error)
		return error;

	CLEANUP_FREE uint32_t *first = malloc(((size_t)snapshot->object_count + 1) * 4);

	if (!first)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < snapshot->object_count; i++) {
		first[i] = (uint32_t)sum;
		sum += counts[i];
		if (sum > snapshot->edge_count)
			return damaged("ecnt", "there are fewer edges");
	}
	if (sum != snapshot->edge_count)
		return damaged("ecnt", "there are more edges");
	first[snapshot->object_count] = (uint32_t)sum;
	*result = keep(first);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *load_edges(struct heap_snapshot *snapshot)
{
	CLEANUP_FREE uint32_t *first = NULL;
	CLEANUP_FREE uint64_t *target = NULL;

	if (snapshot->edge_target)
		return NULL;

	struct heap_error *error = read_edge_counts(snapshot, &first);

	if (!error)
		error = read_column(snapshot->file, HEAP_TAG_EDGE_TARGETS, 8, snapshot->edge_count,
				    &target);
	if (error)
		return error;

	CLEANUP_FREE heap_object_id *ids = malloc((size_t)snapshot->edge_count * 4 + 1);

	if (!ids)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < snapshot->object_count; i++) {
		for (uint32_t j = first[i]; j < first[i + 1]; j++) {
			uint64_t id = i + (uint64_t)heap_unzigzag(target[j]);

			if (id >= snapshot->object_count)
				return damaged("etgt", "a value is out of range");
			ids[j] = (heap_object_id)id;
		}
	}
	snapshot->edge_first = keep(first);
	snapshot->edge_target = keep(ids);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *load_slots(struct heap_snapshot *snapshot)
{
	CLEANUP_FREE uint32_t *slot = NULL;
	CLEANUP_FREE uint32_t *interior = NULL;
	CLEANUP_FREE uint8_t *flags = NULL;
	const uint32_t *first = snapshot->edge_first;
	struct heap_error *error;

	if (snapshot->edge_slot)
		return NULL;
	error = read_column(snapshot->file, HEAP_TAG_EDGE_SLOTS, 4, snapshot->edge_count, &slot);
	if (!error)
		error = read_column(snapshot->file, HEAP_TAG_EDGE_INTERIORS, 4,
				    snapshot->edge_count, &interior);
	if (!error)
		error = read_column(snapshot->file, HEAP_TAG_EDGE_FLAGS, 1, snapshot->edge_count,
				    &flags);
	if (error)
		return error;
	for (uint32_t i = 0; i < snapshot->object_count; i++) {
		for (uint32_t j = first[i] + 1; j < first[i + 1]; j++) {
			if (slot[j] > UINT32_MAX - slot[j - 1])
				return damaged("eslo", "a slot lies outside");
			slot[j] += slot[j - 1];
		}
	}
	snapshot->edge_slot = keep(slot);
	snapshot->edge_interior = keep(interior);
	snapshot->edge_flags = keep(flags);
	return NULL;
}

struct heap_error *heap_snapshot_load(struct heap_snapshot *snapshot, unsigned columns)
{
	struct heap_error *error = NULL;

	if (!snapshot->file)
		return NULL; // made in memory: all is there
	for (unsigned i = 0; !error && i < 7; i++) {
		if (columns & 1u << i)
			error = load_column(snapshot, i);
	}
	if (!error && (columns & (HEAP_COLUMN_EDGES | HEAP_COLUMN_SLOTS)))
		error = load_edges(snapshot);
	if (!error && (columns & HEAP_COLUMN_SLOTS))
		error = load_slots(snapshot);
	return error ? heap_error_within(error, "%s", snapshot->path) : NULL;
}

heap_object_id heap_snapshot_find(const struct heap_snapshot *snapshot, uint64_t address)
{
	uint32_t low = 0, high = snapshot->object_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (snapshot->address[middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return HEAP_NO_OBJECT;

	uint64_t offset = address - snapshot->address[low - 1];

	return offset < snapshot->size[low - 1] || offset == 0 ? low - 1 : HEAP_NO_OBJECT;
}

// --- contents ----------------------------------------------------------------

static uint64_t kept_of(const struct heap_snapshot *snapshot, heap_object_id object)
{
	uint64_t size = snapshot->size[object];

	return size < snapshot->info.content_limit ? size : snapshot->info.content_limit;
}

HEAP_MUST_CHECK
static struct heap_error *find_content_starts(struct heap_snapshot *snapshot,
					      const struct heap_section *section)
{
	uint64_t *starts = malloc((snapshot->object_count / CONTENT_STRIDE + 1) * sizeof(*starts));
	uint64_t start = 0;

	if (!starts)
		return heap_error_out_of_memory();
	starts[0] = 0;
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		if (i % CONTENT_STRIDE == 0)
			starts[i / CONTENT_STRIDE] = start;
		if (kept_of(snapshot, i) > section->count - start) {
			free(starts);
			return damaged("cont", "it holds less than the objects had");
		}
		start += kept_of(snapshot, i);
	}
	snapshot->content_start = starts;
	return NULL;
}

struct heap_error *heap_snapshot_read_content(struct heap_snapshot *snapshot, heap_object_id object,
					      void *buffer, size_t size, size_t *kept)
{
	const struct heap_section *section;
	struct heap_error *error = heap_snapshot_load(snapshot, HEAP_COLUMN_SIZE);

	if (error)
		return error;
	if (!snapshot->file || snapshot->info.content_limit == 0) {
		*kept = 0;
		return NULL;
	}
	error = find_section(snapshot->file, HEAP_TAG_CONTENT, &section);
	if (!error && !snapshot->content_start)
		error = find_content_starts(snapshot, section);
	if (error)
		return heap_error_within(error, "%s", snapshot->path);

	uint64_t start = snapshot->content_start[object / CONTENT_STRIDE];

	for (heap_object_id i = object / CONTENT_STRIDE * CONTENT_STRIDE; i < object; i++)
		start += kept_of(snapshot, i);
	if (size > kept_of(snapshot, object))
		size = kept_of(snapshot, object);
	error = heap_file_read_bytes(snapshot->file, section, start, size, buffer);
	if (error)
		return heap_error_within(error, "%s", snapshot->path);
	*kept = size;
	return NULL;
}
