// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SAMPLE_H
#define SAMPLE_H

/**
 * A small snapshot with something in every table and every field, as tests want one.
 *
 *	root table (global) ──▶ node 0 ──▶ node 1 ──▶ node 2      buffer 3 (untyped)
 *	root cursor (local) ───────────────▶ (8 bytes into it)       array 4: node[3]
 */

#include "lib/snapshot/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	SAMPLE_OBJECTS = 5,
	SAMPLE_EDGES = 4,
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

// Offsets of the texts below.
enum sample_text {
	TEXT_NONE,
	TEXT_APP = 1,
	TEXT_BUILD = 10,
	TEXT_DEBUG = 15,
	TEXT_NOTE = 21,
	TEXT_MAIN = 29,
	TEXT_FILE = 34,
	TEXT_TABLE = 41,
	TEXT_CURSOR = 47,
};

static char sample_strings[] = "\0/bin/app\0"
			       "beef\0"
			       "a.dbg\0"
			       "no line\0"
			       "main\0"
			       "main.c\0"
			       "table\0"
			       "cursor";

enum sample_type_text {
	TYPE_TEXT_NODE = 1,
	TYPE_TEXT_NEXT = 6,
	TYPE_TEXT_ID = 11,
	TYPE_TEXT_INT = 14,
	TYPE_TEXT_COLOUR = 18,
	TYPE_TEXT_RED = 25,
	TYPE_TEXT_FILE = 29,
};

static char sample_type_strings[] = "\0node\0next\0id\0int\0colour\0red\0node.h";

static struct heap_type sample_types[] = {
	{ .kind = HEAP_TYPE_UNKNOWN },
	{ .kind = HEAP_TYPE_STRUCT,
	  .name = TYPE_TEXT_NODE,
	  .size = 16,
	  .first_member = 0,
	  .members = 2,
	  .file = TYPE_TEXT_FILE,
	  .line = 12 },
	{ .kind = HEAP_TYPE_POINTER, .size = 8, .target = 1 },
	{ .kind = HEAP_TYPE_BASE, .flags = HEAP_TYPE_SIGNED, .name = TYPE_TEXT_INT, .size = 4 },
	{ .kind = HEAP_TYPE_ENUM,
	  .name = TYPE_TEXT_COLOUR,
	  .size = 4,
	  .target = 3,
	  .first_member = 0,
	  .members = 1 },
	{ .kind = HEAP_TYPE_ARRAY, .size = 48, .target = 1, .count = 3 },
};

static struct heap_member sample_members[] = {
	{ .name = TYPE_TEXT_NEXT, .type = 2, .offset = 0 },
	{ .name = TYPE_TEXT_ID,
	  .type = 3,
	  .offset = 8,
	  .flags = HEAP_MEMBER_BIT_FIELD,
	  .bit_offset = 3,
	  .bit_size = 7 },
};

static struct heap_enumerator sample_enumerators[] = { { TYPE_TEXT_RED, -7 } };

static struct heap_module sample_modules[] = {
	{ TEXT_APP, TEXT_BUILD, TEXT_DEBUG, TEXT_NOTE, 0x400000, 0x410000, 0x1000 },
	{ TEXT_FILE, TEXT_NONE, TEXT_NONE, TEXT_NONE, 0x7f0000000000, 0x7f0000010000, UINT64_MAX },
};

static struct heap_site sample_sites[] = {
	{ 0x400123, 0, TEXT_MAIN, 0x23, TEXT_FILE, 42 },
	{ 0x1234, HEAP_NO_INDEX, TEXT_NONE, 0, TEXT_NONE, 0 },
};

static struct heap_call sample_calls[] = {
	{ 0x400123, 0, TEXT_MAIN, 0x23, TEXT_FILE, 42, HEAP_FRAME_INLINED },
	{ 0x1234, HEAP_NO_INDEX, TEXT_NONE, 0, TEXT_NONE, 0, 0 },
};

