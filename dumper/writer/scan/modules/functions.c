// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/modules/functions.h"

#include "lib/base/hash.h"
#include "lib/base/search.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	NOTED_MAX = 1 << 16,
	SLOTS = NOTED_MAX * 2, // a power of two
	MAX_INLINED = 16,
};

struct heap_error *functions_init(struct functions *functions, const struct image *image)
{
	*functions = (struct functions){ .start = UINT64_MAX };
	functions->ranges = calloc(image->mapping_count + 1, sizeof(*functions->ranges));
	functions->noted = calloc(SLOTS, sizeof(*functions->noted));
	if (!functions->ranges || !functions->noted)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < image->mapping_count; i++) {
		const struct image_mapping *mapping = &image->mappings[i];

		if (mapping->kind != IMAGE_FILE || !(mapping->protection & PROT_EXEC))
			continue;
		functions->ranges[functions->range_count][0] = mapping->start;
		functions->ranges[functions->range_count++][1] = mapping->end;
		if (functions->start == UINT64_MAX)
			functions->start = mapping->start;
		functions->end = mapping->end;
	}
	if (functions->range_count == 0)
		functions->start = 0;
	return NULL;
}

void functions_deinit(struct functions *functions)
{
	free(functions->ranges);
	free(functions->noted);
}

static bool is_code(const struct functions *functions, uint64_t word)
{
	size_t at =
		heap_partition_point(i, 0, functions->range_count, functions->ranges[i][1] <= word);

	return at < functions->range_count && functions->ranges[at][0] <= word;
}

bool functions_note(struct functions *functions, uint64_t word)
{
	uint32_t slot = (uint32_t)(heap_hash_scatter(word) >> 40) % SLOTS;

	if (word == 0 || !is_code(functions, word))
		return false;
	while (functions->noted[slot]) {
		if (functions->noted[slot] == word)
			return true;
		slot = (slot + 1) % SLOTS;
	}
	if (functions->noted_count == NOTED_MAX)
		return true;
	functions->noted[slot] = word;
	functions->noted_count++;
	return true;
}

void functions_note_roots(struct functions *functions, const struct heap_snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot->root_count; i++) {
		const struct heap_root *root = &snapshot->roots[i];

		for (uint64_t at = 0; root->content_size >= 8 && at <= root->content_size - 8;
		     at += 8) {
			uint64_t word;

			memcpy(&word, snapshot->root_content + root->content + at, 8);
			functions_note(functions, word);
		}
	}
}

struct heap_error *functions_list(const struct functions *functions, uint64_t **addresses,
				  uint32_t *count)
{
	*count = 0;
	*addresses = calloc((size_t)functions->noted_count + 1, sizeof(**addresses));
	if (!*addresses)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; functions->noted_count > 0 && i < SLOTS; i++) {
		if (functions->noted[i] != 0)
			(*addresses)[(*count)++] = functions->noted[i];
	}
	qsort(*addresses, *count, sizeof(**addresses), heap_order_u64);
	return NULL;
}

static int compare(const void *left, const void *right)
{
	const struct heap_call *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

struct heap_error *functions_describe(const struct functions *functions,
				      const struct modules *modules, struct strings *strings,
				      struct heap_snapshot *snapshot)
{
	snapshot->functions = calloc(functions->noted_count + 1, sizeof(*snapshot->functions));
	if (!snapshot->functions)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < SLOTS; i++) {
		uint64_t address = functions->noted[i];
		struct module *module = address ? modules_find(modules, address) : NULL;
		struct code_place places[MAX_INLINED];

		if (!module)
			continue;

		// The function that was compiled: nothing points to an inlined one.
		size_t count =
			module_describe(module, address, address, strings, places, MAX_INLINED);
		const struct code_place *place = &places[count - 1];

		if (!place->function)
			continue;
		snapshot->functions[snapshot->function_count++] = (struct heap_call){
			.address = address,
			.module = (uint32_t)(module - modules->modules),
			.function = place->function,
			.offset = place->offset,
			.file = place->file,
			.line = place->line,
		};
	}
	qsort(snapshot->functions, snapshot->function_count, sizeof(*snapshot->functions), compare);
	return NULL;
}
