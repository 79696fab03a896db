// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/sites.h"

#include "dumper/writer/base/machine.h"
#include "dumper/writer/scan/modules/module_types.h"
#include "dumper/writer/scan/modules/standard.h"
#include "lib/base/array.h"
#include "lib/base/hash_table.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_INLINED = 16,        // functions inlined into each other at one address
	MAX_FUNCTION = 64 << 10, // bytes that are searched for jumps
};

// The search for sites.
struct search {
	struct capture *capture;
	const struct site_knowledge *knowledge;
	struct heap_hash_table by_address; // the snapshot's sites
	uint32_t capacity;                 // of that table
};

// The innermost place of a site that is neither in a standard library nor in an inlined wrapper.
static size_t skip_inlined(const struct module *module, const struct strings *strings,
			   uint64_t lookup, const struct code_place *places, size_t count)
{
	size_t shown = standard_skip(module, strings, lookup, places, count);

	// The standard library's own: it has called itself.
	if (shown == count)
		return 0;
	while (shown + 1 < count && places[shown].is_wrapper)
		shown++;
	return shown;
}

static struct heap_site describe(struct capture *capture, uint64_t address)
{
	struct module *module = modules_find(&capture->modules, address - 1);
	struct heap_site site = { .address = address, .module = HEAP_NO_INDEX };
	struct code_place places[MAX_INLINED];
	size_t count, shown;

	if (!module)
		return site;
	count = module_describe(module, address, address - 1, &capture->strings, places,
				MAX_INLINED);
	shown = skip_inlined(module, &capture->strings, address - 1, places, count);
	site.module = (uint32_t)(module - capture->modules.modules);
	site.function = places[shown].function;
	site.offset = places[shown].offset;
	site.file = places[shown].file;
	site.line = places[shown].line;
	// The caller was not noted for blocks from before their maker was recognised as a wrapper.
	if (backtraces_is_wrapper(&capture->backtraces, address))
		site.flags = HEAP_SITE_CALLER_UNKNOWN;
	return site;
}

// Finds the site at an address, or adds it.
HEAP_MUST_CHECK
static struct heap_error *find_site(struct search *search, uint64_t address, heap_site_id *result)
{
	struct heap_snapshot *snapshot = &search->capture->snapshot;
	uint64_t hash = heap_hash_u64(address);

	*result =
		heap_hash_find(&search->by_address, hash, i, snapshot->sites[i].address == address);
	if (*result != HEAP_HASH_NONE)
		return NULL;
	HEAP_TRY(heap_reserve(snapshot->sites, search->capacity, (size_t)snapshot->site_count + 1));
	HEAP_TRY(heap_hash_add(&search->by_address, hash, snapshot->site_count));
	snapshot->sites[snapshot->site_count] = describe(search->capture, address);
	*result = snapshot->site_count++;
	return NULL;
}

static bool knows_type(void *context, uint64_t address, uint64_t size)
{
	const struct search *search = context;

	return search->knowledge->knows(search->capture, address, size);
}

// --- which wrappers are believed ----------------------------------------------

enum {
	NAMES_SIZE = 4096, // of HEAPSNAP_WRAPPERS
};

struct belief {
	const struct search *search;
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
static bool passes_on(const struct search *search, struct module *module, uint64_t site)
{
	struct heap_types *types = &search->capture->snapshot.types;
	heap_type_id kept;

	return module_passing(module, site - 1, types, &kept) != MODULE_KEEPS ||
	       (kept != HEAP_NO_TYPE && search->knowledge->is_prefix(types, kept));
}

// True if the function at a site, which the library takes for a wrapper, counts as one.
static bool is_believed(void *context, uint64_t site, uint64_t *start)
{
	struct belief *belief = context;
	struct capture *capture = belief->search->capture;
	struct module *module = modules_find(&capture->modules, site - 1);
	struct code_place places[MAX_INLINED];
	size_t count;

	if (!module)
		return true;
	count = module_describe(module, site, site - 1, &capture->strings, places, MAX_INLINED);
	if (standard_skip(module, &capture->strings, site - 1, places, count) == count)
		return true;
	// Code that the program has inlined into a function of the standard library is no wrapper.
	if (!standard_has(module, &capture->strings, site - 1, &places[count - 1]) &&
	    passes_on(belief->search, module, site))
		return true;
	// The symbol table knows the function that the others are inlined into.
	*start = places[count - 1].offset ? site - places[count - 1].offset : 0;
	return is_named(belief, &capture->strings.bytes[places[count - 1].function]);
}

// True if a function jumps to another one that is not believed to be a wrapper, as at its end: what it returns
// may be from there.
static bool jumps_to_another(void *context, uint64_t function)
{
	const struct capture *capture = context;
	const struct module *module = modules_find(&capture->modules, function);
	const struct heap_symbol *symbol =
		module && module->elf ? heap_elf_find_symbol(module->elf, HEAP_SYMBOL_FUNCTION,
							     function - module->bias)
				      : NULL;
	uint64_t size = symbol && symbol->size < MAX_FUNCTION ? symbol->size : MAX_FUNCTION;
	CLEANUP_FREE uint8_t *code = calloc(size + 1, 1);

	if (!code)
		return true;
	image_read_padded(&capture->image, function, code, size);
	for (uint64_t at = 0; at + MACHINE_CALL_BYTES <= size; at++) {
		uint64_t target =
			machine_jump_target(function + at + MACHINE_CALL_BYTES, code + at);

		if (target != 0 && target != function &&
		    backtraces_have_refused(&capture->backtraces, target))
			return true;
	}
	return false;
}

HEAP_MUST_CHECK
static struct heap_error *choose_wrappers(const struct search *search)
{
	struct capture *capture = search->capture;
	struct belief belief = { .search = search };