static struct heap_step sample_steps[] = { { 0, 0 }, { 0, 1 }, { 1, 0 } };

static struct heap_part sample_parts[] = {
	{ 3, 0, 1, 1, HEAP_EVIDENCE_POINTER },
	{ 3, 48, 1, 2, HEAP_EVIDENCE_EMBEDDING },
};

static struct heap_frame sample_frames[] = {
	{ 0x400150, 0x7ffc00000010, 0, TEXT_MAIN, 0x50, TEXT_FILE, 50, HEAP_FRAME_INLINED },
	{ 0x400100, 0x7ffc00000100, HEAP_NO_INDEX, TEXT_NONE, 0, TEXT_NONE, 0, HEAP_FRAME_GUESSED },
};

static struct heap_thread sample_threads[] = {
	{ 4242, TEXT_MAIN, HEAP_THREAD_EXACT, 0, 2, 0x7ffc00000000, 0x7ffc00020000 },
	{ 4243, TEXT_NONE, HEAP_THREAD_MISSING, 2, 0, 0, 0 },
};

static struct heap_root sample_roots[] = {
	{ HEAP_ROOT_GLOBAL, TEXT_TABLE, 2, 0x408000, 8, 0, TEXT_FILE, 7, HEAP_NO_INDEX,
	  HEAP_NO_INDEX, 0, 8 },
	{ HEAP_ROOT_LOCAL, TEXT_CURSOR, 2, 0x7ffc00000008, 8, HEAP_NO_INDEX, TEXT_NONE, 0, 0, 1, 8,
	  4 },
};

static struct heap_root_edge sample_root_edges[] = {
	{ 0, 0, 0, 0, HEAP_EDGE_TYPED },
	{ 1, 1, 16, 8, 0 },
};

static struct heap_mapping sample_mappings[] = {
	{ 0x400000, 0x410000, 5, TEXT_APP },
	{ 0x500000, 0x600000, 3, TEXT_NONE },
};

static struct heap_damage sample_damages[] = { { 0x500800, TEXT_NOTE } };

static struct heap_sample sample_samples[] = {
	{ 0, 17, 1700000000500000000, 4242 },
	{ 3, 0, 1700000001250000000, 4243 },
};

static uint64_t sample_epochs[] = { 1700000000000000000, 1700000001000000000 };
static uint8_t sample_root_content[] = "\x10\x00\x50\0\0\0\0\0four";

static uint64_t sample_address[] = { 0x500010, 0x500030, 0x500050, 0x500070, 0x500200 };
static uint64_t sample_size[] = { 16, 16, 16, 100, 48 };
static heap_type_id sample_type[] = { 1, 1, 1, HEAP_NO_TYPE, 1 };
static uint64_t sample_elements[] = { 1, 1, 1, 1, 3 };
static uint8_t sample_evidence[] = { HEAP_EVIDENCE_POINTER, HEAP_EVIDENCE_POINTER,
				     HEAP_EVIDENCE_POINTER, HEAP_EVIDENCE_NONE,
				     HEAP_EVIDENCE_SITE };
static heap_site_id sample_site[] = { 0, 0, 0, 1, 0 };
static uint32_t sample_birth[] = { 0, 0, 1, 1, 0 };
static uint32_t sample_backtrace[] = { 5, 4, 0, 2, 0 };
static heap_type_id sample_rival[] = { 0, 0, 4, 0, 0 };
static uint32_t sample_rivals[] = { 0, 0, 7, 0, 0 };
static uint32_t sample_edge_first[] = { 0, 1, 2, 2, 2, 4 };
static heap_object_id sample_edge_target[] = { 1, 2, 0, 3 };
static uint32_t sample_edge_slot[] = { 0, 0, 2, 5 };
static uint32_t sample_edge_interior[] = { 0, 8, UINT32_MAX, 99 };
static uint8_t sample_edge_flags[] = { HEAP_EDGE_TYPED, HEAP_EDGE_TYPED, HEAP_EDGE_TYPED, 0 };

