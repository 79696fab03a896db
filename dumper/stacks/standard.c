// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/stacks/standard.h"

#include "dumper/base/hash.h"
#include "dumper/base/process.h"
#include "dumper/base/reserve.h"
#include "dumper/base/standard_library.h"
#include "dumper/stacks/frame_rules.h"
#include "dumper/stacks/symbols.h"

#include <link.h>
#include <stddef.h>
#include <string.h>

enum {
	MAX_FOUND = 1 << 22, // functions that are noted
};

/*
 * The functions by their addresses: a hash table with open addressing, at most half full. It is
 * written once, when the library is loaded.
 */
static struct {
	uint64_t *slots; // [mask + 1] 0: free
	uint64_t mask;
} functions;

// The functions in the order in which they are found: memory that is not written to costs nothing.
struct found {
	uint64_t *starts; // [MAX_FOUND]
	uint64_t count;
};

static bool has_cxx; // a standard library of C++ is loaded

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static uint64_t *slot_of(uint64_t start)
{
	uint64_t at = heapsnap_scatter(start) >> 20;

	while (functions.slots[at & functions.mask] != 0 &&
	       functions.slots[at & functions.mask] != start)
		at++;
	return &functions.slots[at & functions.mask];
}

static void note_function(void *context, uint64_t address)
{
	struct found *found = context;

	if (address != 0 && found->count < MAX_FOUND)
		found->starts[found->count++] = address;
}

static int note_cxx(struct dl_phdr_info *info, size_t size, void *context)
{
	const char *name = info->dlpi_name ? base_name(info->dlpi_name) : "";

	(void)size;
	(void)context;
	has_cxx = has_cxx || has_prefix(name, "libstdc++.") || has_prefix(name, "libc++.");
	return has_cxx;
}

// The program, and what uses a library of C++.
static bool may_have_instances(const char *path)
{
	return *path == '\0' || (has_cxx && !heapsnap_is_standard_library(path));
}

// @return false if there is no memory for so many functions
static bool make_table(uint64_t count)
{
	uint64_t size = 64;

	while (size < 2 * count)
		size *= 2;
	functions.slots = heapsnap_reserve(size * sizeof(*functions.slots));
	functions.mask = size - 1;
	return functions.slots != NULL;
}

void heapsnap_standard_init(void)
{
	struct found found = { .starts = heapsnap_reserve(MAX_FOUND * sizeof(*found.starts)) };

	if (!found.starts)
		return;
	dl_iterate_phdr(note_cxx, NULL);
	heapsnap_symbols_visit(may_have_instances, heapsnap_is_standard_name, note_function,
			       &found);
	if (found.count > 0 && make_table(found.count)) {
		for (uint64_t i = 0; i < found.count; i++)
			*slot_of(found.starts[i]) = found.starts[i];
	}
	heapsnap_unreserve(found.starts, MAX_FOUND * sizeof(*found.starts));
}

bool heapsnap_standard_has(uint64_t start, uint64_t address)
{
	struct heapsnap_code code;

	if (start != 0 && functions.slots && *slot_of(start) == start)
		return true;
	return heapsnap_code_find(address, &code) && code.path &&
	       heapsnap_is_standard_library(code.path);
}
