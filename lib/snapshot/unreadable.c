// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/snapshot/unreadable.h"

#include "lib/base/search.h"

static bool is_readable(const struct heap_mapping *mapping)
{
	return (mapping->protection & HEAP_MAPPING_READ) &&
	       !(mapping->protection & (HEAP_MAPPING_WIPED | HEAP_MAPPING_UNREAD));
}

// The first mapping, from `at` on, that ends above an address.
static uint32_t skip_before(const struct heap_snapshot *snapshot, uint32_t at, uint64_t address)
{
	while (at < snapshot->mapping_count && snapshot->mappings[at].end <= address)
		at++;
	return at;
}

// Counts readable bytes of [start, end). @param at  the first mapping that ends above start
static uint64_t count_readable(const struct heap_snapshot *snapshot, uint32_t at, uint64_t start,
			       uint64_t end)
{
	uint64_t readable = 0;

	for (; at < snapshot->mapping_count && snapshot->mappings[at].start < end; at++) {
		const struct heap_mapping *mapping = &snapshot->mappings[at];
		uint64_t from = mapping->start > start ? mapping->start : start;
		uint64_t to = mapping->end < end ? mapping->end : end;

		if (is_readable(mapping) && from < to)
			readable += to - from;
	}
	return readable;
}

// Mappings in a damaged file may overlap.
static uint64_t beyond(uint64_t size, uint64_t readable)
{
	return size > readable ? size - readable : 0;
}

static uint32_t find_mapping(const struct heap_snapshot *snapshot, uint64_t address)
{
	return heap_partition_point(i, 0, snapshot->mapping_count,
				    snapshot->mappings[i].end <= address);
}

uint64_t heap_unreadable_bytes(const struct heap_snapshot *snapshot, uint64_t address,
			       uint64_t size)
{
	if (snapshot->mapping_count == 0 || size > UINT64_MAX - address)
		return 0;
	return beyond(size, count_readable(snapshot, find_mapping(snapshot, address), address,
					   address + size));
}

void heap_unreadable_count(const struct heap_snapshot *snapshot, struct heap_unreadable *result)
{
	uint32_t at = 0;

	*result = (struct heap_unreadable){ 0 };
	if (snapshot->mapping_count == 0)
		return;
	for (uint32_t i = 0; i < snapshot->mapping_count; i++) {
		if (snapshot->mappings[i].protection & HEAP_MAPPING_WIPED)
			result->wiped += snapshot->mappings[i].end - snapshot->mappings[i].start;
	}
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		uint64_t start = snapshot->address[i], size = snapshot->size[i], bytes;

		if (size > UINT64_MAX - start)
			continue;
		at = skip_before(snapshot, at, start);
		bytes = beyond(size, count_readable(snapshot, at, start, start + size));
		result->objects += bytes > 0;
		result->bytes += bytes;
	}
}
