// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SAMPLE_H
#define SAMPLE_H

/**
 * A small snapshot with something in every table and every field, as tests want one.
 *
 *	root table (global) ──▶ node 0 ──▶ node 1 ──▶ node 2      buffer 3 (untyped)
 *	root cursor (local) ───────────────▶ (8 bytes into it)       array 4: node[3]
 */

#include "t/helper/snapshot_builder.h"

#include <sys/mman.h>
#include <unistd.h>

enum {
	SAMPLE_OBJECTS = 5,
	SAMPLE_EDGES = 4,
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

// Adds all strings, in the order that they have in t/snapshots/format-1.snap.
static inline void sample_add_strings(struct heap_snapshot *sample)
{
	static const char *const strings[] = { "/bin/app", "beef",   "a.dbg", "no line",
					       "main",     "main.c", "table", "cursor" };
	static const char *const type_strings[] = { "node",   "next", "id",    "int",
						    "colour", "red",  "node.h" };

	for (size_t i = 0; i < COUNT_OF(strings); i++)
		build_string(sample, strings[i]);
	for (size_t i = 0; i < COUNT_OF(type_strings); i++)
		build_type_string(sample, type_strings[i]);
}

static inline void sample_add_types(struct heap_snapshot *sample)
{
	heap_type_id node =
		build_type(sample,
			   (struct heap_type){ .kind = HEAP_TYPE_STRUCT,
					       .size = 16,
					       .file = build_type_string(sample, "node.h"),
					       .line = 12 },
			   "node");
	heap_type_id pointer = build_pointer(sample, node);
	heap_type_id integer = build_type(
		sample,
		(struct heap_type){ .kind = HEAP_TYPE_BASE, .flags = HEAP_TYPE_SIGNED, .size = 4 },
		"int");
	heap_type_id colour = build_type(
		sample, (struct heap_type){ .kind = HEAP_TYPE_ENUM, .size = 4, .target = integer },
		"colour");

	build_array(sample, node, 3);
	build_member(sample, node, (struct heap_member){ .type = pointer }, "next");
	build_member(sample, node,
		     (struct heap_member){ .type = integer,
					   .offset = 8,
					   .flags = HEAP_MEMBER_BIT_FIELD,
					   .bit_offset = 3,
					   .bit_size = 7 },
		     "id");
	build_enumerator(sample, colour, "red", -7);
}

static inline void sample_add_code(struct heap_snapshot *sample)
{
	uint32_t file = build_string(sample, "main.c");
	uint32_t function = build_string(sample, "main");

	build_row(sample, modules, module_count,
		  (struct heap_module){ build_string(sample, "/bin/app"),
					build_string(sample, "beef"), build_string(sample, "a.dbg"),
					build_string(sample, "no line"), 0x400000, 0x410000,
					0x1000 });
	build_row(
		sample, modules, module_count,
		(struct heap_module){ file, 0, 0, 0, 0x7f0000000000, 0x7f0000010000, UINT64_MAX });
	build_row(sample, sites, site_count,
		  (struct heap_site){ 0x400123, 0, function, 0x23, file, 42, 0 });
	build_row(sample, sites, site_count,
		  (struct heap_site){ 0x1234, HEAP_NO_INDEX, 0, 0, 0, 0, 0 });
	build_row(sample, calls, call_count,
		  (struct heap_call){ 0x400123, 0, function, 0x23, file, 42, HEAP_FRAME_INLINED });
	build_row(sample, calls, call_count,
		  (struct heap_call){ 0x1234, HEAP_NO_INDEX, 0, 0, 0, 0, 0 });
	build_row(sample, steps, step_count, (struct heap_step){ 0, 0 });
	build_row(sample, steps, step_count, (struct heap_step){ 0, 1 });
	build_row(sample, steps, step_count, (struct heap_step){ 1, 0 });
	build_row(sample, frames, frame_count,
		  (struct heap_frame){ 0x400150, 0x7ffc00000010, 0, function, 0x50, file, 50,
				       HEAP_FRAME_INLINED });
	build_row(sample, frames, frame_count,
		  (struct heap_frame){ 0x400100, 0x7ffc00000100, HEAP_NO_INDEX, 0, 0, 0, 0,
				       HEAP_FRAME_GUESSED });
	build_row(sample, threads, thread_count,
		  (struct heap_thread){ 4242, function, HEAP_THREAD_EXACT, 0, 2, 0x7ffc00000000,
					0x7ffc00020000, 0, 0 });
	build_row(sample, threads, thread_count,
		  (struct heap_thread){ 4243, 0, HEAP_THREAD_MISSING, 2, 0, 0, 0, 0, 0 });
}

static inline void sample_add_roots(struct heap_snapshot *sample)
{
	build_root(sample,
		   (struct heap_root){ .kind = HEAP_ROOT_GLOBAL,
				       .type = 2,
				       .address = 0x408000,
				       .size = 8,
				       .file = build_string(sample, "main.c"),
				       .line = 7,
				       .thread = HEAP_NO_INDEX,
				       .frame = HEAP_NO_INDEX },
		   "table");
	build_root_content(sample, "\x10\x00\x50\0\0\0\0", 8);
	build_root(sample,
		   (struct heap_root){ .kind = HEAP_ROOT_LOCAL,
				       .type = 2,
				       .address = 0x7ffc00000008,
				       .size = 8,
				       .module = HEAP_NO_INDEX,
				       .frame = 1 },
		   "cursor");
	build_root_content(sample, "four", 4);
	build_row(sample, root_edges, root_edge_count,
		  (struct heap_root_edge){ 0, 0, 0, 0, HEAP_EDGE_TYPED });
	build_row(sample, root_edges, root_edge_count, (struct heap_root_edge){ 1, 1, 16, 8, 0 });
}

static inline void sample_add_objects(struct heap_snapshot *sample)
{
	static const uint32_t birth[SAMPLE_OBJECTS] = { 0, 0, 1, 1, 0 };
	static const uint32_t backtrace[SAMPLE_OBJECTS] = { 5, 4, 0, 2, 0 };

	build_columns(sample, HEAP_COLUMN_ALL & ~HEAP_COLUMN_TAG, SAMPLE_OBJECTS, SAMPLE_EDGES);
	build_object(sample, 0x500010, 16, 1, 1, HEAP_EVIDENCE_POINTER, 0);
	build_object(sample, 0x500030, 16, 1, 1, HEAP_EVIDENCE_POINTER, 0);
	build_object(sample, 0x500050, 16, 1, 1, HEAP_EVIDENCE_POINTER, 0);
	build_object(sample, 0x500070, 100, HEAP_NO_TYPE, 1, HEAP_EVIDENCE_NONE, 1);
	build_object(sample, 0x500200, 48, 1, 3, HEAP_EVIDENCE_SITE, 0);
	memcpy(sample->birth, birth, sizeof(birth));
	memcpy(sample->backtrace, backtrace, sizeof(backtrace));
	sample->conflict_type[2] = 4;
	sample->conflicts[2] = 7;
	build_edge(sample, (struct built_edge){ 0, 1, 0, HEAP_EDGE_TYPED }, 0);
	build_edge(sample, (struct built_edge){ 1, 2, 8, HEAP_EDGE_TYPED }, 0);
	build_edge(sample, (struct built_edge){ 4, 0, UINT32_MAX, HEAP_EDGE_TYPED }, 2);
	build_edge(sample, (struct built_edge){ 4, 3, 99, 0 }, 5);
	build_end_edges(sample);
	build_row(sample, parts, part_count,
		  (struct heap_part){ 3, 0, 1, 1, HEAP_EVIDENCE_POINTER });
	build_row(sample, parts, part_count,
		  (struct heap_part){ 3, 48, 1, 2, HEAP_EVIDENCE_EMBEDDING });
}

static inline void sample_add_rest(struct heap_snapshot *sample)
{
	build_row(sample, mappings, mapping_count,
		  (struct heap_mapping){ 0x400000, 0x410000, 5, build_string(sample, "/bin/app") });
	build_row(sample, mappings, mapping_count,
		  (struct heap_mapping){ 0x500000, 0x600000, 3, 0 });
	build_row(sample, damages, damage_count,
		  (struct heap_damage){ 0x500800, build_string(sample, "no line") });
	build_row(sample, samples, sample_count,
		  (struct heap_sample){ 0, 17, 1700000000500000000, 4242 });
	build_row(sample, samples, sample_count,
		  (struct heap_sample){ 3, 0, 1700000001250000000, 4243 });
	build_row(sample, slabs, slab_count, (struct heap_slab){ 1 });
	build_row(sample, slabs, slab_count, (struct heap_slab){ 2 });
	build_row(sample, epochs, epoch_count, 1700000000000000000);
	build_row(sample, epochs, epoch_count, 1700000001000000000);
}

/** All that is returned belongs to this function, and is the same each time. */
static inline struct heap_snapshot sample_snapshot(void)
{
	static struct heap_snapshot sample;

	if (sample.strings)
		return sample;
	build_start(&sample);
	sample.info = (struct heap_info){ .program = "app",
					  .command = "app --go a=b",
					  .host = "here",
					  .maker = "heapsnap 0.1",
					  .id = "0123456789abcdef0123456789abcdef",
					  .pid = 4242,
					  .serial = 3,
					  .time_ns = 1700000002000000000,
					  .start_time_ns = 1700000000000000000,
					  .stop_ns = 123456,
					  .clone_ns = 23456,
					  .content_limit = 64,
					  .missed_threads = 1,
					  .trace = "/tmp/app-00.trace",
					  .trace_start_ns = 1700000000250000000 };
	sample_add_strings(&sample);
	sample_add_types(&sample);
	sample_add_code(&sample);
	sample_add_roots(&sample);
	sample_add_objects(&sample);
	sample_add_rest(&sample);
	build_clear_padding(&sample);
	return sample;
}

enum {
	SAMPLE_CROWD = 5000,
};

/** Objects whose contents cross the bounds of blocks and of what is kept of starts. */
static inline struct heap_snapshot sample_crowd(void)
{
	static struct heap_snapshot crowd;
	uint64_t address = 0x10000;

	if (crowd.strings)
		return crowd;
	crowd = sample_snapshot();
	build_columns(&crowd, HEAP_COLUMN_ALL & ~HEAP_COLUMN_TAG, SAMPLE_CROWD, 0);
	crowd.object_count = 0;
	crowd.edge_count = 0;
	for (uint32_t i = 0; i < SAMPLE_CROWD; i++) {
		uint64_t size = i == 2000 ? 200000 : i * 7919 % 300;

		build_object(&crowd, address, size, HEAP_NO_TYPE, 1, HEAP_EVIDENCE_NONE, 0);
		address += size + 16;
	}
	crowd.part_count = 0;
	crowd.info.content_limit = UINT64_MAX;
	return crowd;
}

/** The byte at an address of the sample's heap. */
static inline uint8_t sample_byte(uint64_t address)
{
	return (uint8_t)(address * 7 + (address >> 8));
}

/** A heap_content_reader. */
static inline struct heap_error *sample_content(void *context, heap_object_id object,
						uint64_t address, uint8_t *buffer, size_t size)
{
	(void)context;
	(void)object;
	for (size_t i = 0; i < size; i++)
		buffer[i] = sample_byte(address + i);
	return NULL;
}

/** All bytes of an open file. @return [*size] to be freed */
static inline uint8_t *sample_slurp(int descriptor, size_t *size)
{
	*size = (size_t)lseek(descriptor, 0, SEEK_END);

	uint8_t *bytes = malloc(*size + 1);

	if (!bytes || pread(descriptor, bytes, *size, 0) != (ssize_t)*size)
		abort();
	return bytes;
}

/** The snapshot as a file's bytes. @return [*size] to be freed */
static inline uint8_t *sample_bytes(const struct heap_snapshot *snapshot, size_t *size)
{
	int descriptor = memfd_create("sample", MFD_CLOEXEC);

	sample_check(heap_snapshot_write(
		snapshot, descriptor, &(struct heap_snapshot_source){ .content = sample_content }));

	uint8_t *bytes = sample_slurp(descriptor, size);

	close(descriptor);
	return bytes;
}

/** The snapshot in a file's bytes, which it reads as long as it is open. */
static inline struct heap_snapshot *sample_open(const uint8_t *bytes, size_t size)
{
	struct heap_snapshot *snapshot;

	sample_check(heap_snapshot_open_memory(bytes, size, &snapshot));
	return snapshot;
}

#endif
