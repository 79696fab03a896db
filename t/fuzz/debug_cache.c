// SPDX-License-Identifier: GPL-3.0-or-later
// Loads cached debug information from any bytes, as they are and with their checksums mended.
#include "t/fuzz/damage.h"

#include "lib/dwarf/dwarf_info.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static bool note_pointer(void *context, uint64_t offset, heap_type_id pointer)
{
	(void)offset;
	(void)pointer;
	return --*(int *)context > 0;
}

// Uses an accepted table in every way that it must bear.
static void use_types(struct heap_types *types)
{
	heap_type_id *map = calloc(types->count, sizeof(*map));
	struct heap_types merged;
	char name[256];

	for (heap_type_id id = 0; id < types->count && id < 1000; id++) {
		int pointers = 1000;

		heap_types_format(types, id, name, sizeof(name));
		heap_types_size(types, id);
		heap_types_visit_pointers(types, id, note_pointer, &pointers);
	}
	heap_types_find(types, "struct *", 0);
	heap_types_resolve(types);
	heap_error_destroy(heap_types_init(&merged));
	heap_error_destroy(heap_types_merge(&merged, types, map));
	heap_error_destroy(heap_types_merge(&merged, types, map));
	heap_types_deinit(&merged);
	free(map);
}

static void load(const uint8_t *bytes, size_t size)
{
	struct heap_dwarf_info debug;
	struct heap_error *error = heap_dwarf_info_load_memory(bytes, size, NULL, &debug);

	heap_error_destroy(error);
	if (error)
		return;
	use_types(&debug.types);
	heap_dwarf_info_deinit(&debug);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = malloc(size + 1);

	load(bytes, size);
	if (size > 0)
		memcpy(copy, bytes, size);
	mend(copy, size);
	load(copy, size);
	free(copy);
	return 0;
}
