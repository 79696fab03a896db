// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SNAPSHOT_BUILDER_H
#define SNAPSHOT_BUILDER_H

/**
 * Builds snapshots in memory, for tests: the samples of the shell's tests (sample_snapshot.c), the
 * one that fills every table (sample.h), and the graphs of the unit tests (t/unit/graph_model.h).
 *
 *	struct heap_snapshot snapshot = { 0 };
 *
 *	build_start(&snapshot);
 *	build_columns(&snapshot, HEAP_COLUMN_ALL, 2, 1);    room for two objects and an edge
 *	build_row(&snapshot, sites, site_count, (struct heap_site){ .pc = 0x401020 });
 *	build_object(&snapshot, 0x5f00000, 16, node, 1, HEAP_EVIDENCE_POINTER, 0);
 *	...
 *	build_edge(&snapshot, (struct built_edge){ .source = 0, .target = 1 }, 0);
 *	build_end_edges(&snapshot);
 *
 * A failure ends the program. What was built stays until the program ends, but for columns.
 */

#include "lib/snapshot/snapshot.h"
#include "lib/snapshot/snapshot_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Ends the program if there is an error. */
static inline void sample_check(struct heap_error *error)
{
	if (error) {
		fprintf(stderr, "unexpected: %s\n", heap_error_message(error));
		abort();
	}
}

// --- memory ------------------------------------------------------------------

static inline void *build_zeros(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory)
		sample_check(heap_error_out_of_memory());
	return memory;
}

// Doubles an array whenever its count is a power of 2.
static inline void *build_grow(void *rows, uint64_t count, size_t size)
{
	if ((count & (count - 1)) != 0)
		return rows;
	rows = realloc(rows, (count ? count * 2 : 1) * size);
	if (!rows)
		sample_check(heap_error_out_of_memory());
	return rows;
}

/** Appends a row to a table of a snapshot, which has no other rows. @return its index */
#define build_row(snapshot, rows, count, ...) \
	({ \
		__auto_type built_ = (snapshot); \
		built_->rows = build_grow(built_->rows, built_->count, sizeof(*built_->rows)); \
		built_->rows[built_->count] = (__VA_ARGS__); \
		built_->count++; \
	})

// Keeps the fields of a row, and makes zeros of the bytes between them.
static inline void build_clear_row(const struct heap_table *table, uint8_t *row)
{
	uint8_t fields[256] = { 0 };

	for (uint16_t i = 0; i < table->field_count; i++)
		memcpy(fields + table->fields[i].offset, row + table->fields[i].offset,
		       table->fields[i].size);
	memcpy(row, fields, table->row_size);
}

static inline void build_clear_table(struct heap_snapshot *snapshot, const struct heap_table *table)
{
	const char *at = (const char *)snapshot;
	uint8_t *rows = *(uint8_t *const *)(at + table->array_offset);
	uint64_t count = table->count_size == 8 ? *(const uint64_t *)(at + table->count_offset)
						: *(const uint32_t *)(at + table->count_offset);

	for (uint64_t row = 0; row < count; row++)
		build_clear_row(table, rows + row * table->row_size);
}

/** Makes zeros of the padding of all rows, for tests that compare them byte by byte. */
static inline void build_clear_padding(struct heap_snapshot *snapshot)
{
	for (size_t i = 0; i < heap_table_count; i++)
		build_clear_table(snapshot, &heap_tables[i]);
	build_clear_table(snapshot, &heap_parts_table);
}

/** Makes columns of zeros, for up to so many objects and edges. @param columns  enum heap_columns */
static inline void build_columns(struct heap_snapshot *snapshot, unsigned columns, size_t objects,
				 size_t edges)
{
	for (unsigned i = 0; i < HEAP_OBJECT_COLUMNS; i++) {
		const struct heap_object_column *column = &heap_object_columns[i];

		if (columns & 1u << i)
			*(void **)((char *)snapshot + column->array_offset) =
				build_zeros(objects + 1, column->width);
	}
	if (columns & HEAP_COLUMN_EDGES) {
		snapshot->edge_first = build_zeros(objects + 1, sizeof(*snapshot->edge_first));
		snapshot->edge_target = build_zeros(edges + 1, sizeof(*snapshot->edge_target));
	}
	if (columns & HEAP_COLUMN_SLOTS)
		snapshot->edge_slot = build_zeros(edges + 1, sizeof(*snapshot->edge_slot));
	if (columns & HEAP_COLUMN_QUALITY) {
		snapshot->edge_interior = build_zeros(edges + 1, sizeof(*snapshot->edge_interior));
		snapshot->edge_flags = build_zeros(edges + 1, sizeof(*snapshot->edge_flags));
	}
}

static inline void build_free_columns(struct heap_snapshot *snapshot, unsigned columns)
{
	for (unsigned i = 0; i < HEAP_OBJECT_COLUMNS; i++) {
		if (columns & 1u << i)
			free(*(void **)((char *)snapshot + heap_object_columns[i].array_offset));
	}
	if (columns & HEAP_COLUMN_EDGES) {
		free(snapshot->edge_first);
		free(snapshot->edge_target);
	}
	if (columns & HEAP_COLUMN_SLOTS)
		free(snapshot->edge_slot);
	if (columns & HEAP_COLUMN_QUALITY) {
		free(snapshot->edge_interior);
		free(snapshot->edge_flags);
	}
}

// --- strings and types --------------------------------------------------------

/** Begins a snapshot of zeros that has strings and types. */
static inline void build_start(struct heap_snapshot *snapshot)
{
	snapshot->strings = build_zeros(1, 1);
	snapshot->string_size = 1;
	sample_check(heap_types_init(&snapshot->types));
}

