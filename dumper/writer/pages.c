// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/pages.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	PAGE = 4096,
	PAGES = 8192, // 32 MiB, of which only what is used is memory
	SIZE = PAGES * PAGE,
	AHEAD = 4, // are read at once where addresses ascend
};

struct pages {
	const struct image *image;
	uint64_t last;           // page that was read
	uint64_t numbers[PAGES]; // of the pages that are there
	uint8_t (*bytes)[PAGE];  // [PAGES]
};

struct pages *pages_create(const struct image *image)
{
	struct pages *pages = calloc(1, sizeof(*pages));

	if (!pages)
		return NULL;
	pages->image = image;
	// No memory of malloc()'s: where that is in huge pages, each page would cost one.
	pages->bytes = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages->bytes == MAP_FAILED) {
		free(pages);
		return NULL;
	}
	madvise(pages->bytes, SIZE, MADV_NOHUGEPAGE);
	return pages;
}

void pages_destroy(struct pages *pages)
{
	if (!pages)
		return;
	munmap(pages->bytes, SIZE);
	free(pages);
}

static void fetch(struct pages *pages, uint64_t number)
{
	size_t place = number % PAGES, count = 1;

	if (number > pages->last && number - pages->last <= AHEAD)
		count = place + AHEAD <= PAGES ? AHEAD : PAGES - place;
	image_read_padded(pages->image, number * PAGE, pages->bytes[place], count * PAGE);
	for (size_t i = 0; i < count; i++)
		pages->numbers[place + i] = number + i;
	pages->last = number + count - 1;
}

void pages_read(struct pages *pages, uint64_t address, void *buffer, size_t size)
{
	uint8_t *at = buffer;

	while (size > 0) {
		uint64_t number = address / PAGE;
		size_t start = address % PAGE, part = PAGE - start < size ? PAGE - start : size;

		if (pages->numbers[number % PAGES] != number)
			fetch(pages, number);
		memcpy(at, pages->bytes[number % PAGES] + start, part);
		at += part;
		address += part;
		size -= part;
	}
}
