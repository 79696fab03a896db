// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/sites.h"

#include "dumper/writer/capture.h"
#include "lib/cleanup.h"

#include <stdlib.h>

// Open addressing by the site's address; a slot holds an id + 1.
struct table {
	uint32_t *slots; // [size]
	size_t size;
};

static size_t slot_of(const struct table *table, const struct sites *sites, uint64_t address)
{
	size_t at = (address * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (table->size - 1);

	while (table->slots[at] && sites->sites[table->slots[at] - 1].address != address)
		at = (at + 1) & (table->size - 1);
	return at;
}

// Twice the room, in the table and in the array that it refers to.
HEAP_MUST_CHECK
static struct heap_error *grow(struct table *table, struct sites *sites)
{
	struct table larger = { .size = table->size ? table->size * 2 : 1024 };
	struct heap_site *more = realloc(sites->sites, larger.size / 2 * sizeof(*sites->sites));

	if (!more)
		return heap_error_out_of_memory();
	sites->sites = more;
	larger.slots = calloc(larger.size, sizeof(*larger.slots));
	if (!larger.slots)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < sites->count; i++)
		larger.slots[slot_of(&larger, sites, sites->sites[i].address)] = i + 1;
	free(table->slots);
	*table = larger;
	return NULL;
}

static struct heap_site describe(struct capture *capture, uint64_t address)
{
	struct module *module = modules_find(&capture->modules, address - 1);
	struct heap_site site = { .address = address, .module = HEAP_NO_INDEX };
	struct code_place place;

	if (!module)
		return site;
	module_describe(module, address, address - 1, &capture->strings, &place, 1);
	site.module = (uint32_t)(module - capture->modules.modules);
	site.function = place.function;
	site.offset = place.offset;
	site.file = place.file;
	site.line = place.line;
	return site;
}

struct heap_error *sites_init(struct capture *capture)
{
	struct sites *sites = &capture->sites;
	const struct objects *objects = &capture->objects;
	struct table table = { 0 };
	struct heap_error *error = NULL;

	*sites = (struct sites){ .site = calloc((size_t)objects->count + 1, sizeof(*sites->site)) };
	if (!sites->site)
		return heap_error_out_of_memory();
	for (heap_object_id object = 0; object < objects->count; object++) {
		uint64_t address = backtraces_site(&capture->backtraces, objects->site[object],
						   objects->size[object]);

		if ((size_t)sites->count * 2 >= table.size) {
			error = grow(&table, sites);
			if (error)
				break;
		}

		size_t at = slot_of(&table, sites, address);

		if (!table.slots[at]) {
			sites->sites[sites->count] = describe(capture, address);
			table.slots[at] = ++sites->count;
		}
		sites->site[object] = table.slots[at] - 1;
	}
	free(table.slots);
	return error;
}

void sites_deinit(struct sites *sites)
{
	free(sites->sites);
	free(sites->site);
}