/** Adds a string, unless it is there. @return its offset, 0 for "" */
static inline uint32_t build_string(struct heap_snapshot *snapshot, const char *text)
{
	uint32_t at = 0;
	size_t size = strlen(text) + 1;

	while (at < snapshot->string_size && strcmp(snapshot->strings + at, text) != 0)
		at += strlen(snapshot->strings + at) + 1;
	if (at < snapshot->string_size)
		return at;
	snapshot->strings = realloc(snapshot->strings, at + size);
	if (!snapshot->strings)
		sample_check(heap_error_out_of_memory());
	memcpy(snapshot->strings + at, text, size);
	snapshot->string_size += size;
	return at;
}

static inline uint32_t build_type_string(struct heap_snapshot *snapshot, const char *text)
{
	uint32_t result;

	sample_check(heap_types_add_string(&snapshot->types, text, &result));
	return result;
}

static inline heap_type_id build_type(struct heap_snapshot *snapshot, struct heap_type type,
				      const char *name)
{
	heap_type_id result;

	type.name = build_type_string(snapshot, name);
	sample_check(heap_types_add(&snapshot->types, &type, &result));
	return result;
}

static inline heap_type_id build_pointer(struct heap_snapshot *snapshot, heap_type_id target)
{
	return build_type(
		snapshot,
		(struct heap_type){ .kind = HEAP_TYPE_POINTER, .size = 8, .target = target }, "");
}

/** @param count  0 for a flexible array member */
static inline heap_type_id build_array(struct heap_snapshot *snapshot, heap_type_id target,
				       uint64_t count)
{
	return build_type(
		snapshot,
		(struct heap_type){ .kind = HEAP_TYPE_ARRAY,
				    .flags = count ? 0 : HEAP_TYPE_FLEXIBLE,
				    .size = count * heap_types_size(&snapshot->types, target),
				    .target = target,
				    .count = count },
		"");
}

/** Adds a member to the type whose members are being added: all of a type come one after the other. */
static inline void build_member(struct heap_snapshot *snapshot, heap_type_id owner,
				struct heap_member member, const char *name)
{
	struct heap_type *type = &snapshot->types.types[owner];

	if (type->members++ == 0)
		type->first_member = snapshot->types.member_count;
	member.name = build_type_string(snapshot, name);
	sample_check(heap_types_add_member(&snapshot->types, &member));
}

/** The same for an enum. */
static inline void build_enumerator(struct heap_snapshot *snapshot, heap_type_id owner,
				    const char *name, int64_t value)
{
	struct heap_type *type = &snapshot->types.types[owner];
	struct heap_enumerator added = { build_type_string(snapshot, name), value };

	if (type->members++ == 0)
		type->first_member = snapshot->types.enumerator_count;
	sample_check(heap_types_add_enumerator(&snapshot->types, &added));
}

// --- objects, edges, roots -----------------------------------------------------

/** Adds an object, by ascending address. @return its id */
static inline heap_object_id build_object(struct heap_snapshot *snapshot, uint64_t address,
					  uint64_t size, heap_type_id type, uint64_t elements,
					  enum heap_evidence evidence, heap_site_id site)
{
	heap_object_id id = snapshot->object_count++;

	if (id > 0 && address < snapshot->address[id - 1] + snapshot->size[id - 1])
		sample_check(heap_error_create(HEAP_ERROR_ARGUMENT, "objects out of order"));
	snapshot->address[id] = address;
	snapshot->size[id] = size;
	snapshot->type[id] = type;
	snapshot->elements[id] = elements;
	snapshot->evidence[id] = (uint8_t)evidence;
	snapshot->site[id] = site;
	return id;
}

struct built_edge {
	uint32_t source, target, interior;
	uint8_t flags; /**< enum heap_edge_flags */
};

/** Adds an edge, by ascending source; call build_end_edges() after the last one. */
static inline void build_edge(struct heap_snapshot *snapshot, struct built_edge edge, uint32_t slot)
{
	uint64_t id = snapshot->edge_count++;

	snapshot->edge_first[edge.source + 1]++;
	snapshot->edge_target[id] = edge.target;
	snapshot->edge_interior[id] = edge.interior;
	snapshot->edge_flags[id] = edge.flags;
	snapshot->edge_slot[id] = slot;
}

/** Makes offsets of the numbers of edges. */
static inline void build_end_edges(struct heap_snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot->object_count; i++)
		snapshot->edge_first[i + 1] += snapshot->edge_first[i];
}

/** Adds a root without its value. @param name  "" or a string to be added */
static inline heap_root_id build_root(struct heap_snapshot *snapshot, struct heap_root root,
				      const char *name)
{
	root.name = build_string(snapshot, name);
	build_row(snapshot, roots, root_count, root);
	return (heap_root_id)(snapshot->root_count - 1);
}

/** Keeps the value of the last root: as much of the bytes as the root is large. */
static inline void build_root_content(struct heap_snapshot *snapshot, const void *bytes,
				      uint64_t size)
{
	struct heap_root *root = &snapshot->roots[snapshot->root_count - 1];

	root->content = snapshot->root_content_size;
	root->content_size = root->size < size ? root->size : size;
	snapshot->root_content =
		realloc(snapshot->root_content, root->content + root->content_size + 1);
	if (!snapshot->root_content)
		sample_check(heap_error_out_of_memory());
	memcpy(snapshot->root_content + root->content, bytes, root->content_size);
	snapshot->root_content_size += root->content_size;
}

#endif
