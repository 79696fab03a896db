// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/snapshot/snapshot_tables.h"

#define FIELD(structure, member, kind) \
	{ \
		offsetof(struct structure, member), sizeof(((struct structure *)0)->member), \
			HEAP_FIELD_##kind \
	}

static const struct heap_field types[] = {
	FIELD(heap_type, kind, NUMBER),         FIELD(heap_type, flags, NUMBER),
	FIELD(heap_type, name, TYPE_STRING),    FIELD(heap_type, size, NUMBER),
	FIELD(heap_type, target, NUMBER),       FIELD(heap_type, count, NUMBER),
	FIELD(heap_type, first_member, NUMBER), FIELD(heap_type, members, NUMBER),
	FIELD(heap_type, file, TYPE_STRING),    FIELD(heap_type, line, NUMBER),
};

static const struct heap_field members[] = {
	FIELD(heap_member, name, TYPE_STRING),  FIELD(heap_member, type, TYPE),
	FIELD(heap_member, offset, NUMBER),     FIELD(heap_member, flags, NUMBER),
	FIELD(heap_member, bit_offset, NUMBER), FIELD(heap_member, bit_size, NUMBER),
};

static const struct heap_field enumerators[] = {
	FIELD(heap_enumerator, name, TYPE_STRING),
	FIELD(heap_enumerator, value, SIGNED),
};

static const struct heap_field modules[] = {
	FIELD(heap_module, path, STRING),  FIELD(heap_module, build_id, STRING),
	FIELD(heap_module, debug, STRING), FIELD(heap_module, note, STRING),
	FIELD(heap_module, start, NUMBER), FIELD(heap_module, end, NUMBER),
	FIELD(heap_module, bias, NUMBER),
};

// The place in the code that a site, a call and a frame have.
#define PLACE_FIELDS(structure) \
	FIELD(structure, module, MODULE), FIELD(structure, function, STRING), \
		FIELD(structure, offset, NUMBER), FIELD(structure, file, STRING), \
		FIELD(structure, line, NUMBER)

static const struct heap_field sites[] = {
	FIELD(heap_site, address, NUMBER),
	PLACE_FIELDS(heap_site),
	FIELD(heap_site, flags, NUMBER),
};

static const struct heap_field calls[] = {
	FIELD(heap_call, address, NUMBER),
	PLACE_FIELDS(heap_call),
	FIELD(heap_call, flags, NUMBER),
};

static const struct heap_field steps[] = {
	FIELD(heap_step, caller, NUMBER),
	FIELD(heap_step, call, CALL),
};

static const struct heap_field parts[] = {
	FIELD(heap_part, object, OBJECT),   FIELD(heap_part, offset, NUMBER),
	FIELD(heap_part, type, TYPE),       FIELD(heap_part, elements, NUMBER),
	FIELD(heap_part, evidence, NUMBER),
};

static const struct heap_field frames[] = {
	FIELD(heap_frame, pc, NUMBER),
	FIELD(heap_frame, cfa, NUMBER),
	PLACE_FIELDS(heap_frame),
	FIELD(heap_frame, flags, NUMBER),
};

static const struct heap_field threads[] = {
	FIELD(heap_thread, tid, NUMBER),        FIELD(heap_thread, name, STRING),
	FIELD(heap_thread, state, NUMBER),      FIELD(heap_thread, first_frame, NUMBER),
	FIELD(heap_thread, frames, NUMBER),     FIELD(heap_thread, stack_start, NUMBER),
	FIELD(heap_thread, stack_end, NUMBER),  FIELD(heap_thread, skipped, NUMBER),
	FIELD(heap_thread, skipped_at, NUMBER),
};

static const struct heap_field roots[] = {
	FIELD(heap_root, kind, NUMBER),    FIELD(heap_root, name, STRING),
	FIELD(heap_root, type, TYPE),      FIELD(heap_root, address, NUMBER),
	FIELD(heap_root, size, NUMBER),    FIELD(heap_root, module, MODULE),
	FIELD(heap_root, file, STRING),    FIELD(heap_root, line, NUMBER),
	FIELD(heap_root, thread, THREAD),  FIELD(heap_root, frame, FRAME),
	FIELD(heap_root, content, NUMBER), FIELD(heap_root, content_size, NUMBER),
};

static const struct heap_field root_edges[] = {
	FIELD(heap_root_edge, root, ROOT),     FIELD(heap_root_edge, target, OBJECT),
	FIELD(heap_root_edge, offset, NUMBER), FIELD(heap_root_edge, interior, NUMBER),
	FIELD(heap_root_edge, flags, NUMBER),
};