/** Nothing of it is to be freed. */
static inline struct heap_snapshot sample_snapshot(void)
{
	return (struct heap_snapshot){
		.info = { .program = "app",
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
			  .trace_start_ns = 1700000000250000000 },
		.strings = sample_strings,
		.string_size = sizeof(sample_strings),
		.types = { .types = sample_types,
			   .count = COUNT_OF(sample_types),
			   .members = sample_members,
			   .member_count = COUNT_OF(sample_members),
			   .enumerators = sample_enumerators,
			   .enumerator_count = COUNT_OF(sample_enumerators),
			   .strings = sample_type_strings,
			   .string_size = sizeof(sample_type_strings) },
		.modules = sample_modules,
		.module_count = COUNT_OF(sample_modules),
		.sites = sample_sites,
		.site_count = COUNT_OF(sample_sites),
		.calls = sample_calls,
		.call_count = COUNT_OF(sample_calls),
		.steps = sample_steps,
		.step_count = COUNT_OF(sample_steps),
		.roots = sample_roots,
		.root_count = COUNT_OF(sample_roots),
		.root_edges = sample_root_edges,
		.root_edge_count = COUNT_OF(sample_root_edges),
		.threads = sample_threads,
		.thread_count = COUNT_OF(sample_threads),
		.frames = sample_frames,
		.frame_count = COUNT_OF(sample_frames),
		.mappings = sample_mappings,
		.mapping_count = COUNT_OF(sample_mappings),
		.damages = sample_damages,
		.damage_count = COUNT_OF(sample_damages),
		.samples = sample_samples,
		.sample_count = COUNT_OF(sample_samples),
		.epochs = sample_epochs,
		.epoch_count = COUNT_OF(sample_epochs),
		.root_content = sample_root_content,
		.root_content_size = 12,
		.object_count = SAMPLE_OBJECTS,
		.edge_count = SAMPLE_EDGES,
		.address = sample_address,
		.size = sample_size,
		.type = sample_type,
		.elements = sample_elements,
		.evidence = sample_evidence,
		.site = sample_site,
		.birth = sample_birth,
		.edge_first = sample_edge_first,
		.edge_target = sample_edge_target,
		.edge_slot = sample_edge_slot,
		.edge_interior = sample_edge_interior,
		.edge_flags = sample_edge_flags,
		.backtrace = sample_backtrace,
		.rival = sample_rival,
		.rivals = sample_rivals,
		.parts = sample_parts,
		.part_count = COUNT_OF(sample_parts),
	};
}

enum {
	SAMPLE_CROWD = 5000,
};

/** Objects whose contents cross the bounds of blocks and of what is kept of starts. */
static inline struct heap_snapshot sample_crowd(void)
{
	static uint64_t address[SAMPLE_CROWD], object_size[SAMPLE_CROWD], elements[SAMPLE_CROWD];
	static uint32_t zeros[SAMPLE_CROWD + 1];
	static uint8_t evidence[SAMPLE_CROWD];
	struct heap_snapshot result = sample_snapshot();

	for (uint32_t i = 0; i < SAMPLE_CROWD; i++) {
		object_size[i] = i == 2000 ? 200000 : i * 7919 % 300;
		address[i] = i == 0 ? 0x10000 : address[i - 1] + object_size[i - 1] + 16;
		elements[i] = 1;
	}
	result.object_count = SAMPLE_CROWD;
	result.edge_count = 0;
	result.address = address;
	result.size = object_size;
	result.elements = elements;
	result.evidence = evidence;
	result.type = result.site = result.birth = result.edge_first = zeros;
	result.backtrace = result.rival = result.rivals = zeros;
	result.part_count = 0;
	result.info.content_limit = UINT64_MAX;
	return result;
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

static inline void sample_check(struct heap_error *error)
{
	if (error) {
		fprintf(stderr, "unexpected: %s\n", heap_error_message(error));
		abort();
	}
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

#endif
