// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/snapshot/snapshot.h"

#include "lib/snapshot/constants.h"
#include "lib/base/cleanup.h"
#include "lib/base/column.h"
#include "lib/snapshot/declarations.h"
#include "lib/snapshot/snapshot_info.h"
#include "lib/snapshot/snapshot_neighbours.h"
#include "lib/snapshot/snapshot_read.h"

#include <inttypes.h>
#include <string.h>

// Reads a whole section of bytes, and appends a NUL. @param result  gets a malloc'd array
HEAP_MUST_CHECK
static struct heap_error *read_bytes(const struct heap_snapshot *snapshot, uint32_t tag,
				     void *result, uint64_t *size)
{
	const struct heap_section *section;

	HEAP_TRY(heap_snapshot_section(snapshot, tag, &section));

	CLEANUP_FREE uint8_t *bytes = malloc(section->count + 1);

	if (!bytes)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_file_read_bytes(snapshot->file, section, 0, section->count, bytes));
	bytes[section->count] = '\0';
	*size = section->count;
	*(uint8_t **)result = keep(bytes);
	return NULL;
}

// Reads strings, which must begin with the empty one and end with a NUL.
HEAP_MUST_CHECK
static struct heap_error *read_strings(const struct heap_snapshot *snapshot, uint32_t tag,
				       char **strings, uint64_t *size)
{
	HEAP_TRY(read_bytes(snapshot, tag, strings, size));
	if (*size == 0 || *size > UINT32_MAX || (*strings)[0] != '\0' ||
	    (*strings)[*size - 1] != '\0')
		return heap_section_damaged(tag, "its strings have no end");
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
		read_bytes(snapshot, HEAP_TAG_INFO, &snapshot->info_bytes, &size);

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

HEAP_MAKES_ERROR
static struct heap_error *too_many(uint64_t count, const char *what)
{
	return heap_error_create(HEAP_ERROR_FORMAT,
				 "it has %" PRIu64 " %s, and this version reads at most %" PRIu32,
				 count, what, HEAP_COUNT_MAX);
}

HEAP_MUST_CHECK
static struct heap_error *read_epochs(struct heap_snapshot *snapshot)
{
	const struct heap_section *section;

	HEAP_TRY(heap_snapshot_section(snapshot, HEAP_TAG_EPOCHS, &section));
	if (section->count > HEAP_COUNT_MAX)
		return too_many(section->count, "epochs");
	snapshot->epochs = malloc(section->count * sizeof(*snapshot->epochs) + 1);
	if (!snapshot->epochs)
		return heap_error_out_of_memory();
	snapshot->epoch_count = (uint32_t)section->count;
	HEAP_TRY(heap_file_read_u64(snapshot->file, section, 0, section->count, snapshot->epochs));
	for (uint32_t i = 1; i < snapshot->epoch_count; i++) {
		if (snapshot->epochs[i] < snapshot->epochs[i - 1])
			return heap_section_damaged(HEAP_TAG_EPOCHS, "its epochs do not ascend");
	}
	return NULL;
}

// Reads the number of values of a column, which must fit 32 bits. @param what  they are of
HEAP_MUST_CHECK
static struct heap_error *read_count(const struct heap_snapshot *snapshot, uint32_t tag,
				     const char *what, uint32_t *result)
{
	const struct heap_section *section = heap_file_find(snapshot->file, tag);

	if (!section)
		return heap_section_damaged(tag, "it is missing");
	if (section->count > HEAP_COUNT_MAX)
		return too_many(section->count, what);
	*result = (uint32_t)section->count;
	return NULL;
}

// --- checks across fields and rows -------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *check_threads(const struct heap_snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot->thread_count; i++) {
		const struct heap_thread *thread = &snapshot->threads[i];

		if (thread->state > HEAP_THREAD_MISSING)
			return heap_section_damaged(HEAP_TAG_THREADS,
						    "a thread is in an unknown state");
		if (thread->first_frame > snapshot->frame_count ||
		    thread->frames > snapshot->frame_count - thread->first_frame ||
		    thread->skipped_at > thread->frames)
			return heap_section_damaged(HEAP_TAG_THREADS,
						    "a thread's frames do not exist");
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *check_roots(const struct heap_snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot->root_count; i++) {
		const struct heap_root *root = &snapshot->roots[i];

		if (root->kind >= HEAP_ROOT_KINDS)
			return heap_section_damaged(HEAP_TAG_ROOTS, "a root is of an unknown kind");
		if (root->size > UINT64_MAX - root->address)
			return heap_section_damaged(HEAP_TAG_ROOTS, "a root is too large");
		if (root->content > snapshot->root_content_size ||
		    root->content_size > snapshot->root_content_size - root->content)
			return heap_section_damaged(HEAP_TAG_ROOTS,
						    "a root's value does not exist");
	}
	for (uint64_t i = 1; i < snapshot->root_edge_count; i++) {
		if (snapshot->root_edges[i].root < snapshot->root_edges[i - 1].root)
			return heap_section_damaged(HEAP_TAG_ROOT_EDGES, "it is not sorted");
	}
	return NULL;
}

