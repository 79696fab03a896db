// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/sites/libc_blocks.h"

#include "dumper/writer/infer/base_types.h"
#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/base/path.h"

#include <stdlib.h>
#include <string.h>

// Functions whose blocks hold characters and nothing else, without the prefixes that libc gives to
// the several names of each.
static const char *const text_functions[] = {
	"file_doallocate",                                    // buffers of streams: setvbuf(3)
	"getdelim",        "getline",                         // getline(3)
	"strdup",          "strndup",                         // strdup(3)
	"asprintf",        "vasprintf", "vasprintf_internal", // asprintf(3)
	"getcwd",          "realpath",  "realpath_chk",       // getcwd(3), realpath(3)
};

enum {
	LEAST_RESERVE = 1 << 16, // bytes; it has room for the exceptions of some threads
};

static const char *skip_prefix(const char *name, const char *prefix)
{
	size_t length = strlen(prefix);

	return strncmp(name, prefix, length) == 0 ? name + length : name;
}

// glibc's libc.so.6, and musl's, which is the dynamic linker as well.
static bool is_libc(const char *path)
{
	const char *name = heap_base_name(path);

	return strncmp(name, "libc.", 5) == 0 || strncmp(name, "libc-", 5) == 0 ||
	       strncmp(name, "ld-musl-", 8) == 0;
}

static bool allocates_text(const struct capture *capture, heap_site_id id)
{
	const struct heap_site *site = &capture->snapshot.sites[id];
	const char *name = capture->strings.bytes + site->function;

	if (site->module == HEAP_NO_INDEX || !is_libc(capture->modules.modules[site->module].path))
		return false;
	name = skip_prefix(name, "__GI_"); // in glibc's debug information
	name = skip_prefix(name, "_IO_");
	name += strspn(name, "_");
	for (size_t i = 0; i < sizeof(text_functions) / sizeof(*text_functions); i++) {
		if (strcmp(text_functions[i], name) == 0)
			return true;
	}
	return false;
}

// True of the block that libstdc++ keeps for exceptions that are thrown when memory is short. It has no
// symbol, but begins with the length of its first free part (libsupc++/eh_alloc.cc).
static bool is_reserve(const struct inference *inference, const struct kind *kind)
{
	const struct capture *capture = inference->capture;
	const struct heap_site *site = &capture->snapshot.sites[kind->site];
	heap_object_id object = inference->kinds.members[kind->first];
	uint64_t length = 0;

	if (kind->count != 1 || kind->size < LEAST_RESERVE || site->module == HEAP_NO_INDEX ||
	    strncmp(heap_base_name(capture->modules.modules[site->module].path), "libstdc++.so",
		    12) != 0)
		return false;
	pages_read(inference->pages, objects_address(&capture->objects, object), &length,
		   sizeof(length));
	return length > 0 && length <= kind->size;
}

struct heap_error *libc_blocks_add_types(struct capture *capture)
{
	heap_type_id ignored;

	return base_types_find_char(&capture->snapshot.types, &ignored);
}

// Changes the bits of the types that all modules have that are libc's, or all others. What one only declares, as a pointer
// to it, is another's.
static void change_types(const struct modules *modules, bool of_libc, uint8_t *bits,
			 void (*change)(uint8_t *bits, uint32_t at))
{
	for (size_t i = 0; i < modules->count; i++) {
		const struct module *module = &modules->modules[i];

		if (!module->type_map || is_libc(module->path) != of_libc)
			continue;
		for (uint32_t j = 0; j < module->debug.types.count; j++) {
			if (!(module->debug.types.types[j].flags & HEAP_TYPE_DECLARATION))
				change(bits, module->type_map[j]);
		}
	}
}

struct heap_error *libc_blocks_find_types(const struct capture *capture, uint8_t **result)
{
	const struct modules *modules = &capture->modules;
	bool has_types = false;

	*result = NULL;
	for (size_t i = 0; i < modules->count; i++)
		has_types |= modules->modules[i].type_map && is_libc(modules->modules[i].path);
	if (!has_types)
		return NULL;
	*result = calloc((size_t)capture->snapshot.types.count / 8 + 1, 1);
	if (!*result)
		return heap_error_out_of_memory();
	change_types(modules, true, *result, heap_bit_set);
	change_types(modules, false, *result, heap_bit_clear);
	return NULL;
}

struct heap_error *libc_blocks_claim(struct inference *inference)
{
	const struct kinds *kinds = &inference->kinds;
	heap_type_id character = heap_types_find(inference->layouts.types, "char", 0);

	for (uint32_t i = 0; i < kinds->count; i++) {
		const struct kind *kind = &kinds->kinds[i];

		if (kind->site >= inference->capture->snapshot.site_count ||
		    (!allocates_text(inference->capture, kind->site) &&
		     !is_reserve(inference, kind)))
			continue;
		for (uint32_t j = 0; j < kind->count; j++)
			HEAP_TRY(claims_add(&inference->claims, RANK_SITE,
					    &(struct claim){ kinds->members[kind->first + j],
							     character, kind->size,
							     HEAP_EVIDENCE_SITE, false }));
	}
	return NULL;
}