	if (capture->process.wrapper_names)
		image_read_string(&capture->image, capture->process.wrapper_names, belief.names,
				  sizeof(belief.names));
	HEAP_TRY(backtraces_choose_wrappers(&capture->backtraces, is_believed, &belief));
	backtraces_find_jumps(&capture->backtraces, jumps_to_another, capture);
	return NULL;
}

// Where the call before a return address leads to; 0 if it is not a plain one.
static uint64_t find_callee(const struct capture *capture, uint64_t address)
{
	uint8_t code[MACHINE_CALL_BYTES] = { 0 };

	image_read_padded(&capture->image, address - sizeof(code), code, sizeof(code));
	return machine_call_target(address, code);
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

// Finds the site of a kind of objects, and its maker.
HEAP_MUST_CHECK
static struct heap_error *find_sites_of_kind(struct search *search, uint32_t kind)
{
	struct capture *capture = search->capture;
	const struct backtraces *backtraces = &capture->backtraces;
	const struct object_kind *objects = &capture->objects.kinds.list[kind];
	uint64_t site = find_meant(capture, objects->site, objects->size);
	uint64_t address = backtraces_site(backtraces, site, objects->size);
	uint64_t maker = backtraces_maker(backtraces, site, objects->size, knows_type, search);

	HEAP_TRY(find_site(search, address, &capture->site_of_kind[kind]));
	return find_site(search, maker, &capture->maker_of_kind[kind]);
}

HEAP_MUST_CHECK
static struct heap_error *find_sites(struct search *search)
{
	const struct object_kinds *kinds = &search->capture->objects.kinds;
	CLEANUP_FREE uint32_t *order = order_kinds(kinds);

	if (!order)
		return heap_error_out_of_memory();
	HEAP_TRY(choose_wrappers(search));
	for (uint32_t i = 0; i < kinds->count; i++)
		HEAP_TRY(find_sites_of_kind(search, order[i]));
	return NULL;
}

struct heap_error *sites_find(struct capture *capture, const struct site_knowledge *knowledge)
{
	size_t kinds = (size_t)capture->objects.kinds.count + 1;
	struct search search = { .capture = capture, .knowledge = knowledge };
	struct heap_error *error;

	capture->site_of_kind = calloc(kinds, sizeof(*capture->site_of_kind));
	capture->maker_of_kind = calloc(kinds, sizeof(*capture->maker_of_kind));
	if (!capture->site_of_kind || !capture->maker_of_kind)
		return heap_error_out_of_memory();
	error = find_sites(&search);
	heap_hash_table_deinit(&search.by_address);
	return error;
}

static bool has_types(const struct module *module)
{
	const struct heap_types *types = &module->debug.types;

	for (heap_type_id i = 1; i < types->count; i++) {
		if (types->types[i].kind != HEAP_TYPE_BASE)
			return true;
	}
	return false;
}

bool sites_has_types(const struct capture *capture, heap_site_id id)
{
	const struct heap_site *site = &capture->snapshot.sites[id];
	const struct module *module;

	if (site->module == HEAP_NO_INDEX)
		return true;
	module = &capture->modules.modules[site->module];
	return module->has_debug && *(capture->strings.bytes + site->file) != '\0' &&
	       has_types(module);
}