static const struct heap_field mappings[] = {
	FIELD(heap_mapping, start, NUMBER),
	FIELD(heap_mapping, end, NUMBER),
	FIELD(heap_mapping, protection, NUMBER),
	FIELD(heap_mapping, name, STRING),
};

static const struct heap_field damages[] = {
	FIELD(heap_damage, address, NUMBER),
	FIELD(heap_damage, note, STRING),
};

static const struct heap_field tags[] = {
	FIELD(heap_tag, address, NUMBER),
	FIELD(heap_tag, name, STRING),
};

static const struct heap_field slabs[] = {
	FIELD(heap_slab, object, OBJECT),
};

static const struct heap_field samples[] = {
	FIELD(heap_sample, object, OBJECT),
	FIELD(heap_sample, number, NUMBER),
	FIELD(heap_sample, time_ns, NUMBER),
	FIELD(heap_sample, thread, NUMBER),
};

#define TABLE(tag, fields, structure, array, count, since) \
	GROWN_TABLE(tag, fields, 0, structure, array, count, since)

// One whose rows have grown by the last so many fields since its section came.
#define GROWN_TABLE(tag, fields, added, structure, array, count, since) \
	{ \
		HEAP_TAG_##tag, fields, sizeof(fields) / sizeof((fields)[0]), added, \
			sizeof(struct structure), offsetof(struct heap_snapshot, array), \
			offsetof(struct heap_snapshot, count), \
			sizeof(((struct heap_snapshot *)0)->count), HEAP_SINCE_##since \
	}

const struct heap_table heap_tables[] = {
	TABLE(TYPES, types, heap_type, types.types, types.count, FIRST),
	TABLE(MEMBERS, members, heap_member, types.members, types.member_count, FIRST),
	TABLE(ENUMERATORS, enumerators, heap_enumerator, types.enumerators, types.enumerator_count,
	      FIRST),
	TABLE(MODULES, modules, heap_module, modules, module_count, FIRST),
	GROWN_TABLE(SITES, sites, 1, heap_site, sites, site_count, FIRST),
	TABLE(CALLS, calls, heap_call, calls, call_count, BACKTRACES),
	TABLE(STEPS, steps, heap_step, steps, step_count, BACKTRACES),
	TABLE(FUNCTIONS, calls, heap_call, functions, function_count, BACKTRACES),
	TABLE(FRAMES, frames, heap_frame, frames, frame_count, FIRST),
	GROWN_TABLE(THREADS, threads, 2, heap_thread, threads, thread_count, FIRST),
	TABLE(ROOTS, roots, heap_root, roots, root_count, FIRST),
	TABLE(ROOT_EDGES, root_edges, heap_root_edge, root_edges, root_edge_count, FIRST),
	TABLE(MAPPINGS, mappings, heap_mapping, mappings, mapping_count, FIRST),
	TABLE(DAMAGES, damages, heap_damage, damages, damage_count, FIRST),
	TABLE(SAMPLES, samples, heap_sample, samples, sample_count, SAMPLES),
	TABLE(TAGS, tags, heap_tag, tags, tag_count, TAGS),
	TABLE(SLABS, slabs, heap_slab, slabs, slab_count, SLABS),
};

const size_t heap_table_count = sizeof(heap_tables) / sizeof(heap_tables[0]);

const struct heap_table heap_parts_table =
	TABLE(PARTS, parts, heap_part, parts, part_count, BACKTRACES);

#define COLUMN(tag, encoding, array, since) \
	{ \
		HEAP_TAG_##tag, HEAP_ENCODING_##encoding, \
			sizeof(*((struct heap_snapshot *)0)->array), \
			offsetof(struct heap_snapshot, array), HEAP_SINCE_##since \
	}

const struct heap_object_column heap_object_columns[HEAP_OBJECT_COLUMNS] = {
	COLUMN(ADDRESSES, DELTA, address, FIRST),
	COLUMN(SIZES, VARINT, size, FIRST),
	COLUMN(OBJECT_TYPES, VARINT, type, FIRST),
	COLUMN(ELEMENTS, VARINT, elements, FIRST),
	COLUMN(EVIDENCE, BYTES, evidence, FIRST),
	COLUMN(OBJECT_SITES, VARINT, site, FIRST),
	COLUMN(BIRTHS, VARINT, birth, FIRST),
	COLUMN(BACKTRACES, VARINT, backtrace, BACKTRACES),
	COLUMN(CONFLICT_TYPES, VARINT, conflict_type, BACKTRACES),
	COLUMN(CONFLICTS, VARINT, conflicts, BACKTRACES),
	COLUMN(OBJECT_TAGS, VARINT, tag, TAGS),
};
