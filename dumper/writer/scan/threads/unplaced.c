// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/threads/unplaced.h"

#include "lib/base/cleanup.h"
#include "lib/dwarf/dwarf_unwind.h"

enum {
	MAX_TYPES = 64,     // of a frame
	MAX_WORDS = 512,    // of a frame that are looked at, innermost ones
	MAX_STATICS = 1024, // variables of a module that are looked at
	MAX_BLOCKS = 64,    // that a frame leads to
	MAX_LIST = 1 << 14,
	MAX_HOLDER = 16,      // bytes of a variable
	MAX_FRAMES = 1 << 14, // a deep recursion has as many as a stack has room for
};

// The struct that a pointer leads to, or HEAP_NO_TYPE.
static heap_type_id find_struct(const struct heap_types *types, heap_type_id id)
{
	heap_type_id pointee;

	id = heap_types_strip(types, id);
	if (!heap_types_is_pointer(types, id))
		return HEAP_NO_TYPE;
	pointee = heap_types_strip(types, heap_types_pointee(types, id));
	return heap_types_has_members(&types->types[pointee]) &&
			       types->types[pointee].kind != HEAP_TYPE_UNION
		       ? pointee
		       : HEAP_NO_TYPE;
}

HEAP_MUST_CHECK
static struct heap_error *add_type(struct unplaced_frame *structs, heap_type_id type)
{
	if (type == HEAP_NO_TYPE || structs->types.count == MAX_TYPES)
		return NULL;
	for (size_t i = 0; i < structs->types.count; i++) {
		if (structs->types.items[i] == type)
			return NULL;
	}
	return heap_array_append(&structs->types, type);
}

struct pointees {
	const struct heap_types *types;
	struct unplaced_frame *structs;
	struct heap_error *error;
};

static bool add_pointee(void *context, uint64_t offset, heap_type_id pointer)
{
	struct pointees *pointees = context;

	(void)offset;
	pointees->error = add_type(pointees->structs, find_struct(pointees->types, pointer));
	return pointees->error == NULL;
}

// Adds what a variable of a type leads to: a pointer, or a class that has few, as std::unique_ptr.
HEAP_MUST_CHECK
static struct heap_error *add_types(const struct heap_types *types, heap_type_id type,
				    struct unplaced_frame *structs)
{
	struct pointees pointees = { types, structs, NULL };

	if (heap_types_size(types, type) <= MAX_HOLDER)
		heap_types_visit_pointers(types, type, add_pointee, &pointees);
	return pointees.error;
}

// The structs that local variables lead to, and the static ones of the module that have no address.
HEAP_MUST_CHECK
static struct heap_error *find_structs(const struct heap_types *types,
				       const struct unplaced_frame *frame,
				       struct unplaced_frame *structs)
{
	const struct module *module = frame->module;

	for (size_t i = 0; i < frame->types.count; i++)
		HEAP_TRY(add_types(types, frame->types.items[i], structs));
	// They come last.
	for (uint32_t i = module->debug.variable_count, seen = 0;
	     i-- > 0 && seen < MAX_STATICS &&
	     module->debug.variables[i].address == HEAP_DWARF_NO_ADDRESS;
	     seen++)
		HEAP_TRY(add_types(types, module->type_map[module->debug.variables[i].type],
				   structs));
	return NULL;
}

struct frame_blocks {
	heap_object_id list[MAX_BLOCKS];
	uint32_t count;
};

static void add_block(const struct objects *objects, uint64_t word, struct frame_blocks *blocks)
{
	uint64_t interior;
	heap_object_id object = objects_resolve(objects, word, &interior);

	if (object == HEAP_NO_OBJECT || interior != 0 || blocks->count == MAX_BLOCKS)
		return;
	for (uint32_t i = 0; i < blocks->count; i++) {
		if (blocks->list[i] == object)
			return;
	}
	blocks->list[blocks->count++] = object;
}

static void find_blocks(const struct image *image, const struct objects *objects,
			const struct unplaced_frame *frame, struct frame_blocks *blocks)
{
	for (uint32_t i = 0; i < HEAP_DWARF_REGISTERS; i++) {
		if (frame->registers->known >> i & 1)
			add_block(objects, frame->registers->value[i], blocks);
	}
	for (uint64_t at = frame->low, end = at + MAX_WORDS * sizeof(at);
	     at < frame->high && at < end; at += sizeof(at)) {
		uint64_t word;

		if (image_read(image, at, &word, sizeof(word)))
			add_block(objects, word, blocks);
	}
}

static void release(struct unplaced_frame *structs)
{
	heap_array_deinit(&structs->types);
}

struct heap_error *unplaced_note(struct unplaced *unplaced, struct unplaced_frame *frame,
				 const struct heap_types *types, const struct image *image,
				 const struct objects *objects)
{
	CLEANUP(release) struct unplaced_frame structs = { 0 };
	struct frame_blocks blocks = { .count = 0 };

	if (unplaced->list.count == MAX_LIST || unplaced->frames++ >= MAX_FRAMES)
		return NULL;
	frame->low = (frame->low + 7) & ~UINT64_C(7);
	HEAP_TRY(find_structs(types, frame, &structs));
	if (structs.types.count == 0)
		return NULL;
	find_blocks(image, objects, frame, &blocks);
	for (uint32_t i = 0; i < blocks.count; i++) {
		for (size_t j = 0; j < structs.types.count && unplaced->list.count < MAX_LIST; j++)
			HEAP_TRY(heap_array_append(
				&unplaced->list,
				((struct unplaced_target){ blocks.list[i],
							   structs.types.items[j] })));
	}
	return NULL;
}
