// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef DAMAGE_H
#define DAMAGE_H

/**
 * For those who feed damaged snapshots to the reader: makes damage look intact, so that it
 * gets past the checksums to what stands behind them, and uses all that can be opened.
 */

#include "lib/file/file_format.h"
#include "lib/graph/divided.h"
#include "lib/snapshot/snapshot.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

// Makes a section's block table, and the CRC of it in its entry, agree with its blocks.
static void mend_section(uint8_t *bytes, uint64_t end, uint8_t *entry)
{
	uint64_t offset = heap_get_u64(entry + 8);
	uint64_t length = heap_get_u64(entry + 16);
	uint64_t table_size = heap_get_u32(entry + 32) * (uint64_t)HEAP_BLOCK_ENTRY_SIZE;

	if (offset > end || length > end - offset || table_size > length)
		return;

	uint8_t *table = bytes + offset + length - table_size;
	uint64_t left = length - table_size;

	for (uint64_t at = 0; at < table_size; at += HEAP_BLOCK_ENTRY_SIZE) {
		uint32_t stored = heap_get_u32(table + at);

		if (stored > left)
			break;
		heap_put_u32(table + at + 8, (uint32_t)crc32(0, bytes + offset, stored));
		offset += stored;
		left -= stored;
	}
	heap_put_u32(entry + 36, (uint32_t)crc32_z(0, table, table_size));
}

/** Sets all CRCs of a file whose directory can be found, and its magic. */
static inline void mend(uint8_t *bytes, size_t size)
{
	if (size < HEAP_HEADER_SIZE + HEAP_TRAILER_SIZE)
		return;

	uint8_t *trailer = bytes + size - HEAP_TRAILER_SIZE;
	uint64_t end = size - HEAP_TRAILER_SIZE;
	uint64_t offset = heap_get_u64(trailer);
	uint64_t count = heap_get_u32(trailer + 16);

	memcpy(bytes, HEAP_FILE_MAGIC, HEAP_MAGIC_SIZE);
	memcpy(trailer + HEAP_TRAILER_CHECKED + 4, HEAP_FILE_MAGIC, HEAP_MAGIC_SIZE);
	if (offset > end || offset < HEAP_HEADER_SIZE)
		return;
	for (uint64_t at = offset; end - at >= HEAP_ENTRY_SIZE && count-- > 0;
	     at += HEAP_ENTRY_SIZE)
		mend_section(bytes, offset, bytes + at);

	uint32_t crc = (uint32_t)crc32(0, bytes, HEAP_HEADER_SIZE);

	crc = (uint32_t)crc32_z(crc, bytes + offset, end + HEAP_TRAILER_CHECKED - offset);
	heap_put_u32(trailer + HEAP_TRAILER_CHECKED, crc);
}

// Follows every reference of the tables, for a sanitizer to see where it leads.
static uint64_t follow_tables(const struct heap_snapshot *snapshot)
{
	uint64_t sum = 0;
	char name[64];

	for (uint32_t i = 0; i < snapshot->types.count; i++)
		sum += heap_types_format(&snapshot->types, i, name, sizeof(name)) +
		       heap_types_size(&snapshot->types, i) + heap_types_strip(&snapshot->types, i);
	for (uint32_t i = 0; i < snapshot->module_count; i++)
		sum += strlen(heap_snapshot_string(snapshot, snapshot->modules[i].path)) +
		       strlen(heap_snapshot_string(snapshot, snapshot->modules[i].note));
	for (uint32_t i = 0; i < snapshot->site_count; i++) {
		const struct heap_site *site = &snapshot->sites[i];

		sum += strlen(heap_snapshot_string(snapshot, site->file));
		sum += site->module == HEAP_NO_INDEX ? 0 : snapshot->modules[site->module].bias;
	}
	for (uint32_t i = 0; i < snapshot->thread_count; i++) {
		const struct heap_thread *thread = &snapshot->threads[i];

		for (uint32_t j = 0; j < thread->frames; j++)
			sum += snapshot->frames[thread->first_frame + j].pc;
	}
	for (uint32_t i = 0; i < snapshot->root_count; i++) {
		const struct heap_root *root = &snapshot->roots[i];

		sum += snapshot->types.types[root->type].size;
		sum += root->frame == HEAP_NO_INDEX ? 0 : snapshot->frames[root->frame].pc;
		sum += root->thread == HEAP_NO_INDEX ? 0 : snapshot->threads[root->thread].tid;
		for (uint64_t j = 0; j < root->content_size; j++)
			sum += snapshot->root_content[root->content + j];
	}
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++)
		sum += snapshot->roots[snapshot->root_edges[i].root].size +
		       snapshot->root_edges[i].target;
	return sum;
}

static uint64_t follow_objects(const struct heap_snapshot *snapshot)
{
	uint64_t sum = 0;

	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		if (snapshot->type)
			sum += snapshot->types.types[snapshot->type[i]].size;
		if (snapshot->site)
			sum += snapshot->sites[snapshot->site[i]].line;
		if (snapshot->birth)
			sum += snapshot->epochs[snapshot->birth[i]];
		if (snapshot->address && snapshot->size)
			sum += heap_snapshot_find(snapshot, snapshot->address[i]);
		for (uint32_t j = snapshot->edge_first ? snapshot->edge_first[i] : 0;
		     snapshot->edge_first && j < snapshot->edge_first[i + 1]; j++)
			sum += snapshot->edge_first[snapshot->edge_target[j]];
	}
	return sum;
}

/** Loads each column by itself, so that one that is damaged does not hide the others. */
// Divides pools and slabs, and asks for what their nodes retain.
static inline uint64_t follow_parts(struct heap_snapshot *snapshot)
{
	struct heap_divided *divided;
	struct heap_dominators dominators = { 0 };
	struct heap_error *error = heap_divided_create(snapshot, false, NULL, &divided);
	uint64_t sum = 0;

	if (error) {
		heap_error_destroy(error);
		return 0;
	}
	if (divided->graph) {
		error = heap_dominators_init(&dominators, divided->graph);
		if (!error)
			error = heap_divided_set_dominators(divided, &dominators);
		for (heap_object_id i = 0; !error && i < snapshot->object_count; i++)
			sum += heap_divided_retained(divided, i) + heap_divided_holder(divided, i) +
			       heap_divided_node(divided, i, 8);
	}
	heap_error_destroy(error);
	heap_dominators_deinit(&dominators);
	heap_divided_destroy(divided);
	return sum;
}

static inline uint64_t use_snapshot(struct heap_snapshot *snapshot)
{
	uint64_t sum = follow_tables(snapshot);
	uint8_t buffer[128];
	size_t kept;

	for (unsigned column = 1; column < HEAP_COLUMN_ALL; column <<= 1)
		heap_error_destroy(heap_snapshot_load(snapshot, column));
	sum += follow_objects(snapshot);
	sum += follow_parts(snapshot);
	for (heap_object_id i = 0; snapshot->size && i < snapshot->object_count && i < 5000; i++) {
		struct heap_error *error =
			heap_snapshot_read_content(snapshot, i, buffer, sizeof(buffer), &kept);

		if (error) {
			heap_error_destroy(error);
			break;
		}
		sum += kept ? buffer[kept - 1] : 0;
	}
	return sum;
}

#endif
