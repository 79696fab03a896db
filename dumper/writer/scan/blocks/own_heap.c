// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/blocks/own_heap.h"

#include "lib/base/cleanup.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	// As in the package debug/buildinfo of Go's library: the text lies near the start of the program's first data.
	SEARCHED = 1 << 16,
	ALIGNMENT = 16,
	MAX_MAPPINGS =
		64, // of the program, which has the lowest addresses or comes soon after them
};

static const char go_text[] = "\xff Go buildinf:";

// The text is in data that can be written to, or in constants.
static bool holds_go_text(const struct image *image, const struct image_mapping *mapping,
			  char *buffer)
{
	uint64_t size = mapping->end - mapping->start;

	if (!(mapping->protection & PROT_READ) || (mapping->protection & PROT_EXEC) ||
	    mapping->shared)
		return false;
	if (size > SEARCHED)
		size = SEARCHED;
	image_read_padded(image, mapping->start, buffer, size);
	for (size_t at = 0; at + sizeof(go_text) <= size; at += ALIGNMENT) {
		if (memcmp(buffer + at, go_text, sizeof(go_text) - 1) == 0)
			return true;
	}
	return false;
}

static bool is_go(const struct image *image)
{
	CLEANUP_FREE char *buffer = malloc(SEARCHED);

	for (size_t i = 0; buffer && i < image->mapping_count && i < MAX_MAPPINGS; i++) {
		if (holds_go_text(image, &image->mappings[i], buffer))
			return true;
	}
	return false;
}

// True if a dynamic linker has loaded it. In a core file that does not name its files, any could have.
static bool has_linker(const struct image *image)
{
	bool has_files = false;

	for (size_t i = 0; i < image->mapping_count; i++) {
		const char *name = image->mappings[i].name, *slash = strrchr(name, '/');

		has_files |= slash != NULL;
		if (slash && (strncmp(slash + 1, "ld-", 3) == 0 ||
			      strncmp(slash + 1, "ld.so", 5) == 0 || strstr(slash, ".so.") != NULL))
			return true;
	}
	return !has_files;
}

struct heap_error *own_heap_explain(const struct image *image)
{
	if (is_go(image))
		return heap_error_create(
			HEAP_ERROR_ABSENT,
			"it is written in Go, whose runtime has a heap of its own, which is not "
			"read; Go's profiles (runtime/pprof) show that");
	return heap_error_create(
		HEAP_ERROR_ABSENT,
		"it has allocated nothing yet, or its allocator is none that is "
		"known (glibc, jemalloc 5.3, mimalloc 2 and 3, musl, tcmalloc 2.10 to 2.18): %s%s",
		// A process that has crashed cannot be started in another way any more.
		image->core ? "the next time, " : "",
		has_linker(image) ? "start it by heapsnap run"
				  : "link it dynamically, and start it by heapsnap run");
}
