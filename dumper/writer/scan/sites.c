// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/sites.h"

#include "dumper/writer/scan/capture.h"
#include "dumper/writer/infer/headers.h"
#include "dumper/writer/infer/site_types.h"
#include "dumper/writer/scan/standard.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

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
	struct code_place places[SITE_TYPE_DEPTHS];
	size_t count, shown;

	if (!module)
		return site;
	count = module_describe(module, address, address - 1, &capture->strings, places,
				SITE_TYPE_DEPTHS);
	shown = standard_skip(module, &capture->strings, address - 1, places, count);
	// The standard library's own: it has called itself.
	if (shown == count)
		shown = 0;
	site.module = (uint32_t)(module - capture->modules.modules);
	site.function = places[shown].function;
	site.offset = places[shown].offset;
	site.file = places[shown].file;
	site.line = places[shown].line;
	return site;
}

// The id of the site at an address, which is a new one if there is none.
HEAP_MUST_CHECK
static struct heap_error *find_site(struct capture *capture, struct table *table, uint64_t address,
				    heap_site_id *result)
{
	struct sites *sites = &capture->sites;

	if ((size_t)sites->count * 2 >= table->size) {
		struct heap_error *error = grow(table, sites);

		if (error)
			return error;
	}

	size_t at = slot_of(table, sites, address);

	if (!table->slots[at]) {
		sites->sites[sites->count] = describe(capture, address);
		table->slots[at] = ++sites->count;
	}
	*result = table->slots[at] - 1;
	return NULL;
}

static bool knows_type(void *context, uint64_t address, uint64_t size)
{
	return site_types_know(context, address, size);
}

// --- which wrappers are believed ----------------------------------------------

enum {
	NAMES_SIZE = 4096, // of HEAPSNAP_WRAPPERS
	CALL_BYTES = 5,    // of a call to an address relative to the next instruction
	CALL_OPCODE = 0xe8,
};

struct belief {
	struct capture *capture;
	char names[NAMES_SIZE]; // of functions, by commas, that the user has named
};

static bool is_named(const struct belief *belief, const char *function)
{
	size_t length = strlen(function);

	for (const char *at = belief->names; length > 0 && *at;) {
		size_t end = strcspn(at, ",");

		if (end == length && memcmp(at, function, length) == 0)
			return true;
		at += end + (at[end] == ',');
	}
	return false;
}

// True if the function at a site may pass on what its callers ask for, as far as debug information
// tells. It may also return a common prefix of the program's types, as luaC_newobj() does.
static bool passes_on(struct capture *capture, struct module *module, uint64_t site)
{
	heap_type_id kept;

	return module_passing(module, site - 1, &capture->types, &kept) != MODULE_KEEPS ||
	       (kept != HEAP_NO_TYPE && headers_is_prefix(&capture->types, kept));
}

// True if the function at a site, which the library takes for a wrapper, counts as one.
static bool is_believed(void *context, uint64_t site, uint64_t *start)
{
	struct belief *belief = context;
	struct capture *capture = belief->capture;
	struct module *module = modules_find(&capture->modules, site - 1);
	struct code_place places[SITE_TYPE_DEPTHS];
	size_t count;

	if (!module)
		return true;
	count = module_describe(module, site, site - 1, &capture->strings, places,
				SITE_TYPE_DEPTHS);
	if (standard_skip(module, &capture->strings, site - 1, places, count) == count)
		return true;
	// What the program has inlined into a function of the standard library is no wrapper.
	if (!standard_has(module, &capture->strings, site - 1, &places[count - 1]) &&
	    passes_on(capture, module, site))
		return true;
	// The symbol table knows the function that the others are inlined into.
	*start = places[count - 1].offset ? site - places[count - 1].offset : 0;
	return is_named(belief, &capture->strings.bytes[places[count - 1].function]);
}

HEAP_MUST_CHECK
static struct heap_error *choose_wrappers(struct capture *capture)
{
	struct belief belief = { .capture = capture };

	if (capture->process.wrapper_names)
		image_read_string(&capture->image, capture->process.wrapper_names, belief.names,
				  sizeof(belief.names));
	return backtraces_choose_wrappers(&capture->backtraces, is_believed, &belief);
}

// Where the call before a return address leads to; 0 if it is not a plain one.
static uint64_t find_callee(const struct capture *capture, uint64_t address)
{
#if defined(__x86_64__)
	uint8_t code[CALL_BYTES] = { 0 };
	int32_t distance;

	image_read_padded(&capture->image, address - CALL_BYTES, code, sizeof(code));
	memcpy(&distance, code + 1, sizeof(distance));
	return code[0] == CALL_OPCODE ? address + (uint64_t)(int64_t)distance : 0;
#else
	(void)capture;
	(void)address;
	return 0;
#endif
}

// Where no backtrace shows how a site comes to malloc, its call does: if that is of a function that
// is not believed to be a wrapper, the site there is meant.
static uint64_t find_meant(const struct capture *capture, uint64_t site, uint64_t size)
{
	const struct backtraces *backtraces = &capture->backtraces;
	uint64_t called = 0;

	if (!backtraces_have_path(backtraces, site, size))
		called = backtraces_called(backtraces, find_callee(capture, site));
	return called ? called : site;
}

// --- all sites ------------------------------------------------------------------

static int compare_kinds(const void *left, const void *right, void *context)
{
	const struct object_kind *list = context;
	const struct object_kind *a = &list[*(const uint32_t *)left];
	const struct object_kind *b = &list[*(const uint32_t *)right];

	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	return a->size < b->size ? -1 : a->size > b->size;
}

// In the order of the code: that of the heap is another one in each run.
static uint32_t *order_kinds(const struct object_kinds *kinds)
{
	uint32_t *order = malloc(((size_t)kinds->count + 1) * sizeof(*order));

	for (uint32_t i = 0; order && i < kinds->count; i++)
		order[i] = i;
	if (order && kinds->count > 0)
		qsort_r(order, kinds->count, sizeof(*order), compare_kinds, kinds->list);
	return order;
}

struct heap_error *sites_init(struct capture *capture)
{
	struct sites *sites = &capture->sites;
	const struct object_kinds *kinds = &capture->objects.kinds;
	CLEANUP_FREE uint32_t *order = order_kinds(kinds);
	struct table table = { 0 };
	struct heap_error *error;

	*sites = (struct sites){
		.site = calloc((size_t)kinds->count + 1, sizeof(*sites->site)),
		.maker = calloc((size_t)kinds->count + 1, sizeof(*sites->maker)),
	};
	if (!sites->site || !sites->maker || !order)
		return heap_error_out_of_memory();
	error = choose_wrappers(capture);
	for (uint32_t i = 0; !error && i < kinds->count; i++) {
		uint32_t kind = order[i];
		uint64_t size = kinds->list[kind].size;
		uint64_t site = find_meant(capture, kinds->list[kind].site, size);
		uint64_t address = backtraces_site(&capture->backtraces, site, size);
		uint64_t maker =
			backtraces_maker(&capture->backtraces, site, size, knows_type, capture);

		error = find_site(capture, &table, address, &sites->site[kind]);
		sites->maker[kind] = sites->site[kind];
		if (!error && maker != address)
			error = find_site(capture, &table, maker, &sites->maker[kind]);
	}
	free(table.slots);
	return error;
}

void sites_deinit(struct sites *sites)
{
	free(sites->sites);
	free(sites->site);
	free(sites->maker);
}
