// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/image/taken_pages.h"

#include "dumper/writer/scan/image/image_parts.h"
#include "lib/base/cleanup.h"

#include <unistd.h>

enum {
	HUGE_PAGE = 2 << 20,        // a size of most machines; larger ones are multiples
	SMALL_HUGE_PAGE = 64 << 10, // the smallest of any
};

static bool has_page(const struct image *image, uint64_t address)
{
	uint64_t entry = 0;

	return pread(image->pagemap, &entry, sizeof(entry),
		     (off_t)(address / image->page_size * sizeof(entry))) == sizeof(entry) &&
	       (entry & IMAGE_PAGE_TOUCHED);
}

// Looks at the pages of a mapping that program and copy both have.
HEAP_MUST_CHECK
static struct heap_error *find_in(struct image *image, const struct image *living,
				  const struct image_mapping *mapping, uint64_t *bytes)
{
	const struct image_mapping *other = image_find(living, mapping->start);
	uint64_t end = other && other->end < mapping->end ? other->end : mapping->end;
	uint64_t size = (mapping->start | mapping->end) % HUGE_PAGE ? SMALL_HUGE_PAGE : HUGE_PAGE;

	if (!other || !image_has_huge_pages(other))
		return NULL;
	for (uint64_t page = mapping->start; page < end; page += size) {
		if (has_page(image, page) || !has_page(living, page))
			continue;
		*bytes += size;
		HEAP_TRY(image_add_unread(image, page, page + size));
	}
	return NULL;
}

struct heap_error *taken_pages_find(struct image *image, pid_t program, uint64_t *bytes)
{
	struct image living = { .pagemap = -1, .memory = -1 };
	struct heap_error *error = NULL;
	bool is_open = false;

	*bytes = 0;
	for (size_t i = 0; !error && image->pagemap >= 0 && i < image->mapping_count; i++) {
		if (!image_has_huge_pages(&image->mappings[i]))
			continue;
		// The program's own map is asked once, and only if there are such pages.
		if (!is_open) {
			is_open = true;
			heap_error_destroy(image_init(&living, program));
		}
		if (living.pagemap >= 0)
			error = find_in(image, &living, &image->mappings[i], bytes);
	}
	if (is_open)
		image_deinit(&living);
	return error;
}