// Backtraces must not contain cycles.
HEAP_MUST_CHECK
static struct heap_error *check_steps(const struct heap_snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot->step_count; i++) {
		if (snapshot->steps[i].caller >= i && i > 0)
			return heap_section_damaged(HEAP_TAG_STEPS,
						    "a step's caller comes after it");
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *check_samples(const struct heap_snapshot *snapshot)
{
	for (uint32_t i = 1; i < snapshot->sample_count; i++) {
		if (snapshot->samples[i].object <= snapshot->samples[i - 1].object)
			return heap_section_damaged(HEAP_TAG_SAMPLES, "it is not sorted");
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *check_slabs(const struct heap_snapshot *snapshot)
{
	for (uint32_t i = 1; i < snapshot->slab_count; i++) {
		if (snapshot->slabs[i].object <= snapshot->slabs[i - 1].object)
			return heap_section_damaged(HEAP_TAG_SLABS, "it is not sorted");
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *check_ranges(const struct heap_snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot->module_count; i++) {
		if (snapshot->modules[i].end < snapshot->modules[i].start)
			return heap_section_damaged(HEAP_TAG_MODULES,
						    "a module ends before it starts");
	}
	for (uint32_t i = 0; i < snapshot->mapping_count; i++) {
		if (snapshot->mappings[i].end < snapshot->mappings[i].start)
			return heap_section_damaged(HEAP_TAG_MAPPINGS,
						    "a mapping ends before it starts");
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *check_tables(const struct heap_snapshot *snapshot)
{
	HEAP_TRY(heap_types_check(&snapshot->types));
	HEAP_TRY(check_threads(snapshot));
	HEAP_TRY(check_roots(snapshot));
	HEAP_TRY(check_steps(snapshot));
	HEAP_TRY(check_samples(snapshot));
	HEAP_TRY(check_slabs(snapshot));
	return check_ranges(snapshot);
}

// --- opening -----------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *read_all_strings(struct heap_snapshot *snapshot)
{
	uint64_t size;

	HEAP_TRY(read_info(snapshot));
	HEAP_TRY(read_strings(snapshot, HEAP_TAG_STRINGS, &snapshot->strings,
			      &snapshot->string_size));
	HEAP_TRY(read_strings(snapshot, HEAP_TAG_TYPE_STRINGS, &snapshot->types.strings, &size));
	snapshot->types.string_size = (uint32_t)size;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_tables(struct heap_snapshot *snapshot)
{
	HEAP_TRY(read_all_strings(snapshot));
	HEAP_TRY(read_count(snapshot, HEAP_TAG_ADDRESSES, "objects", &snapshot->object_count));
	HEAP_TRY(read_count(snapshot, HEAP_TAG_EDGE_TARGETS, "pointers", &snapshot->edge_count));
	for (size_t i = 0; i < heap_table_count; i++)
		HEAP_TRY(heap_snapshot_read_table(snapshot, &heap_tables[i]));
	HEAP_TRY(read_epochs(snapshot));
	HEAP_TRY(read_bytes(snapshot, HEAP_TAG_ROOT_CONTENT, &snapshot->root_content,
			    &snapshot->root_content_size));
	HEAP_TRY(check_tables(snapshot));
	return heap_types_name_unnamed(&snapshot->types);
}

static void close_snapshot(struct heap_snapshot **snapshot)
{
	heap_snapshot_close(*snapshot);
}

struct heap_error *heap_snapshot_open(const char *path, struct heap_snapshot **result)
{
	return heap_snapshot_open_as(path, path, result);
}

struct heap_error *heap_snapshot_open_as(const char *path, const char *name,
					 struct heap_snapshot **result)
{
	CLEANUP(close_snapshot) struct heap_snapshot *snapshot = calloc(1, sizeof(*snapshot));

	if (!snapshot)
		return heap_error_out_of_memory();
	snapshot->path = strdup(name);
	if (!snapshot->path)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_file_open(path, &snapshot->file));
	HEAP_TRY(heap_snapshot_within(snapshot, read_tables(snapshot)));
	HEAP_TRY(heap_declarations_read(snapshot));
	*result = keep(snapshot);
	return NULL;
}

struct heap_error *heap_snapshot_open_memory(const uint8_t *bytes, size_t size,
					     struct heap_snapshot **result)
{
	CLEANUP(close_snapshot) struct heap_snapshot *snapshot = calloc(1, sizeof(*snapshot));

	if (!snapshot)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_file_open_memory(bytes, size, &snapshot->file));
	HEAP_TRY(read_tables(snapshot));
	*result = keep(snapshot);
	return NULL;
}

void heap_snapshot_deinit(struct heap_snapshot *snapshot)
{
	heap_types_deinit(&snapshot->types);
	heap_file_close(snapshot->file);
	free(snapshot->path);
	free(snapshot->info_bytes);
	free(snapshot->strings);
	free(snapshot->modules);
	free(snapshot->sites);
	free(snapshot->calls);
	free(snapshot->functions);
	free(snapshot->steps);
	free(snapshot->roots);
	free(snapshot->root_edges);
	free(snapshot->threads);
	free(snapshot->frames);
	free(snapshot->mappings);
	free(snapshot->damages);
	free(snapshot->samples);
	free(snapshot->slabs);
	free(snapshot->tags);
	free(snapshot->epochs);
	free(snapshot->root_content);
	for (size_t i = 0; i < HEAP_OBJECT_COLUMNS; i++)
		heap_column_destroy(
			*(void **)((char *)snapshot + heap_object_columns[i].array_offset));
	heap_column_destroy(snapshot->edge_first);
	heap_column_destroy(snapshot->edge_target);
	heap_column_destroy(snapshot->edge_slot);
	heap_column_destroy(snapshot->edge_interior);
	heap_column_destroy(snapshot->edge_flags);
	free(snapshot->parts);
	heap_contents_destroy(snapshot->contents);
	heap_neighbours_destroy(snapshot->neighbours);
	heap_declarations_destroy(snapshot->declarations);
	heap_constants_destroy(snapshot->constants);
	*snapshot = (struct heap_snapshot){ 0 };
}

void heap_snapshot_close(struct heap_snapshot *snapshot)
{
	if (!snapshot)
		return;
	heap_snapshot_deinit(snapshot);
	free(snapshot);
}
