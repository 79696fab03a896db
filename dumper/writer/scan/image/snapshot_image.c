// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/image/snapshot_image.h"

#include "dumper/base/header.h"
#include "dumper/writer/base/progress.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert((int)HEAP_MAPPING_READ == PROT_READ && (int)HEAP_MAPPING_WRITE == PROT_WRITE &&
		       (int)HEAP_MAPPING_EXECUTE == PROT_EXEC,
	       "protections are those of mmap(2)");

// --- memory -------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *add_segments(struct core *core, const struct heap_snapshot *snapshot)
{
	uint64_t end = 0, offset = 0;

	for (uint32_t i = 0; i < snapshot->mapping_count; i++) {
		const struct heap_mapping *mapping = &snapshot->mappings[i];
		uint64_t size = mapping->end - mapping->start;

		if (mapping->start < end || mapping->end <= mapping->start ||
		    size > (UINT64_C(1) << 62) - offset)
			continue;
		end = mapping->end;
		HEAP_TRY(heap_array_append(
			&core->segments, (struct core_segment){
						 .start = mapping->start,
						 .end = mapping->end,
						 .offset = offset,
						 .size = size,
						 .protection = mapping->protection &
							       (PROT_READ | PROT_WRITE | PROT_EXEC),
						 .name = snapshot->strings + mapping->name,
						 .file = -1,
					 }));
		offset += size;
	}
	if (ftruncate(core->descriptor, (off_t)offset) != 0)
		return heap_error_create_system("memory for the snapshot's");
	return NULL;
}

static const struct core_segment *find_segment(const struct core *core, uint64_t address)
{
	const struct core_segment *list = core->segments.items;
	size_t at =
		heap_partition_point(i, (size_t)0, core->segments.count, list[i].end <= address);

	return at < core->segments.count && list[at].start <= address ? &list[at] : NULL;
}

HEAP_MUST_CHECK
static struct heap_error *put(const struct core *core, uint64_t address, const void *bytes,
			      size_t size)
{
	const struct core_segment *segment = find_segment(core, address);

	if (!segment)
		return NULL;
	if (size > segment->end - address)
		size = segment->end - address;
	if (pwrite(core->descriptor, bytes, size,
		   (off_t)(segment->offset + (address - segment->start))) != (ssize_t)size)
		return heap_error_create_system("memory for the snapshot's");
	return NULL;
}

// Puts a pointer at an address.
HEAP_MUST_CHECK
static struct heap_error *put_pointer(const struct core *core, const struct heap_snapshot *snapshot,
				      uint64_t address, heap_object_id target, uint32_t interior)
{
	uint64_t word = snapshot->address[target] + interior;

	// The snapshot lacks the exact place of pointers far behind the start.
	return interior == UINT32_MAX ? NULL : put(core, address, &word, sizeof(word));
}

// The kept contents, and pointers beyond them.
HEAP_MUST_CHECK
static struct heap_error *put_objects(const struct core *core, struct heap_snapshot *snapshot)
{
	CLEANUP_FREE uint8_t *bytes = NULL;
	size_t capacity = 0, kept;

	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		uint64_t wanted = snapshot->size[i] < snapshot->info.content_limit
					  ? snapshot->size[i]
					  : snapshot->info.content_limit;

		HEAP_TRY(heap_reserve(bytes, capacity, (size_t)wanted));
		HEAP_TRY(heap_snapshot_read_content(snapshot, i, bytes, (size_t)wanted, &kept));
		HEAP_TRY(put(core, snapshot->address[i], bytes, kept));
		for (uint32_t edge = snapshot->edge_first[i]; edge < snapshot->edge_first[i + 1];
		     edge++) {
			uint64_t offset = snapshot->edge_slot[edge] * UINT64_C(8);

			if (offset + 8 > kept)
				HEAP_TRY(put_pointer(core, snapshot, snapshot->address[i] + offset,
						     snapshot->edge_target[edge],
						     snapshot->edge_interior[edge]));
		}
		progress_step();
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *put_roots(const struct core *core, const struct heap_snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot->root_count; i++) {
		const struct heap_root *root = &snapshot->roots[i];

		if (root->address != 0)
			HEAP_TRY(put(core, root->address, snapshot->root_content + root->content,
				     root->content_size));
	}
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];
		uint64_t address = snapshot->roots[edge->root].address;

		if (address != 0)
			HEAP_TRY(put_pointer(core, snapshot, address + edge->offset, edge->target,
					     edge->interior));
	}
	return NULL;
}

struct heap_error *snapshot_image_fill(struct core *core, struct heap_snapshot *snapshot)
{
	*core = (struct core){ .descriptor = memfd_create("snapshot", MFD_CLOEXEC) };
	if (core->descriptor < 0)
		return heap_error_create_system("memory for the snapshot's");
	HEAP_TRY(add_segments(core, snapshot));
	HEAP_TRY(put_objects(core, snapshot));
	return put_roots(core, snapshot);
}

// --- objects ------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *add_object(const struct heap_snapshot *snapshot, heap_object_id object,
				     struct objects *objects)
{
	uint64_t size = snapshot->size[object];

	// The library's mark on what new[] has counted is not kept. Where the number agrees with the
	// size, and a pointer leads behind it, it was there.
	return objects_add(objects, snapshot->address[object],
			   heapsnap_extent(size < HEAPSNAP_SIZE_MAX ? size : HEAPSNAP_SIZE_MAX, 0,
					   HEAPSNAP_BEFORE, HEAPSNAP_BLOCK_NEW_ARRAY),
			   snapshot->sites[snapshot->site[object]].address);
}

struct heap_error *snapshot_image_add_objects(const struct core *core,
					      const struct heap_snapshot *snapshot,
					      struct objects *objects)
{
	HEAP_TRY(objects_init(objects));
	for (heap_object_id i = 0; i < snapshot->object_count;) {
		const struct core_segment *segment = find_segment(core, snapshot->address[i]);
		struct object_range range = { .first = objects->count };

		// Numbers must stay those of the snapshot.
		if (!segment)
			return heap_error_create(HEAP_ERROR_FORMAT,
						 "an object lies outside of all mappings");
		range.start = segment->start;
		range.end = segment->end;
		while (++segment < core->segments.items + core->segments.count &&
		       segment->start == range.end)
			range.end = segment->end;
		for (; i < snapshot->object_count && snapshot->address[i] < range.end; i++)
			HEAP_TRY(add_object(snapshot, i, objects));
		range.count = objects->count - range.first;
		HEAP_TRY(objects_add_range(objects, &range));
	}
	return NULL;
}
